//! Text and numbers for a report: visible, bounded, in readable units.

pub(super) use crate::text::plural::{counted, grouped, rounded};
use crate::text::truncate::bounded;
use crate::text::{plural, sanitize};
use jiff::Timestamp;

/// Maximum length of a name or a short sentence, in characters.
pub(super) const SHORT: usize = 160;

/// Maximum length of a sentence or a command.
pub(super) const LONG: usize = 400;

/// Maximum length of a text of several lines.
pub(super) const TEXT: usize = 1_600;

/// The text on one line, at most `most` characters; acting characters become visible.
pub(super) fn line(text: &str, most: usize) -> String {
    let mut kept = String::new();
    // A huge text costs no more than the part that is shown.
    for word in text.split_whitespace() {
        if !kept.is_empty() {
            kept.push(' ');
        }
        kept.extend(word.chars().take(most + 1));
        if kept.chars().count() > most {
            break;
        }
    }
    bounded(&sanitize::visible(&kept), most)
}

/// The text with its line breaks, at most `most` characters; acting characters become visible.
pub(super) fn block(text: &str, most: usize) -> String {
    let end = text.char_indices().nth(most + 1).map_or(text.len(), |(end, _)| end);
    let begun = text[..end].replace('\t', "    ").replace("\r\n", "\n");
    bounded(sanitize::visible(&begun).trim_end(), most)
}

/// `8 ms`, `40 s`, `12 min`, `7 h 5 min`, `8 h`.
pub(super) fn lasted(milliseconds: u64) -> String {
    match milliseconds {
        0..1_000 => format!("{milliseconds} ms"),
        _ => plural::lasted((milliseconds / 1_000).cast_signed()),
    }
}

/// Milliseconds between two times; 0 if the clock went back.
pub(super) fn between(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.duration_since(from).as_millis()).unwrap_or_default()
}

/// The share of the whole, in percent.
pub(super) fn share(part: u64, whole: u64) -> u8 {
    let hundredths = u128::from(part) * 100 / u128::from(whole.max(1));
    u8::try_from(hundredths.min(100)).unwrap_or(100)
}

/// A keyword as people write it: `complete unverified` for `complete_unverified`.
pub(super) fn spaced(word: &str) -> String {
    line(&word.replace('_', " "), SHORT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_visible_and_bounded_whatever_it_is() {
        assert_eq!(line(" a\n\tb  c ", 10), "a b c");
        assert_eq!(line("abcdef", 4), "abc…");
        assert_eq!(line("\u{1b}[2J\u{202e}x", 40), "\\u{1b}[2J\\u{202e}x");
        let huge = "x y\u{7} ".repeat(1 << 20);
        assert_eq!(line(&huge, 50).chars().count(), 50);
        assert_eq!(block(&huge, 50).chars().count(), 50);
        assert_eq!(line(&"x".repeat(1 << 20), 50).chars().count(), 50);
        assert_eq!(block("a\r\n\tb\n\n", 50), "a\n    b");
        assert!(!block("a\rb", 50).contains('\r'));
    }

    #[test]
    fn numbers_are_read_at_a_glance() {
        assert_eq!([0, 999, 1_000, 5_000_000].map(grouped), ["0", "999", "1,000", "5,000,000"]);
        let told = [8, 40_000, 720_000, 25_500_000, 28_800_000].map(lasted);
        assert_eq!(told, ["8 ms", "40 s", "12 min", "7 h 5 min", "8 h"]);
        assert_eq!(
            [share(1, 3), share(9, 3), share(1, 0), share(u64::MAX, 2)],
            [33, 100, 100, 100]
        );
    }

    #[test]
    fn a_text_as_long_as_the_bound_stays_whole() {
        assert_eq!([line("abcd", 4), line("abcde", 4)], ["abcd", "abc…"]);
        assert_eq!(line("abcd e", 4), "abc…");
        assert_eq!([line("ab d", 4), line("ab de", 4)], ["ab d", "ab …"]);
        assert_eq!([block("abcd", 4), block("abcde", 4)], ["abcd", "abc…"]);
        assert_eq!(block("ab\nd\n\n", 4), "ab\nd");
        assert_eq!(spaced("not_run"), "not run");
        assert_eq!(
            [0, 999, 1_000, 59_999, 60_000].map(lasted),
            ["0 ms", "999 ms", "1 s", "59 s", "1 min"]
        );
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!((between(at(1), at(3)), between(at(3), at(1))), (2_000, 0));
    }
}
