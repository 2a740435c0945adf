//! Fills in what a case leaves open: `{{name}}` in a string, and long texts that nobody writes out.
//!
//! A string that is nothing but one placeholder takes the value as it is, whatever its type. A name
//! that is not known yet stays, since variants are filled in long before the world exists.

use serde_json::{Map, Value};

/// Values by the name that a case calls them.
pub(crate) type Names = Map<String, Value>;

/// The value with every known placeholder filled in.
pub(crate) fn filled(value: &Value, names: &Names) -> Value {
    match value {
        Value::String(text) => filled_text(text, names),
        Value::Array(all) => all.iter().map(|each| filled(each, names)).collect(),
        Value::Object(members) => {
            let fill = |(name, value): (&String, &Value)| {
                (filled_string(name, names), filled(value, names))
            };
            Value::Object(members.iter().map(fill).collect())
        }
        other => other.clone(),
    }
}

/// A text with every known placeholder filled in.
pub(crate) fn filled_string(text: &str, names: &Names) -> String {
    match filled_text(text, names) {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

fn filled_text(text: &str, names: &Names) -> Value {
    let alone = text.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
    if let Some(value) = alone.and_then(|name| names.get(name)) {
        return filled_again(value, names);
    }
    let mut text = text.to_owned();
    for (name, value) in names {
        let mark = format!("{{{{{name}}}}}");
        if text.contains(&mark) {
            let word = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            text = text.replace(&mark, &word);
        }
    }
    Value::String(text)
}

/// A variant's value may hold placeholders of the world; one that holds its own name stays.
fn filled_again(value: &Value, names: &Names) -> Value {
    match value {
        Value::String(text) if !text.starts_with("{{") => filled_text(text, names),
        other => other.clone(),
    }
}

/// Builds texts like `{"repeat": "word ", "times": 1000, "then": "end"}`.
pub(crate) fn spelled_out(value: Value) -> Value {
    match value {
        Value::Array(all) => all.into_iter().map(spelled_out).collect(),
        Value::Object(members) => match repeated(&members) {
            Some(text) => Value::String(text),
            None => members.into_iter().map(|(name, value)| (name, spelled_out(value))).collect(),
        },
        other => other,
    }
}

fn repeated(members: &Map<String, Value>) -> Option<String> {
    let times = usize::try_from(members.get("times")?.as_u64()?).ok()?;
    let then = members.get("then").and_then(Value::as_str).unwrap_or_default();
    Some(members.get("repeat")?.as_str()?.repeat(times) + then)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn names() -> Names {
        json!({"token": "DONE", "n": 3, "list": [1]}).as_object().unwrap().clone()
    }

    #[test]
    fn a_placeholder_in_a_text_becomes_text() {
        assert_eq!(filled(&json!("say {{token}} {{n}}"), &names()), json!("say DONE 3"));
    }

    #[test]
    fn a_placeholder_alone_keeps_its_type() {
        assert_eq!(filled(&json!({"a": ["{{list}}"]}), &names()), json!({"a": [[1]]}));
        assert_eq!(filled(&json!("{{n}}"), &names()), json!(3));
    }

    #[test]
    fn an_unknown_name_stays() {
        assert_eq!(filled(&json!("{{other}}"), &names()), json!("{{other}}"));
    }

    #[test]
    fn a_long_text_is_spelled_out() {
        let long = json!({"m": {"repeat": "ab", "times": 2, "then": "!"}});
        assert_eq!(spelled_out(long), json!({"m": "abab!"}));
    }
}
