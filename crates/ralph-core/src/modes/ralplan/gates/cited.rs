//! The files that a plan mentions.
//!
//! Names with a slash are just as often routes, media types, branches or packages. A name that is
//! not a path of this project is skipped instead of reported as missing, because a planner could
//! not fix it.

use super::{prose, spans};

/// A path in the text of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cited {
    /// The line, counted from 1.
    pub(super) line: usize,
    /// The path without the position in the file.
    pub(super) path: String,
    /// True if `(new)` follows the path.
    pub(super) new: bool,
}

/// All paths between backticks, and paths with a line number outside backticks.
pub(super) fn cited(text: &str, exists: impl Fn(&str) -> bool) -> Vec<Cited> {
    let mut found = Vec::new();
    for (line, words) in prose(text) {
        let (quoted, plain) = spans(words);
        for (inside, behind) in quoted {
            let (inner, marked_inside) = match inside.split_once(" (new") {
                Some((path, _)) => (path.trim(), true),
                None => (inside, false),
            };
            let path = without_place(inner);
            if is_path(path, &exists) {
                let new = marked_inside || says_new(behind);
                found.push(Cited { line, path: path.to_owned(), new });
            }
        }
        let mut words = plain.split_whitespace().peekable();
        while let Some(word) = words.next() {
            let word = word.trim_matches(['(', ')', '[', ']', ',', ';', '.', '*', '_', '"', '\'']);
            let path = without_place(word);
            if path.len() < word.len() && is_path(path, &exists) {
                let new = words.peek().is_some_and(|next| says_new(next));
                found.push(Cited { line, path: path.to_owned(), new });
            }
        }
    }
    found
}

/// True for a path that the plan creates, and for a path inside a folder that it creates.
pub(super) fn is_new(cited: &[Cited], path: &str) -> bool {
    let plain = |path: &str| path.trim_start_matches("./").trim_end_matches('/').to_owned();
    let path = plain(path);
    cited.iter().filter(|one| one.new).any(|one| {
        let new = plain(&one.path);
        path == new || path.strip_prefix(&new).is_some_and(|rest| rest.starts_with('/'))
    })
}

/// Removes the position from `src/a.rs:12`, `src/a.rs:12-20`, `src/a.rs:12:3` and `src/a.rs#L12`.
pub(super) fn without_place(word: &str) -> &str {
    let is_place = |rest: &str| {
        let rest = rest.trim_start_matches('L');
        rest.starts_with(|letter: char| letter.is_ascii_digit())
            && rest.chars().all(|letter| letter.is_ascii_digit() || "-:,L".contains(letter))
    };
    let at = word.find([':', '#']).filter(|at| is_place(&word[at + 1..]));
    at.map_or(word, |at| &word[..at])
}

fn says_new(behind: &str) -> bool {
    let behind = behind.trim_start_matches(['*', '_', ' ']);
    behind.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("(new"))
}

/// File extensions that make a name without a slash a file.
const ENDINGS: [&str; 44] = [
    "c", "cc", "cfg", "conf", "cpp", "cs", "css", "csv", "env", "ex", "exs", "go", "gradle", "h",
    "hpp", "html", "ini", "ipynb", "java", "js", "json", "jsonl", "jsx", "kt", "lock", "lua", "md",
    "mjs", "php", "proto", "py", "rb", "rs", "scss", "sh", "sql", "svelte", "swift", "toml", "ts",
    "tsx", "txt", "vue", "yaml",
];

fn is_path(word: &str, exists: impl Fn(&str) -> bool) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || "._-/@+ ".contains(letter);
    let holds = !word.is_empty()
        && !word.starts_with(['-', '@', '+', ' '])
        && word.chars().all(is_letter)
        && word.chars().any(char::is_alphanumeric)
        && !word.contains("//")
        && !is_command(word);
    if !holds {
        return false;
    }
    let relative = word.trim_start_matches("./");
    let Some((first, _)) = relative.split_once('/') else {
        return has_ending(relative);
    };
    // `github.com/x`, `origin/main`, `application/json`, `/api/users`: decide by the first part.
    let name = word.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let is_host = !first.starts_with('.') && first.contains('.');
    match first {
        "" => has_ending(name),
        _ if is_host => exists(first),
        _ => has_ending(name) || exists(first),
    }
}

/// `docs/x y.md` is a path; `npm run x/y.ts` and `./x y/z.md` are a program with arguments.
fn is_command(word: &str) -> bool {
    let first = word.split_once(' ').map(|(first, _)| first);
    first.is_some_and(|first| first.starts_with("./") || !first.contains('/'))
}

fn has_ending(name: &str) -> bool {
    let ending =
        name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, ending)| ending);
    ending.is_some_and(|ending| ENDINGS.contains(&ending.to_ascii_lowercase().as_str()))
}
