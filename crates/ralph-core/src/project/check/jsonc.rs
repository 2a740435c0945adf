//! JSON with comments and trailing commas, made into JSON.
//!
//! What is taken out is replaced by spaces, so that a line and a column in what comes out are the
//! same in what went in.

use serde_json::Value;

/// The document; none if it is not JSON with comments.
pub fn read(text: &str) -> Option<Value> {
    serde_json::from_str(&plain(text)).ok()
}

/// The same text as plain JSON: comments, trailing commas and a byte order mark are spaces.
pub fn plain(text: &str) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    if letters.first() == Some(&'\u{feff}') {
        letters[0] = ' ';
    }
    let mut at = 0;
    // A comma that nothing but space has followed so far.
    let mut comma = None;
    while at < letters.len() {
        let end = end_of_token(&letters, at);
        match (letters[at], letters.get(at + 1)) {
            ('/', Some('/' | '*')) => blank(&mut letters[at..end]),
            (',', _) => comma = Some(at),
            ('}' | ']', _) => {
                if let Some(comma) = comma.take() {
                    letters[comma] = ' ';
                }
            }
            (letter, _) if letter.is_whitespace() => {}
            _ => comma = None,
        }
        at = end;
    }
    letters.into_iter().collect()
}

/// Where the string, the comment or the single letter that starts here ends.
fn end_of_token(letters: &[char], start: usize) -> usize {
    let rest = &letters[start..];
    let length = match rest {
        ['"', ..] => end_of_string(rest),
        ['/', '/', ..] => rest.iter().position(|letter| *letter == '\n'),
        ['/', '*', after @ ..] => {
            after.windows(2).position(|pair| pair == ['*', '/']).map(|at| at + 4)
        }
        _ => Some(1),
    };
    length.map_or(letters.len(), |length| start + length)
}

fn end_of_string(letters: &[char]) -> Option<usize> {
    let mut at = 1;
    loop {
        match letters.get(at)? {
            '"' => return Some(at + 1),
            '\\' => at += 2,
            _ => at += 1,
        }
    }
}

fn blank(letters: &mut [char]) {
    for letter in letters.iter_mut().filter(|letter| !letter.is_whitespace()) {
        *letter = ' ';
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(plain(text), expected);
    }

    #[test]
    fn comments_become_spaces_and_lines_stay() {
        check("{ // a\n}", "{     \n}");
        check("[/* 1\n2 */3]", "[    \n    3]");
        check("[1] // at the end", "[1]              ");
        check("[/**/1]", "[    1]");
        check("[/*/ 1 */2]", "[        2]");
    }

    #[test]
    fn a_comma_before_a_bracket_becomes_a_space() {
        check("[1, ]", "[1  ]");
        check("{\"a\": 1, // why\n}", "{\"a\": 1        \n}");
        check("[1, 2]", "[1, 2]");
        check("[1,[2],]", "[1,[2] ]");
        check("[\",]\"]", "[\",]\"]");
    }

    #[test]
    fn nothing_within_a_string_is_touched() {
        check(
            r#"["http://a", "/* b */", "\"//", "\\"]//"#,
            r#"["http://a", "/* b */", "\"//", "\\"]  "#,
        );
    }

    #[test]
    fn what_is_not_json_stays_so() {
        for text in ["{ /* open", "[\"open", "[\"open\\", "[1] / 2", "[,]x", "/", "[1,,]"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_left_out() {
        assert_eq!(read("\u{feff}[1]"), Some(serde_json::json!([1])));
    }
}
