//! As much of JSON Schema as our own schemas use; a word that it does not know is an error, so that no
//! schema can say something that is not looked at.

use serde_json::{Map, Value};

/// Words that say something to people only.
const ABOUT: [&str; 8] =
    ["$schema", "$id", "$defs", "title", "description", "default", "examples", "format"];

/// What is wrong with a document, each with its place.
pub(super) fn problems(schema: &Value, document: &Value) -> Vec<String> {
    let mut found = Vec::new();
    look(schema, schema, document, "$", &mut found);
    found
}

fn look(root: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let rules = match schema {
        Value::Bool(true) => return,
        Value::Object(rules) => rules,
        other => panic!("no schema: {other}"),
    };
    for (word, rule) in rules {
        match word.as_str() {
            "$ref" => {
                let pointer = rule.as_str().unwrap().strip_prefix('#').unwrap();
                look(root, root.pointer(pointer).expect(pointer), value, at, found);
            }
            "type" => {
                let kind = rule.as_str().unwrap();
                if !is(kind, value) {
                    found.push(format!("{at}: {value} is no {kind}"));
                }
            }
            "enum" => {
                if !rule.as_array().unwrap().contains(value) {
                    found.push(format!("{at}: {value} is none of {rule}"));
                }
            }
            "anyOf" => {
                let fits = |schema: &Value| {
                    let mut wrong = Vec::new();
                    look(root, schema, value, at, &mut wrong);
                    wrong.is_empty()
                };
                if !rule.as_array().unwrap().iter().any(fits) {
                    found.push(format!("{at}: {value} fits none of {rule}"));
                }
            }
            "minimum" if value.is_number() && value.as_f64() < rule.as_f64() => {
                found.push(format!("{at}: {value} is less than {rule}"));
            }
            "maximum" if value.is_number() && value.as_f64() > rule.as_f64() => {
                found.push(format!("{at}: {value} is more than {rule}"));
            }
            "minLength" if value.as_str().is_some_and(|text| text.trim().is_empty()) => {
                found.push(format!("{at}: it is empty"));
            }
            "maxLength" if value.as_str().is_some_and(|text| count(text) > rule.as_u64()) => {
                found.push(format!("{at}: it is longer than {rule}"));
            }
            "maxItems" if value.as_array().map(Vec::len) > rule.as_u64().map(|n| n as usize) => {
                found.push(format!("{at}: it has more than {rule} items"));
            }
            "items" => {
                for (n, item) in value.as_array().into_iter().flatten().enumerate() {
                    look(root, rule, item, &format!("{at}[{n}]"), found);
                }
            }
            "required" => {
                for name in rule.as_array().unwrap().iter().filter_map(Value::as_str) {
                    if value.is_object() && value.get(name).is_none() {
                        found.push(format!("{at}: `{name}` is missing"));
                    }
                }
            }
            "properties" | "additionalProperties" => {}
            "minimum" | "maximum" | "minLength" | "maxLength" | "maxItems" => {}
            word => assert!(ABOUT.contains(&word), "`{word}` is not looked at"),
        }
    }
    members(root, rules, value, at, found);
}

fn count(text: &str) -> Option<u64> {
    u64::try_from(text.chars().count()).ok()
}

fn members(
    root: &Value,
    rules: &Map<String, Value>,
    value: &Value,
    at: &str,
    found: &mut Vec<String>,
) {
    for (name, member) in value.as_object().into_iter().flatten() {
        let known = rules.get("properties").and_then(|known| known.get(name));
        match known.or_else(|| rules.get("additionalProperties")) {
            None => {}
            Some(Value::Bool(false)) => found.push(format!("{at}: `{name}` is not known")),
            Some(schema) => look(root, schema, member, &format!("{at}.{name}"), found),
        }
    }
}

fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("no kind: {other}"),
    }
}

#[test]
fn each_word_is_looked_at() {
    let check = |schema: Value, good: Value, bad: Value| {
        assert_eq!(problems(&schema, &good), [""; 0], "{schema}");
        assert_eq!(problems(&schema, &bad).len(), 1, "{schema}");
    };
    use serde_json::json;
    check(json!({"type": "integer"}), json!(1), json!(1.5));
    check(json!({"type": "number"}), json!(1.5), json!("1.5"));
    check(json!({"minimum": 1, "maximum": 3}), json!(3), json!(4));
    check(json!({"enum": ["a"]}), json!("a"), json!("b"));
    check(json!({"minLength": 1}), json!("a"), json!(" "));
    check(json!({"maxLength": 1}), json!("é"), json!("ab"));
    check(json!({"maxItems": 1}), json!([1]), json!([1, 2]));
    check(json!({"anyOf": [{"type": "null"}, {"type": "string"}]}), json!(null), json!(1));
    check(json!({"items": {"type": "string"}}), json!(["a"]), json!(["a", 1]));
    check(json!({"required": ["a"]}), json!({"a": 1}), json!({}));
    check(json!({"properties": {"a": {"type": "null"}}}), json!({"b": 1}), json!({"a": 1}));
    check(
        json!({"properties": {"a": true}, "additionalProperties": false}),
        json!({"a": 1}),
        json!({"b": 1}),
    );
    check(
        json!({"$ref": "#/$defs/x", "$defs": {"x": {"type": "boolean"}}}),
        json!(true),
        json!("x"),
    );
}
