//! What shows that the work is done: the criteria, their receipts, what was observed of them, and what reviewers found.
//! `evidence` decides what it is worth.

use super::{Extra, LoopState, Tokens, is_default, words};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What stands before the question where `--ac` names a reviewed criterion.
pub const REVIEW_PREFIX: &str = "review:";

/// One condition that must hold for the work to be done.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Criterion {
    /// `AC-1`, `AC-T` …
    pub id: String,
    /// The condition in words.
    pub description: String,
    /// Written by Ralph from a receipt; a value set by hand is ignored.
    pub verified: bool,
    /// The command that proves the criterion; empty for a reviewed criterion.
    pub verification_command: String,
    /// The question that a reviewer answers about the work tree, where no command can prove the
    /// criterion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<String>,
    /// Paths that the command depends on; empty means the whole tree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// The last run of the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Receipt>,
    /// Number of tests in the first counted run. A later run with fewer tests does not hold until a
    /// person accepts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests_expected: Option<u64>,
    /// True once a known test runner has reported tests, counted or not; a later run must report
    /// some too.
    #[serde(skip_serializing_if = "is_default")]
    pub tests_reported: bool,
    /// Number of skipped tests in the first counted run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests_skipped: Option<u64>,
    /// Exceptions that a person or a reviewer accepted: `failures` in the summary of a success.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<String>,
    /// True if the criterion held before the work began and so proves nothing about the work.
    #[serde(skip_serializing_if = "is_default")]
    pub held_before: bool,
    /// True if Ralph saw the criterion fail on the tree of the start.
    #[serde(skip_serializing_if = "is_default")]
    pub failed_before: bool,
    /// What Ralph observed on other files about a command that passes.
    #[serde(skip_serializing_if = "is_default")]
    pub observed: Observed,
    /// Id of the tree on which the criterion last held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_on: Option<String>,
    /// Set while the criterion fails after it had held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turned_red: Option<Regression>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Criterion {
    /// What decides whether the criterion holds, as `--ac` takes it: a command, or
    /// `review: QUESTION`.
    pub fn decided_by(&self) -> Cow<'_, str> {
        match &self.review {
            Some(question) => Cow::Owned(format!("{REVIEW_PREFIX} {question}")),
            None => Cow::Borrowed(&self.verification_command),
        }
    }

    /// The same between backticks, if it is a command.
    pub fn decided_by_quoted(&self) -> String {
        match self.review {
            Some(_) => self.decided_by().into_owned(),
            None => format!("`{}`", self.verification_command),
        }
    }

    /// True if a person accepted this exception.
    pub fn accepts(&self, what: Accepted) -> bool {
        self.accepted.iter().any(|word| word == what.as_str())
    }
}

/// A time at which all criteria held.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Green {
    /// The checkpoint's ref; empty if none could be made.
    pub reference: String,
    /// Id of the tree.
    pub tree: String,
    /// When all criteria held.
    pub at: Timestamp,
}

/// Digests of what the user agreed to.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Frozen {
    /// When the user agreed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// SHA-256 of the criteria (ids, descriptions, commands, paths) and of the tasks' commands.
    pub criteria: String,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

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
    #[serde(skip_serializing_if = "is_default")]
    pub timed_out: bool,
    /// The signal that killed the command; absent if none did, or Ralph sent it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Tests that ran according to the runner's summary; absent if no known runner gave a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests_run: Option<u64>,
    /// True if a known runner reported that tests ran, counted or not.
    #[serde(skip_serializing_if = "is_default")]
    pub tests_reported: bool,
    /// Failed tests according to the runner's summary.
    #[serde(skip_serializing_if = "is_default")]
    pub tests_failed: u64,
    /// Skipped tests according to the runner's summary.
    #[serde(skip_serializing_if = "is_default")]
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
    #[serde(skip_serializing_if = "is_default")]
    pub after_failure: bool,
    /// Consecutive passes on this tree.
    #[serde(skip_serializing_if = "is_default")]
    pub passes: u32,
    /// Names of the processes that the command left running; Ralph ended them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
    /// What the bounds of the loop kept the command from, each with its remedy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    /// Who ran the command.
    #[serde(skip_serializing_if = "is_default")]
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
    #[serde(skip_serializing_if = "is_default")]
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
    #[serde(skip_serializing_if = "is_default")]
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
    #[serde(skip_serializing_if = "is_default")]
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

/// A line of a file, as a reviewer cites it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Citation {
    /// Path, relative to the project.
    pub file: String,
    /// Counted from 1.
    pub line: u64,
    /// The text of the line, or a part of it.
    pub quote: String,
}

/// The part of a receipt that only a reviewed criterion has.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ReviewReceipt {
    /// The question that the reviewer answered.
    pub question: String,
    /// Claude Code's id of the reviewer's session.
    pub session_id: String,
    /// `holds` or `fails`; empty if the answer had no verdict.
    pub verdict: String,
    /// The lines that the verdict rests on.
    pub evidence: Vec<Citation>,
    /// The reviewer's reason.
    pub why: String,
    /// Tokens of the reviewer.
    pub tokens: Tokens,
    /// In US dollars, as the client reported it.
    pub cost: f64,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// How a loop's changes are reviewed once its criteria hold, as the user asked for it at the start.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ReviewPlan {
    /// The most rounds of review.
    pub rounds: u32,
    /// The project's own lenses, as they were when the loop started.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lenses: Vec<ReviewLens>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What one reviewer looks for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ReviewLens {
    /// Its name on the screen.
    pub name: String,
    /// What the reviewer is told to look for.
    pub text: String,
}

/// One round of review: each lens once.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ReviewRound {
    /// Counted from 1.
    pub round: u32,
    /// When it ended.
    pub at: Timestamp,
    /// Id of the tree that was reviewed.
    pub tree: String,
    /// All findings, with what became of each.
    pub findings: Vec<Finding>,
    /// The lenses without a usable answer, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// The files that changed while the reviewers read: their changes are not reviewed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// Tokens of the reviewers.
    pub tokens: Tokens,
    /// In US dollars, as the clients reported it.
    pub cost: f64,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A reviewer that was started and whose tokens and cost are not counted yet.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StartedReviewer {
    /// Claude Code's id of its session.
    pub session_id: String,
    /// Absolute path of the file with what its client prints.
    pub log: String,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl LoopState {
    /// Adds the tokens and the cost of a reviewer to those of the loop. Each reviewer counts once: one
    /// whose run was killed may be found again later.
    pub fn count_reviewer(&mut self, session_id: &str, tokens: Tokens, cost: f64) {
        let started = self.reviewers.len();
        self.reviewers.retain(|one| one.session_id != session_id);
        if self.reviewers.len() < started {
            self.usage.tokens = self.usage.tokens.plus(tokens);
            self.usage.cost += cost;
        }
    }
}

/// Something that a reviewer found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Finding {
    /// The lens that it was found through.
    pub lens: String,
    /// `major` or `minor`; another word drops the finding.
    pub severity: String,
    /// Path, relative to the project.
    pub file: String,
    /// Counted from 1; 0 if none was cited.
    pub line: u64,
    /// The text of the line, or a part of it.
    pub quote: String,
    /// What is wrong.
    pub what: String,
    /// The task that fixes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Why it became no task; empty if it did.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub dropped: String,
}

#[cfg(test)]
mod proof_tests {
    use super::*;

    #[test]
    fn a_change_is_empty_only_if_no_file_and_no_submodule_differs() {
        assert!(Change::default().is_empty());
        let with = |change: fn(&mut Change)| {
            let mut changed = Change::default();
            change(&mut changed);
            changed.is_empty()
        };
        assert!(!with(|it| it.code = 1));
        assert!(!with(|it| it.tests = 1));
        assert!(!with(|it| it.configuration = 1));
        assert!(!with(|it| it.documents = 1));
        assert!(!with(|it| it.dependencies = 1));
        assert!(!with(|it| it.submodules = vec!["lib".to_owned()]));
        assert!(!with(|it| (it.code, it.tests) = (1, 1)));
        assert!(
            with(|it| it.scripts = vec!["a.sh".to_owned()]),
            "its file is counted by what it is"
        );
    }

    #[test]
    fn only_the_exception_that_was_accepted_is_accepted() {
        let of = |accepted: &[&str]| {
            let accepted = accepted.iter().map(|word| (*word).to_owned()).collect();
            Criterion { accepted, ..Criterion::default() }.accepts(Accepted::Failures)
        };
        assert_eq!([of(&[]), of(&["other"]), of(&["other", "failures"])], [false, false, true]);
    }

    #[test]
    fn a_criterion_is_decided_by_its_command_or_by_a_question() {
        let by = |review: Option<&str>| {
            let criterion = Criterion {
                verification_command: "make".to_owned(),
                review: review.map(str::to_owned),
                ..Criterion::default()
            };
            (criterion.decided_by().into_owned(), criterion.decided_by_quoted())
        };
        assert_eq!(by(None), ("make".to_owned(), "`make`".to_owned()));
        let question = "review: is it?".to_owned();
        assert_eq!(by(Some("is it?")), (question.clone(), question));
    }

    #[test]
    fn only_ralphs_own_runs_prove() {
        use CriterionRunner::{Command, Driver, Hook};
        assert_eq!([Hook, Driver, Command].map(CriterionRunner::proves), [true, true, false]);
    }
}
