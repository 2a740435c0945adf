//! Redacts secrets in a stream of bytes: the values of secret environment variables, also when
//! encoded, wrapped or coloured, tokens with a known prefix, private keys and passwords in addresses.
//!
//! The cost is linear in the length of the stream. About 128 KiB are held back.

mod encoded;
mod tokens;

use memchr::memmem::Finder;
use std::borrow::Cow;
use std::cmp::Reverse;

/// Bytes held back before the search, so that a whole private key is in view.
const BLOCK: usize = 128 << 10;

/// Bytes of lookahead needed to decide on a position.
const AHEAD: usize = 16 << 10;

/// The longest user and password before a host.
const LONGEST_USER: usize = 1024;

/// A shorter value, once encoded or wrapped, appears in too many innocent places.
const SHORTEST_ENCODED: usize = 8;

/// Redacts one stream, fed in pieces.
#[derive(Debug)]
pub struct Redactor {
    needles: Vec<Needle>,
    held: Vec<u8>,
    /// Bytes of `held` that belong to a secret already replaced.
    covered: usize,
    /// The byte before `held`.
    before: u8,
    /// Bytes of lookahead: the longest value must be in view.
    ahead: usize,
}

#[derive(Debug)]
struct Needle {
    finder: Finder<'static>,
    mark: Vec<u8>,
    /// Found also if colours or line breaks are between its letters.
    joined: bool,
}

/// A range to replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    start: usize,
    end: usize,
    /// The needle that was found; `None` for a shape.
    needle: Option<usize>,
}

impl Redactor {
    /// Replaces each value by `[redacted NAME]`, and anything with the shape of a secret by
    /// `[redacted]`. Ignores empty values.
    pub fn new<'a>(secrets: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Redactor {
        let mut needles = Vec::new();
        let mut longest = 0;
        for (name, value) in secrets.into_iter().filter(|(_, value)| !value.is_empty()) {
            let parts = encoded::parts(value);
            longest = parts.iter().map(Vec::len).max().unwrap_or(0).max(value.len()).max(longest);
            needles.extend(std::iter::once(value).chain(parts.iter().map(Vec::as_slice)).map(
                |text| {
                    let is_line = !text.iter().any(|byte| matches!(byte, b'\n' | b'\r' | 0x1b));
                    Needle {
                        finder: Finder::new(text).into_owned(),
                        mark: format!("[redacted {name}]").into_bytes(),
                        joined: is_line && text.len() >= SHORTEST_ENCODED,
                    }
                },
            ));
        }
        let ahead = AHEAD + longest;
        Redactor { needles, held: Vec::new(), covered: 0, before: b'\n', ahead }
    }

    /// Feeds the next piece; appends to `out` the bytes that cannot belong to a secret.
    pub fn feed(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        let most = BLOCK + self.ahead;
        let mut rest = piece;
        while !rest.is_empty() {
            let room = most.saturating_sub(self.held.len()).max(1).min(rest.len());
            self.held.extend_from_slice(&rest[..room]);
            rest = &rest[room..];
            if self.held.len() >= most {
                let limit = self.held.len() - self.ahead;
                let line = memchr::memrchr(b'\n', &self.held[..limit]).map_or(limit, |at| at + 1);
                self.decide(line, out);
            }
        }
    }

    /// Ends the stream and appends the bytes that were held back.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.decide(self.held.len(), out);
    }

    /// Releases the bytes before `limit`; every secret that starts there is entirely in view.
    fn decide(&mut self, limit: usize, out: &mut Vec<u8>) {
        let mut done = self.covered;
        for span in self.found().into_iter().filter(|span| span.start < limit) {
            // One mark replaces two secrets that overlap.
            if span.start >= done {
                out.extend_from_slice(&self.held[done..span.start]);
                match span.needle {
                    Some(at) => out.extend_from_slice(&self.needles[at].mark),
                    None => out.extend_from_slice(b"[redacted]"),
                }
            }
            done = done.max(span.end);
        }
        if done < limit {
            out.extend_from_slice(&self.held[done..limit]);
            done = limit;
        }
        if let Some(last) = limit.checked_sub(1) {
            self.before = self.held[last];
        }
        self.held.drain(..limit);
        self.covered = done - limit;
    }

    /// Every secret in view, by position; of those at one position, the longest named one first.
    fn found(&self) -> Vec<Span> {
        let (text, places) = without(&self.held, false);
        let mut spans = shapes(&text, self.before);
        back(&mut spans, &places);
        let any_joined = self.needles.iter().any(|needle| needle.joined);
        let (joined, places) = without(if any_joined { &self.held } else { b"" }, true);
        for (at, needle) in self.needles.iter().enumerate() {
            let length = needle.finder.needle().len();
            let text = if needle.joined { &joined } else { &self.held[..] };
            let span = |start| Span { start, end: start + length, needle: Some(at) };
            let mut found: Vec<Span> = starts(&needle.finder, text).map(span).collect();
            if needle.joined {
                back(&mut found, &places);
            }
            spans.append(&mut found);
        }
        spans.sort_by_key(|span| (span.start, span.needle.is_none(), Reverse(span.end)));
        spans
    }
}

/// Redacts everything in the text that has the shape of a secret.
pub fn by_shape(text: &str) -> String {
    let mut redactor = Redactor::new([]);
    let mut out = Vec::with_capacity(text.len());
    redactor.feed(text.as_bytes(), &mut out);
    redactor.finish(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// Includes matches that overlap each other: if the value is `aba`, no part of `ababa` may remain,
/// and the split of the stream must not matter.
fn starts<'a>(finder: &'a Finder<'static>, text: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + finder.find(text.get(from..)?)?;
        from = start + 1;
        Some(start)
    })
}

/// Returns the text without colours, and without line breaks if they are to go too; and the original
/// position of each byte, none if nothing was removed.
fn without(held: &[u8], breaks: bool) -> (Cow<'_, [u8]>, Vec<usize>) {
    let goes = |byte: &u8| *byte == 0x1b || breaks && matches!(byte, b'\n' | b'\r');
    if !held.iter().any(goes) {
        return (Cow::Borrowed(held), Vec::new());
    }
    let (mut text, mut places, mut at) = (Vec::new(), Vec::new(), 0);
    while let Some(byte) = held.get(at) {
        if *byte == 0x1b {
            at += escape(&held[at..]);
            continue;
        }
        if !goes(byte) {
            text.push(*byte);
            places.push(at);
        }
        at += 1;
    }
    (Cow::Owned(text), places)
}

/// Length of the terminal control sequence that begins here.
fn escape(text: &[u8]) -> usize {
    let until = |from: usize, is_end: fn(u8) -> bool| {
        let end = text.iter().skip(from).take(256).position(|byte| is_end(*byte));
        end.map_or(from, |end| from + end + 1).min(text.len())
    };
    match text.get(1) {
        Some(b'[') => until(2, |byte| (0x40..=0x7e).contains(&byte)),
        Some(b']') => until(2, |byte| matches!(byte, 0x07 | b'\\')),
        Some(b'(' | b')') => text.len().min(3),
        Some(_) => 2,
        None => 1,
    }
}

/// Moves the spans to where they are in the original text.
fn back(spans: &mut [Span], places: &[usize]) {
    for span in spans.iter_mut().filter(|_| !places.is_empty()) {
        *span = Span { start: places[span.start], end: places[span.end - 1] + 1, ..*span };
    }
}

/// Every secret that its own text gives away. `before` is the byte before the text.
fn shapes(text: &[u8], before: u8) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut at = 0;
    let mut previous = before;
    while let Some(byte) = text.get(at).copied() {
        let rest = &text[at..];
        let starts_word = !(previous.is_ascii_alphanumeric() || previous == b'_');
        let found = match byte {
            b':' => password(rest),
            b'-' | b'P' => private_key(rest).map(|end| (0, end)),
            _ => None,
        };
        let is_word = starts_word && byte.is_ascii_alphabetic();
        let token = || Some((0, tokens::length(rest)?));
        match found.or_else(|| is_word.then(token)?) {
            Some((start, end)) => {
                spans.push(Span { start: at + start, end: at + end, needle: None });
                // Whatever begins inside a secret is part of it.
                at += end;
                previous = text[at - 1];
            }
            None => {
                previous = byte;
                at += 1;
            }
        }
    }
    spans
}

/// The password before the host of an address.
fn password(text: &[u8]) -> Option<(usize, usize)> {
    let rest = text.strip_prefix(b"://")?;
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"/?#\"'<>`\\".contains(byte);
    let end = rest.iter().take(LONGEST_USER).position(ends).unwrap_or(rest.len().min(LONGEST_USER));
    let host = memchr::memrchr(b'@', &rest[..end])?;
    let colon = memchr::memchr(b':', &rest[..host])?;
    let password = &rest[colon + 1..host];
    // `$PASSWORD`, `{password}`, `***`: it stands elsewhere.
    let is_hidden = matches!(password.first(), None | Some(b'$' | b'{' | b'*' | b'['));
    (!is_hidden).then_some((3 + colon + 1, 3 + host))
}

/// The length of the private key that begins here; without an end, for as long as it can be one.
fn private_key(text: &[u8]) -> Option<usize> {
    let (begin, end, has) = match text.first() {
        Some(b'-') => ("-----BEGIN ", "-----END ", "PRIVATE KEY"),
        // PuTTY's form.
        _ => ("Private-Lines: ", "Private-MAC: ", ""),
    };
    let rest = text.strip_prefix(begin.as_bytes())?;
    let label = &rest[..rest.len().min(60)];
    memchr::memmem::find(label, has.as_bytes())?;
    let most = text.len().min(AHEAD);
    let closing = memchr::memmem::find(&text[..most], end.as_bytes());
    let is_body = |byte: &&u8| {
        byte.is_ascii_alphanumeric()
            || byte.is_ascii_whitespace()
            || b"+/=\\\"',:-|>#*".contains(byte)
    };
    Some(match closing.map(|at| at + end.len()) {
        Some(from) => {
            let tail = &text[from..text.len().min(from + 60)];
            from + memchr::memmem::find(tail, b"-----").map_or(0, |at| at + 5)
        }
        None => text[..most].iter().take_while(is_body).count(),
    })
}

#[cfg(test)]
mod tests;
