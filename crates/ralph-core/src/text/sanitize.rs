//! Turns program output into plain text for people, the model and documents.
//!
//! A program may print anything: escape sequences that move the cursor, bytes that are not text, a
//! progress bar that overwrites itself. Only characters and line ends remain.

use std::borrow::Cow;

/// True for a character that acts on the terminal or on the text around it: control characters,
/// bidirectional marks, and zero-width characters, which can carry text to the model that a person
/// cannot see.
pub fn acts(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// Quick check: true if every byte is printable ASCII or a line feed. False for any character
/// beyond ASCII, even a harmless one. A list of ten thousand tasks is a megabyte of such text.
pub fn is_quiet(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n'))
}

/// Makes every acting character visible, as in `\u{1b}`. Keeps line feeds and tabs.
pub fn visible(text: &str) -> Cow<'_, str> {
    let is_shown = |letter: char| acts(letter) && !matches!(letter, '\n' | '\t');
    if is_quiet(text) || !text.contains(is_shown) {
        return Cow::from(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match is_shown(letter) {
            true => shown.extend(letter.escape_default()),
            false => shown.push(letter),
        }
    }
    Cow::from(shown)
}

/// Returns the last `letters` characters, without escape sequences and control characters.
pub fn end_of(output: &[u8], letters: usize) -> String {
    let text = plain(&String::from_utf8_lossy(output));
    let text = text.trim_end();
    let length = text.chars().count();
    text.chars().skip(length.saturating_sub(letters)).collect()
}

/// Removes escape sequences and control characters; keeps line ends and tabs.
pub(crate) fn plain(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(letter) = rest.next() {
        match letter {
            '\u{1b}' => skip_escape(&mut rest),
            // Separates a line that is overwritten from the next one.
            '\r' if rest.peek() == Some(&'\n') => {}
            '\r' => kept.push('\n'),
            '\n' | '\t' => kept.push(letter),
            _ if acts(letter) => {}
            _ => kept.push(letter),
        }
    }
    kept
}

/// Skips the rest of an escape sequence.
fn skip_escape(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match rest.next() {
        // Colours and cursor movements: parameters, then one final letter.
        Some('[') => drop(rest.find(|letter| ('@'..='~').contains(letter))),
        // Titles, links and the like: up to a bell, or an escape and a backslash. Never past the
        // end of the line: a truncated sequence must not hide the text after it.
        Some(']' | 'P' | '_' | '^' | 'X') => {
            while let Some(letter) = rest.next() {
                let ended = letter == '\u{1b}' && rest.next_if_eq(&'\\').is_some();
                if matches!(letter, '\u{7}' | '\n') || ended {
                    break;
                }
            }
        }
        // Character set selection takes one more letter.
        Some('(' | ')' | '#' | '%') => drop(rest.next()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(output: &[u8], letters: usize, expected: &str) {
        assert_eq!(end_of(output, letters), expected);
    }

    #[test]
    fn what_acts_is_shown_instead_of_done() {
        assert_eq!(visible("a\u{1b}[2Jb\n\tc"), "a\\u{1b}[2Jb\n\tc");
        assert_eq!(visible("né \u{202e}x\u{9b}\u{e0041}"), "né \\u{202e}x\\u{9b}\\u{e0041}");
        for harmless in ["nothing", "né\n\t"] {
            assert!(matches!(visible(harmless), Cow::Borrowed(_)), "{harmless}");
        }
        assert!(is_quiet(" ~\n") && is_quiet(""));
        for other in ["\t", "\r", "\u{1f}", "\u{7f}", "é"] {
            assert!(!is_quiet(other), "{other:?}");
        }
    }

    #[test]
    fn the_last_characters_are_kept_not_the_last_bytes() {
        check("aä€😀".as_bytes(), 3, "ä€😀");
        check(b"short", 2000, "short");
        check(b"", 10, "");
    }

    #[test]
    fn colours_titles_and_links_are_gone() {
        check(b"\x1b[1;31mFAILED\x1b[0m 3\x1b[K", 99, "FAILED 3");
        check(b"\x1b]0;C:\\dir\x07ok", 99, "ok");
        check(b"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\x1b(Bc", 99, "abc");
    }

    #[test]
    fn control_characters_and_bytes_that_are_no_text_do_no_harm() {
        check(b"a\x00b\x08c\x7f\xc2\x9bd\te\n", 99, "abcd\te");
        check(b"\xff\xfeok", 99, "\u{fffd}\u{fffd}ok");
        check(b"cut \x1b[", 99, "cut");
        check(b"\x1b]0;never ended\nstill here", 99, "still here");
    }

    #[test]
    fn a_line_that_is_written_over_is_a_line() {
        check(b"10%\r100%\r\ndone\r\n", 99, "10%\n100%\ndone");
    }
}
