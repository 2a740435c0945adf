//! How the repository's own text is shown: quoted, on one line, and with nothing in it that acts.

use crate::plain;
use crate::reply::bounded;
use std::fmt::Write;

/// The longest name or value that is shown, in UTF-16 units.
const LONGEST: usize = 120;

/// A name or a value in quotes. Line ends and other control characters are written out or, where
/// they are part of an escape sequence, gone; it is cut where it is long.
pub fn quoted(text: &str) -> String {
    // No more is looked at than could be shown.
    let head: String = text.chars().take(4 * LONGEST).collect();
    let mut shown = String::with_capacity(head.len() + 2);
    for letter in plain::plain(&head).trim().chars() {
        match letter {
            '"' | '\\' => shown.extend(['\\', letter]),
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            letter => shown.push(letter),
        }
    }
    format!("\"{}\"", bounded(&shown, LONGEST))
}

/// Several of them with commas between: at most `most`, and then how many more there are.
pub fn list<'a>(texts: impl IntoIterator<Item = &'a str>, most: usize) -> String {
    let texts: Vec<&str> = texts.into_iter().collect();
    let mut shown: Vec<String> = texts.iter().take(most).map(|text| quoted(text)).collect();
    if texts.len() > most {
        shown.push(format!("and {} more", texts.len() - most));
    }
    shown.join(", ")
}

/// Pairs such as scripts with their commands: at most `most`, and then the names of the others.
pub fn pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>, most: usize) -> Vec<String> {
    let pairs: Vec<(&str, &str)> = pairs.into_iter().collect();
    let mut lines: Vec<String> = pairs
        .iter()
        .take(most)
        .map(|(name, value)| format!("{}: {}", quoted(name), quoted(value)))
        .collect();
    if let Some(others) = pairs.get(most..).filter(|others| !others.is_empty()) {
        let mut line = "also ".to_owned();
        let _ = write!(line, "{}", list(others.iter().map(|(name, _)| *name), 20));
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(quoted(text), expected);
    }

    #[test]
    fn what_acts_is_gone_and_what_ends_a_line_or_a_quote_is_written_out() {
        check("a b", r#""a b""#);
        check("a\"b\\c", r#""a\"b\\c""#);
        check("two\nlines\tand", r#""two\nlines\tand""#);
        check("\u{1b}[2J\u{1b}]0;x\u{7}red\u{202e}\u{0}", r#""red""#);
    }

    #[test]
    fn a_long_one_is_cut_and_a_list_says_how_many_more_there_are() {
        assert_eq!(quoted(&"x".repeat(1_000_000)).chars().count(), LONGEST + 2);
        assert_eq!(list(["a", "b", "c"], 2), r#""a", "b", and 1 more"#);
        assert_eq!(list(["a"], 2), r#""a""#);
        assert_eq!(
            pairs([("a", "1"), ("b", "2"), ("c", "3")], 1),
            [r#""a": "1""#, r#"also "b", "c""#]
        );
    }
}
