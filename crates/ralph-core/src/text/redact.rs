//! Redacts secrets in a stream of bytes: the values of secret environment variables, also when
//! encoded, wrapped or coloured, and anything with the shape of a secret.
//!
//! The cost is linear in the length of the stream. At most 128 KiB are held back.

mod assigned;
mod encoded;
mod shapes;
mod tokens;
mod values;

use memchr::memmem::Finder;
use values::Values;

/// Bytes held back before the search for shapes, so that a whole private key is in view.
const BLOCK: usize = 128 << 10;

/// Bytes of lookahead needed to decide on a position.
const AHEAD: usize = 16 << 10;

/// A shorter value, once encoded or wrapped, appears in too many innocent places.
const SHORTEST_ENCODED: usize = 8;

/// Redacts one stream, fed in pieces.
#[derive(Debug)]
pub struct Redactor {
    values: Values,
    between: Vec<u8>,
    shapes: Shapes,
}

impl Redactor {
    /// Replaces each value by `[redacted NAME]`, and anything with the shape of a secret by
    /// `[redacted]`. Ignores empty values.
    pub fn new<'a>(secrets: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Redactor {
        let secrets: Vec<(&str, &[u8])> = secrets.into_iter().collect();
        let parts = secrets.iter().flat_map(|(name, value)| {
            encoded::parts(value).into_iter().map(move |part| (*name, part))
        });
        let parts: Vec<(&str, Vec<u8>)> = parts.collect();
        let whole = secrets.iter().map(|(name, value)| (*name, *value));
        let split = parts.iter().map(|(name, part)| (*name, &part[..]));
        let needles = secrets.iter().filter(|(_, value)| value.len() >= SHORTEST_ENCODED);
        let needles = needles.map(|(name, value)| Needle {
            finder: Finder::new(*value).into_owned(),
            mark: format!("[redacted {name}]").into_bytes(),
        });
        let wrapped = parts.iter().map(|(name, part)| Needle {
            finder: Finder::new(&part[..]).into_owned(),
            mark: format!("[redacted {name}]").into_bytes(),
        });
        Redactor {
            values: Values::new(whole.chain(split)),
            between: Vec::new(),
            shapes: Shapes {
                needles: needles.chain(wrapped).collect(),
                held: Vec::new(),
                covered: 0,
                before: b'\n',
            },
        }
    }

    /// Feeds the next piece; appends to `out` the bytes that cannot belong to a secret.
    pub fn feed(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        self.values.feed(piece, &mut self.between);
        self.shapes.feed(&self.between, out);
        self.between.clear();
    }

    /// Ends the stream and appends the bytes that were held back.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.values.finish(&mut self.between);
        self.shapes.feed(&self.between, out);
        self.between.clear();
        self.shapes.finish(out);
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

/// A range to replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    /// Where the text that identifies the secret begins (a name before the value, for example).
    known_from: usize,
    start: usize,
    end: usize,
    /// The needle that was found; `None` for a shape.
    needle: Option<usize>,
}

#[derive(Debug)]
struct Needle {
    finder: Finder<'static>,
    mark: Vec<u8>,
}

#[derive(Debug)]
struct Shapes {
    needles: Vec<Needle>,
    held: Vec<u8>,
    /// Bytes of `held` that belong to a secret already replaced.
    covered: usize,
    /// The byte before `held`.
    before: u8,
}

impl Shapes {
    fn feed(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        let mut rest = piece;
        while !rest.is_empty() {
            let room = BLOCK.saturating_sub(self.held.len()).max(1).min(rest.len());
            self.held.extend_from_slice(&rest[..room]);
            rest = &rest[room..];
            if self.held.len() >= BLOCK {
                let limit = self.held.len() - AHEAD;
                let line = memchr::memrchr(b'\n', &self.held[..limit]).map_or(limit, |at| at + 1);
                self.decide(line, out);
            }
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        self.decide(self.held.len(), out);
    }

    fn decide(&mut self, limit: usize, out: &mut Vec<u8>) {
        let mut done = self.covered;
        for span in self.found() {
            if span.known_from >= limit || span.end <= done {
                continue;
            }
            if span.start >= done {
                out.extend_from_slice(&self.held[done..span.start]);
                match span.needle {
                    Some(at) => out.extend_from_slice(&self.needles[at].mark),
                    None => out.extend_from_slice(b"[redacted]"),
                }
            }
            done = span.end;
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

    fn found(&self) -> Vec<Span> {
        let mut spans = match memchr::memchr(0x1b, &self.held) {
            None => shapes::find(&self.held, self.before),
            Some(_) => {
                let (text, places) = without(&self.held, Without::Escapes);
                let spans = shapes::find(&text, self.before).into_iter();
                spans.map(|span| back(span, &places)).collect()
            }
        };
        if !self.needles.is_empty() {
            let (text, places) = without(&self.held, Without::EscapesAndBreaks);
            for (at, needle) in self.needles.iter().enumerate() {
                let length = needle.finder.needle().len();
                spans.extend(needle.finder.find_iter(&text).map(|start| {
                    let span =
                        Span { known_from: start, start, end: start + length, needle: Some(at) };
                    back(span, &places)
                }));
            }
        }
        spans.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
        spans
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Without {
    Escapes,
    EscapesAndBreaks,
}

/// Returns the text without colours or line wraps, and the original position of each byte.
fn without(held: &[u8], what: Without) -> (Vec<u8>, Vec<u32>) {
    let mut text = Vec::with_capacity(held.len());
    let mut places = Vec::with_capacity(held.len());
    let mut at = 0;
    while let Some(byte) = held.get(at) {
        match byte {
            0x1b => {
                at += escape(&held[at..]);
                continue;
            }
            b'\n' | b'\r' if what == Without::EscapesAndBreaks => {}
            byte => {
                text.push(*byte);
                // Cannot truncate: a block is far smaller than `u32::MAX`.
                places.push(at as u32);
            }
        }
        at += 1;
    }
    (text, places)
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

fn back(span: Span, places: &[u32]) -> Span {
    let place = |at: usize| places.get(at).map_or(0, |place| *place as usize);
    let end = span.end.checked_sub(1).map_or(0, |last| place(last) + 1);
    Span { known_from: place(span.known_from), start: place(span.start), end, ..span }
}

#[cfg(test)]
mod tests;
