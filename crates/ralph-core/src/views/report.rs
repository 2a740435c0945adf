//! Reports on a loop, an orchestration or a refinement for people who did not watch: an HTML page,
//! and Markdown for a pull request.
//!
//! A [`Report`] is built from stored data: the state, the journal, the files of an orchestration.
//! Every text is bounded and made visible when it is added, so both formats only escape it. The
//! report judges nothing anew: each status was recorded by a rule or looked up by the caller.

pub mod journal;
pub mod markdown;
mod of_loop;
mod of_orchestration;
mod of_refinement;
pub mod page;
mod words;

pub use of_loop::{LoopSeen, of_loop};
pub use of_orchestration::of_session;
pub use of_refinement::{
    Activity, Amount, RefinementSeen, ReportRound, Rounds, of_refinement, standing,
};

use crate::tasks::graph::TaskReadiness as TaskStanding;
use jiff::Timestamp;
use journal::{History, Spent};

/// Everything that both formats show.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// `loop`, `planning`, `session` or `refinement`.
    pub kind: &'static str,
    /// Its id.
    pub id: String,
    /// The request, with its line breaks.
    pub goal: String,
    /// How it ended, or its current phase.
    pub outcome: ReportOutcome,
    /// Other facts for the head, each with a label.
    pub facts: Vec<(&'static str, String)>,
    /// Progress in numbers.
    pub gauges: Vec<Gauge>,
    /// The evidence for the ending: each criterion with its last receipt.
    pub evidence: Vec<Evidence>,
    /// What reviewers found in the changes.
    pub findings: Vec<FindingShown>,
    /// What changed in the project; `None` for work that is no loop, or one that never started.
    pub changes: Option<Changes>,
    /// What the user must know besides the outcome.
    pub notes: Vec<String>,
    /// What to do next; commands are between backticks.
    pub next: String,
    pub rounds: Rounds,
    /// The status of each criterion over time.
    pub history: History,
    /// The tasks, in list order.
    pub tasks: Vec<TaskShown>,
    /// Tasks that are counted but not shown.
    pub n_tasks_left_out: usize,
    pub spent: Vec<Spent>,
    /// Tokens of the four kinds, each with its label; empty if none were counted.
    pub tokens: Vec<(&'static str, u64)>,
    /// Events by iteration.
    pub timeline: Vec<ReportTurn>,
    /// Decisions that are counted but not shown.
    pub n_left_out: usize,
    /// Problems, by kind.
    pub trouble: Vec<Trouble>,
    /// When the report was made; `None` for finished work, so that its report is always the same.
    pub made_at: Option<Timestamp>,
}

/// The rating of an entry. Colour is never its only sign.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tone {
    /// As it should be.
    Good,
    /// Needs attention.
    Warn,
    /// Something is wrong.
    Bad,
    /// In progress.
    Live,
    /// Neutral.
    #[default]
    Quiet,
}

impl Tone {
    /// The name of the CSS class.
    fn word(self) -> &'static str {
        match self {
            Tone::Good => "good",
            Tone::Warn => "warn",
            Tone::Bad => "bad",
            Tone::Live => "live",
            Tone::Quiet => "quiet",
        }
    }
}

/// How the work ended, or its current phase.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReportOutcome {
    /// One or two words: `complete`, `limit reached`, `implementation`.
    pub word: String,
    pub tone: Tone,
    /// The reason.
    pub detail: String,
}

/// A finding of a reviewer, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingShown {
    /// `1, tests`: the round of review and the lens.
    pub found_by: String,
    pub severity: String,
    /// The file and the line.
    pub place: String,
    pub what: String,
    pub became: String,
    pub tone: Tone,
}

/// What a loop changed in the files of its project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// The files, in the order of their paths.
    pub files: Vec<FileChange>,
    /// The commits since the start, newest first: the short id and the subject.
    pub commits: Vec<(String, String)>,
    /// With what the start was compared.
    pub until: &'static str,
    /// Why the changes are unknown; empty if they are known.
    pub unknown: String,
}

/// A file that a loop changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    pub path: String,
    /// Added and removed lines; `None` for a binary file.
    pub lines: Option<(u64, u64)>,
}

impl Changes {
    /// Files and commits shown; the others are counted.
    pub const MOST: usize = 200;

    /// `3 files, +12 -4, 1 commit`; or why the changes are unknown.
    fn summary(&self) -> String {
        if !self.unknown.is_empty() {
            return words::line(&self.unknown, words::LONG);
        }
        let files = words::counted(self.files.len(), "file", "files");
        let commits = words::counted(self.commits.len(), "commit", "commits");
        let lines = self.files.iter().filter_map(|file| file.lines);
        let (added, removed) = lines.fold((0_u64, 0_u64), |sum, one| {
            (sum.0.saturating_add(one.0), sum.1.saturating_add(one.1))
        });
        let (added, removed) = (words::grouped(added), words::grouped(removed));
        format!("{files}, +{added} -{removed}, {commits}; {}", self.until)
    }

    /// The rows of both lists: `+12 -4` with a path, a short id with a subject.
    fn rows(&self) -> [Vec<(String, String)>; 2] {
        let files = self.files.iter().take(Changes::MOST).map(|file| {
            let lines = match file.lines {
                Some((added, removed)) => format!("+{added} -{removed}"),
                None => "binary".to_owned(),
            };
            (lines, words::line(&file.path, words::LONG))
        });
        let commits = self.commits.iter().take(Changes::MOST);
        let commits =
            commits.map(|(id, subject)| (words::line(id, 40), words::line(subject, words::SHORT)));
        [files.collect(), commits.collect()]
    }

    /// How many entries [`Changes::rows`] leaves out.
    fn n_left_out(&self) -> usize {
        [self.files.len(), self.commits.len()].iter().map(|n| n.saturating_sub(Changes::MOST)).sum()
    }
}

/// A number as part of a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gauge {
    pub label: &'static str,
    /// The number, with its unit.
    pub value: String,
    /// The whole: `of 25`; empty if there is none.
    pub of: String,
    /// The share in percent; `None` if there is no whole.
    pub share: Option<u8>,
    pub tone: Tone,
}

impl Gauge {
    /// A number without a whole.
    fn number(label: &'static str, value: String) -> Gauge {
        Gauge { label, value, of: String::new(), share: None, tone: Tone::Quiet }
    }
}

/// A criterion with its last receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    pub id: String,
    /// The description.
    pub about: String,
    /// The command that proves it.
    pub command: String,
    /// Its status: `holds`, `failed` …
    pub standing: &'static str,
    pub tone: Tone,
    /// A summary of the receipt or of what is wrong: exit code, tests, time, tree.
    pub receipt: String,
    /// The end of the command's last output.
    pub tail: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskShown {
    pub id: String,
    pub name: String,
    pub standing: TaskStanding,
    /// Number of its wave, from 1; `None` if it is in no wave.
    pub wave: Option<usize>,
    /// Indexes of its dependencies in the list.
    pub after: Vec<usize>,
    /// The owner and the result.
    pub remark: String,
}

/// One iteration: from the previous stop to the stop that ended it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportTurn {
    /// `Iteration 2`, `Last turn`.
    pub title: String,
    /// When it ended; `None` if unknown.
    pub at: Option<Timestamp>,
    /// Its duration and token use.
    pub sum: String,
    /// The events in it.
    pub steps: Vec<ReportStep>,
}

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportStep {
    /// When it happened; `None` if unknown.
    pub at: Option<Timestamp>,
    /// A few words.
    pub what: String,
    pub tone: Tone,
    /// The reason, on one line.
    pub why: String,
    /// All other details, each with its label.
    pub rows: Vec<(String, String)>,
}

/// Problems of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// The kind.
    pub title: &'static str,
    pub tone: Tone,
    /// Each problem with its position: `2/5`.
    pub items: Vec<(String, String)>,
    /// Number of problems that are not listed.
    pub more: usize,
}

/// A kind of problem, its rating, and each problem with its position.
type TroubleKind = (&'static str, Tone, Vec<(String, String)>);

impl Trouble {
    /// The first `most` problems of each kind that there is.
    fn all<const N: usize>(kinds: [TroubleKind; N], most: usize) -> Vec<Trouble> {
        let found = kinds.into_iter().filter(|(_, _, items)| !items.is_empty());
        let first = |(title, tone, mut items): TroubleKind| {
            let more = items.len().saturating_sub(most);
            items.truncate(most);
            Trouble { title, tone, items, more }
        };
        found.map(first).collect()
    }
}

/// Facts for the head, without those that there are none of.
fn known(facts: impl IntoIterator<Item = (&'static str, String)>) -> Vec<(&'static str, String)> {
    facts.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}

#[cfg(test)]
mod tests;
