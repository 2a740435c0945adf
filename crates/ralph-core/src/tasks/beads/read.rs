//! Reads the output of `bd --json`.
//!
//! There are three forms: the bare array or object of most versions, `{"schema_version", "items"}`,
//! which once replaced arrays, and `{"schema_version", "data"}`, which `BD_JSON_ENVELOPE=1` selects
//! and which is announced as the only form of 2.0.

use super::Bead;
use serde_json::{Map, Value};
use std::fmt;

/// Why the output could not be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreadable {
    /// The output was empty.
    Nothing,
    /// The output is not JSON, or not a list of beads.
    NotBeads {
        /// The parser's error.
        why: String,
        /// The start of the output.
        begins: String,
    },
}

impl fmt::Display for Unreadable {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreadable::Nothing => to.write_str("it printed nothing instead of JSON"),
            Unreadable::NotBeads { why, begins } => {
                write!(to, "it printed what is no list of beads ({why}): `{begins}`")
            }
        }
    }
}

impl std::error::Error for Unreadable {}

/// The beads in the output: a list, or a single one.
///
/// # Errors
/// When the output is anything else.
pub fn read(printed: &str) -> Result<Vec<Bead>, Unreadable> {
    let list = match payload(printed)? {
        Value::Null => Vec::new(),
        Value::Array(list) => list,
        one => vec![one],
    };
    let beads: Result<Vec<Bead>, _> = list.into_iter().map(serde_json::from_value).collect();
    let beads = beads.map_err(|error| not_beads(error, printed))?;
    match beads.iter().any(|bead: &Bead| bead.id.is_empty()) {
        true => Err(not_beads("one has no `id`", printed)),
        false => Ok(beads),
    }
}

/// The content of the output without its envelope.
pub(super) fn payload(printed: &str) -> Result<Value, Unreadable> {
    if printed.trim().is_empty() {
        return Err(Unreadable::Nothing);
    }
    serde_json::from_str(printed).map(unwrapped).map_err(|error| not_beads(error, printed))
}

fn unwrapped(value: Value) -> Value {
    match value {
        Value::Object(mut around) if is_envelope(&around) => {
            let inside = around.remove("data").or_else(|| around.remove("items"));
            inside.unwrap_or_default()
        }
        bare => bare,
    }
}

fn is_envelope(value: &Map<String, Value>) -> bool {
    value.contains_key("schema_version")
        && (value.contains_key("data") || value.contains_key("items"))
}

fn not_beads(why: impl fmt::Display, printed: &str) -> Unreadable {
    let begins = printed.trim_start().chars().take(100).collect();
    Unreadable::NotBeads { why: why.to_string(), begins }
}

/// The reason for a refusal in bd's words: the error in its JSON, or what it wrote to standard
/// error without the `Error: ` prefix.
pub fn said(stdout: &str, stderr: &str) -> String {
    // For several ids bd may write a line for each and summarise them in a line of JSON; the reason
    // is in the lines.
    let for_people = stderr.lines().map(str::trim).take_while(|line| !line.starts_with('{'));
    let words: Vec<&str> = for_people
        .filter(|line| !line.is_empty())
        .map(|line| line.strip_prefix("Error: ").unwrap_or(line))
        .take(4)
        .collect();
    let words = || (!words.is_empty()).then(|| words.join("; "));
    error_in(stdout)
        .or_else(words)
        .or_else(|| error_in(stderr))
        .unwrap_or_else(|| "it gave no reason".into())
}

/// The error in the first JSON document of a text.
fn error_in(text: &str) -> Option<String> {
    let first = serde_json::Deserializer::from_str(text).into_iter::<Value>().next()?.ok()?;
    let error = unwrapped(first).get("error")?.as_str()?.trim().to_owned();
    (!error.is_empty()).then_some(error)
}
