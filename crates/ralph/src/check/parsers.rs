//! The built-in parsers: JSON, JSON with comments, TOML and YAML.

use ralph_core::project::check::finding::Finding;
use ralph_core::project::check::{Parser, jsonc};

/// The first syntax error in the text. What follows it cannot be judged.
pub(super) fn read(parser: Parser, check: &str, content: &[u8]) -> Vec<Finding> {
    let Ok(text) = std::str::from_utf8(content) else {
        return vec![finding(check, None, "it is not UTF-8 text".to_owned())];
    };
    // The byte order mark only names the encoding.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let problem = match parser {
        Parser::Json => json(text),
        Parser::JsonWithComments => json_with_comments(text),
        Parser::Toml => toml(text),
        Parser::Yaml => yaml(text),
    };
    problem.map(|(place, message)| finding(check, place, message)).into_iter().collect()
}

type Problem = (Option<(u32, u32)>, String);

fn finding(check: &str, place: Option<(u32, u32)>, message: String) -> Finding {
    Finding {
        check: check.to_owned(),
        file: String::new(),
        line: place.map(|(line, _)| line),
        column: place.map(|(_, column)| column),
        rule: "syntax".to_owned(),
        message,
        is_error: true,
    }
}

fn number(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn json(text: &str) -> Option<Problem> {
    let error = serde_json::from_str::<serde::de::IgnoredAny>(text).err()?;
    let words = error.to_string();
    let words = words.split(" at line ").next().unwrap_or_default().to_owned();
    Some((Some((number(error.line()), number(error.column()))), words))
}

fn json_with_comments(text: &str) -> Option<Problem> {
    let (line, column, message) = jsonc::parse(text).err()?;
    Some((Some((number(line), number(column))), message))
}

fn toml(text: &str) -> Option<Problem> {
    let error = toml::from_str::<toml::Table>(text).err()?;
    let at = error.span().map(|span| place(text, span.start));
    Some((at, error.message().to_owned()))
}

fn yaml(text: &str) -> Option<Problem> {
    let error = saphyr_parser::Parser::new_from_str(text).find_map(Result::err)?;
    let at = error.marker();
    Some((Some((number(at.line()), number(at.col() + 1))), error.info().to_owned()))
}

/// The line and column of a byte, counted from 1.
fn place(text: &str, at: usize) -> (u32, u32) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (number(line), number(column))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `line:column`, or empty if there is no error.
    #[track_caller]
    fn check(parser: Parser, text: &str, expected: &str) {
        let found = read(parser, "x", text.as_bytes());
        let place = |one: &Finding| format!("{}:{}", one.line.unwrap(), one.column.unwrap());
        let places: Vec<String> = found.iter().map(place).collect();
        assert_eq!(places.join(" "), expected, "{text}: {found:?}");
    }

    #[test]
    fn json_is_as_its_standard_has_it() {
        check(Parser::Json, "\u{feff}{\"a\": 1}\n", "");
        check(Parser::Json, "{\n  \"a\": 1,\n}\n", "3:1");
        check(Parser::Json, "// a\n{}", "1:1");
    }

    #[test]
    fn comments_and_a_last_comma_are_all_that_is_allowed_besides() {
        check(Parser::JsonWithComments, "// a\n{\"a\": 1, /* b */}\n", "");
        check(Parser::JsonWithComments, "// a\n{\"a\" 1}\n", "2:6");
        check(Parser::JsonWithComments, "{a: 1}", "1:2");
        check(Parser::JsonWithComments, "{'a': 1}", "1:2");
        // The place after the value, where the comma belongs.
        check(Parser::JsonWithComments, "{\"a\": 1 \"b\": 2}", "1:8");
    }

    #[test]
    fn toml_and_yaml_are_told_with_their_place() {
        check(Parser::Toml, "a = 1\n", "");
        check(Parser::Toml, "a = 1\nb = \n", "2:5");
        check(Parser::Yaml, "a: 1\n---\nb: [2]\n", "");
        check(Parser::Yaml, "a: [1\nb: 2\n", "2:2");
    }

    #[test]
    fn what_is_no_text_is_one_finding_without_a_place() {
        let found = read(Parser::Toml, "x", b"\xff");
        assert_eq!((found.len(), found[0].line), (1, None));
    }
}
