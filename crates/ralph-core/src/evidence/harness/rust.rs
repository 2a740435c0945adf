//! Parts a Rust source at its tests: the items at its top level below `#[cfg(test)]` or `#[test]`.

use crate::evidence::literals::tokens::{self, Syntax, TokenKind};
use std::ops::Range;

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
    pub(super) fn of(text: &'a str) -> Option<Self> {
        let mut tokens = tokens::tokens(text, Syntax::of(".rs"));
        tokens.retain(|token| token.kind != TokenKind::Break);
        let closing = tokens::brackets(&tokens, text);
        let word = |at: usize| tokens.get(at).map_or("", |token| &text[token.range.clone()]);
        let start_of = |at: usize| tokens.get(at).map_or(text.len(), |token| token.range.start);
        let mut tests = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
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
                if at >= tokens.len() || mark == ";" || mark == "{" && has_body {
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

    /// The names of the test functions.
    pub(super) fn names(&self) -> Vec<String> {
        let functions = self.tests().into_iter().flat_map(|text| text.split("#[test]").skip(1));
        let name = |text: &str| {
            let (_, rest) = text.split_once("fn ")?;
            Some(rest.split(['(', '<']).next()?.to_owned())
        };
        functions.filter_map(name).collect()
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
