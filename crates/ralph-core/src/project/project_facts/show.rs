//! Shows the repository's own text: quoted, on one line, and without control characters.

use crate::text::truncate::bounded;
use crate::text::{sanitize, secrets};

/// Length limit of a name or a value, in UTF-16 units.
const LONGEST: usize = 120;

/// Length limit of a list, so that long names leave space for the lines after it.
const LONGEST_LIST: usize = 480;

/// Length limit of all pairs together.
const LONGEST_PAIRS: usize = 700;

/// Quotes a name or a value. Newlines and other control characters are escaped, or removed if they
/// belong to an escape sequence. Secrets are redacted, and a long text is truncated.
pub fn quoted(text: &str) -> String {
    // Reads no more than could be shown.
    let head: String = text.chars().take(4 * LONGEST).collect();
    let mut shown = String::with_capacity(head.len() + 2);
    for letter in secrets::by_shape(sanitize::plain(&head).trim()).chars() {
        match letter {
            '"' | '\\' => shown.extend(['\\', letter]),
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            letter => shown.push(letter),
        }
    }
    format!("\"{}\"", bounded(&shown, LONGEST))
}

/// The start of a text that will be quoted together with others. Secrets are redacted before it is
/// cut, because the cut may make a token too short to be recognised.
pub fn short(text: &str, most: usize) -> String {
    let head: String = text.chars().take(4 * LONGEST).collect();
    bounded(secrets::by_shape(&sanitize::plain(&head)).trim(), most)
}

/// Joins quoted texts with commas: at most `most`, then how many more there are.
pub fn list<'a>(texts: impl IntoIterator<Item = &'a str>, most: usize) -> String {
    let texts: Vec<&str> = texts.into_iter().collect();
    let quoted = texts.iter().take(most).map(|text| quoted(text));
    let mut shown = within(quoted, LONGEST_LIST);
    if texts.len() > shown.len() {
        shown.push(format!("and {} more", texts.len() - shown.len()));
    }
    shown.join(", ")
}

/// A list behind its label; `None` without texts.
pub fn labelled<'a>(
    label: &str,
    texts: impl IntoIterator<Item = &'a str>,
    most: usize,
) -> Option<String> {
    let shown = list(texts, most);
    (!shown.is_empty()).then(|| format!("{label}{shown}"))
}

/// Pairs such as scripts with their commands: at most `most`, then the names of the others.
pub fn pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>, most: usize) -> Vec<String> {
    let pairs: Vec<(&str, &str)> = pairs.into_iter().collect();
    let quoted = pairs.iter().map(|(name, value)| format!("{}: {}", quoted(name), quoted(value)));
    let mut lines = within(quoted.take(most), LONGEST_PAIRS);
    if let Some(others) = pairs.get(lines.len()..).filter(|others| !others.is_empty()) {
        lines.push(format!("also {}", list(others.iter().map(|(name, _)| *name), 20)));
    }
    lines
}

/// The first texts whose total length is at most this many UTF-16 units.
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
    fn no_token_is_shown_even_where_its_end_is_cut_off() {
        let token = ["ghp", "_q1W2e3R4t5Y6u7I8o9P0a1S2d3F4g5H6j7K8"].concat();
        check(&format!("https://{token}@example.com"), "\"https://[redacted]@example.com\"");
        check(&format!("https://{token}{}@example.com", "x".repeat(600)), "\"https://[redacted]\"");
        assert_eq!(short(&format!("get https://{token}@example.com"), 20), "get https://[redact…");
    }
}
