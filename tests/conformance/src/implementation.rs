//! The description of an implementation: all that a case cannot know about it.

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// One file below `implementations/`, or anyone's own.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Implementation {
    /// What it is called in tables.
    pub name: String,
    #[serde(default, rename = "about")]
    _about: Value,
    /// Folders for the front of `PATH`.
    #[serde(default)]
    pub path: Vec<String>,
    /// Variables beside those of the client.
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    /// The command line that answers each event.
    pub(crate) hooks: BTreeMap<String, Vec<String>>,
    /// Arguments that are added for the first and for the second registration.
    #[serde(default)]
    pub(crate) registrations: [Vec<String>; 2],
    pub(crate) start: Start,
    /// How a person cancels, by where.
    #[serde(default)]
    pub(crate) person: BTreeMap<String, Act>,
    /// The word that asks for completion.
    pub(crate) token: String,
    pub(crate) state: StatePlace,
    /// A path that exists as long as the session's loop lives.
    pub(crate) live: Option<String>,
    /// Changes of the state file, as JSON merge patches in which `*` is every element of a list.
    #[serde(default)]
    pub(crate) edits: BTreeMap<String, Value>,
    /// What the person is told when a loop ends in this way.
    #[serde(default)]
    pub(crate) endings: BTreeMap<String, String>,
    /// Abilities that it does not have, each with the reason: a case that needs one says nothing.
    #[serde(default)]
    pub(crate) lacks: BTreeMap<String, String>,
    /// Cases that are known not to hold yet, each with the reason.
    #[serde(default)]
    pub(crate) pending: BTreeMap<String, String>,
    /// Cases that sometimes hold and sometimes do not, each with the reason.
    #[serde(default)]
    pub(crate) unsteady: BTreeMap<String, String>,
}

/// How a loop is started.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Start {
    /// The person types a slash command, and hooks do the rest.
    Typed(Typed),
    /// A model writes files, as its skill says.
    Files(Files),
}

/// A slash command and the spelling of its arguments.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Typed {
    pub(crate) command: String,
    pub(crate) task: String,
    pub(crate) max_iterations: String,
    pub(crate) criterion: String,
}

/// Files with placeholders; `{{criteria}}` is the list of criteria, each in the given form.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Files {
    pub(crate) files: BTreeMap<String, Value>,
    pub(crate) criterion: Value,
    pub(crate) max_iterations: u32,
}

/// What a person does, or what a model does for a person.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Act {
    /// Types a slash command.
    Command(String),
    /// Types plain words while a turn runs.
    Words(String),
    /// Runs a program outside the session.
    Runs(Vec<String>),
}

/// Where the state file is.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum StatePlace {
    /// At this path.
    At(String),
    /// At the path that this file holds.
    NamedIn(String),
}

impl Implementation {
    /// Reads a description.
    ///
    /// # Errors
    /// If the file cannot be read or is not one.
    pub fn read(path: &Path) -> Result<Implementation> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("could not read `{}`", path.display()))?;
        serde_json::from_str(&text)
            .with_context(|| format!("`{}` does not describe an implementation", path.display()))
    }
}

/// Applies a merge patch.
pub(crate) fn patch(document: &mut Value, change: &Value) {
    let Value::Object(members) = change else { return *document = change.clone() };
    match document {
        Value::Array(all) if members.contains_key("*") => {
            all.iter_mut().for_each(|each| patch(each, &members["*"]));
        }
        Value::Object(own) => patch_members(own, members),
        other => *other = change.clone(),
    }
}

fn patch_members(own: &mut Map<String, Value>, members: &Map<String, Value>) {
    for (name, change) in members {
        if change.is_null() {
            own.remove(name);
        } else {
            patch(own.entry(name.as_str()).or_insert(Value::Null), change);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_patch_reaches_every_element_of_a_list() {
        let mut state = json!({"a": [{"v": false, "id": 1}, {"v": false}], "b": 1, "c": 2});
        patch(&mut state, &json!({"a": {"*": {"v": true}}, "b": null, "d": {"e": 1}}));
        assert_eq!(state, json!({"a": [{"v": true, "id": 1}, {"v": true}], "c": 2, "d": {"e": 1}}));
    }
}
