//! Compares paths: with the patterns of `paths` and `receipt_ignore`, and as file systems do that fold names.

use std::borrow::Cow;

// Matches paths in the work tree against the patterns of `paths` and `receipt_ignore`.
//
// A pattern matches a file, or everything below a folder, so `src`, `src/` and `src/**` all match
// `src/a/b.rs`. `?` and `*` stay within one name; `**` as a whole name matches any number of
// folders, including zero. Paths are bytes because a file name can be any bytes.

/// True if the pattern, anchored at the top of the tree, matches the path or a folder above it.
pub fn holds(pattern: &[u8], path: &[u8]) -> bool {
    let only_folders = pattern.ends_with(b"/");
    let pattern = pattern.strip_suffix(b"/").unwrap_or(pattern);
    if only_folders && pattern == path {
        return false;
    }
    is_below(pattern, path) || names_match(&names(pattern), &names(path), only_folders)
}

/// True if a `.gitignore` at the top of the tree with this line would ignore the path: a pattern
/// with no slash before its end matches the name in any folder.
pub fn ignores(pattern: &[u8], path: &[u8]) -> bool {
    let inner = pattern.strip_suffix(b"/").unwrap_or(pattern);
    if let Some(from_top) = pattern.strip_prefix(b"/") {
        return holds(from_top, path);
    }
    if inner.contains(&b'/') {
        return holds(pattern, path);
    }
    !inner.is_empty() && holds(&[b"**/", pattern].concat(), path)
}

/// Rewrites a pattern of `paths` relative to the top of the repository; the project may be a folder
/// below it. Returns `None` if the pattern leads out of the repository.
pub fn from_top(base: &[u8], pattern: &[u8]) -> Option<Vec<u8>> {
    let mut parts: Vec<&[u8]> = names(base);
    for name in names(pattern) {
        match name {
            b"." => {}
            b".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join(&b'/'))
}

/// Literal comparison; also matches paths that end in a slash, as git writes some folders.
fn is_below(folder: &[u8], path: &[u8]) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with(b"/"))
}

fn names(path: &[u8]) -> Vec<&[u8]> {
    path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).collect()
}

/// Backtracks to the last `**` only: whatever an earlier `**` could match, the last one can too.
/// The cost is at most the product of the lengths.
fn names_match(pattern: &[&[u8]], path: &[&[u8]], only_folders: bool) -> bool {
    let (mut at, mut name) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        if at == pattern.len() {
            // The pattern matched a folder above the path, or the path itself.
            return name < path.len() || !only_folders;
        }
        if pattern[at] == b"**" {
            retry = Some((at, name));
            at += 1;
        } else if name < path.len() && name_matches(pattern[at], path[name]) {
            (at, name) = (at + 1, name + 1);
        } else if let Some((from, taken)) = retry.filter(|(_, taken)| *taken < path.len()) {
            (at, name) = (from, taken + 1);
        } else {
            return false;
        }
    }
}

/// Matches one name; a run of `*` matches any bytes. Backtracks to the last star only, as above.
fn name_matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut byte) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while byte < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                retry = Some((at, byte));
                at += 1;
            }
            Some(b'?') => {
                at += 1;
                byte += letter_length(name[byte]);
            }
            Some(wanted) if *wanted == name[byte] => (at, byte) = (at + 1, byte + 1),
            _ => match retry {
                Some((star, taken)) => (at, byte) = (star, taken + 1),
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|rest| *rest == b'*')
}

/// Length in bytes of the UTF-8 character that starts with this byte, so that `?` matches a
/// character.
fn letter_length(first: u8) -> usize {
    match first {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => 1,
    }
}

// Folds the names that a file system takes for the same: those of macOS compare letters without
// case and without their form, so `.CLAUDE` opens `.claude`.
//
// Folds more than any file system does. What is refused then is a name that nobody needs.

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
mod globs_tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, yes: &[&str], no: &[&str]) {
        let holds = |path: &&&str| holds(pattern.as_bytes(), path.as_bytes());
        assert!(yes.iter().all(|path| holds(&path)), "{pattern} means all of {yes:?}");
        assert!(!no.iter().any(|path| holds(&path)), "{pattern} means none of {no:?}");
    }

    #[test]
    fn a_plain_path_means_the_file_or_all_below_the_folder() {
        check("src", &["src", "src/a", "src/a/b"], &["srcs", "a/src", "sr"]);
        check("src/", &["src/a", "src/"], &["srcs/a", "src", "a/src"]);
        check("", &["a", "a/b"], &[]);
        check("odd*name", &["odd*name", "oddname"], &["odd/name"]);
    }

    #[test]
    fn a_star_stays_within_a_name_and_two_cross_folders() {
        check("src/*.rs", &["src/a.rs", "src/.rs"], &["src/a/b.rs", "a.rs", "src/a.rsx"]);
        check("src/**/*.rs", &["src/a.rs", "src/a/b/c.rs"], &["a.rs", "src/a.py"]);
        check("**/test", &["test", "a/test", "a/b/test/c"], &["a/tests"]);
        check("**", &["a", "a/b"], &[]);
        check("a/**", &["a/b", "a/b/c"], &["b/a"]);
        check("a/**/b/**/c", &["a/b/c", "a/x/b/y/z/c"], &["a/c", "a/b"]);
        check("?.c", &["a.c", "é.c", "€.c", "😀.c"], &["ab.c", ".c", "éa.c"]);
        check("a*", &["a", "ab"], &["ba", "b"]);
        check("*??x", &["abx", "é😀x"], &["ax", "😀x"]);
        check("a*b*c", &["abc", "axbxc", "abbcc"], &["ab", "acb", "abcd"]);
        check("**/a/b", &["a/b", "a/a/b", "x/a/c/a/b/y"], &["a/c/b", "a"]);
        check("**/a/", &["a/x", "b/a/x"], &["a", "b/a"]);
        assert!(holds(b"a?", b"a\xc3"), "half a letter is one");
        check("*a*b", &["ab", "xaxb", "aab/below"], &["ba"]);
    }

    #[test]
    fn many_stars_cost_no_more_than_the_product_of_the_lengths() {
        let path = "a/".repeat(500) + &"a".repeat(2_000);
        check(&("**/a/".repeat(50) + &"*a".repeat(50) + "b"), &[], &[path.as_str()]);
    }

    #[track_caller]
    fn ignored(pattern: &str, yes: &[&str], no: &[&str]) {
        let is = |path: &&&str| ignores(pattern.as_bytes(), path.as_bytes());
        assert!(yes.iter().all(|path| is(&path)), "{pattern} leaves out all of {yes:?}");
        assert!(!no.iter().any(|path| is(&path)), "{pattern} leaves out none of {no:?}");
    }

    #[test]
    fn what_is_left_out_reads_as_in_a_gitignore() {
        ignored("*.log", &["a.log", "deep/a.log", "x.log/in"], &["a.logs"]);
        ignored("/top", &["top", "top/a"], &["a/top"]);
        ignored("a/b", &["a/b", "a/b/c"], &["x/a/b"]);
        ignored("build/", &["build/x", "a/build/x"], &["build", "a/build"]);
        ignored("/build/", &["build/x"], &["build", "a/build/x"]);
        ignored("", &[], &["a"]);
    }

    #[test]
    fn a_pattern_is_read_from_the_projects_folder() {
        let check = |base: &str, pattern: &str, expected: Option<&str>| {
            let found = from_top(base.as_bytes(), pattern.as_bytes());
            assert_eq!(found.as_deref(), expected.map(str::as_bytes), "{base} {pattern}");
        };
        check("", "./src/", Some("src"));
        check("app/web", "src/*.ts", Some("app/web/src/*.ts"));
        check("app/web", "../shared", Some("app/shared"));
        check("app", ".", Some("app"));
        check("app", "../..", None);
    }
}

#[cfg(test)]
mod folded_tests {
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

    #[test]
    fn letters_that_a_file_system_takes_for_ascii_ones_are_replaced() {
        for (name, expected) in [
            ("a.b", "a.b"),
            ("A.b", "a.b"),
            ("ſ", "s"),
            ("\u{212A}", "k"),
            ("ßẞ", "ssss"),
            ("ﬀ", "ff"),
            ("ﬁ", "fi"),
            ("ﬂ", "fl"),
            ("ﬃ", "ffi"),
            ("ﬄ", "ffl"),
            ("ﬅﬆ", "stst"),
            ("aéb", "a\u{FFFD}b"),
            ("ae\u{301}b", "a\u{FFFD}b"),
            ("éé", "\u{FFFD}"),
            ("1\u{301}", "1\u{FFFD}"),
        ] {
            assert_eq!(folded(name), expected, "{name}");
        }
    }
}
