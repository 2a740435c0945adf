//! Redacts secrets in a stream of bytes: the values of secret environment variables, also when
//! encoded, wrapped or coloured, tokens with a known prefix, private keys and passwords in addresses.
//!
//! The cost is linear in the length of the stream. About 128 KiB are held back.

use Letters::{Hex, Lower, Plain, Upper, Word};
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
            let parts = parts(value);
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
        let token = || Some((0, length(rest)?));
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

/// Returns encodings of the value and of its lines. For base64, returns the part that does not
/// depend on the bytes before and after the value.
fn parts(value: &[u8]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    if value.len() >= SHORTEST_ENCODED {
        for shift in 0..3 {
            let padded = [&b"\0\0"[..shift], value].concat();
            // Each letter holds six bits: the letters from `first` to `last` hold bits of the value
            // only.
            let first = (shift * 8).div_ceil(6);
            let last = padded.len() * 8 / 6;
            for alphabet in [STANDARD, URL] {
                let text = base64(&padded, alphabet);
                all.push(text.get(first..last.min(text.len())).unwrap_or_default().to_vec());
            }
        }
        let hex = crate::text::hex::hex(value);
        all.push(hex.to_uppercase().into_bytes());
        all.push(hex.into_bytes());
    }
    let percent = |all_of_it: bool| -> Vec<u8> {
        let letter = |byte: &u8| match byte {
            byte if byte.is_ascii_alphanumeric() || b"-_.~".contains(byte) => vec![*byte],
            b'/' | b':' | b'@' if !all_of_it => vec![*byte],
            byte => format!("%{byte:02X}").into_bytes(),
        };
        value.iter().flat_map(letter).collect()
    };
    all.extend([percent(true), percent(false)]);
    all.push(percent(true).to_ascii_lowercase());
    if let Ok(text) = std::str::from_utf8(value) {
        let quoted = serde_json::to_string(text).unwrap_or_default();
        let inner = quoted.trim_start_matches('"');
        all.push(inner.strip_suffix('"').unwrap_or(inner).as_bytes().to_vec());
    }
    if value.contains(&b'\n') {
        let lines = value.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        all.extend(lines.filter(|line| line.len() >= 12).map(<[u8]>::to_vec));
    }
    all.sort();
    all.dedup();
    all.retain(|part| part != value && part.len() >= SHORTEST_ENCODED);
    all
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn base64(bytes: &[u8], alphabet: &[u8; 64]) -> Vec<u8> {
    let mut text = Vec::new();
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for letter in 0..=chunk.len() {
            text.push(alphabet[(bits >> (18 - 6 * letter) & 63) as usize]);
        }
    }
    text
}

/// The alphabet of the rest of a token.
#[derive(Clone, Copy)]
enum Letters {
    /// `0-9a-f` in either case
    Hex,
    /// `A-Z0-9`
    Upper,
    /// `a-z0-9`
    Lower,
    /// `A-Za-z0-9`
    Plain,
    /// `Plain` and `_`, `-`, `.`, `=`, `/`, `+`, `%`
    Word,
}

impl Letters {
    fn has(self, byte: u8) -> bool {
        match self {
            Hex => byte.is_ascii_hexdigit(),
            Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Lower => byte.is_ascii_lowercase() || byte.is_ascii_digit(),
            Plain => byte.is_ascii_alphanumeric(),
            Word => byte.is_ascii_alphanumeric() || b"_-.=/+%".contains(&byte),
        }
    }
}

/// Prefix, alphabet of the rest, and minimum length of the rest; sorted by the first byte.
const TOKENS: [(&str, Letters, usize); 114] = [
    ("A3-", Word, 30),
    ("ABIA", Upper, 16),
    ("ACCA", Upper, 16),
    ("AGE-SECRET-KEY-1", Upper, 40),
    ("AIza", Word, 30),
    ("AKIA", Upper, 16),
    ("ASIA", Upper, 16),
    ("ATATT3x", Word, 30),
    ("ATBB", Plain, 28),
    ("ATCTT3x", Word, 30),
    ("BBDC-", Word, 30),
    ("CFPAT-", Word, 30),
    ("EAAA", Word, 56),
    ("EAACEdEose0cBA", Word, 20),
    ("FlyV1", Word, 20),
    ("GOCSPX-", Word, 20),
    ("HRKU-", Word, 30),
    ("LTAI", Plain, 16),
    ("NRAK-", Word, 20),
    ("PMAK-", Word, 24),
    ("SG.", Word, 32),
    ("SK", Hex, 32),
    ("apify_api_", Plain, 20),
    ("atlasv1.", Word, 40),
    ("bkua_", Plain, 20),
    ("dapi", Hex, 32),
    ("dckr_pat_", Word, 20),
    ("discord.com/api/webhooks/", Word, 30),
    ("doo_v1_", Hex, 32),
    ("dop_v1_", Hex, 32),
    ("dor_v1_", Hex, 32),
    ("dp.ct.", Plain, 30),
    ("dp.pt.", Plain, 30),
    ("dp.st.", Word, 30),
    ("dt0c01.", Word, 30),
    ("eyJ", Word, 40),
    ("figd_", Word, 20),
    ("fm2_", Word, 40),
    ("gho_", Plain, 20),
    ("ghp_", Plain, 20),
    ("ghr_", Plain, 20),
    ("ghs_", Word, 20),
    ("ghu_", Plain, 20),
    ("github_pat_", Word, 20),
    ("glagent-", Word, 16),
    ("glc_", Word, 32),
    ("glcbt-", Word, 16),
    ("gldt-", Word, 16),
    ("glffct-", Word, 16),
    ("glft-", Word, 16),
    ("glimt-", Word, 16),
    ("gloas-", Word, 16),
    ("glpat-", Word, 16),
    ("glptt-", Word, 16),
    ("glrt-", Word, 16),
    ("glsa_", Word, 32),
    ("glsoat-", Word, 16),
    ("gsk_", Plain, 30),
    ("hf_", Plain, 30),
    ("hooks.slack.com/services/", Word, 30),
    ("hvb.", Word, 20),
    ("hvr.", Word, 20),
    ("hvs.", Word, 20),
    ("key-", Hex, 32),
    ("lin_api_", Plain, 20),
    ("nfp_", Plain, 30),
    ("npm_", Plain, 30),
    ("ntn_", Plain, 30),
    ("nvapi-", Word, 30),
    ("oy2", Lower, 43),
    ("phx_", Plain, 30),
    ("pplx-", Plain, 30),
    ("pscale_pw_", Word, 30),
    ("pscale_tkn_", Word, 30),
    ("pul-", Hex, 40),
    ("pypi-", Word, 50),
    ("r8_", Plain, 37),
    ("rk_live_", Plain, 10),
    ("rk_test_", Plain, 10),
    ("rubygems_", Hex, 48),
    ("sb_secret_", Word, 20),
    ("sbp_", Lower, 40),
    ("sgp_", Word, 40),
    ("shpat_", Hex, 32),
    ("shpca_", Hex, 32),
    ("shppa_", Hex, 32),
    ("shpss_", Hex, 32),
    ("sk-", Plain, 20),
    ("sk-admin-", Word, 16),
    ("sk-ant-", Word, 10),
    ("sk-or-v1-", Word, 16),
    ("sk-proj-", Word, 16),
    ("sk-svcacct-", Word, 16),
    ("sk_live_", Plain, 10),
    ("sk_prod_", Plain, 10),
    ("sk_test_", Plain, 10),
    ("sntrys_", Word, 40),
    ("sntryu_", Hex, 40),
    ("sq0atp-", Word, 20),
    ("sq0csp-", Word, 20),
    ("tskey-", Word, 16),
    ("whsec_", Word, 20),
    ("xai-", Plain, 40),
    ("xapp-", Word, 10),
    ("xoxa-", Word, 10),
    ("xoxb-", Word, 10),
    ("xoxc-", Word, 10),
    ("xoxd-", Word, 10),
    ("xoxe-", Word, 10),
    ("xoxe.", Word, 10),
    ("xoxp-", Word, 10),
    ("xoxr-", Word, 10),
    ("xoxs-", Word, 10),
    ("ya29.", Word, 20),
];

/// The length of the token that this text begins with.
fn length(text: &[u8]) -> Option<usize> {
    let first = *text.first()?;
    let from = TOKENS.partition_point(|(begin, ..)| begin.as_bytes()[0] < first);
    let known = TOKENS[from..].iter().take_while(|(begin, ..)| begin.as_bytes()[0] == first);
    let rest_of = |(begin, letters, least): &(&str, Letters, usize)| {
        let rest = text.strip_prefix(begin.as_bytes())?;
        let length = rest.iter().take_while(|byte| letters.has(**byte)).count();
        let rest = &rest[..length];
        // The rest of a prose word has no digit.
        let has_both_cases =
            rest.iter().any(u8::is_ascii_lowercase) && rest.iter().any(u8::is_ascii_uppercase);
        let is_random = rest.iter().any(u8::is_ascii_digit)
            || has_both_cases && length >= 20 && !rest.contains(&b'-');
        let is_digest = matches!(letters, Hex) && length > least + 32;
        (length >= *least && is_random && !is_digest).then_some(begin.len() + length)
    };
    let length = known.filter_map(rest_of).max()?;
    // Without the punctuation that ends a sentence.
    text[..length].iter().rposition(|byte| !b"./%".contains(byte)).map(|last| last + 1)
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod encoded_tests {
    use super::*;

    #[test]
    fn a_value_is_found_in_base64_whatever_stands_around_it() {
        let value = b"correct-horse-battery";
        let parts = parts(value);
        for before in ["", "u", "us", "user:", "{\"password\":\""] {
            for behind in ["", "\"", "\"}", "\n"] {
                let whole = [before.as_bytes(), value, behind.as_bytes()].concat();
                let text = String::from_utf8(base64(&whole, STANDARD)).unwrap();
                let is_found =
                    parts.iter().any(|part| text.contains(std::str::from_utf8(part).unwrap()));
                assert!(is_found, "{before} {behind} {text}");
            }
        }
    }
}

#[cfg(test)]
mod tokens_tests {
    use super::*;

    #[test]
    fn each_begins_with_a_letter_that_is_looked_for_and_is_found_whole() {
        assert!(TOKENS.is_sorted_by_key(|(begin, ..)| begin.as_bytes()[0]));
        for (begin, letters, least) in TOKENS {
            let letter = match letters {
                Hex => "0a1b2c3d4e5f",
                Upper => "Q2W3E4R5",
                Lower => "q2w3e4r5",
                Plain | Word => "q2W3e4R5",
            };
            let token = begin.to_owned() + &letter.repeat(10)[..least];
            assert_eq!(length(token.as_bytes()), Some(token.len()), "{begin}");
            assert_eq!(length(format!("{token} x").as_bytes()), Some(token.len()), "{begin}");
        }
    }

    #[test]
    fn words_that_begin_alike_are_no_tokens() {
        for text in [
            "key-value-store-implementation-of-many",
            "sk-learn-and-other-long-names-2",
            "npm_config_registry_and_other_things_1",
            "glow-in-the-dark",
            "hf_hub",
            "xoxo-love",
            "eyJust.a.word",
            "SKILL",
            "AKIA",
            "sk_live",
            "ghp_",
        ] {
            assert_eq!(length(text.as_bytes()), None, "{text}");
        }
    }
}
