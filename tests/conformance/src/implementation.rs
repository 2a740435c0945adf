//! The description of an implementation: all that a case cannot know about it.

use crate::step::{self, Event};
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
    /// The command lines that answer each event.
    pub(crate) hooks: BTreeMap<String, CommandLines>,
    /// Arguments that are added for the first and for the second registration.
    #[serde(default)]
    pub(crate) registrations: [Vec<String>; 2],
    pub(crate) start: Start,
    /// How a person cancels, by where: one act after the other.
    #[serde(default)]
    pub(crate) person: BTreeMap<String, Acts>,
    /// The word that asks for completion.
    pub(crate) token: String,
    /// What the model does besides, where it is not the word that asks.
    #[serde(default)]
    pub(crate) asks: Vec<Act>,
    /// Words that the model hears when a turn goes on, with a bound of seven, for the first time.
    #[serde(default)]
    pub(crate) goes_on: String,
    /// Why each stop is played as the first of its turn.
    pub(crate) first_stops: Option<String>,
    pub(crate) state: StatePlace,
    /// What shows that the session's loop lives.
    pub(crate) live: Option<Live>,
    /// Changes of the state file, as JSON merge patches in which `*` is every element of a list, or
    /// as pairs of texts where the file is no JSON.
    #[serde(default)]
    pub(crate) edits: BTreeMap<String, Value>,
    /// What the person is told when a loop ends in this way.
    #[serde(default)]
    pub(crate) endings: BTreeMap<String, String>,
    /// Abilities that it does not have, each with the reason: a case that needs one says nothing.
    #[serde(default)]
    pub(crate) lacks: BTreeMap<String, String>,
    /// Cases that its own documents decide otherwise, each with the reason.
    #[serde(default)]
    pub(crate) otherwise: BTreeMap<String, String>,
    /// Cases that are known not to hold yet, each with the reason.
    #[serde(default)]
    pub(crate) pending: BTreeMap<String, String>,
    /// Cases that sometimes hold and sometimes do not, each with the reason.
    #[serde(default)]
    pub(crate) unsteady: BTreeMap<String, String>,
}

/// One command line, or several: the client starts all of them and honours each answer.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum CommandLines {
    One(Vec<String>),
    Several(Vec<Vec<String>>),
}

impl CommandLines {
    pub(crate) fn all(&self) -> &[Vec<String>] {
        match self {
            CommandLines::One(words) => std::slice::from_ref(words),
            CommandLines::Several(all) => all,
        }
    }
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
    #[serde(default)]
    pub(crate) max_iterations: String,
    #[serde(default)]
    pub(crate) criterion: String,
    /// Whether its bound counts the turn in which the loop is started.
    #[serde(default)]
    pub(crate) counts_the_first_turn: bool,
    /// A line of a shell in the command's own text, which the client runs; `$ARGUMENTS` is replaced
    /// in it as text.
    pub(crate) shell: Option<String>,
    /// What else happens before the loop is in force.
    #[serde(default, deserialize_with = "step::known_events")]
    pub(crate) then: Vec<Event>,
    /// What puts a bound in force, where no argument does.
    pub(crate) bound: Option<Bound>,
}

/// A bound with `{{value}}`: as a merge patch of the state, and in files.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bound {
    pub(crate) state: Value,
    #[serde(default)]
    pub(crate) files: BTreeMap<String, Value>,
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

/// One act, or several.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum Acts {
    One(Act),
    Several(Vec<Act>),
}

impl Acts {
    pub(crate) fn all(&self) -> &[Act] {
        match self {
            Acts::One(act) => std::slice::from_ref(act),
            Acts::Several(all) => all,
        }
    }
}

/// Where the state file is.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum StatePlace {
    /// At this path.
    At(String),
    /// At the first of these paths that is there.
    OneOf(Vec<String>),
    /// At the path that this file holds.
    NamedIn(String),
}

/// How anyone can see that a loop lives.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum Live {
    /// This path exists.
    Path(String),
    /// The state says so.
    State(StateSays),
}

/// A member of the state that is true as long as the loop lives.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StateSays {
    pub(crate) state_says: String,
}

impl Implementation {
    /// Reads a description.
    ///
    /// # Errors
    /// If the file cannot be read or is not one, or names a variable that is not set.
    pub fn read(path: &Path) -> Result<Implementation> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("could not read `{}`", path.display()))?;
        let text = with_variables(&text, |name| std::env::var(name).ok())
            .with_context(|| format!("in `{}`", path.display()))?;
        serde_json::from_str(&text)
            .with_context(|| format!("`{}` does not describe an implementation", path.display()))
    }
}

/// What is not part of this repository is where a variable of the environment says: `{{env NAME}}`.
fn with_variables(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<String> {
    let mut parts = text.split("{{env ");
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once("}}").context("`{{env` has no end")?;
        let value = variable(name).filter(|value| !value.is_empty());
        let value = value.with_context(|| {
            format!(
                "could not find it: set `{name}` to its folder, as tests/conformance/README.md says"
            )
        })?;
        let value = Value::String(value).to_string();
        filled += value.trim_matches('"');
        filled += rest;
    }
    Ok(filled)
}

impl Implementation {
    /// The command line that cancels from a terminal, if it is one program.
    pub(crate) fn cancel_program(&self) -> Option<String> {
        match self.person.get("cancels in a terminal")?.all() {
            [Act::Runs(words)] => Some(words.join(" ")),
            _ => None,
        }
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
    fn what_is_elsewhere_is_where_a_variable_says() {
        let text = r#"["{{env A}}/x", "{{env A}}", "{{project}}"]"#;
        let filled = with_variables(text, |name| (name == "A").then(|| r"/a\b".to_owned()));
        assert_eq!(filled.unwrap(), r#"["/a\\b/x", "/a\\b", "{{project}}"]"#);
        for unset in [None, Some(String::new())] {
            let refused = with_variables(text, |_| unset.clone()).unwrap_err().to_string();
            assert!(refused.contains("set `A`"), "{refused}");
        }
    }

    #[test]
    fn one_command_line_or_several_answer_an_event() {
        let of = |value: Value| serde_json::from_value::<CommandLines>(value).unwrap().all().len();
        assert_eq!(of(json!(["bash", "hook.sh"])), 1);
        assert_eq!(of(json!([["node", "a.mjs"], ["node", "b.mjs"]])), 2);
    }

    #[test]
    fn a_patch_reaches_every_element_of_a_list() {
        let mut state = json!({"a": [{"v": false, "id": 1}, {"v": false}], "b": 1, "c": 2});
        patch(&mut state, &json!({"a": {"*": {"v": true}}, "b": null, "d": {"e": 1}}));
        assert_eq!(state, json!({"a": [{"v": true, "id": 1}, {"v": true}], "c": 2, "d": {"e": 1}}));
    }
}
