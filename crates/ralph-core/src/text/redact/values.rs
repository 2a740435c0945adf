//! Takes known values out of a stream of bytes.
//!
//! A value may be split over any number of pieces, so the last few bytes are always held back until
//! it is known that no value starts in them; what is held back is shorter than the longest value.

use memchr::memmem::Finder;
use std::cmp::Reverse;

/// A stream on its way from a command to a file.
#[derive(Debug)]
pub(super) struct Values {
    values: Vec<SecretValue>,
    /// Longest value less one byte: how much must be seen after a byte to decide on it.
    ahead: usize,
    /// What was seen and not yet decided on.
    held: Vec<u8>,
    /// How many bytes of `held` belong to a value that was already replaced.
    covered: usize,
}

#[derive(Debug)]
struct SecretValue {
    finder: Finder<'static>,
    /// What takes its place.
    mark: Vec<u8>,
}

impl Values {
    /// Replaces each value by `[redacted NAME]`. An empty value is ignored.
    pub(super) fn new<'a>(secrets: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Values {
        let secrets = secrets.into_iter().filter(|(_, value)| !value.is_empty());
        let values: Vec<SecretValue> = secrets
            .map(|(name, value)| SecretValue {
                finder: Finder::new(value).into_owned(),
                mark: format!("[redacted {name}]").into_bytes(),
            })
            .collect();
        let longest = values.iter().map(|value| value.finder.needle().len()).max();
        Values { ahead: longest.unwrap_or(1) - 1, values, held: Vec::new(), covered: 0 }
    }

    /// Takes the next piece; appends to `out` what is known to be no part of a value.
    pub(super) fn feed(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        if self.values.is_empty() {
            return out.extend_from_slice(piece);
        }
        self.held.extend_from_slice(piece);
        self.decide(self.held.len().saturating_sub(self.ahead), out);
    }

    /// Gives out what was still held back. The stream is over.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        self.decide(self.held.len(), out);
    }

    /// Gives out the bytes before `limit`, in which every value that starts there is seen whole.
    fn decide(&mut self, limit: usize, out: &mut Vec<u8>) {
        let mut done = self.covered;
        for (start, value) in self.found(limit) {
            // Where two values overlap, one mark stands for both.
            if start >= done {
                out.extend_from_slice(&self.held[done..start]);
                out.extend_from_slice(&value.mark);
            }
            done = done.max(start + value.finder.needle().len());
        }
        if done < limit {
            out.extend_from_slice(&self.held[done..limit]);
            done = limit;
        }
        self.held.drain(..limit);
        self.covered = done - limit;
    }

    /// Every value that starts before `limit`, by its place, the longest first.
    fn found(&self, limit: usize) -> Vec<(usize, &SecretValue)> {
        let places = |value| starts(value, &self.held, limit).map(move |start| (start, value));
        let mut found: Vec<(usize, &SecretValue)> = self.values.iter().flat_map(places).collect();
        found.sort_by_key(|(start, value)| (*start, Reverse(value.finder.needle().len())));
        found
    }
}

/// Also those that overlap each other: of `ababa` no part may stay where `aba` is the value, and
/// how the stream was cut must not decide it.
fn starts(value: &SecretValue, held: &[u8], limit: usize) -> impl Iterator<Item = usize> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + value.finder.find(held.get(from..)?)?;
        from = start + 1;
        (start < limit).then_some(start)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRETS: [(&str, &[u8]); 3] =
        [("API_KEY", b"abcdef"), ("B_TOKEN", b"defghi"), ("LONG_SECRET", b"abcdefxyz")];

    /// Whatever the size of the pieces, the stream comes out the same.
    #[track_caller]
    fn check(stream: &str, expected: &str) {
        for size in 1..=stream.len().max(1) {
            let mut redactor = Values::new(SECRETS);
            let mut out = Vec::new();
            for piece in stream.as_bytes().chunks(size) {
                redactor.feed(piece, &mut out);
                assert!(redactor.held.len() < 9, "{} bytes are held", redactor.held.len());
            }
            redactor.finish(&mut out);
            assert_eq!(String::from_utf8_lossy(&out), expected, "in pieces of {size}");
        }
    }

    #[test]
    fn a_value_is_replaced_wherever_it_is_cut() {
        check("", "");
        check("nothing here", "nothing here");
        check("abcdef", "[redacted API_KEY]");
        check("x=abcdef;", "x=[redacted API_KEY];");
        check("abcdefabcdef", "[redacted API_KEY][redacted API_KEY]");
        check("abcde abcdeabcdef abcde", "abcde abcde[redacted API_KEY] abcde");
    }

    #[test]
    fn the_longest_value_gives_the_name() {
        check("-abcdefxyz-", "-[redacted LONG_SECRET]-");
    }

    #[test]
    fn of_two_values_that_overlap_nothing_is_left() {
        check("-abcdefghi-", "-[redacted API_KEY]-");
    }

    #[test]
    fn of_a_value_that_overlaps_itself_nothing_is_left() {
        for size in 1..=7 {
            let mut redactor = Values::new([("A_KEY", &b"aba"[..])]);
            let mut out = Vec::new();
            b"-ababa-".chunks(size).for_each(|piece| redactor.feed(piece, &mut out));
            redactor.finish(&mut out);
            assert_eq!(String::from_utf8_lossy(&out), "-[redacted A_KEY]-", "in pieces of {size}");
        }
    }

    #[test]
    fn without_secrets_every_byte_passes_at_once() {
        let mut redactor = Values::new([("EMPTY_KEY", &b""[..])]);
        let mut out = Vec::new();
        redactor.feed(b"abc", &mut out);
        assert_eq!(out, b"abc");
    }
}
