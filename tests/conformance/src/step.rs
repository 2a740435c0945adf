//! The steps of a case. The first member of a step's object that names a kind says which it is.

use crate::case::LoopOptions;
use crate::check::Expected;
use crate::payload;
use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Something that happens.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Event(Event),
    Twice(Twice),
    Types(Types),
    Starts(LoopOptions),
    Person(Person),
    Work(Work),
    State(State),
    Transcript(Transcript),
    Session(Session),
    Together(Vec<Step>),
    Repeat(Repeat),
    Files(Files),
}

/// The client fires a hook.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Event {
    pub(crate) event: String,
    /// Short for a Stop with this last message; null is a message that is null.
    #[serde(deserialize_with = "given")]
    pub(crate) stop: Option<Value>,
    /// Short for a PreToolUse of this tool.
    pub(crate) tool: Option<String>,
    pub(crate) input: Value,
    /// Members of the payload, in place of the measured ones.
    #[serde(rename = "with")]
    pub(crate) members: Map<String, Value>,
    /// Members that the payload does not have.
    pub(crate) without: Vec<String>,
    /// The whole of standard input.
    pub(crate) text: Option<String>,
    /// The folder below the root of the world in which the hook runs and which it is told.
    #[serde(rename = "in")]
    pub(crate) folder: Option<String>,
    /// Variables that the environment does not have.
    pub(crate) unset: Vec<String>,
    pub(crate) expect: Expected,
}

impl Event {
    /// The event that is meant.
    pub(crate) fn name(&self) -> &str {
        match (&self.stop, &self.tool) {
            (Some(_), _) => "Stop",
            (None, Some(_)) => "PreToolUse",
            (None, None) => &self.event,
        }
    }
}

/// Two registrations of the same hook answer the same event.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Twice {
    pub(crate) twice: Event,
    /// `together`, `in order` or `in reverse`
    pub(crate) order: String,
}

/// The person types the command that starts a loop, with these arguments.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Types {
    pub(crate) types: String,
    #[serde(default)]
    pub(crate) expect: Expected,
}

/// The person starts a loop in the implementation's own way.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Starts {
    starts: LoopOptions,
}

/// The person acts in the implementation's own way.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Person {
    /// `cancels at the prompt`, `cancels in mid-turn` or `cancels in a terminal`
    pub(crate) person: String,
}

/// The model works.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Work {
    /// Short for: one more line in a committed file.
    pub(crate) work: bool,
    pub(crate) write: BTreeMap<String, String>,
    pub(crate) append: BTreeMap<String, String>,
    pub(crate) delete: Vec<String>,
    pub(crate) commit: Option<String>,
}

/// Something happens to the file that holds the loop's state.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct State {
    /// `deleted`, `emptied`, `truncated`, `garbage`, or an edit that the implementation describes
    pub(crate) state: String,
}

/// The transcript is other than usual.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Transcript {
    /// Rows, a text, or null where there is no file
    pub(crate) transcript: Value,
    /// Whether the client writes no message to it from now on.
    #[serde(default)]
    pub(crate) stays: bool,
}

/// What follows happens in another session of the same machine and project.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Session {
    pub(crate) session: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Together {
    together: Vec<Value>,
}

/// Steps again and again; `{{n}}` counts them from 1.
#[derive(Debug, Clone)]
pub(crate) struct Repeat {
    pub(crate) times: u32,
    /// Stops repeating once a stop was let through, and fails if none was.
    pub(crate) until_allowed: bool,
    pub(crate) steps: Vec<Step>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RepeatText {
    repeat: u32,
    #[serde(default)]
    until_allowed: bool,
    steps: Vec<Value>,
}

/// What must be there and what must not.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Files {
    pub(crate) absent: Vec<String>,
    pub(crate) present: Vec<String>,
}

/// The steps of a case file.
pub(crate) fn read(value: &Value) -> Result<Vec<Step>> {
    let all = value.as_array().context("`steps` is a list")?;
    all.iter().map(read_one).collect()
}

fn read_one(value: &Value) -> Result<Step> {
    let members = value.as_object().with_context(|| format!("a step is an object: {value}"))?;
    let has = |names: &[&str]| names.iter().any(|name| members.contains_key(*name));
    Ok(if has(&["event", "stop", "tool", "text"]) {
        Step::Event(known(typed(value)?)?)
    } else if has(&["twice"]) {
        let Twice { twice, order } = typed(value)?;
        Step::Twice(Twice { twice: known(twice)?, order })
    } else if has(&["types"]) {
        Step::Types(typed(value)?)
    } else if has(&["starts"]) {
        Step::Starts(typed::<Starts>(value)?.starts)
    } else if has(&["person"]) {
        Step::Person(typed(value)?)
    } else if has(&["work", "write", "append", "delete", "commit"]) {
        Step::Work(typed(value)?)
    } else if has(&["state"]) {
        Step::State(typed(value)?)
    } else if has(&["transcript"]) {
        Step::Transcript(typed(value)?)
    } else if has(&["session"]) {
        Step::Session(typed(value)?)
    } else if has(&["together"]) {
        Step::Together(read_all(typed::<Together>(value)?.together)?)
    } else if has(&["repeat"]) {
        let RepeatText { repeat, until_allowed, steps } = typed(value)?;
        Step::Repeat(Repeat { times: repeat, until_allowed, steps: read_all(steps)? })
    } else if has(&["absent", "present"]) {
        Step::Files(typed(value)?)
    } else {
        bail!("not a step: {value}")
    })
}

/// An event that is misspelt would be answered by nobody, and that looks like silence.
fn known(event: Event) -> Result<Event> {
    let name = event.name();
    ensure!(payload::EVENTS.contains(&name), "`{name}` is no event");
    Ok(event)
}

/// The events of a description, by names that there are.
pub(crate) fn known_events<'de, D: serde::Deserializer<'de>>(
    from: D,
) -> Result<Vec<Event>, D::Error> {
    let events = Vec::<Event>::deserialize(from)?;
    events.into_iter().map(|event| known(event).map_err(serde::de::Error::custom)).collect()
}

fn read_all(values: Vec<Value>) -> Result<Vec<Step>> {
    read(&Value::Array(values))
}

/// With its member there, null is a value as any other.
fn given<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

fn typed<T: DeserializeOwned>(value: &Value) -> Result<T> {
    serde_json::from_value(value.clone()).with_context(|| format!("in the step {value}"))
}
