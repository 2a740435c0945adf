//! Compares paths: with the patterns of `paths` and `receipt_ignore`, with the lines of a `.gitignore`, and as file
//! systems do that fold names.

use std::borrow::Cow;
use std::iter;

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

// Matches paths against the lines of a `.gitignore`, by git's rules (gitignore(5), and git's
// `wildmatch.c` for what that leaves open).
//
// Bytes are compared, as git does. The cost of a pattern is at most the product of its length and
// the path's. A file has more than `MOST_RULES` patterns only by mistake, and the rest is not read.

const MOST_RULES: usize = 2_000;

/// A pattern that is longer than any path is not read either.
const LONGEST_RULE: usize = 4_096;

/// The patterns of one file. Their paths are relative to the folder of that file.
#[derive(Debug, Clone, Default)]
pub struct IgnoreRules(Vec<Pattern>);

#[derive(Debug, Clone)]
struct Pattern {
    is_negated: bool,
    only_folders: bool,
    /// Without a slash, a pattern matches a name in any folder.
    is_anchored: bool,
    /// What an anchored pattern begins with, up to a special character. Git compares it by itself, so
    /// that `a**/b` reads as `a` and `**/b`.
    prefix: Vec<u8>,
    names: Vec<Vec<u8>>,
}

impl IgnoreRules {
    pub fn parse(text: &str) -> IgnoreRules {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
        let patterns = lines.filter_map(|line| Pattern::parse(line.as_bytes()));
        IgnoreRules(patterns.take(MOST_RULES).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What the last pattern that matches says: whether the path is ignored. It may still be below an
    /// ignored folder.
    pub fn decide(&self, path: &[u8], is_folder: bool) -> Option<bool> {
        let last = self.0.iter().rev().find(|pattern| pattern.matches(path, is_folder))?;
        Some(!last.is_negated)
    }
}

impl Pattern {
    /// `None` for an empty line, a comment, and a pattern that matches nothing.
    fn parse(line: &[u8]) -> Option<Pattern> {
        if line.len() > LONGEST_RULE || line.starts_with(b"#") {
            return None;
        }
        let line = without_spaces_at_the_end(line);
        if line.is_empty() {
            return None;
        }
        let (is_negated, line) = match line.strip_prefix(b"!") {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let (only_folders, line) = match line.strip_suffix(b"/") {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let is_anchored = line.contains(&b'/');
        let line = line.strip_prefix(b"/").unwrap_or(line);
        let is_plain = |byte: &&u8| is_anchored && !b"*?[\\".contains(byte);
        let (prefix, rest) = line.split_at(line.iter().take_while(is_plain).count());
        let (prefix, names) = (prefix.to_vec(), rule_names(rest)?);
        Some(Pattern { is_negated, only_folders, is_anchored, prefix, names })
    }

    fn matches(&self, path: &[u8], is_folder: bool) -> bool {
        let path = match self.is_anchored {
            true => path.strip_prefix(&self.prefix[..]),
            false => path.rsplit(|byte| *byte == b'/').next(),
        };
        let names = |path: &[u8]| -> bool {
            let path: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
            rule_names_match(&self.names, &path)
        };
        (is_folder || !self.only_folders) && path.is_some_and(names)
    }
}

/// Cuts off spaces, except those after a backslash.
fn without_spaces_at_the_end(line: &[u8]) -> &[u8] {
    let (mut at, mut end) = (0, 0);
    while at < line.len() {
        let length = if line[at] == b'\\' { 2 } else { 1 };
        let is_space = line[at] == b' ';
        at += length;
        if !is_space {
            end = at;
        }
    }
    &line[..end.min(line.len())]
}

/// Splits a pattern at its slashes, but not within a class of bytes. `None` if a class is broken.
fn rule_names(pattern: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut names = vec![Vec::new()];
    let mut rest = pattern;
    while let Some((first, after)) = rest.split_first() {
        let length = match (first, after) {
            (b'/', _) => {
                names.push(Vec::new());
                rest = after;
                continue;
            }
            (b'\\', [b'/', ..]) => {
                rest = after;
                continue;
            }
            (b'\\', [_, ..]) => 2,
            (b'[', _) => 1 + class(after, 0)?.1,
            _ => 1,
        };
        let (taken, after) = rest.split_at(length);
        names.last_mut().unwrap_or(&mut Vec::new()).extend_from_slice(taken);
        rest = after;
    }
    // More stars mean the same as two.
    names
        .iter_mut()
        .filter(|name| name.iter().all(|byte| *byte == b'*'))
        .for_each(|name| name.truncate(2));
    Some(names)
}

/// Backtracks to the last `**` only: whatever an earlier `**` could match, the last one can too.
fn rule_names_match(pattern: &[Vec<u8>], path: &[&[u8]]) -> bool {
    let (mut at, mut name) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        match (pattern.get(at), path.get(name)) {
            (None, None) => return true,
            // At the end it stands for everything below, and not for the folder itself.
            (Some(wanted), below) if wanted == b"**" && at + 1 == pattern.len() => {
                return below.is_some();
            }
            (Some(wanted), _) if wanted == b"**" => {
                retry = Some((at, name));
                at += 1;
                continue;
            }
            (Some(wanted), Some(found)) if rule_name_matches(wanted, found) => {
                (at, name) = (at + 1, name + 1);
                continue;
            }
            _ => {}
        }
        match retry.filter(|(_, taken)| *taken < path.len()) {
            Some((from, taken)) => (at, name) = (from, taken + 1),
            None => return false,
        }
    }
}

/// Matches one name; a run of `*` matches any bytes. Backtracks to the last star only, as above.
fn rule_name_matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut byte) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while byte < name.len() {
        let rest = pattern.get(at + 1..).unwrap_or_default();
        let found = match (pattern.get(at), rest) {
            (Some(b'*'), _) => {
                retry = Some((at, byte));
                at += 1;
                continue;
            }
            (Some(b'?'), _) => Some(1),
            (Some(b'\\'), [wanted, ..]) => (*wanted == name[byte]).then_some(2),
            (Some(b'\\'), []) => return false,
            (Some(b'['), _) => {
                class(rest, name[byte]).and_then(|(is_in, length)| is_in.then_some(1 + length))
            }
            (Some(wanted), _) => (*wanted == name[byte]).then_some(1),
            (None, _) => None,
        };
        match (found, retry) {
            (Some(length), _) => (at, byte) = (at + length, byte + 1),
            (None, Some((star, taken))) => (at, byte) = (star, taken + 1),
            (None, None) => return false,
        }
    }
    pattern[at..].iter().all(|rest| *rest == b'*')
}

/// Whether a byte is in the class that begins here, after its bracket, and the length of the class.
/// `None` if the class has no end, or names a set of letters that does not exist.
fn class(pattern: &[u8], byte: u8) -> Option<(bool, usize)> {
    let is_negated = matches!(pattern.first(), Some(b'!' | b'^'));
    let mut at = usize::from(is_negated);
    let mut is_in = false;
    // What a range may begin with.
    let mut before: Option<u8> = None;
    let literal = |at: &mut usize| {
        *at += usize::from(pattern.get(*at) == Some(&b'\\'));
        pattern.get(*at).copied()
    };
    // A `]` that comes first is a member of the class.
    for is_first in iter::once(true).chain(iter::repeat(false)) {
        match pattern.get(at)? {
            b']' if !is_first => return Some((is_in != is_negated, at + 1)),
            b'-' if before.is_some() && !matches!(pattern.get(at + 1), None | Some(b']')) => {
                at += 1;
                let last = literal(&mut at)?;
                is_in |= before.is_some_and(|first| (first..=last).contains(&byte));
                before = None;
            }
            b'[' if pattern.get(at + 1) == Some(&b':') => {
                /// More letters than a name has.
                const NAME: usize = 16;
                let inner = &pattern[at + 2..];
                let end = inner.iter().take(NAME).position(|byte| *byte == b']');
                match end.and_then(|end| inner[..end].strip_suffix(b":")) {
                    Some(name) => {
                        is_in |= is_of_set(name, byte)?;
                        before = None;
                        at += 2 + name.len() + 1;
                    }
                    None => {
                        is_in |= byte == b'[';
                        before = Some(b'[');
                    }
                }
            }
            _ => {
                let one = literal(&mut at)?;
                is_in |= byte == one;
                before = Some(one);
            }
        }
        at += 1;
    }
    None
}

/// Whether a byte is in a set that POSIX names; `None` if there is no such set.
fn is_of_set(name: &[u8], byte: u8) -> Option<bool> {
    Some(match name {
        b"alnum" => byte.is_ascii_alphanumeric(),
        b"alpha" => byte.is_ascii_alphabetic(),
        b"blank" => byte == b' ' || byte == b'\t',
        b"cntrl" => byte.is_ascii_control(),
        b"digit" => byte.is_ascii_digit(),
        b"graph" => byte.is_ascii_graphic(),
        b"lower" => byte.is_ascii_lowercase(),
        b"print" => byte.is_ascii_graphic() || byte == b' ',
        b"punct" => byte.is_ascii_punctuation(),
        b"space" => byte.is_ascii_whitespace() || byte == 0x0b,
        b"upper" => byte.is_ascii_uppercase(),
        b"xdigit" => byte.is_ascii_hexdigit(),
        _ => return None,
    })
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
mod gitignore_tests {
    use super::*;

    /// The paths that a text ignores; a path that ends in a slash is a folder.
    #[track_caller]
    fn check(text: &str, ignored: &[&str], others: &[&str]) {
        let rules = IgnoreRules::parse(text);
        let is_ignored = |path: &&&str| {
            let folder = path.strip_suffix('/');
            rules.decide(folder.unwrap_or(path).as_bytes(), folder.is_some()) == Some(true)
        };
        let wrong: Vec<_> = ignored.iter().filter(|path| !is_ignored(path)).collect();
        assert!(wrong.is_empty(), "{text:?} ignores {wrong:?}");
        let wrong: Vec<_> = others.iter().filter(is_ignored).collect();
        assert!(wrong.is_empty(), "{text:?} does not ignore {wrong:?}");
    }

    #[test]
    fn the_examples_of_the_manual_are_read_as_it_says() {
        check("hello.*", &["hello.txt", "a/hello.java"], &["hello"]);
        check("/hello.*", &["hello.txt"], &["a/hello.java"]);
        check("foo/", &["foo/", "a/foo/"], &["foo", "foos/"]);
        check("doc/frotz", &["doc/frotz", "doc/frotz/"], &["a/doc/frotz"]);
        check("foo/*", &["foo/test.json", "foo/bar/"], &["foo/bar/hello.c"]);
        check("**/foo", &["foo", "a/b/foo"], &["a/foo/b"]);
        check("**/foo/bar", &["foo/bar", "a/foo/bar"], &["a/foo/x/bar"]);
        check("abc/**", &["abc/a", "abc/a/b"], &["abc", "abc/", "x/abc/a"]);
        check("a/**/b", &["a/b", "a/x/b", "a/x/y/b"], &["b", "a/b/c"]);
        check("/*\n!/foo\n/foo/*\n!/foo/bar", &["x", "foo/x"], &["foo/", "foo/bar/"]);
    }

    #[test]
    fn lines_are_cut_and_read_as_git_reads_them() {
        check(
            "\u{feff}a\r\n#b\n\n\\#c\n\\!d\ne  \nf\\ \n",
            &["a", "#c", "!d", "e", "f "],
            &["#b", "b", "f"],
        );
        check("*\n!a", &["b", "c/b"], &["a", "c/a"]);
        check("a\\", &[], &["a", "a\\"]);
        check("/\n!\n//", &[], &["a", "a/", ""]);
    }

    #[test]
    fn classes_hold_what_they_name() {
        check("[a-c]", &["a", "b", "c", "x/a"], &["d", "ab", "-"]);
        check("[!a-c]", &["d", "-"], &["a", "b"]);
        check("[^]]", &["a"], &["]"]);
        check("[]-]x", &["]x", "-x"], &["ax"]);
        check("[[:digit:]_]", &["1", "_"], &["a", ":"]);
        check("[[:none:]]", &[], &["n", ":", "["]);
        check("[a", &[], &["a", "[a"]);
        check(&"[".repeat(4_000), &[], &["["]);
        check(&("[[:".repeat(1_300) + "a]"), &["[", ":", "a"], &["b"]);
        check("x[a/]", &["xa"], &["x", "y/xa"]);
        check("[\\]a]", &["]", "a"], &["\\"]);
        check("?", &["a", "b/c"], &["ab", "\u{e9}"]);
    }

    #[test]
    fn many_stars_cost_no_more_than_the_product_of_the_lengths() {
        let path = "a/".repeat(500) + &"a".repeat(2_000);
        check(&("**/a/".repeat(50) + &"*a".repeat(50) + "b"), &[], &[path.as_str()]);
        check(&format!("{}b\nc", "a\n".repeat(MOST_RULES)), &["a"], &["b", "c"]);
        check(&format!("{}*\nc", "*".repeat(LONGEST_RULE)), &["c"], &["b"]);
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
}
