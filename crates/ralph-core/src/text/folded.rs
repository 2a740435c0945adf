//! Folds the names that a file system takes for the same: those of macOS compare letters without
//! case and without their form, so `.CLAUDE` opens `.claude`.
//!
//! Folds more than any file system does. What is refused then is a name that nobody needs.

use std::borrow::Cow;

/// Stands for letters beyond ASCII, whatever their number and composition.
const LETTERS: char = '\u{FFFD}';

/// The name in lower case, without characters that HFS+ ignores, with the letters that stand for
/// ASCII ones replaced, and with `LETTERS` for all others.
pub fn folded(name: &str) -> Cow<'_, str> {
    if name.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return Cow::Borrowed(name);
    }
    let mut folded = String::with_capacity(name.len());
    for letter in name.chars().filter(|letter| !is_ignored(*letter)) {
        match letter {
            _ if letter.is_ascii() => folded.push(letter.to_ascii_lowercase()),
            '\u{17F}' => folded.push('s'),
            '\u{212A}' => folded.push('k'),
            'ß' | 'ẞ' => folded.push_str("ss"),
            'ﬀ' => folded.push_str("ff"),
            'ﬁ' => folded.push_str("fi"),
            'ﬂ' => folded.push_str("fl"),
            'ﬃ' => folded.push_str("ffi"),
            'ﬄ' => folded.push_str("ffl"),
            'ﬅ' | 'ﬆ' => folded.push_str("st"),
            _ => {
                // `é` is one letter, or an `e` with a mark.
                if is_mark(letter) && folded.ends_with(|last: char| last.is_ascii_alphabetic()) {
                    folded.pop();
                }
                if !folded.ends_with(LETTERS) {
                    folded.push(LETTERS);
                }
            }
        }
    }
    Cow::Owned(folded)
}

fn is_mark(letter: char) -> bool {
    ('\u{300}'..='\u{36F}').contains(&letter)
}

/// What HFS+ ignores in names, as git lists it (`is_hfs_dotgit`).
fn is_ignored(letter: char) -> bool {
    matches!(letter, '\u{200C}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{206A}'..='\u{206F}' | '\u{FEFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_open_the_same_file_on_macos_are_the_same() {
        for (one, other) in [
            (".claude/settings.json", ".CLAUDE/Settings.JSON"),
            ("settings", "\u{17F}ettings"),
            ("hooks", "HOO\u{212A}S"),
            ("config", "con\u{FB01}g"),
            (".ralph-sessions", ".ralph-se\u{DF}ions"),
            (".claude", ".c\u{200C}laude\u{FEFF}"),
            ("caf\u{E9}", "cafe\u{301}"),
            ("CAF\u{C9}", "cafe\u{301}"),
            ("\u{AC00}", "\u{1100}\u{1161}"),
            ("\u{1EC7}", "e\u{323}\u{302}"),
        ] {
            assert_eq!(folded(one), folded(other), "{one} {other}");
        }
        for (one, other) in [("settings", "setting"), ("a", "b"), ("\u{E9}t", "t"), ("a.b", "ab")] {
            assert_ne!(folded(one), folded(other), "{one} {other}");
        }
    }

    #[test]
    fn a_plain_name_is_left_as_it_is() {
        assert!(matches!(folded("src/main_1.rs"), Cow::Borrowed("src/main_1.rs")));
        assert_eq!(folded("\u{1}X\u{2}"), "\u{1}x\u{2}", "the markers of a shell's words stay");
    }
}
