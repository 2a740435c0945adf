//! The section `[run]`: what `ralph run` and `ralph build` do in the user's repository.
//!
//! Both switch something on, so a project's file needs trust for them.

use serde::{Deserialize, Serialize};

/// The section `[run]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunSettings {
    /// True for the branch that the plan names, else `ralph/run-<loop>`; or the name of a branch to
    /// switch to before the first round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<RunBranch>,
    /// True to commit what each finished task or round changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<bool>,
}

/// The branch of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RunBranch {
    /// True for the plan's branch, else `own_branch`; false for the present branch.
    Own(bool),
    /// This branch.
    Named(String),
}

/// The branch of a loop without a name from the user. Workers have theirs below `ralph/<loop>/`, so
/// a branch `ralph/<loop>` could not exist beside them.
fn own_branch(loop_id: &str) -> String {
    format!("ralph/run-{loop_id}")
}

impl RunSettings {
    /// These settings with `below` as the defaults.
    #[must_use]
    pub fn over(self, below: RunSettings) -> RunSettings {
        RunSettings { branch: self.branch.or(below.branch), commit: self.commit.or(below.commit) }
    }

    /// The branch to switch to; `None` to stay on the present one. `planned` is the branch that the
    /// loop's plan names; empty if it names none.
    pub fn branch_name(&self, loop_id: &str, planned: &str) -> Option<String> {
        match self.branch.as_ref()? {
            RunBranch::Own(false) => None,
            RunBranch::Own(true) if planned.is_empty() => Some(own_branch(loop_id)),
            RunBranch::Own(true) => Some(planned.to_owned()),
            RunBranch::Named(name) => Some(name.clone()),
        }
    }

    /// True if the run commits.
    pub fn commits(&self) -> bool {
        self.commit == Some(true)
    }

    pub(super) fn refused(&self) -> Option<String> {
        let is_empty = self.branch == Some(RunBranch::Named(String::new()));
        is_empty.then(|| "`run.branch` is true, false or the name of a branch".to_owned())
    }
}
