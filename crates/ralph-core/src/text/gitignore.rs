//! Matches paths against the lines of a `.gitignore`, by git's rules (gitignore(5), and git's
//! `wildmatch.c` for what that leaves open).
//!
//! Bytes are compared, as git does. The cost of a pattern is at most the product of its length and
//! the path's. A file has more than `MOST` patterns only by mistake, and the rest is not read.

use std::iter;

const MOST: usize = 2_000;

/// A pattern that is longer than any path is not read either.
const LONGEST: usize = 4_096;

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
        IgnoreRules(patterns.take(MOST).collect())
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
        if line.len() > LONGEST || line.starts_with(b"#") {
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
        let (prefix, names) = (prefix.to_vec(), names(rest)?);
        Some(Pattern { is_negated, only_folders, is_anchored, prefix, names })
    }

    fn matches(&self, path: &[u8], is_folder: bool) -> bool {
        let path = match self.is_anchored {
            true => path.strip_prefix(&self.prefix[..]),
            false => path.rsplit(|byte| *byte == b'/').next(),
        };
        let names = |path: &[u8]| -> bool {
            let path: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
            names_match(&self.names, &path)
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
fn names(pattern: &[u8]) -> Option<Vec<Vec<u8>>> {
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
fn names_match(pattern: &[Vec<u8>], path: &[&[u8]]) -> bool {
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
            (Some(wanted), Some(found)) if name_matches(wanted, found) => {
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
fn name_matches(pattern: &[u8], name: &[u8]) -> bool {
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

#[cfg(test)]
mod tests {
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
        check(&format!("{}b\nc", "a\n".repeat(MOST)), &["a"], &["b", "c"]);
        check(&format!("{}*\nc", "*".repeat(LONGEST)), &["c"], &["b"]);
    }
}
