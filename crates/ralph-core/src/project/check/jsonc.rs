//! JSON with comments and trailing commas.

use jsonc_parser::{CollectOptions, ParseOptions, ast, parse_to_ast};
use serde_json::Value;

/// Only what the owners of such files accept: comments and trailing commas.
pub const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The document; `None` if it is not JSON with comments.
pub fn read(text: &str) -> Option<Value> {
    parse(text).ok()
}

/// The document, or the line and column of an error, from 1, and its text.
///
/// # Errors
/// If it is not JSON with comments.
pub fn parse(text: &str) -> Result<Value, (usize, usize, String)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let read = parse_to_ast(text, &CollectOptions::default(), &OPTIONS).map_err(|error| {
        (error.line_display(), error.column_display(), error.kind().to_string())
    })?;
    let value = read.value.ok_or_else(|| (1, 1, "the file is empty".to_owned()))?;
    to_value(value).ok_or_else(|| (1, 1, "a number is out of range".to_owned()))
}

// By hand, since the library's own conversion has every hook link the `std` feature of `memchr`,
// which chooses its routines at start-up.
fn to_value(value: ast::Value) -> Option<Value> {
    Some(match value {
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::BooleanLit(bit) => Value::Bool(bit.value),
        ast::Value::StringLit(text) => Value::String(text.value.into_owned()),
        ast::Value::NumberLit(number) => Value::Number(number.value.parse().ok()?),
        ast::Value::Array(items) => {
            Value::Array(items.elements.into_iter().map(to_value).collect::<Option<_>>()?)
        }
        ast::Value::Object(object) => {
            let members = object.properties.into_iter();
            let read =
                members.map(|one| Some((one.name.as_str().to_owned(), to_value(one.value)?)));
            Value::Object(read.collect::<Option<_>>()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn comments_and_trailing_commas_are_read_over() {
        assert_eq!(
            read("\u{feff}// a\n{\"a\": [1, /* b */ \"//\", ], }"),
            Some(json!({"a": [1, "//"]}))
        );
    }

    #[test]
    fn a_written_null_is_a_value() {
        assert_eq!(read("/* a */ null"), Some(Value::Null));
    }

    #[test]
    fn what_is_not_json_stays_so() {
        for text in [
            "",
            "// null\n/* null */",
            "{ /* open",
            "[\"open",
            "[1] / 2",
            "[,]x",
            "/",
            "[1,,]",
            "{a: 1}",
            "['a']",
            "[1 2]",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(read(&"[".repeat(100_000)), None);
    }
}
