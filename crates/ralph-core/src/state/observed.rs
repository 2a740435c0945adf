//! What Ralph observed when it ran a criterion's command on other files than those of the work tree.
//! `evidence::observed` decides what it shows.

use super::words;
use serde::{Deserialize, Serialize};

words! {
    /// How a run on other files went.
    #[derive(Default)]
    Outcome {
        /// The command passed.
        Passed = "passed",
        /// The command failed because of the other files.
        Failed = "failed",
        /// The run shows nothing; `Observation::why` has the reason.
        #[default]
        Unknown = "unknown",
        /// Two equal runs differed.
        Flaky = "flaky",
    }
}

/// One run on other files.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Observation {
    /// Digest of all files that the run depends on. An equal key needs no new run.
    pub key: String,
    pub outcome: Outcome,
    /// Why the run shows nothing, or the first line of the output that states an error.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Tests that ran, according to the runner's summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests_run: Option<u64>,
    /// Tests that failed, according to the runner's summary.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub tests_failed: u64,
    /// Names of failed tests, as the runner printed them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<String>,
    /// Literals whose change the command noticed, for the run with broken tests.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub noticed: Vec<String>,
    /// Literals that were changed and that the command did not notice.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unnoticed: Vec<String>,
    /// True if the command opened neither a changed file nor a test.
    #[serde(skip_serializing_if = "super::is_false")]
    pub read_nothing: bool,
    /// Duration in milliseconds.
    pub duration_ms: u64,
}

/// All that was observed about a criterion.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Observed {
    /// Id of the criterion's tree for which all observations are made; empty while some are due.
    pub tree: String,
    /// The present code with the harness of the start; absent if it is not needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original: Option<Observation>,
    /// The present harness with the code of the start; absent if it is not needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without: Option<Observation>,
    /// The present files with expected literals changed; absent if it is not needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken: Option<Observation>,
    /// The unchanged files in the other place: whether the command can run there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control: Option<Observation>,
    /// A clean copy of the files, after the command of `[evidence] clean`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clean: Option<Observation>,
    /// Why nothing was compared; empty if something was.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub not_compared: String,
    /// True if an earlier request could compare, or the loop's start was kept, and this one could not.
    #[serde(skip_serializing_if = "super::is_false")]
    pub was_comparable: bool,
}

/// What changed between the start of the loop and a request for completion.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Change {
    /// Changed files by what they are; a file that holds code and tests counts where it changed.
    pub code: usize,
    pub tests: usize,
    pub configuration: usize,
    pub documents: usize,
    pub dependencies: usize,
    /// How many of them are new files.
    pub added: usize,
    /// Submodules at another commit. Their files stay as they are in every observation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub submodules: Vec<String>,
    /// Changed scripts that criteria name, each with the result of its first form.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<String>,
    /// Changed tests that stand in the code and cannot be told from it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tests_in_code: Vec<String>,
}

impl Change {
    /// True if no file of the tree differs from the start.
    pub fn is_empty(&self) -> bool {
        let files =
            self.code + self.tests + self.configuration + self.documents + self.dependencies;
        files + self.submodules.len() == 0
    }
}

/// A reviewer's answer to what no run can show: whether the task needs what Ralph would refuse.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Judgement {
    /// The refusal that was judged, see [`super::LoopState::refusals`].
    pub about: String,
    /// True if the task needs it.
    pub holds: bool,
    /// The reviewer's reason.
    pub why: String,
}
