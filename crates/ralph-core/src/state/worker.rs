//! The state of a worker of a loop.

use super::{ClientProcess, Extra, WorkerStanding};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A subagent of the session, or a separate headless client.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Worker {
    /// Unique id: the id of the call that started the worker.
    pub call: String,
    /// The client's id of the agent; empty until it is known. For a headless worker, the id of its
    /// loop.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// The agent's type: `ralph-worker` …
    pub kind: String,
    /// The worker's task; empty if it has none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub task: String,
    /// The purpose of the worker, in the words of its starter.
    pub about: String,
    /// When the worker was started.
    pub at: Timestamp,
    /// The client process in which the worker runs. Subagents end with their client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientProcess>,
    /// The status of the worker.
    pub standing: WorkerStanding,
    /// True once its report was sent back; the second report is taken as it is.
    #[serde(skip_serializing_if = "super::is_false")]
    pub sent_back: bool,
    /// Its worktree; empty if it has none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub worktree: String,
    /// The branch of its worktree.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub branch: String,
    /// The commit at which its worktree began.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub base: String,
    /// The first files that it has changed, according to git.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The commit that holds all of its work, once that was merged or rejected.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub commit: String,
    /// The commit on the loop's branch that merged its work.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub merged: String,
    /// Why its work was not merged, and will not be merged as it is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kept_out: String,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Worker {
    pub fn is_running(&self) -> bool {
        self.standing == WorkerStanding::Running
    }

    /// True if the worker has finished work that is neither merged nor rejected.
    pub fn awaits_merge(&self) -> bool {
        self.standing == WorkerStanding::Done
            && !self.files.is_empty()
            && self.merged.is_empty()
            && self.kept_out.is_empty()
    }
}
