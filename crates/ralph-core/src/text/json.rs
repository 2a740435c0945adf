//! Reads a JSON value as a type, and truncates the long strings of a JSON document while it streams through.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads a value as this type.
///
/// # Errors
/// Which member has another type, and what was expected: "`history[0].changes`: invalid type: …".
pub fn read<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_path_to_error::deserialize::<_, T>(value).map_err(|mistake| {
        match mistake.path().to_string().as_str() {
            "." => mistake.inner().to_string(),
            path => format!("`{path}`: {}", mistake.inner()),
        }
    })
}

// Truncates long strings in a JSON document while it streams through.
//
// The payload of a hook may hold megabytes of file content that no rule reads. Every string longer
// than the limit keeps its head and loses its tail; everything else passes unchanged. The result
// is the same document with shorter strings, and memory stays bounded whatever the size of the
// payload. Lone surrogates, which the client may send and a strict parser rejects, become U+FFFD,
// so that a string that does not parse cannot bypass a rule.

/// Truncates one JSON document, fed in pieces.
#[derive(Debug)]
pub struct Squeezer {
    limit: usize,
    bound: usize,
    kept: Vec<u8>,
    place: JsonPosition,
    /// Bytes of the current string kept so far.
    length: usize,
    cut: bool,
    /// A high surrogate waiting for its low half.
    high: Option<[u8; 4]>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum JsonPosition {
    Outside,
    Text,
    Escape,
    Hex { digits: [u8; 4], seen: usize },
}

/// The truncated document.
#[derive(Debug)]
pub struct Squeezed {
    pub bytes: Vec<u8>,
    /// True if any string was cut: a rule that needs the whole string must refuse.
    pub cut: bool,
    /// True if the document exceeded the bound even after truncation, and the rest was dropped.
    pub overflow: bool,
}

impl Squeezer {
    /// Keeps at most `limit` bytes of each string and `bound` bytes in total.
    pub fn new(limit: usize, bound: usize) -> Squeezer {
        Squeezer {
            limit,
            bound,
            // Most payloads fit: growing step by step costs more than reading them, and room that is not used nothing.
            kept: Vec::with_capacity(limit.min(64 << 10) + 4096),
            place: JsonPosition::Outside,
            length: 0,
            cut: false,
            high: None,
        }
    }

    /// Feeds the next piece; the document may be split anywhere.
    pub fn feed(&mut self, mut piece: &[u8]) {
        while !piece.is_empty() {
            if self.kept.len() > self.bound {
                return;
            }
            let used = match self.place {
                JsonPosition::Outside => self.outside(piece),
                JsonPosition::Text if self.length == self.limit => self.skip(piece),
                JsonPosition::Text => self.text(piece),
                JsonPosition::Escape => self.escape(piece[0]),
                JsonPosition::Hex { digits, seen } => self.hex(piece[0], digits, seen),
            };
            piece = &piece[used..];
        }
    }

    /// Returns what has been read so far.
    pub fn finish(self) -> Squeezed {
        let overflow = self.kept.len() > self.bound;
        Squeezed { bytes: self.kept, cut: self.cut, overflow }
    }

    fn outside(&mut self, piece: &[u8]) -> usize {
        let end = memchr::memchr(b'"', piece);
        let used = end.map_or(piece.len(), |at| at + 1);
        self.kept.extend_from_slice(&piece[..used]);
        if end.is_some() {
            self.place = JsonPosition::Text;
            self.length = 0;
        }
        used
    }

    fn text(&mut self, piece: &[u8]) -> usize {
        let end = memchr::memchr2(b'"', b'\\', piece).unwrap_or(piece.len());
        if end > 0 {
            self.flush_high();
            self.keep_plain(&piece[..end]);
            if self.length == self.limit {
                return end;
            }
        }
        match piece.get(end) {
            None => end,
            Some(b'"') => {
                self.flush_high();
                self.kept.push(b'"');
                self.place = JsonPosition::Outside;
                end + 1
            }
            Some(_) => {
                self.place = JsonPosition::Escape;
                end + 1
            }
        }
    }

    /// Skips the rest of a string of which nothing more is kept: most of a large payload.
    fn skip(&mut self, piece: &[u8]) -> usize {
        // A lone surrogate would have been kept as another character.
        if self.high.take().is_some() || piece[0] != b'"' {
            self.trim_half_character();
            self.close_cut();
        }
        let mut at = 0;
        while let Some(found) = memchr::memchr(b'"', &piece[at..]) {
            at += found + 1;
            if !ends_in_escape(&piece[..at - 1]) {
                self.kept.push(b'"');
                self.place = JsonPosition::Outside;
                return at;
            }
        }
        if ends_in_escape(piece) {
            self.place = JsonPosition::Escape;
        }
        piece.len()
    }

    fn escape(&mut self, letter: u8) -> usize {
        if self.length == self.limit {
            // As for `skip`, the letter alone belongs to the backslash.
            self.place = JsonPosition::Text;
            return 1;
        }
        if letter == b'u' {
            self.place = JsonPosition::Hex { digits: [0; 4], seen: 0 };
            return 1;
        }
        self.flush_high();
        self.keep(&[b'\\', letter]);
        self.place = JsonPosition::Text;
        1
    }

    fn hex(&mut self, digit: u8, mut digits: [u8; 4], seen: usize) -> usize {
        digits[seen] = digit;
        if seen < 3 {
            self.place = JsonPosition::Hex { digits, seen: seen + 1 };
            return 1;
        }
        self.place = JsonPosition::Text;
        match (Half::from_digits(digits), self.high.take()) {
            (Half::High, before) => {
                if before.is_some() {
                    self.keep("\u{fffd}".as_bytes());
                }
                self.high = Some(digits);
            }
            (Half::Low, Some(high)) => {
                let mut pair = *b"\\u....\\u....";
                pair[2..6].copy_from_slice(&high);
                pair[8..].copy_from_slice(&digits);
                self.keep(&pair);
            }
            (Half::Low, None) => self.keep("\u{fffd}".as_bytes()),
            (Half::Neither, before) => {
                if before.is_some() {
                    self.keep("\u{fffd}".as_bytes());
                }
                let mut escape = *b"\\u....";
                escape[2..].copy_from_slice(&digits);
                self.keep(&escape);
            }
        }
        1
    }

    /// Replaces a high surrogate that has no low half.
    fn flush_high(&mut self) {
        if self.high.take().is_some() {
            self.keep("\u{fffd}".as_bytes());
        }
    }

    /// Keeps as much of an escape-free run as the limit allows, in whole characters.
    fn keep_plain(&mut self, run: &[u8]) {
        let room = self.limit.saturating_sub(self.length);
        if run.len() <= room {
            self.kept.extend_from_slice(run);
            self.length += run.len();
            return;
        }
        self.kept.extend_from_slice(&run[..room]);
        self.trim_half_character();
        self.close_cut();
    }

    /// Keeps an escape or a replacement character whole, or not at all.
    fn keep(&mut self, unit: &[u8]) {
        if self.length + unit.len() > self.limit {
            self.close_cut();
        } else {
            self.kept.extend_from_slice(unit);
            self.length += unit.len();
        }
    }

    /// Drops the start of a character whose end was cut off, wherever the pieces were split.
    fn trim_half_character(&mut self) {
        let is_continuation = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
        let tail = self.kept.iter().rev().take(3).take_while(|byte| is_continuation(byte)).count();
        let lead = self.kept.len() - tail - 1;
        let whole = match self.kept[lead] {
            0b1111_0000.. => 4,
            0b1110_0000.. => 3,
            0b1100_0000.. => 2,
            _ => return,
        };
        if tail + 1 < whole {
            self.kept.truncate(lead);
        }
    }

    /// Stops keeping bytes of the current string.
    fn close_cut(&mut self) {
        self.length = self.limit;
        self.cut = true;
    }
}

/// True if a document may hold a surrogate, which only an escape can be.
pub fn may_have_surrogates(document: &[u8]) -> bool {
    memchr::memmem::find_iter(document, br"\u")
        .any(|at| matches!(document.get(at + 2), Some(b'd' | b'D')))
}

/// True if the last backslash of a text escapes what follows: two are an escaped backslash.
fn ends_in_escape(text: &[u8]) -> bool {
    text.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

enum Half {
    High,
    Low,
    Neither,
}

impl Half {
    fn from_digits(digits: [u8; 4]) -> Half {
        match (digits[0].to_ascii_lowercase(), digits[1].to_ascii_lowercase()) {
            (b'd', b'8' | b'9' | b'a' | b'b') => Half::High,
            (b'd', b'c'..=b'f') => Half::Low,
            _ => Half::Neither,
        }
    }
}

#[cfg(test)]
mod truncate_tests {
    use super::*;
    use serde_json::Value;

    /// Feeds the document in every possible pair of pieces; all results must agree.
    fn squeeze(document: &str, limit: usize) -> Squeezed {
        let whole = pieces(&[document.as_bytes()], limit);
        for at in 0..document.len() {
            let (head, tail) = document.as_bytes().split_at(at);
            let split = pieces(&[head, tail], limit);
            assert_eq!((split.bytes, split.cut), (whole.bytes.clone(), whole.cut), "split at {at}");
        }
        whole
    }

    fn pieces(pieces: &[&[u8]], limit: usize) -> Squeezed {
        let mut squeezer = Squeezer::new(limit, 1 << 20);
        for piece in pieces {
            squeezer.feed(piece);
        }
        squeezer.finish()
    }

    fn value(squeezed: &Squeezed) -> Value {
        serde_json::from_slice(&squeezed.bytes).unwrap()
    }

    #[test]
    fn a_document_of_short_strings_passes_unchanged() {
        let document = r#"{"a":"b\n\u00e9\"","n":[1,2.5,null,true],"é":"😀\ud83d\ude00"}"#;
        let squeezed = squeeze(document, 100);
        assert_eq!(squeezed.bytes, document.as_bytes());
        assert!(!squeezed.cut);
    }

    #[test]
    fn long_strings_lose_their_tail_and_what_follows_is_kept() {
        let squeezed = squeeze(r#"{"long":"abcdefgh\"ij","path":"/a"}"#, 4);
        assert!(squeezed.cut);
        assert_eq!(value(&squeezed)["long"], "abcd");
        assert_eq!(value(&squeezed)["path"], "/a");
    }

    #[test]
    fn a_cut_falls_between_characters_and_escapes() {
        let units = ["a", "é", r"\n", "b", "😀", "é", "€", r"\u00e9", r"\ud83d\ude00", "z"];
        let document = format!("[\"{}\"]", units.concat());
        let length = units.concat().len();
        for limit in 0..=length {
            let fits = |n: &usize| units[..*n].concat().len() <= limit;
            let n_kept = (0..=units.len()).rev().find(fits).unwrap();
            let squeezed = squeeze(&document, limit);
            let kept = String::from_utf8(squeezed.bytes).unwrap();
            assert_eq!(kept, format!("[\"{}\"]", units[..n_kept].concat()), "limit {limit}");
            assert_eq!(squeezed.cut, limit < length, "limit {limit}");
        }
    }

    #[test]
    fn the_end_of_a_cut_string_is_found_behind_its_escapes() {
        for tail in
            [r"", r"\\", r"\\\\", r#"\""#, r#"\\\""#, r#"\"\\"#, r#"x\"y\\\\\"\\"#, "\\u0022"]
        {
            let squeezed = squeeze(&format!(r#"{{"long":"abcdef{tail}","path":"/a"}}"#), 4);
            assert_eq!(value(&squeezed)["long"], "abcd", "{tail}");
            assert_eq!(value(&squeezed)["path"], "/a", "{tail}");
            assert!(squeezed.cut);
        }
    }

    #[test]
    fn a_lone_surrogate_becomes_a_replacement_character() {
        for (lone, expected) in [
            (r"\ud83d", "\u{fffd}"),
            (r"\ude00", "\u{fffd}"),
            (r"\ud83dx", "\u{fffd}x"),
            (r"\ud83d\n", "\u{fffd}\n"),
            (r"\ud83d\ud83d", "\u{fffd}\u{fffd}"),
            (r"\ude00\ud83d", "\u{fffd}\u{fffd}"),
            (r"\ud83d\ud83d\ude00", "\u{fffd}😀"),
            (r"\uD83D\u0041", "\u{fffd}A"),
            (r"\ue000\ud7ff", "\u{e000}\u{d7ff}"),
        ] {
            let squeezed = squeeze(&format!("[\"{lone}\"]"), 100);
            assert_eq!(value(&squeezed)[0], expected, "{lone}");
        }
    }

    #[test]
    fn a_lone_surrogate_beyond_the_limit_is_a_cut() {
        for (document, is_cut) in [
            (r#"["ab"]"#, false),
            (r#"["ab\ud83d"]"#, true),
            (r#"["ab\ud83d\ude00"]"#, true),
            (r#"["ab\ude00"]"#, true),
        ] {
            let squeezed = squeeze(document, 2);
            assert_eq!(
                (value(&squeezed)[0].as_str(), squeezed.cut),
                (Some("ab"), is_cut),
                "{document}"
            );
        }
    }

    #[test]
    fn a_document_that_is_cut_off_or_broken_does_not_depend_on_its_pieces() {
        for string in [r#"abcdef\u"#, r#"abcdef\u12"#, r#"abc\u12"x"#, r"abc\\", r#"\ud83d\ud8"#] {
            for after in ["", "\"", "x\",\"b\":\"cdefghij\"}", "\u{e9}\\\"\"]"] {
                for limit in 0..10 {
                    squeeze(&format!("{{\"a\":\"{string}{after}"), limit);
                }
            }
        }
    }

    #[test]
    fn a_document_as_large_as_the_bound_is_whole() {
        let overflows = |pieces: &[&str]| {
            let mut squeezer = Squeezer::new(10, 4);
            pieces.iter().for_each(|piece| squeezer.feed(piece.as_bytes()));
            squeezer.finish().overflow
        };
        assert!(!overflows(&["[1,2"]));
        assert!(overflows(&["[1,2]"]));
        assert!(overflows(&["[1,2", "]"]));
    }

    #[test]
    fn memory_is_bounded_even_without_strings() {
        let mut squeezer = Squeezer::new(10, 1000);
        for _ in 0..1000 {
            squeezer.feed(b"[1,2,3,4],[1,2,3,4],[1,2,3,4]");
        }
        let squeezed = squeezer.finish();
        assert!(squeezed.overflow);
        assert!(squeezed.bytes.len() < 1100);
    }

    #[test]
    fn a_document_with_an_escape_of_a_surrogate_is_told_from_others() {
        for (document, expected) in [
            (r"a", false),
            (r"\u00e9", false),
            (r"\ud83d", true),
            (r"\uD83D", true),
            (r"\u00e9 \uDC00", true),
            (r"ud83d", false),
            (r"\u", false),
        ] {
            assert_eq!(may_have_surrogates(document.as_bytes()), expected, "{document}");
        }
    }
}
