//! What became of a loop, a session or a refinement, for people who were not there: a page, and Markdown for a pull request.
//!
//! A [`Report`] is made from what is kept anyway: the state, the journal, a session's files. Every text in
//! it is bounded and made visible when it is taken up, so that both forms only have to escape it. Nothing in
//! it is judged anew: a standing is the one that a rule recorded or that the caller has looked up.

pub mod history;
pub mod line;
pub mod markdown;
mod of_loop;
mod of_refinement;
mod of_session;
pub mod page;
mod rounds;
mod spent;
mod timeline;
mod trouble;
mod words;

pub use of_loop::{LoopSeen, of_loop};
pub use of_refinement::{Activity, RefinementSeen, of_refinement};
pub use of_session::{SessionSeen, of_session};
pub use rounds::{Amount, ReportRound, Rounds, VersionSeen};

use crate::tasks::graph::TaskReadiness as TaskStanding;
use history::History;
use jiff::Timestamp;
use spent::Spent;

/// All that both forms show.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// `loop`, `planning`, `session` or `refinement`.
    pub kind: &'static str,
    /// Its name.
    pub id: String,
    /// What was asked for, with its lines.
    pub goal: String,
    /// How it ended, or where it stands.
    pub outcome: ReportOutcome,
    /// What else is said in its head, each with a label.
    pub facts: Vec<(&'static str, String)>,
    /// How far it came, in numbers.
    pub gauges: Vec<Gauge>,
    /// What its ending rests on: each criterion with its last receipt.
    pub evidence: Vec<Evidence>,
    /// What a person must know who reads the outcome.
    pub notes: Vec<String>,
    /// What a person would do next; commands stand between backticks.
    pub next: String,
    /// The rounds of a refinement.
    pub rounds: Rounds,
    /// What each criterion was worth over time.
    pub history: History,
    /// The tasks, in the order of the list.
    pub tasks: Vec<TaskShown>,
    /// Tasks that are counted and not shown.
    pub n_tasks_left_out: usize,
    /// Time and tokens of each iteration.
    pub spent: Vec<Spent>,
    /// Tokens of the four kinds, each with its label; nothing where none were counted.
    pub tokens: Vec<(&'static str, u64)>,
    /// What happened, by iterations.
    pub timeline: Vec<ReportTurn>,
    /// Decisions that are counted and not shown.
    pub n_left_out: usize,
    /// What was in the way, by kinds.
    pub trouble: Vec<Trouble>,
    /// When the report was made; none for what is over, so that it says the same whenever it is made.
    pub made_at: Option<Timestamp>,
}

/// How something is to be taken, at a glance. Colour is never the only sign of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// As it should be.
    Good,
    /// Something wants attention.
    Warn,
    /// Something is wrong.
    Bad,
    /// Under way.
    Live,
    /// Neither.
    Quiet,
}

impl Tone {
    /// The word for a class.
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

/// How it ended, or where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportOutcome {
    /// In a word or two: `complete`, `max iterations`, `implementation`.
    pub word: String,
    /// How that is to be taken.
    pub tone: Tone,
    /// Why, in words.
    pub detail: String,
}

/// A number, and how much of a whole it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gauge {
    /// Of what.
    pub label: &'static str,
    /// The number, with its unit.
    pub value: String,
    /// The whole: `of 25`; empty where there is none.
    pub of: String,
    /// The share, in hundredths; none where there is no whole.
    pub share: Option<u8>,
    /// How that is to be taken.
    pub tone: Tone,
}

/// A criterion and its last receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// Its id.
    pub id: String,
    /// In words.
    pub about: String,
    /// The command that shows it.
    pub command: String,
    /// What it is worth: `holds`, `failed` …
    pub standing: &'static str,
    /// How that is to be taken.
    pub tone: Tone,
    /// What the receipt says, or what is wrong: exit code, tests, time, tree.
    pub receipt: String,
    /// The end of what a failing command printed.
    pub tail: String,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskShown {
    /// Its id.
    pub id: String,
    /// In words.
    pub name: String,
    /// Where it stands.
    pub standing: TaskStanding,
    /// In which wave, counted from 1; none for one that is in no wave.
    pub wave: Option<usize>,
    /// The places in the list of those that it depends on.
    pub after: Vec<usize>,
    /// Who has it, and what came of it.
    pub remark: String,
}

/// One iteration: from the stop before to the stop that ended it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportTurn {
    /// `Iteration 2`, `Last turn`.
    pub title: String,
    /// When it ended; none where that is not known.
    pub at: Option<Timestamp>,
    /// How long it took and what it used.
    pub sum: String,
    /// What happened in it.
    pub steps: Vec<ReportStep>,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportStep {
    /// When; none where that is not known.
    pub at: Option<Timestamp>,
    /// In a few words.
    pub what: String,
    /// How that is to be taken.
    pub tone: Tone,
    /// Why, on one line.
    pub why: String,
    /// All else that is known, each with its label.
    pub rows: Vec<(String, String)>,
}

/// Things of one kind that were in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// Of which kind.
    pub title: &'static str,
    /// How that is to be taken.
    pub tone: Tone,
    /// Each with where it was: `2/5`.
    pub items: Vec<(String, String)>,
    /// How many more there were.
    pub more: usize,
}

#[cfg(test)]
mod tests;
