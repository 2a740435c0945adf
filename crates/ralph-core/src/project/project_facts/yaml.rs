//! Reads the first document of a YAML text as a JSON value, with limits on its depth and size.
//!
//! An alias becomes null, so that a few lines cannot expand to millions. A number with a decimal
//! point stays a string as written: it is usually a version, and 1.10 is not 1.1.

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};

const DEEPEST: usize = 64;

/// The limit for all values together.
const MOST: usize = 100_000;

/// The document; `None` if it is not YAML, or exceeds the limits.
pub fn read(text: &str) -> Option<Value> {
    let mut open: Vec<OpenCollection> = Vec::new();
    for event in Parser::new_from_str(text).take(2 * MOST) {
        let value = match event.ok()?.0 {
            Event::MappingStart(..) => {
                open.push(OpenCollection::Mapping(Map::new(), None));
                None
            }
            Event::SequenceStart(..) => {
                open.push(OpenCollection::Sequence(Vec::new()));
                None
            }
            Event::MappingEnd | Event::SequenceEnd => Some(open.pop()?.close()),
            Event::Scalar(text, style, ..) => Some(scalar(text.into_owned(), style)),
            Event::Alias(_) => Some(Value::Null),
            Event::DocumentEnd | Event::StreamEnd => return None,
            _ => None,
        };
        if open.len() > DEEPEST {
            return None;
        }
        match (value, open.last_mut()) {
            (Some(value), Some(above)) => above.take(value),
            (Some(value), None) => return Some(value),
            (None, _) => {}
        }
    }
    None
}

/// A collection whose end has not been read yet.
enum OpenCollection {
    Sequence(Vec<Value>),
    /// With the key for the next value.
    Mapping(Map<String, Value>, Option<YamlKey>),
}

enum YamlKey {
    Text(String),
    /// A collection used as a key. JSON has no such key, so its value is left out.
    Other,
}

impl OpenCollection {
    fn take(&mut self, value: Value) {
        match self {
            OpenCollection::Sequence(values) => values.push(value),
            OpenCollection::Mapping(members, key) => match key.take() {
                None => *key = Some(YamlKey::of(value)),
                Some(YamlKey::Text(name)) => drop(members.insert(name, value)),
                Some(YamlKey::Other) => {}
            },
        }
    }

    fn close(self) -> Value {
        match self {
            OpenCollection::Sequence(values) => Value::Array(values),
            OpenCollection::Mapping(members, _) => Value::Object(members),
        }
    }
}

impl YamlKey {
    fn of(value: Value) -> YamlKey {
        match value {
            Value::String(text) => YamlKey::Text(text),
            Value::Array(_) | Value::Object(_) => YamlKey::Other,
            other => YamlKey::Text(other.to_string()),
        }
    }
}

fn scalar(text: String, style: ScalarStyle) -> Value {
    if style != ScalarStyle::Plain {
        return Value::String(text);
    }
    match text.as_str() {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        number => match number.parse::<i64>() {
            // Only an integer that prints the same: 010 and +1 stay strings.
            Ok(integer) if integer.to_string() == text => Value::from(integer),
            _ => Value::String(text),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(text: &str, expected: Value) {
        assert_eq!(read(text), Some(expected));
    }

    #[test]
    fn values_are_read_as_they_are_meant() {
        check(
            "on:\n  push:\n    branches: [main, 'x']\n",
            json!({"on": {"push": {"branches": ["main", "x"]}}}),
        );
        check(
            "a: 1\nb: 1.10\nc: 010\nd: yes\ne: true\nf: ~\ng:\nh: '1'\n",
            json!({"a": 1, "b": "1.10", "c": "010", "d": "yes", "e": true, "f": null, "g": null, "h": "1"}),
        );
        check("run: |\n  a\n  b\n", json!({"run": "a\nb\n"}));
        check("- 8080:80\n- {a: b}\n", json!(["8080:80", {"a": "b"}]));
        check("1: a\n? [x]\n: b\n", json!({"1": "a"}));
        check("a: 1\n---\nb: 2\n", json!({"a": 1}));
    }

    #[test]
    fn aliases_are_null_and_never_grow() {
        check(
            "a: &x [1]\nb: *x\nc: {<<: *x, d: 1}\n",
            json!({"a": [1], "b": null, "c": {"<<": null, "d": 1}}),
        );
    }

    #[test]
    fn what_is_broken_too_deep_or_too_large_is_absent() {
        for text in ["", "a: [1\nb: 2\n", "}"] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(read(&"[".repeat(50_000)), None);
        assert_eq!(read(&"- ".repeat(50_000)), None);
        assert_eq!(read(&"- a\n".repeat(250_000)), None);
    }
}
