//! The orchestrated session that a loop drives, as the state keeps it.
//!
//! The session itself is its folder in the project. Here stands which one it is, and what a conversation has to
//! know of the calls that it makes: who was called for what, and what comes next in which words.

use super::{ClientProcess, Extra};
use crate::modes::orchestration::agents::{AgentRole, Mode};
use crate::modes::orchestration::invocation::{CallKey, Running};
use crate::text::from_json::from_json;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Which session, and its calls.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub struct Orchestrated {
    /// The name of its folder below `.ralph-sessions/`.
    pub id: String,
    /// Calls that were made and have not ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<SessionCall>,
    /// Calls that come next, as they were told last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<SessionCall>,
    /// What comes next in words, where no call does.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub says: String,
    /// How things stood when the conversation was last told at a stop what comes next; one value.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub told_at: String,
    /// At how many stops in a row they stood like that, after the first.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub still: u32,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

from_json!(Orchestrated { id, calls, given, says, told_at, still; extra });

/// A call of an agent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub struct SessionCall {
    /// The client's id of the call; empty for one that was not made yet.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub call: String,
    /// The client's id of the agent; empty until it is known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// What it is called for.
    pub mode: String,
    /// About which task; empty if about none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub task: String,
    /// In which iteration.
    pub iteration: u32,
    /// In which cycle of questions; 0 where there is none.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub cycle: u32,
    /// The prompt.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub prompt: String,
    /// When it was made.
    pub since: Timestamp,
    /// The client process that it lives in. What a dead one had started is gone with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientProcess>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

from_json!(SessionCall {
    call, agent, mode, task, iteration, cycle, prompt, since, client; extra
});

impl SessionCall {
    /// A call that is given: not made yet.
    pub fn given(key: &CallKey, prompt: String) -> SessionCall {
        SessionCall {
            mode: key.mode.word().to_owned(),
            task: key.task.clone(),
            iteration: key.iteration,
            cycle: key.cycle,
            prompt,
            ..SessionCall::default()
        }
    }

    /// What makes it the same call as another; none for a mode of another version.
    pub fn key(&self) -> Option<CallKey> {
        let mode = Mode::of(&self.mode)?;
        Some(CallKey {
            mode,
            task: self.task.clone(),
            iteration: self.iteration,
            cycle: self.cycle,
        })
    }

    /// Who is called.
    pub fn agent(&self) -> Option<AgentRole> {
        Mode::of(&self.mode).map(Mode::agent)
    }

    /// True where it is the call of this key.
    pub fn is(&self, key: &CallKey) -> bool {
        self.mode == key.mode.word()
            && self.task == key.task
            && (self.iteration, self.cycle) == (key.iteration, key.cycle)
    }
}

impl Orchestrated {
    /// The calls that are under way, as the router knows them.
    pub fn running(&self) -> Vec<Running> {
        let running =
            self.calls.iter().filter_map(|one| Some(Running { key: one.key()?, since: one.since }));
        running.collect()
    }
}
