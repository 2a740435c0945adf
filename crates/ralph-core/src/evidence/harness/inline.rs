//! Tests in the middle of code, which are not parted from it: doctests, and the blocks in which
//! some languages keep tests beside what they test.

use std::collections::BTreeSet;

/// The names of the tests that were added, changed or removed.
pub(super) fn changed(path: &str, start: &str, now: &str) -> Vec<String> {
    let [start, now] = [start, now].map(|text| tests(path, text));
    let names: BTreeSet<_> = start.symmetric_difference(&now).map(|(name, _)| name).collect();
    names.into_iter().cloned().collect()
}

/// How tests are told from the code around them.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// From a prompt to a blank line or the end of the string.
    Prompt(&'static str),
    /// From a line to the brace in its column.
    Block(&'static [&'static str]),
    /// Between fences in the comments of Rust.
    Fence,
}

/// The tests of a text, as name and text.
fn tests(path: &str, text: &str) -> BTreeSet<(String, String)> {
    let form = match super::extension(path) {
        "rs" => Form::Fence,
        "py" | "pyi" | "md" | "rst" => Form::Prompt(">>>"),
        "ex" | "exs" => Form::Prompt("iex>"),
        "zig" => Form::Block(&["test "]),
        "d" => Form::Block(&["unittest"]),
        _ if text.contains("import.meta.vitest") => Form::Block(&["it(", "test("]),
        _ => return BTreeSet::new(),
    };
    let lines: Vec<&str> = text.lines().collect();
    let mut found = BTreeSet::new();
    let mut from = 0;
    while let Some(start) = (from..lines.len()).find(|&at| form.begins(lines[at])) {
        let is_end = |at: &usize| form.ends(lines[*at], lines[start]);
        let end = (start + 1..lines.len()).find(is_end).unwrap_or(lines.len());
        found.insert((form.name(&lines, start, end), lines[start..end].concat()));
        from = if form == Form::Fence { end + 1 } else { end };
    }
    found
}

impl Form {
    fn begins(self, line: &str) -> bool {
        let line = line.trim_start();
        match self {
            Form::Prompt(prompt) => line.starts_with(prompt),
            Form::Block(words) => words.iter().any(|word| line.starts_with(word)),
            Form::Fence => ["///", "//!"].iter().any(|mark| {
                line.strip_prefix(mark).is_some_and(|text| text.trim_start().starts_with("```"))
            }),
        }
    }

    fn ends(self, line: &str, first: &str) -> bool {
        let indent = |line: &str| line.len() - line.trim_start().len();
        match self {
            Form::Prompt(_) => line.trim().is_empty() || line.contains("\"\"\""),
            Form::Block(_) => line.trim_start().starts_with('}') && indent(line) <= indent(first),
            Form::Fence => self.begins(line) || !line.trim_start().starts_with("//"),
        }
    }

    /// The title of a block; for a doctest the item that it documents.
    fn name(self, lines: &[&str], start: usize, end: usize) -> String {
        let declared = match self {
            Form::Block(_) => {
                let title = lines[start].split(['"', '\'', '`']).nth(1);
                return title.unwrap_or(lines[start].trim()).to_owned();
            }
            // A string below its head, or above it.
            Form::Prompt(">>>") => lines[..start].iter().rev().find_map(|line| declared(line)),
            Form::Prompt(_) | Form::Fence => {
                lines[end.min(lines.len())..].iter().find_map(|line| declared(line))
            }
        };
        declared.map_or_else(|| "a doctest".to_owned(), |name| format!("{name} (doctest)"))
    }
}

/// The name that a line declares.
fn declared(line: &str) -> Option<&str> {
    const DECLARE: [&str; 9] =
        ["fn", "def", "defp", "class", "struct", "enum", "trait", "mod", "defmodule"];
    let mut words = line.split(|it: char| !it.is_alphanumeric() && it != '_');
    let is_comment = line.trim_start().starts_with(['/', '#', '*', '>']);
    words.by_ref().take(8).find(|word| !is_comment && DECLARE.contains(word))?;
    words.next()
}
