//! A worker of a loop, as the state keeps it.

use super::{ClientProcess, Extra, WorkerStanding};
use crate::text::from_json::from_json;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// An agent that works beside the session, or a client that works without one.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub struct Worker {
    /// What tells it from all others: the id of the call by which it was started.
    pub call: String,
    /// The client's id of the agent; empty until it is known. Of a worker with a client of its own, the
    /// id of its loop.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// Which agent: `ralph-worker` …
    pub kind: String,
    /// Its task; empty for one that has none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub task: String,
    /// What it is for, in the words of who started it.
    pub about: String,
    /// When it was started.
    pub at: Timestamp,
    /// The client process that it lives in. What a dead one had started is gone with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientProcess>,
    /// Where it stands.
    pub standing: WorkerStanding,
    /// True once its report was sent back; it is taken as it is the second time.
    #[serde(skip_serializing_if = "super::is_false")]
    pub sent_back: bool,
    /// Its worktree; empty for one that has none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub worktree: String,
    /// The branch of its worktree.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub branch: String,
    /// The commit from which its worktree began.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub base: String,
    /// What it has really changed, as git tells; at most [`crate::modes::parallel::FILES_KEPT`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The commit that holds all of its work, once that was merged or kept out.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub commit: String,
    /// The commit on the loop's branch by which its work was merged.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub merged: String,
    /// Why its work was not merged, and will not be as it is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kept_out: String,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

from_json!(Worker {
    call, agent, kind, task, about, at, client, standing, sent_back, worktree, branch, base, files,
    commit, merged, kept_out; extra
});

impl Worker {
    /// True while it is at work.
    pub fn is_running(&self) -> bool {
        self.standing == WorkerStanding::Running
    }

    /// True where there is work of it that its loop's branch does not have yet, and may get.
    pub fn awaits_merge(&self) -> bool {
        self.standing == WorkerStanding::Done
            && !self.files.is_empty()
            && self.merged.is_empty()
            && self.kept_out.is_empty()
    }
}
