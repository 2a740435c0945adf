//! JSON with comments and trailing commas.

use jsonc_parser::{JsonValue, ParseOptions, parse_to_value};
use serde_json::Value;

/// Only what the owners of such files accept: comments and trailing commas.
const OPTIONS: ParseOptions = ParseOptions {
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
    let value = parse_to_value(text, &OPTIONS).map_err(|error| {
        (error.line_display(), error.column_display(), error.kind().to_string())
    })?;
    let empty = || (1, 1, "the file is empty".to_owned());
    value.ok_or_else(empty).and_then(|value| {
        to_value(value).ok_or_else(|| (1, 1, "a number is out of range".to_owned()))
    })
}

// By hand, since the library's own conversion has every hook link the `std` feature of `memchr`,
// which chooses its routines at start-up.
fn to_value(value: JsonValue) -> Option<Value> {
    Some(match value {
        JsonValue::Null => Value::Null,
        JsonValue::Boolean(bit) => Value::Bool(bit),
        JsonValue::String(text) => Value::String(text.into_owned()),
        JsonValue::Number(digits) => Value::Number(digits.parse().ok()?),
        JsonValue::Array(items) => {
            items.take_inner().into_iter().map(to_value).collect::<Option<_>>().map(Value::Array)?
        }
        JsonValue::Object(members) => {
            let members = members.take_inner().into_iter();
            let read = members.map(|(name, value)| Some((name.into_owned(), to_value(value)?)));
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
