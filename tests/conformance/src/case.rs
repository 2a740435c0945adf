//! A case as it is written down: what is given, what happens, and what must follow.

use crate::step::Step;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// One file below `cases/`. Each variant of it is a case.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CaseFile {
    /// What holds, as a sentence.
    pub(crate) title: String,
    /// What goes wrong where it does not hold.
    pub(crate) why: String,
    /// Public threads that report the failure.
    #[serde(default)]
    pub(crate) seen: Vec<String>,
    /// Abilities that are not about safety, without which the case says nothing.
    #[serde(default)]
    pub(crate) needs: Vec<String>,
    /// How often the case is played, each time in a new world: for races.
    #[serde(default = "once")]
    pub(crate) times: u32,
    #[serde(default)]
    pub(crate) given: Value,
    /// Values for placeholders, by the variant's name.
    #[serde(default)]
    pub(crate) variants: BTreeMap<String, Map<String, Value>>,
    pub(crate) steps: Value,
}

fn once() -> u32 {
    1
}

/// One situation with what must follow from it.
#[derive(Debug, Clone)]
pub struct Case {
    /// `group/file` or `group/file: variant`
    pub name: String,
    /// `group/file`
    pub file: String,
    /// What holds, as a sentence.
    pub title: String,
    pub(crate) needs: Vec<String>,
    pub(crate) times: u32,
    pub(crate) given: Given,
    pub(crate) steps: Vec<Step>,
}

/// The world before the first step.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Given {
    /// Whether the project is a git repository with one commit.
    pub(crate) repository: bool,
    /// Files of the project, committed where there is a repository.
    pub(crate) files: BTreeMap<String, String>,
    /// The loop that was started; none if there is no loop.
    #[serde(rename = "loop")]
    pub(crate) looping: Option<LoopOptions>,
    /// Programs that are not on `PATH`.
    pub(crate) without_programs: Vec<String>,
}

impl Default for Given {
    fn default() -> Given {
        let files = BTreeMap::new();
        Given { repository: true, files, looping: None, without_programs: Vec::new() }
    }
}

/// How the loop was asked for; what is left out is the implementation's own default.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LoopOptions {
    pub(crate) task: Option<String>,
    pub(crate) max_iterations: Option<u32>,
    pub(crate) criteria: Vec<Criterion>,
}

/// What done means, as a command that exits with 0.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Criterion {
    pub(crate) description: String,
    pub(crate) command: String,
}
