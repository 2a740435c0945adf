//! Redacts known values in a stream of bytes.
//!
//! A value may be split over any number of pieces, so the last few bytes are held back until no
//! value can start in them. Fewer bytes are held back than the longest value has.

use memchr::memmem::Finder;
use std::cmp::Reverse;

/// Redacts one stream, fed in pieces.
#[derive(Debug)]
pub(super) struct Values {
    values: Vec<SecretValue>,
    /// Length of the longest value minus one: how far to look ahead to decide on a byte.
    ahead: usize,
    /// Bytes read but not yet decided on.
    held: Vec<u8>,
    /// Bytes of `held` that belong to a value already replaced.
    covered: usize,
}

#[derive(Debug)]
struct SecretValue {
    finder: Finder<'static>,
    /// The replacement text.
    mark: Vec<u8>,
}

impl Values {
    /// Replaces each value by `[redacted NAME]`. Ignores empty values.
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

    /// Feeds the next piece; appends to `out` the bytes that cannot belong to a value.
    pub(super) fn feed(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        if self.values.is_empty() {
            return out.extend_from_slice(piece);
        }
        self.held.extend_from_slice(piece);
        self.decide(self.held.len().saturating_sub(self.ahead), out);
    }

    /// Ends the stream and appends the bytes that were held back.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        self.decide(self.held.len(), out);
    }

    /// Releases the bytes before `limit`; every value that starts there is entirely in view.
    fn decide(&mut self, limit: usize, out: &mut Vec<u8>) {
        let mut done = self.covered;
        for (start, value) in self.found(limit) {
            // One mark replaces two values that overlap.
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

    /// Every value that starts before `limit`, by position, longest first.
    fn found(&self, limit: usize) -> Vec<(usize, &SecretValue)> {
        let places = |value| starts(value, &self.held, limit).map(move |start| (start, value));
        let mut found: Vec<(usize, &SecretValue)> = self.values.iter().flat_map(places).collect();
        found.sort_by_key(|(start, value)| (*start, Reverse(value.finder.needle().len())));
        found
    }
}

/// Includes matches that overlap each other: if the value is `aba`, no part of `ababa` may remain,
/// and the split of the stream must not matter.
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

    /// The result must not depend on the size of the pieces.
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
