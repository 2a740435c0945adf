//! Wraps text at whole words.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Returns lines of at most `others` columns, the first of at most `first`. A wider word gets its
/// own line, and a command between backticks is one word, so that it can be copied.
pub fn wrap(text: &str, first: usize, others: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words(text) {
        let room = if lines.len() < 2 { first } else { others };
        match lines.last_mut() {
            Some(last) if last.width() + 1 + word.width() <= room => {
                last.push(' ');
                last.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// The columns that the text takes on a terminal.
pub fn columns(text: &str) -> usize {
    text.width()
}

/// The beginning of the text in at most `columns` columns.
pub fn cut(text: &str, columns: usize) -> String {
    const MORE: &str = "...";
    if text.width() <= columns {
        return text.to_owned();
    }
    let more = if columns > MORE.len() { MORE } else { "" };
    let mut kept = String::new();
    let mut left = columns - more.len();
    for letter in text.chars() {
        let wide = letter.width().unwrap_or(0);
        if wide > left {
            break;
        }
        left -= wide;
        kept.push(letter);
    }
    kept.trim_end().to_owned() + more
}

fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    // A backtick that nothing closes begins no command.
    let mut ahead = text.matches('`').count();
    for word in text.split_whitespace() {
        let closes = ahead > 0;
        ahead -= word.matches('`').count();
        match words.last_mut() {
            Some(last) if closes && last.matches('`').count() % 2 == 1 => {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_goes_on_below_in_whole_words() {
        let lines = wrap(&"word ".repeat(40), 66, 74);
        assert!(
            lines[0].len() <= 66 && lines[1..].iter().all(|line| line.len() <= 74),
            "{lines:?}"
        );
        assert!(lines[1].len() > 66, "{lines:?}");
        assert_eq!(wrap(&"x".repeat(200), 66, 74), ["x".repeat(200)]);
        assert_eq!(wrap("漢字 漢字", 6, 6), ["漢字", "漢字"], "each letter is two columns wide");
        assert!(wrap(" ", 9, 9).is_empty());
    }

    #[test]
    fn a_command_is_never_broken() {
        let command = format!("`ralph {}`", "word ".repeat(30).trim());
        assert_eq!(wrap(&format!("see {command}"), 80, 78), ["see", &command]);
    }

    #[test]
    fn a_backtick_without_another_begins_no_command() {
        assert_eq!(wrap("a `b c d", 4, 4), ["a `b", "c d"]);
        assert_eq!(wrap("`a b` c `d e", 5, 5), ["`a b`", "c `d", "e"]);
    }

    #[test]
    fn a_text_that_is_too_wide_is_cut_in_columns() {
        for (text, columns, expected) in [
            ("abcd", 4, "abcd"),
            ("abcde", 4, "a..."),
            ("abcd", 3, "abc"),
            ("abcde", 5, "abcde"),
            ("abcdef", 5, "ab..."),
            ("ab  cdef", 6, "ab..."),
            ("abcd", 0, ""),
            ("漢字漢字", 8, "漢字漢字"),
            ("漢字漢字", 7, "漢字..."),
            ("漢字漢字", 6, "漢..."),
            ("漢字漢字", 3, "漢"),
        ] {
            assert_eq!(cut(text, columns), expected, "{text} in {columns}");
        }
        assert_eq!([columns(""), columns("ab"), columns("漢x")], [0, 2, 3]);
    }

    #[test]
    fn the_first_line_may_have_another_width_than_the_others() {
        assert_eq!(wrap("aa bb cc dd", 5, 8), ["aa bb", "cc dd"]);
        assert_eq!(wrap("aa bb cc dd", 8, 2), ["aa bb cc", "dd"]);
        assert_eq!(wrap("aa bb cc dd ee", 2, 5), ["aa", "bb cc", "dd ee"]);
    }
}
