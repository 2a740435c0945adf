//! How the repository's own text is shown: quoted, on one line, and with nothing in it that acts.

use super::hide;
use crate::protocol::reply::bounded;
use crate::text::sanitize;

/// The longest name or value that is shown, in UTF-16 units.
const LONGEST: usize = 120;

/// The longest list, so that one of long names leaves room for the lines after it.
const LONGEST_LIST: usize = 480;

/// The longest that pairs are together.
const LONGEST_PAIRS: usize = 700;

/// A name or a value in quotes. Line ends and other control characters are written out or, where
/// they are part of an escape sequence, gone; so are passwords and the values of variables. It is
/// cut where it is long.
pub fn quoted(text: &str) -> String {
    // No more is looked at than could be shown.
    let mut head: String = text.chars().take(4 * LONGEST).collect();
    if head.len() < text.len() {
        // What ends a password may be behind the cut.
        let address = head.rfind("://").filter(|at| !head[*at..].contains(char::is_whitespace));
        head.truncate(address.unwrap_or(head.len()));
    }
    let mut shown = String::with_capacity(head.len() + 2);
    for letter in hide::secrets(sanitize::plain(&head).trim()).chars() {
        match letter {
            '"' | '\\' => shown.extend(['\\', letter]),
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            letter => shown.push(letter),
        }
    }
    format!("\"{}\"", bounded(&shown, LONGEST))
}

/// The beginning of a text that is to be quoted together with others. It is cut only after what
/// is not for others was taken out: the cut may be where a password ends.
pub fn short(text: &str, most: usize) -> String {
    let head: String = text.chars().take(4 * LONGEST).collect();
    bounded(hide::secrets(&sanitize::plain(&head)).trim(), most)
}

/// Several of them with commas between: at most `most`, and then how many more there are.
pub fn list<'a>(texts: impl IntoIterator<Item = &'a str>, most: usize) -> String {
    let texts: Vec<&str> = texts.into_iter().collect();
    let quoted = texts.iter().take(most).map(|text| quoted(text));
    let mut shown = within(quoted, LONGEST_LIST);
    if texts.len() > shown.len() {
        shown.push(format!("and {} more", texts.len() - shown.len()));
    }
    shown.join(", ")
}

/// Pairs such as scripts with their commands: at most `most`, and then the names of the others.
pub fn pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>, most: usize) -> Vec<String> {
    let pairs: Vec<(&str, &str)> = pairs.into_iter().collect();
    let quoted = pairs.iter().map(|(name, value)| format!("{}: {}", quoted(name), quoted(value)));
    let mut lines = within(quoted.take(most), LONGEST_PAIRS);
    if let Some(others) = pairs.get(lines.len()..).filter(|others| !others.is_empty()) {
        lines.push(format!("also {}", list(others.iter().map(|(name, _)| *name), 20)));
    }
    lines
}

/// The first of them that are together no longer than so many UTF-16 units.
fn within(texts: impl Iterator<Item = String>, most: usize) -> Vec<String> {
    let mut units = 0;
    texts
        .take_while(|text| {
            units += text.encode_utf16().count() + 2;
            units <= most
        })
        .collect()
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

    #[test]
    fn a_list_of_long_names_leaves_room_for_others() {
        let long = "x".repeat(100);
        let listed = list([long.as_str(); 12], 12);
        assert!(listed.ends_with("xxx\", and 8 more"), "{listed}");
        let lines = pairs([("name", long.as_str()); 12], 12);
        assert_eq!((lines.len(), &lines[6][..13]), (7, "also \"name\", "));
    }

    #[test]
    fn no_password_is_shown_even_where_what_ends_it_is_cut_off() {
        check("https://me:pw@example.com", "\"https://example.com\"");
        check(&format!("https://me:{}@example.com", "x".repeat(600)), "\"https\"");
        assert_eq!(short("get https://me:hunter2@example.com", 20), "get https://example…");
    }
}
