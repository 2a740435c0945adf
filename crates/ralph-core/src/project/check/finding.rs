//! A single finding of a tool.

use serde::{Deserialize, Serialize};

/// A finding, whatever the tool's output format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The name of the check.
    pub check: String,
    /// The file as the tool named it: absolute, or relative to the folder where it ran. Empty if
    /// the tool named none.
    pub file: String,
    /// From 1; `None` if the tool named none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub line: Option<u32>,
    /// From 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub column: Option<u32>,
    /// The tool's name for the problem: `TS2322`, `no-unused-vars`; empty if it has none.
    pub rule: String,
    /// The problem in the tool's words, without colours; may have several lines.
    pub message: String,
    /// True for the tool's errors, false for its warnings.
    pub is_error: bool,
}

/// The rule of a failed test. Its message is the test's name, `: `, and how it failed.
pub const OF_TEST: &str = "test";

/// Identifies a finding even if its line has moved.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FindingKey {
    check: String,
    file: String,
    rule: String,
    /// For a test, its name.
    message: String,
    /// For a test, how it failed; otherwise empty.
    how: String,
}

impl Finding {
    /// The key: file, rule and message without numbers, which are mostly lines and columns.
    pub fn key(&self) -> FindingKey {
        let (message, how) = match (self.rule == OF_TEST, self.message.split_once(": ")) {
            (true, Some(name_and_how)) => name_and_how,
            _ => (self.message.as_str(), ""),
        };
        FindingKey {
            check: self.check.clone(),
            file: self.file.clone(),
            rule: self.rule.clone(),
            message: without_numbers(message),
            how: without_numbers(how),
        }
    }
}

impl FindingKey {
    /// The key without the failure message.
    pub fn of_whatever_failure(&self) -> FindingKey {
        FindingKey { how: String::new(), ..self.clone() }
    }
}

/// Replaces each run of digits by one `#`. Digits within a word (`utf8`, `TS2322`) are part of a
/// name and stay.
fn without_numbers(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut within_word = false;
    for letter in text.chars() {
        let is_digit = letter.is_ascii_digit();
        if is_digit && !within_word {
            if !kept.ends_with('#') {
                kept.push('#');
            }
            continue;
        }
        within_word = letter.is_alphanumeric() || letter == '_';
        kept.push(letter);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(without_numbers(text), expected);
    }

    #[test]
    fn a_test_that_fails_in_another_way_is_another_finding_of_the_same_test() {
        let finding = |rule: &str, message: &str| Finding {
            check: "vitest".to_owned(),
            file: "a.test.ts".to_owned(),
            line: None,
            column: None,
            rule: rule.to_owned(),
            message: message.to_owned(),
            is_error: true,
        };
        let key = |rule, message| finding(rule, message).key();
        let test = |message| key("test", message).of_whatever_failure();
        assert_eq!(key("test", "adds: is 3"), key("test", "adds: is 4"));
        assert_ne!(key("test", "adds: is a"), key("test", "adds: is b"));
        assert_eq!(test("adds: is a"), test("adds: is b"));
        assert_ne!(test("adds: is a"), test("adds more: is a"));
        let suite = |message| key("suite", message).of_whatever_failure();
        assert_ne!(suite("adds: is a"), suite("adds: is b"));
    }

    #[test]
    fn numbers_are_left_out_and_digits_in_names_stay() {
        check("expected 2 arguments, got 13", "expected # arguments, got #");
        check("TS2322: utf8 at (3,14)", "TS2322: utf8 at (#,#)");
        check("x1 and 1", "x1 and #");
    }
}
