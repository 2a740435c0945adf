//! One thing that a tool found.

use serde::{Deserialize, Serialize};

/// What a tool found, whatever its form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The check that found it.
    pub check: String,
    /// The file as the tool named it: absolute, or relative to the folder where it ran. Empty where
    /// the tool named none.
    pub file: String,
    /// The line, from 1; none where the tool named none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub line: Option<u32>,
    /// The column, from 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub column: Option<u32>,
    /// The tool's name for what is wrong: `TS2322`, `no-unused-vars`; empty where it has none.
    pub rule: String,
    /// What is wrong, in the tool's words, without colours; may have several lines.
    pub message: String,
    /// True for what the tool calls an error, false for a warning.
    pub is_error: bool,
}

/// The rule of a test that failed. Its message is the test's name, `: `, and how it failed.
pub const OF_TEST: &str = "test";

/// What makes two findings the same although lines have moved.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FindingKey {
    check: String,
    file: String,
    rule: String,
    /// Of a test its name.
    message: String,
    /// Of a test how it failed; empty for everything else.
    how: String,
}

impl Finding {
    /// The file, the rule and the message, with every number left out: they count lines and columns
    /// as a rule.
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
    /// The same without how a test failed.
    pub fn of_whatever_failure(&self) -> FindingKey {
        FindingKey { how: String::new(), ..self.clone() }
    }
}

/// Each run of digits becomes one `#`; digits within a word (`utf8`, `TS2322`) name something and stay.
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
