//! The parsers of our own: JSON, with comments where they are allowed, TOML and YAML.

use ralph_core::check::Parser;
use ralph_core::check::finding::Finding;

/// What is wrong with the text, at most one thing: nobody can tell what stands behind it.
pub(super) fn read(parser: Parser, check: &str, content: &[u8]) -> Vec<Finding> {
    let Ok(text) = std::str::from_utf8(content) else {
        return vec![finding(check, None, "it is not UTF-8 text".to_owned())];
    };
    // A mark at the beginning says how the text is encoded, and no more.
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
    let options = jsonc_parser::ParseOptions::default();
    let error =
        jsonc_parser::parse_to_ast(text, &jsonc_parser::CollectOptions::default(), &options)
            .err()?;
    Some((Some(place(text, error.range().start)), error.kind().to_string()))
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

/// Line and column of a byte, from 1.
fn place(text: &str, at: usize) -> (u32, u32) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (number(line), number(column))
}
