//! A receipt as it is stored with its criterion. What it proves is decided in `evidence::receipt`.

use super::ReviewReceipt;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The kind of a receipt that rests on a review.
pub const REVIEWED: &str = "reviewed";

/// One run of an acceptance command, or one review.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Receipt {
    /// `reviewed` if a reviewer decided; empty if a command did.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The command as it was run.
    pub command: String,
    /// What the reviewer answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewReceipt>,
    /// True if the command exited with code 0 by itself, or the verdict is that the criterion holds.
    pub passed: bool,
    /// The command's exit code; absent if it did not exit by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// How the command ended if not by exiting: by a signal, at the deadline …
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ended: String,
    /// True if Ralph ended the command because its time was up.
    #[serde(skip_serializing_if = "super::is_false")]
    pub timed_out: bool,
    /// The signal that killed the command; absent if none did, or Ralph sent it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Tests that ran according to the runner's summary; absent if no known runner gave a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests_run: Option<u64>,
    /// True if a known runner reported that tests ran, counted or not.
    #[serde(skip_serializing_if = "super::is_false")]
    pub tests_reported: bool,
    /// Failed tests according to the runner's summary.
    #[serde(skip_serializing_if = "is_none")]
    pub tests_failed: u64,
    /// Skipped tests according to the runner's summary.
    #[serde(skip_serializing_if = "is_none")]
    pub tests_skipped: u64,
    /// Names of failed tests, as the runner printed them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<String>,
    /// The first line of the output that states an error.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error: String,
    /// Why a pass proves nothing: a known runner reported that no test ran; or why a verdict does
    /// not count.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub vacuous: String,
    /// When the run began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// Duration in milliseconds.
    pub duration_ms: u64,
    /// SHA-256 of the complete output.
    pub output_sha256: String,
    /// File in the loop's `receipts/` with the output, up to a size limit.
    pub output_file: String,
    /// The end of the output.
    pub tail: String,
    /// Id of the tree (of the criterion's `paths`, if any) before the run.
    pub tree_before: String,
    /// Id of that tree after the run.
    pub tree_after: String,
    /// Files that changed in every run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rewrote: Vec<String>,
    /// Hash of the failure without the parts that vary between runs; empty if the run did not fail.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub signature: String,
    /// True if an earlier run on the same tree failed.
    #[serde(skip_serializing_if = "super::is_false")]
    pub after_failure: bool,
    /// Consecutive passes on this tree.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub passes: u32,
    /// Names of the processes that the command left running; Ralph ended them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
    /// What the bounds of the loop kept the command from, each with its remedy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    /// Who ran the command.
    #[serde(skip_serializing_if = "CriterionRunner::is_command")]
    pub by: CriterionRunner,
    /// Variables that had changed since the start of the loop and were restored for the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub restored: Vec<String>,
    /// Variables that had changed and could not be restored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differs: Vec<String>,
}

/// Who ran a criterion. The model can run `ralph verify` in an environment of its choice, so only
/// the other two are proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CriterionRunner {
    /// The stop hook, at a completion request.
    Hook,
    /// The driver of a headless loop.
    Driver,
    /// `ralph verify`. A word of a newer version proves nothing here, as this does.
    #[default]
    #[serde(other)]
    Command,
}

impl CriterionRunner {
    /// True if such a run can prove a criterion.
    pub fn proves(self) -> bool {
        self != CriterionRunner::Command
    }

    fn is_command(&self) -> bool {
        *self == CriterionRunner::Command
    }
}

/// A criterion that held and no longer holds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Regression {
    /// The checkpoint at which it held; empty if none was made.
    pub checkpoint: String,
    /// The first files that changed since then.
    pub files: Vec<String>,
    /// How many more files changed.
    pub more: usize,
}

/// Exceptions that a person can accept, besides fewer tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// A summary with failures although the command succeeds.
    Failures,
}

impl Accepted {
    /// The word used in the state.
    pub fn as_str(self) -> &'static str {
        match self {
            Accepted::Failures => "failures",
        }
    }
}

fn is_none(number: &u64) -> bool {
    *number == 0
}
