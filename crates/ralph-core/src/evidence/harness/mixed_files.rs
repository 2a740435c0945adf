//! Parts one file into harness and code where it holds both: tests within code, manifests, Rust sources.

use super::extension;
use crate::evidence::literals::tokens::{self, Syntax, TokenKind};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

// Tests in the middle of code, which are not parted from it: doctests, and the blocks in which
// some languages keep tests beside what they test.

/// True if tests were added, changed or removed.
pub(super) fn changes_tests(path: &str, start: &str, now: &str) -> bool {
    tests(path, start) != tests(path, now)
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

/// The texts of the tests, in an order that a move does not change.
fn tests(path: &str, text: &str) -> BTreeSet<String> {
    let form = match extension(path) {
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
        found.insert(lines[start..end].concat());
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
}

// Parts a manifest: its tables of dependencies stay as they are now, the rest is harness.
//
// A dependency with a path into the project can put other code in the place of what the tests
// use, so it belongs to the harness. One of a name that the start does not know is spared: what
// is at its path is new, and only new code can use it.

/// A manifest with the harness of the start and the dependencies of now.
#[derive(Debug)]
pub(super) struct Original {
    pub(super) text: String,
    pub(super) harness_changed: bool,
    pub(super) dependencies_changed: bool,
}

/// True for a name whose dependencies can be told from the rest.
pub(super) fn is_parted(name: &str) -> bool {
    is_json(name) || is_toml(name) || is_list(name)
}

fn is_json(name: &str) -> bool {
    matches!(name, "package.json" | "composer.json")
}

fn is_toml(name: &str) -> bool {
    matches!(name, "Cargo.toml" | "pyproject.toml" | "Pipfile")
}

fn is_list(name: &str) -> bool {
    let is_text = name.ends_with(".txt") || name.ends_with(".in");
    matches!(name, "go.mod" | "Gemfile")
        || is_text && (name.starts_with("requirements") || name.starts_with("constraints"))
}

/// Parts a manifest; `None` for another file, and for one that cannot be read.
pub(super) fn original(
    path: &str,
    start: &str,
    now: &str,
    toml: fn(&str) -> Option<Value>,
) -> Option<Original> {
    let name = path.rsplit('/').next()?;
    if is_list(name) {
        return Some(of_lines(name, start, now));
    }
    let read = |text: &str| match is_json(name) {
        true => serde_json::from_str(text).ok(),
        false if is_toml(name) => toml(text),
        false => None,
    };
    let (then, today): (Value, Value) = (read(start)?, read(now)?);
    let led = led_inside(&then, &today);
    let composed = compose(Some(&then), Some(&today), &mut Vec::new(), &led)?;
    let text = if is_json(name) { json(&composed, start)? } else { inline_toml(&composed)? };
    Some(Original {
        text,
        harness_changed: composed != today,
        dependencies_changed: composed != then,
    })
}

/// Walks both versions: dependencies as now unless they lead into the project, the rest as at the
/// start.
fn compose<'a>(
    start: Option<&'a Value>,
    now: Option<&'a Value>,
    keys: &mut Vec<&'a str>,
    led: &BTreeSet<Vec<&'a str>>,
) -> Option<Value> {
    let length = dependency(keys);
    if length
        .is_some_and(|length| keys.len() == length || !now.or(start).is_some_and(Value::is_object))
    {
        return if led.contains(keys) { start } else { now }.cloned();
    }
    let tables = [start, now].map(|value| value.and_then(Value::as_object));
    if tables == [None, None] || start.is_some() && tables[0].is_none() {
        return start.cloned();
    }
    let mut composed = Map::new();
    for (key, _) in tables.iter().flatten().copied().flatten() {
        keys.push(key);
        let value = |table: Option<&'a Map<String, Value>>| table.and_then(|table| table.get(key));
        if let Some(value) = compose(value(tables[0]), value(tables[1]), keys, led) {
            composed.insert(key.clone(), value);
        }
        keys.pop();
    }
    let keeps_empty = if length.is_some() { now } else { start };
    (keeps_empty.is_some() || !composed.is_empty()).then_some(Value::Object(composed))
}

/// How many keys name the dependency that this place belongs to.
fn dependency(keys: &[&str]) -> Option<usize> {
    let is_table = |key: &&str| key.to_lowercase().ends_with("dependencies");
    match keys {
        ["require" | "require-dev" | "overrides" | "resolutions" | "replace", ..] => Some(2),
        ["packages" | "dev-packages" | "dependency-groups", ..] => Some(2),
        ["build-system", "requires"] => Some(2),
        ["patch", _, ..] => Some(3),
        ["tool", "uv", "sources", ..] => Some(4),
        _ => keys.iter().position(is_table).map(|at| at + 2),
    }
}

/// The places of the dependencies with a path into the project, as far as they belong to the
/// harness.
fn led_inside<'a>(start: &'a Value, now: &'a Value) -> BTreeSet<Vec<&'a str>> {
    fn collect<'a>(
        value: &'a Value,
        keys: &mut Vec<&'a str>,
        found: &mut Vec<(Vec<&'a str>, String)>,
    ) {
        let length = dependency(keys);
        match value {
            Value::Object(table) if length != Some(keys.len()) => {
                for (key, value) in table {
                    keys.push(key);
                    collect(value, keys, found);
                    keys.pop();
                }
            }
            _ if length.is_some() => found.push((keys.clone(), value.to_string())),
            _ => {}
        }
    }
    let (mut then, mut both) = (Vec::new(), Vec::new());
    collect(start, &mut Vec::new(), &mut then);
    collect(now, &mut Vec::new(), &mut both);
    // Names are keys, or words in a list.
    let is_end = |it: char| !it.is_alphanumeric() && !"_-.".contains(it);
    let known: BTreeSet<&str> = (then.iter())
        .flat_map(|(keys, text)| keys.last().copied().into_iter().chain(text.split(is_end)))
        .collect();
    let replaces = |key: &&str| matches!(*key, "patch" | "replace" | "overrides" | "resolutions");
    let is_led = |(keys, text): &&(Vec<&str>, String)| {
        const PATHS: [&str; 6] = ["\"path\":", "file:", "\"link:", "\"portal:", "\"./", "\"../"];
        PATHS.iter().any(|it| text.contains(it))
            && (keys.first().is_some_and(&replaces)
                || keys.last().is_some_and(|it| known.contains(it)))
    };
    both.iter().chain(&then).filter(is_led).map(|(keys, _)| keys.clone()).collect()
}

/// Writes JSON, with the values of the start as they were: in `exports` the order counts.
fn json(composed: &Value, start: &str) -> Option<String> {
    let raw: BTreeMap<&str, &RawValue> = serde_json::from_str(start).ok()?;
    let member = |(key, value): (&String, &Value)| {
        let text = match raw.get(key.as_str()) {
            Some(raw) if serde_json::from_str::<Value>(raw.get()).ok().as_ref() == Some(value) => {
                raw.get().to_owned()
            }
            _ => value.to_string(),
        };
        format!("  {}: {text}", Value::from(key.as_str()))
    };
    let members: Vec<String> = composed.as_object()?.iter().map(member).collect();
    Some(format!("{{\n{}\n}}\n", members.join(",\n")))
}

/// Writes TOML with all tables inline: no other form is needed where nobody reads it.
fn inline_toml(composed: &Value) -> Option<String> {
    fn value(of: &Value) -> Option<String> {
        Some(match of {
            Value::Null => return None,
            Value::Array(items) => {
                format!("[{}]", items.iter().map(value).collect::<Option<Vec<_>>>()?.join(", "))
            }
            Value::Object(table) => {
                let pair = |(key, it): (&String, &Value)| {
                    Some(format!("{} = {}", Value::from(key.as_str()), value(it)?))
                };
                format!("{{ {} }}", table.iter().map(pair).collect::<Option<Vec<_>>>()?.join(", "))
            }
            Value::Bool(_) | Value::Number(_) | Value::String(_) => of.to_string(),
        })
    }
    let pair = |(key, it): (&String, &Value)| {
        Some(format!("{} = {}\n", Value::from(key.as_str()), value(it)?))
    };
    composed.as_object()?.iter().map(pair).collect()
}

/// `go.mod`, `requirements.txt`, `Gemfile`: all is dependencies but the lines with a path.
fn of_lines(name: &str, start: &str, now: &str) -> Original {
    let known: BTreeSet<&str> = start.split(is_end).chain(start.lines().map(subject)).collect();
    let replaces = |line: &str| line.contains("=>");
    // What is led inside by either version, by a replacement or in its own line.
    let led: BTreeSet<(&str, bool)> = (start.lines().chain(now.lines()))
        .filter(|line| leads_inside(line))
        .map(|line| (subject(line), replaces(line)))
        .filter(|(subject, _)| known.contains(subject))
        .collect();
    let is_harness = |line: &&str| led.contains(&(subject(line), replaces(line)));
    let mut lines: Vec<String> =
        now.lines().filter(|line| !is_harness(line)).map(str::to_owned).collect();
    for line in start.lines().filter(is_harness) {
        // It may have been in a block.
        let is_bare = name == "go.mod" && !line.trim_start().starts_with("replace");
        lines.push(format!("{}{}", if is_bare { "replace " } else { "" }, line.trim_start()));
    }
    let text = lines.join("\n") + "\n";
    let contents = |text: &str| {
        let content = |line: &str| line.trim().trim_start_matches("replace ").to_owned();
        text.lines().map(content).filter(|line| !line.is_empty()).collect::<BTreeSet<_>>()
    };
    let is = contents(&text);
    let (harness_changed, dependencies_changed) = (is != contents(now), is != contents(start));
    Original { text, harness_changed, dependencies_changed }
}

fn is_end(letter: char) -> bool {
    letter.is_whitespace() || "\"'=<>~!;[,@()".contains(letter)
}

/// What a line is about: a module, a package or a gem.
fn subject(line: &str) -> &str {
    let verbs = ["replace", "require", "gem", "-e", "--editable"];
    let mut words = line.split(is_end).filter(|word| !word.is_empty() && !verbs.contains(word));
    let word = words.next().unwrap_or_default();
    if is_path(word) { word.trim_end_matches('/').rsplit('/').next().unwrap_or(word) } else { word }
}

fn leads_inside(line: &str) -> bool {
    let words = line.split(|it| is_end(it) && it != '=');
    let is_named = |text: &str| text.starts_with("--editable=.") || is_path(text);
    !line.trim_start().starts_with("//") && words.into_iter().any(is_named)
}

fn is_path(word: &str) -> bool {
    word.starts_with("./") || word.starts_with("../") || word.starts_with("file:") || word == "."
}

// Parts a Rust source at its tests: the items at its top level below `#[cfg(test)]` or `#[test]`.

/// A source and where its tests are.
pub(super) struct Halves<'a> {
    text: &'a str,
    tests: Vec<TestItem<'a>>,
}

struct TestItem<'a> {
    /// What the item is found by in another version: `mod tests`.
    head: &'a str,
    range: Range<usize>,
}

impl<'a> Halves<'a> {
    /// Finds the tests; `None` if the brackets do not match.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let mut tokens = tokens::tokens(text, Syntax::for_path(".rs"));
        tokens.retain(|token| token.kind != TokenKind::Break);
        let closing = tokens::brackets(&tokens, text);
        let word = |at: usize| tokens.get(at).map_or("", |token| &text[token.range.clone()]);
        let start_of = |at: usize| tokens.get(at).map_or(text.len(), |token| token.range.start);
        let mut tests = Vec::new();
        let mut at = 0;
        while tokens.get(at).is_some() {
            let (first, mut is_test) = (at, false);
            while word(at) == "#" && word(at + 1) == "[" {
                let end = closing[at + 1]?;
                is_test |= is_of_tests(&text[tokens[at + 1].range.end..start_of(end)]);
                at = end + 1;
            }
            if word(at) == "#" && word(at + 2) == "[" {
                at = closing[at + 2]? + 1;
                continue;
            }
            // An item ends with its body, or with a semicolon.
            let (head, mut head_end, mut has_body) = (at, None, true);
            loop {
                let mark = word(at);
                match mark {
                    "use" | "const" | "static" | "type" => has_body = word(at + 1) == "fn",
                    "{" | ";" | "=" => _ = head_end.get_or_insert(at),
                    "}" | ")" | "]" => return None,
                    _ => {}
                }
                let is_open = matches!(mark, "{" | "(" | "[");
                at = if is_open { closing[at]? + 1 } else { at + 1 };
                if tokens.get(at).is_none() || mark == ";" || mark == "{" && has_body {
                    break;
                }
            }
            if is_test {
                let range =
                    documented(text, start_of(first))..tokens[at.min(tokens.len()) - 1].range.end;
                let head = text[start_of(head)..start_of(head_end.unwrap_or(at))].trim_end();
                tests.push(TestItem { head, range });
            }
        }
        Some(Halves { text, tests })
    }

    pub(super) fn ranges(&self) -> Vec<Range<usize>> {
        self.tests.iter().map(|item| item.range.clone()).collect()
    }

    /// The texts of the tests, in an order that a move does not change.
    pub(super) fn tests(&self) -> Vec<&'a str> {
        let mut texts: Vec<_> = self.ranges().into_iter().map(|range| &self.text[range]).collect();
        texts.sort_unstable();
        texts
    }

    /// The lines without the tests, and without the blank ones that a moved test leaves.
    pub(super) fn code(&self) -> Vec<&'a str> {
        let mut at = 0;
        let mut lines = Vec::new();
        let end = self.text.len();
        for range in self.ranges().into_iter().chain(std::iter::once(end..end)) {
            lines.extend(self.text[at..range.start].lines().map(str::trim_end));
            at = range.end;
        }
        lines.retain(|line| !line.is_empty());
        lines
    }

    /// This code with the tests of another version, each in the place of its own name; those
    /// without one follow at the end, where all macros are known.
    pub(super) fn with_tests_of(&self, other: &Halves<'_>) -> String {
        let mut left: Vec<_> = other.tests.iter().collect();
        let (mut composed, mut at) = (String::new(), 0);
        for own in &self.tests {
            composed += &self.text[at..own.range.start];
            if let Some(same) = left.iter().position(|item| item.head == own.head) {
                composed += &other.text[left.remove(same).range.clone()];
            }
            at = own.range.end;
        }
        composed += &self.text[at..];
        for item in left {
            composed += &format!("\n{}\n", &other.text[item.range.clone()]);
        }
        composed
    }
}

/// True for a file that is only built for tests.
pub(super) fn is_all_tests(path: &str, text: &str) -> bool {
    path.ends_with(".rs") && text.lines().any(|line| line.starts_with("#![cfg(test)]"))
}

/// True for `cfg(test)`, `test` and the attributes of other frameworks, such as `tokio::test`.
fn is_of_tests(attribute: &str) -> bool {
    let (name, rest) = attribute.split_once(['(', '=']).unwrap_or((attribute, ""));
    let mut words = rest.split(|it: char| !it.is_alphanumeric() && !"_\"".contains(it));
    let mut is_for_tests = || words.any(|word| word == "test") && !rest.contains("not(test");
    let name = name.trim();
    name.ends_with("test") || name == "cfg" && is_for_tests()
}

/// Where the documentation of the item at `start` begins.
fn documented(text: &str, mut start: usize) -> usize {
    while let Some(before) = text[..start].strip_suffix('\n') {
        let line = before.rsplit('\n').next().unwrap_or_default();
        if !line.starts_with("///") {
            break;
        }
        start = before.len() - line.len();
    }
    start
}

#[cfg(test)]
mod tests;
