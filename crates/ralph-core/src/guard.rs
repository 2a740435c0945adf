//! Decides whether a tool may run now: one function, one table.
//!
//! The loop protects itself from a mistaken agent, not from a hostile one with a shell: what
//! cannot be known about a command line is let through, unless its bare text already names a
//! protected place or a refused command.

mod bash;
mod places;
mod ralph_command;
mod reading;
mod record;

use crate::event::ToolInput;
use crate::state::Mode;
use serde::{Deserialize, Serialize};

pub use places::Places;
pub use record::Record;

/// What the guard knows about the session.
#[derive(Debug, Clone, Copy)]
pub struct Situation<'a> {
    /// Which rules drive the loop.
    pub mode: &'a Mode,
    /// Whether it runs or rests.
    pub standing: Standing,
    /// Who calls the tool.
    pub agent: Agent<'a>,
    /// Claude Code's id of the session.
    pub session_id: &'a str,
    /// What is protected.
    pub places: &'a Places,
}

/// How a live loop stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It drives the conversation.
    Running,
    /// It does, and the criteria are to be run once before anything changes.
    AwaitingBaseline,
    /// It rests.
    Paused,
}

/// Who calls a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agent<'a> {
    /// The main conversation.
    Main,
    /// A subagent of this type.
    Subagent(&'a str),
}

/// A tool call.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// Its input.
    pub input: &'a ToolInput,
    /// The conversation's working directory.
    pub cwd: &'a str,
    /// [`ToolInput::path`] with symbolic links resolved, where that could be done.
    pub resolved: Option<&'a str>,
    /// True when the input was cut and a command may not be whole.
    pub cut: bool,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// The tool may run.
    Allow,
    /// It may not.
    Deny {
        /// The rule that refused it.
        rule: Rule,
        /// What the model reads: why, and what to do instead.
        reason: String,
    },
}

/// The rules of the table, by their rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// AskUserQuestion.
    Question,
    /// EnterPlanMode.
    EnterPlan,
    /// ExitPlanMode.
    ExitPlan,
    /// Write, Edit and Bash as such.
    Mutation,
    /// The Agent tool.
    Agent,
    /// Anything that may change the tree before the baseline was taken.
    Baseline,
    /// An edit of a place that belongs to Ralph or registers its hooks.
    ProtectedPlace,
    /// A `ralph` command that only a person may give.
    RefusedCommand,
    /// A command line that is not whole and so cannot be read.
    CutCommand,
}

impl Rule {
    /// The rule's name in the journal.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Question => "question",
            Rule::EnterPlan => "enter_plan",
            Rule::ExitPlan => "exit_plan",
            Rule::Mutation => "mutation",
            Rule::Agent => "agent",
            Rule::Baseline => "baseline",
            Rule::ProtectedPlace => "protected_place",
            Rule::RefusedCommand => "refused_command",
            Rule::CutCommand => "cut_command",
        }
    }
}

/// What one cell of the table says.
#[derive(Clone, Copy, PartialEq)]
enum Cell {
    Allowed,
    DeniedWhileRunning,
    DeniedWhileLive,
}

/// The columns of the table.
#[derive(Clone, Copy)]
enum Column {
    Loop,
    Other,
}

use Cell::{Allowed, DeniedWhileLive, DeniedWhileRunning};

/// Mode × tool. A mode whose own rules are not in the table yet gets the column `Other`.
const TABLE: [(Rule, [Cell; 2]); 8] = [
    //                        loop, refine        other modes
    (Rule::Question, [DeniedWhileRunning, DeniedWhileRunning]),
    (Rule::EnterPlan, [DeniedWhileRunning, DeniedWhileRunning]),
    (Rule::ExitPlan, [Allowed, Allowed]),
    (Rule::Mutation, [Allowed, Allowed]),
    (Rule::Agent, [Allowed, Allowed]),
    (Rule::ProtectedPlace, [DeniedWhileLive, DeniedWhileLive]),
    (Rule::RefusedCommand, [DeniedWhileLive, DeniedWhileLive]),
    (Rule::CutCommand, [DeniedWhileLive, DeniedWhileLive]),
];

/// May this tool run now?
pub fn decide(situation: &Situation<'_>, call: &Call<'_>) -> Ruling {
    match touched(situation, call) {
        Some((rule, reason)) if denies(situation, rule) => Ruling::Deny { rule, reason },
        Some((Rule::Mutation | Rule::Agent, _)) if must_wait(situation, call) => {
            Ruling::Deny { rule: Rule::Baseline, reason: BASELINE.to_owned() }
        }
        _ => Ruling::Allow,
    }
}

/// True for tools whose ruling depends on where the protected places are: to find them out costs
/// time that no other call should pay.
pub fn looks_at_places(tool: &str) -> bool {
    matches!(tool, "Write" | "Edit" | "MultiEdit" | "NotebookEdit" | "Bash")
}

/// True for a call that could change the tree before the criteria were run on it.
fn must_wait(situation: &Situation<'_>, call: &Call<'_>) -> bool {
    situation.standing == Standing::AwaitingBaseline && !bash::only_asks_ralph(call)
}

fn denies(situation: &Situation<'_>, rule: Rule) -> bool {
    let column = match situation.mode {
        Mode::Loop | Mode::Refine => Column::Loop,
        _ => Column::Other,
    };
    let cell = TABLE.iter().find(|(row, _)| *row == rule).map(|(_, cells)| cells[column as usize]);
    match cell {
        Some(DeniedWhileLive) => true,
        Some(DeniedWhileRunning) => situation.standing != Standing::Paused,
        Some(Allowed) | None => false,
    }
}

/// The row that a call falls into, with what its denial would say.
fn touched(situation: &Situation<'_>, call: &Call<'_>) -> Option<(Rule, String)> {
    match call.tool {
        "AskUserQuestion" => Some((Rule::Question, QUESTION.to_owned())),
        "EnterPlanMode" => Some((Rule::EnterPlan, PLAN.to_owned())),
        "ExitPlanMode" => Some((Rule::ExitPlan, String::new())),
        "Agent" | "Task" => Some((Rule::Agent, String::new())),
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => Some(edited(situation, call)),
        "Bash" => Some(bash::row(situation, call)),
        _ => None,
    }
}

fn edited(situation: &Situation<'_>, call: &Call<'_>) -> (Rule, String) {
    let place = [call.input.path(), call.resolved]
        .into_iter()
        .flatten()
        .find_map(|path| situation.places.protected(path, call.cwd));
    match place {
        Some(place) => (Rule::ProtectedPlace, places::refusal(place)),
        None => (Rule::Mutation, String::new()),
    }
}

const QUESTION: &str = "A Ralph loop is running and nobody is there to answer. Decide yourself: \
take the most reasonable choice, write the assumption into your message, and go on. If only a \
person can do it, say so with `ralph blocked 'WHAT A PERSON MUST DO'` and stop.";

const BASELINE: &str = "The person asked for a baseline: the criteria are run once before anything \
changes. Run `ralph verify` now; until it is done only reading tools and `ralph` itself are let \
through. It is no failure if criteria do not hold yet.";

const PLAN: &str = "A Ralph loop is running; it goes on from its goal and its tasks. Do not enter \
plan mode: go on, and add what is missing with `ralph task add`.";

#[cfg(test)]
mod tests;
