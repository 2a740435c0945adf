//! The smaller tables of the settings: evidence, notifications, refinement, reviews, runs, shared loops, the wall.

use crate::modes::build::review::ROUNDS;
use crate::modes::refine;
use crate::tasks::shared::record::{LEASE_SECONDS, LONGEST_LEASE};
use crate::tasks::shared::timing::PUSHES_PER_MINUTE;
use serde::{Deserialize, Serialize};
use std::time::Duration;

// The section `[evidence]`: how Ralph observes what a criterion is worth.

/// The section `[evidence]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EvidenceSettings {
    /// A command that prepares a clean copy of the project, such as `npm ci`. With it, each criterion has to pass once
    /// in a copy without ignored files, with an empty home folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clean: Option<String>,
    /// Commands of criteria that run at a request for completion only once, on the files as they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_observed: Vec<String>,
}

impl EvidenceSettings {
    pub(super) fn refused(&self) -> Option<String> {
        let is_empty = self.clean.as_deref().is_some_and(|clean| clean.trim().is_empty());
        is_empty
            .then(|| "`evidence.clean` is a command such as `npm ci`, not an empty text".to_owned())
    }
}

// The section `[notify]`: how Ralph calls a user who is looking elsewhere.

/// The section `[notify]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NotifySettings {
    /// True for a notification on the desktop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desktop: Option<bool>,
    /// A program, by its name on `PATH` or its absolute path, and its arguments. It gets one JSON
    /// document on standard input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
}

impl NotifySettings {
    /// True if something is to be started at an event.
    pub fn is_set(&self) -> bool {
        self.desktop == Some(true) || self.program().is_some()
    }

    /// The program and its arguments; `None` if no command is set.
    pub fn program(&self) -> Option<(&str, &[String])> {
        let (program, args) = self.command.as_deref()?.split_first()?;
        Some((program, args))
    }

    pub(super) fn refused(&self) -> Option<String> {
        let (program, _) = self.program()?;
        // A relative path would start whatever the project has there.
        let is_usable = program.starts_with('/') || !(program.is_empty() || program.contains('/'));
        (!is_usable).then(|| {
            format!(
                "`notify.command` starts with the name of a program or an absolute path, not `{program}`"
            )
        })
    }
}

// The section `[refine]`: the limits of a refinement, and when it counts as settled.

/// The section `[refine]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Refine {
    /// Rounds after which it ends in any case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    /// Rounds in a row with little change that make a plateau.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plateau_threshold: Option<u32>,
    /// The first round that may be a plateau.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_iterations: Option<u32>,
    /// Changed lines of a plan that count as little.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<u64>,
    /// Changed beads that count as little.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beads: Option<u64>,
}

impl Refine {
    /// The limits of a refinement: these settings, and the defaults for the others.
    pub fn bounds(&self) -> refine::RefineSettings {
        let default = refine::RefineSettings::default();
        refine::RefineSettings {
            max_iterations: self.max_iterations.unwrap_or(default.max_iterations),
            plateau_threshold: self.plateau_threshold.unwrap_or(default.plateau_threshold),
            min_iterations: self.min_iterations.unwrap_or(default.min_iterations),
            lines: self.lines.unwrap_or(default.lines),
            beads: self.beads.unwrap_or(default.beads),
            ..default
        }
    }

    pub(super) fn refused(&self) -> Option<String> {
        self.bounds().refused().map(|why| format!("`[refine]`: {why}"))
    }
}

// The section `[review]`: whether the changes of unattended loops are reviewed before they end.

/// The most rounds of review.
const MOST_ROUNDS: u32 = 20;

/// The section `[review]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReviewSettings {
    /// True to review what `ralph run`, `ralph build` and `ralph parallel run` changed once the criteria
    /// hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Rounds of review after which the loop ends in any case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
}

impl ReviewSettings {
    pub fn is_enabled(&self) -> bool {
        self.enabled == Some(true)
    }

    /// Whether a reviewer may judge what an unattended run would be refused for.
    pub fn may_judge(&self) -> bool {
        self.enabled != Some(false)
    }

    pub fn most_rounds(&self) -> u32 {
        self.rounds.unwrap_or(ROUNDS)
    }

    pub(super) fn refused(&self) -> Option<String> {
        let rounds = self.rounds.filter(|rounds| !(1..=MOST_ROUNDS).contains(rounds))?;
        Some(format!("`review.rounds` is a whole number from 1 to {MOST_ROUNDS}, not {rounds}"))
    }
}

// The section `[run]`: what `ralph run` and `ralph build` do in the user's repository.

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

/// The section `[shared]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SharedSettings {
    /// Seconds after which a claim expires whose machine does not renew it. `ralph share` writes them
    /// into the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_seconds: Option<u64>,
    /// Seconds between two reads of the remote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_seconds: Option<u64>,
    /// Pushes in a minute of all machines together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pushes_per_minute: Option<u32>,
    /// True to put the references below `refs/heads/`, for hosts that refuse others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below_heads: Option<bool>,
}

const POLL_SECONDS: u64 = 15;

impl SharedSettings {
    pub fn lease_seconds(&self) -> u64 {
        self.lease_seconds.unwrap_or(LEASE_SECONDS)
    }

    pub fn poll(&self) -> Duration {
        Duration::from_secs(self.poll_seconds.unwrap_or(POLL_SECONDS))
    }

    pub fn pushes_per_minute(&self) -> u32 {
        self.pushes_per_minute.unwrap_or(PUSHES_PER_MINUTE)
    }

    pub fn is_below_heads(&self) -> bool {
        self.below_heads == Some(true)
    }

    pub(super) fn refused(&self) -> Option<String> {
        let numbers = [
            ("lease_seconds", self.lease_seconds, LONGEST_LEASE),
            ("poll_seconds", self.poll_seconds, 3_600),
            ("pushes_per_minute", self.pushes_per_minute.map(u64::from), 100_000),
        ];
        numbers.into_iter().find_map(|(name, given, most)| {
            let given = given.filter(|given| !(1..=most).contains(given))?;
            Some(format!("`shared.{name}` is a whole number from 1 to {most}, not {given}"))
        })
    }
}

/// The section `[wall]`. Only the user opens anything.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WallSettings {
    /// True to let commands open connections while a plan is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<bool>,
}
