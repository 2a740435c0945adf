//! The user's JSON as text that can be edited in place.
//!
//! Parsed strictly, twice: `serde_json` gives familiar error positions, and the syntax tree keeps
//! every character that Ralph does not change.

use crate::command::exit::{Exit, refused};
use anyhow::Result;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstRootNode};
use ralph_core::project::check::jsonc;
use serde_json::Value;
use std::collections::HashSet;

/// Parses a settings file. Refuses a text that could not be restored exactly.
pub(crate) fn parse(text: &str) -> Result<(CstRootNode, CstObject)> {
    // Accept an empty file, as `touch` creates it: it holds nothing to lose.
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let refuse = |why: String| refused(Exit::BadState, format!("{why}; nothing was changed"));
    let value: Value = serde_json::from_str(text).map_err(|error| {
        refuse(format!(
            "not valid JSON at line {}, column {}: {error}",
            error.line(),
            error.column()
        ))
    })?;
    if !value.is_object() {
        return Err(refuse("the settings are not a JSON object".to_owned()));
    }
    let root = CstRootNode::parse(text, &strict())
        .map_err(|error| refuse(format!("not valid JSON: {error}")))?;
    let object = root
        .object_value()
        .ok_or_else(|| refuse("the settings are not a JSON object".to_owned()))?;
    match duplicate(&CstNode::from(jsonc_parser::cst::CstContainerNode::from(object.clone())), "") {
        Some(key) => Err(refuse(format!("the key `{key}` is there twice: remove one of the two"))),
        None => Ok((root, object)),
    }
}

/// The value as input for the syntax tree.
pub(crate) fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(map) => CstInputValue::Object(
            map.iter().map(|(key, value)| (key.clone(), input(value))).collect(),
        ),
    }
}

fn strict() -> ParseOptions {
    ParseOptions { allow_comments: false, allow_trailing_commas: false, ..jsonc::OPTIONS }
}

/// The first key that an object holds twice, as a path.
fn duplicate(node: &CstNode, path: &str) -> Option<String> {
    if let Some(object) = node.as_object() {
        let mut seen = HashSet::new();
        for property in object.properties() {
            let name = property.decoded_name()?;
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            if !seen.insert(name) {
                return Some(path);
            }
            if let Some(found) = property.value().and_then(|value| duplicate(&value, &path)) {
                return Some(found);
            }
        }
    }
    let elements = node.as_array().map(|array| array.elements()).unwrap_or_default();
    elements.iter().find_map(|element| duplicate(element, path))
}
