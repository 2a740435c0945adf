//! Reads parts of a document with an unknown structure: a value of another type counts as missing.

use serde_json::Value;

/// The strings of a list; a single string is a list of one.
pub(super) fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// The members of an object, by their names: only some executables keep the order of a document.
pub(super) fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let members = value.as_object().into_iter().flatten();
    let mut members: Vec<_> = members.map(|(name, value)| (name.as_str(), value)).collect();
    members.sort_unstable_by_key(|(name, _)| *name);
    members.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn another_shape_is_nothing() {
        for value in [json!(null), json!(3), json!(true), json!([[1]]), json!([{}])] {
            assert!(texts(&value).is_empty() && members(&value).next().is_none(), "{value}");
        }
        assert_eq!(texts(&json!("a")), ["a"]);
        assert_eq!(texts(&json!(["a", 1, "b"])), ["a", "b"]);
        let both = json!({"b": 1, "a": 2});
        assert_eq!(Vec::from_iter(members(&both)), [("a", &json!(2)), ("b", &json!(1))]);
    }
}
