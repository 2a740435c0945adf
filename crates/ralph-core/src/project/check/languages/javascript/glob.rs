//! The patterns of `include` and `exclude` in a `tsconfig.json`.
//!
//! They look like those of a shell and differ from them: a name without a star is a whole folder,
//! and what `include` has a star for is neither a hidden file nor somebody else's package.

use std::path::{Component, Path};

/// Folders that a star in `include` does not enter.
const PACKAGES: &[&str] = &["node_modules", "bower_components", "jspm_packages"];

/// True if this pattern of `include`, from that folder, names the file.
pub(super) fn includes(base: &Path, pattern: &str, file: &Path) -> bool {
    let Some(mut pattern) = parts(&base.join(pattern)) else { return false };
    match pattern.last() {
        Some(last) if last == "**" => return false,
        Some(last) if !last.contains(['.', '*', '?']) => {
            pattern.extend(["**".to_owned(), "*".to_owned()]);
        }
        _ => {}
    }
    let Some(file) = parts(file) else { return false };
    let mut at = Positions::start(&pattern);
    for part in &file {
        at = at.after(part, is_seen, is_included);
    }
    at.is_at_end()
}

/// True if this pattern of `exclude`, from that folder, names the file or a folder above it.
pub(super) fn excludes(base: &Path, pattern: &str, file: &Path) -> bool {
    let Some(pattern) = parts(&base.join(pattern)) else { return false };
    let Some(file) = parts(file) else { return false };
    let mut at = Positions::start(&pattern);
    file.iter().any(|part| {
        at = at.after(part, |_| true, matches);
        at.is_at_end()
    })
}

/// The parts of an absolute path without `.` and `..`; none where `..` follows `**`, which stands
/// for no folder in particular.
fn parts(path: &Path) -> Option<Vec<String>> {
    let mut parts: Vec<String> = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(part) => parts.push(part.to_str()?.to_owned()),
            Component::ParentDir if parts.iter().any(|part| part == "**") => return None,
            Component::ParentDir => drop(parts.pop()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    Some(parts)
}

/// How far into a pattern a path may have come. `**` stands for any number of parts, so there can
/// be several answers; one walk over the path keeps them all, however many stars there are.
struct Positions<'a> {
    pattern: &'a [String],
    reached: Vec<bool>,
}

impl<'a> Positions<'a> {
    fn start(pattern: &'a [String]) -> Self {
        let mut reached = vec![false; pattern.len() + 1];
        reached[0] = true;
        Self { pattern, reached }.and_past_stars()
    }

    /// After one more part of the path, where `crosses` says what `**` may stand for.
    fn after(
        &self,
        part: &str,
        crosses: impl Fn(&str) -> bool,
        matches: impl Fn(&str, &str) -> bool,
    ) -> Self {
        let mut next = vec![false; self.reached.len()];
        for (at, pattern) in self.pattern.iter().enumerate().filter(|(at, _)| self.reached[*at]) {
            if pattern == "**" {
                next[at] |= crosses(part);
            } else {
                next[at + 1] |= matches(pattern, part);
            }
        }
        Self { pattern: self.pattern, reached: next }.and_past_stars()
    }

    fn and_past_stars(mut self) -> Self {
        for (at, pattern) in self.pattern.iter().enumerate() {
            self.reached[at + 1] |= self.reached[at] && pattern == "**";
        }
        self
    }

    fn is_at_end(&self) -> bool {
        self.reached.last() == Some(&true)
    }
}

/// What a star of `include` stands for.
fn is_seen(part: &str) -> bool {
    !part.starts_with('.') && !PACKAGES.contains(&part)
}

fn is_included(pattern: &str, part: &str) -> bool {
    let has_star = pattern.contains(['*', '?']);
    let is_hidden = pattern.starts_with(['*', '?']) && part.starts_with('.');
    let is_minified = part.ends_with(".min.js") && !pattern.ends_with(".min.js");
    let is_seen = !has_star || !(is_hidden || is_minified || PACKAGES.contains(&part));
    is_seen && matches(pattern, part)
}

/// One part: `*` is any letters, `?` is one.
fn matches(pattern: &str, part: &str) -> bool {
    let (pattern, part): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), part.chars().collect());
    let (mut at, mut seen) = (0, 0);
    // Where the last star was, and how much it has taken.
    let mut star: Option<(usize, usize)> = None;
    while seen < part.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, seen));
                at += 1;
            }
            Some(letter) if *letter == '?' || *letter == part[seen] => {
                at += 1;
                seen += 1;
            }
            _ => {
                let Some((start, taken)) = star else { return false };
                star = Some((start, taken + 1));
                at = start + 1;
                seen = taken + 1;
            }
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn part(pattern: &str, part: &str, expected: bool) {
        assert_eq!(matches(pattern, part), expected, "{pattern} {part}");
    }

    #[test]
    fn a_star_is_any_letters_and_a_question_mark_is_one() {
        part("a", "a", true);
        part("a", "ab", false);
        part("ab", "a", false);
        part("*", "", true);
        part("a*", "a", true);
        part("?", "a", true);
        part("?", "", false);
        part("*.ts", "a.b.ts", true);
        part("*.ts", "a.tsx", false);
        part("a*b*c", "axbxbc", true);
        part("a*b*c", "axbxb", false);
        part("*ab", "aab", true);
        part("d*p", "deep", true);
    }

    #[test]
    fn many_stars_take_no_time() {
        let pattern = "**/a*a*a*a*a*a*a*a/".repeat(50) + "*.ts";
        let file = format!("/w{}/b.js", format!("/{}", "a".repeat(200)).repeat(100));
        assert!(!includes(Path::new("/w"), &pattern, Path::new(&file)));
    }
}
