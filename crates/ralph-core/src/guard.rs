//! Decides whether a tool may run now: one function, one table.
//!
//! The loop protects itself against a mistaken agent, not against a hostile one with a shell: a
//! command line is refused only if its text names a protected place. Consensus planning guards a decision
//! of the user: until it is made, commands run behind the wall, and a call that is not known to be
//! read-only is refused.

pub mod commands;
pub mod gates;
pub mod speaker;

mod bash;
mod fields;
mod places;
mod ralph_command;
mod record;

use crate::protocol::event::ToolInput;
use fields::ToolEffect;
use serde::{Deserialize, Serialize};

pub use fields::is_known;
pub use gates::{OrchestrationGate, PlanGate, is_own_work};
pub use places::{ProtectedPaths, Skill, may_be_executable};
pub use record::DenialRecord;

/// What a ruling depends on, apart from the call itself.
#[derive(Debug, Clone, Copy)]
pub struct Situation<'a> {
    pub standing: LoopActivity,
    pub agent: Caller<'a>,
    pub session_id: &'a str,
    pub places: &'a ProtectedPaths,
    /// The state of consensus planning in a `ralplan` loop. If it is `None`, that mode is treated
    /// like any other, so a caller that finds no planning state must refuse the call itself.
    pub ralplan: Option<&'a PlanGate>,
    /// The verdict of the orchestration on the call. If it is `None`, that mode is treated like any
    /// other.
    pub session: Option<&'a OrchestrationGate>,
}

/// What a live loop is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopActivity {
    /// The loop drives the conversation.
    Running,
    /// Like `Running`, but the criteria must run once before anything changes.
    AwaitingBaseline,
    Paused,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller<'a> {
    Main,
    /// A subagent, with its type.
    Subagent(&'a str),
}

#[derive(Debug, Clone, Copy)]
pub struct ToolCall<'a> {
    pub tool: &'a str,
    pub input: &'a ToolInput,
    pub cwd: &'a str,
    /// [`ToolInput::path`] with symbolic links resolved, if they could be resolved.
    pub resolved: Option<&'a str>,
    /// True if the input was truncated, so the command may be incomplete.
    pub cut: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    Allow,
    Deny {
        rule: Rule,
        /// The message to the model: why, and what to do instead.
        reason: String,
    },
}

/// The rules of the table, one per row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// `AskUserQuestion`.
    Question,
    /// `EnterPlanMode`.
    EnterPlan,
    /// `ExitPlanMode`.
    ExitPlan,
    /// Edits and command lines that no other row matches.
    Mutation,
    Agent,
    Skill,
    /// A tool that is not known to be read-only.
    OtherTool,
    /// Anything that may change the tree before the baseline is taken.
    Baseline,
    /// An edit of a file that belongs to Ralph or registers its hooks.
    ProtectedPlace,
    /// A change to an artefact of the orchestration.
    Artefact,
    /// A `ralph` command that only a person may give.
    RefusedCommand,
    /// A truncated command line.
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
            Rule::Skill => "skill",
            Rule::OtherTool => "other_tool",
            Rule::Baseline => "baseline",
            Rule::ProtectedPlace => "protected_place",
            Rule::Artefact => "artefact",
            Rule::RefusedCommand => "refused_command",
            Rule::CutCommand => "cut_command",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Cell {
    Allowed,
    DeniedWhileRunning,
    DeniedWhileLive,
    /// Only the question of the plan gate.
    OnlyGatesQuestion,
    /// Only a planner's files in the plans folder, and read-only commands.
    OnlyPlanner,
    /// Only read-only commands; in an orchestration, also tools that do no work on the project.
    OnlyReading,
    /// Only the planning agents.
    OnlyPlanningAgents,
    /// Only the planning skills.
    OnlyPlanningSkills,
    /// Only the agent that owns the file.
    OnlyOwner,
    /// Only the next call, made by the main conversation.
    OnlyNext,
}

#[derive(Clone, Copy)]
enum Column {
    Loop,
    UntilVerdict,
    AwaitingPerson,
    OrchestrationMain,
    OrchestrationAgent,
}

use Cell::{
    Allowed, DeniedWhileLive, DeniedWhileRunning, OnlyGatesQuestion, OnlyNext, OnlyOwner,
    OnlyPlanner, OnlyPlanningAgents, OnlyPlanningSkills, OnlyReading,
};

/// Gate × tool. A loop in any mode without a gate uses the first column.
#[rustfmt::skip]
const TABLE: [(Rule, [Cell; 5]); 11] = [
    //                      any other           until the verdict   awaiting the person orchestrated, main  orchestrated, agent
    (Rule::Question,       [DeniedWhileRunning, DeniedWhileLive,    OnlyGatesQuestion,  DeniedWhileRunning, DeniedWhileRunning]),
    (Rule::EnterPlan,      [DeniedWhileRunning, Allowed,            DeniedWhileLive,    DeniedWhileRunning, DeniedWhileRunning]),
    (Rule::ExitPlan,       [Allowed,            DeniedWhileLive,    DeniedWhileLive,    Allowed,            Allowed]),
    (Rule::Mutation,       [Allowed,            OnlyPlanner,        OnlyReading,        OnlyReading,        Allowed]),
    (Rule::Agent,          [Allowed,            OnlyPlanningAgents, DeniedWhileLive,    OnlyNext,           DeniedWhileLive]),
    (Rule::Skill,          [Allowed,            OnlyPlanningSkills, OnlyPlanningSkills, DeniedWhileRunning, Allowed]),
    (Rule::OtherTool,      [Allowed,            DeniedWhileLive,    DeniedWhileLive,    OnlyReading,        Allowed]),
    (Rule::Artefact,       [Allowed,            Allowed,            OnlyReading,        DeniedWhileRunning, OnlyOwner]),
    (Rule::ProtectedPlace, [DeniedWhileLive,    DeniedWhileLive,    DeniedWhileLive,    DeniedWhileLive,    DeniedWhileLive]),
    (Rule::RefusedCommand, [DeniedWhileLive,    DeniedWhileLive,    DeniedWhileLive,    DeniedWhileLive,    DeniedWhileLive]),
    (Rule::CutCommand,     [DeniedWhileLive,    DeniedWhileLive,    DeniedWhileLive,    DeniedWhileLive,    DeniedWhileLive]),
];

/// A row of the table, with the text of its denial.
type RuleHit = (Rule, String);

/// Decides whether this tool may run now.
pub fn decide(situation: &Situation<'_>, call: &ToolCall<'_>) -> Ruling {
    let Some((rule, reason)) = touched(situation, call) else { return Ruling::Allow };
    match denied(situation, call, rule, reason) {
        Some(reason) => Ruling::Deny { rule, reason },
        None if matches!(rule, Rule::Mutation | Rule::Agent | Rule::OtherTool)
            && must_wait(situation, call) =>
        {
            Ruling::Deny { rule: Rule::Baseline, reason: BASELINE.to_owned() }
        }
        None => Ruling::Allow,
    }
}

/// True for a tool that every mode allows: it changes only what the client keeps for the
/// conversation itself.
pub fn only_looks(tool: &str) -> bool {
    fields::does(tool) == ToolEffect::Looks
}

/// True for a tool whose ruling depends on where the protected places are. Locating them takes time
/// that other calls must not pay for.
pub fn looks_at_places(tool: &str) -> bool {
    fields::matters(tool)
}

/// True for a tool that edits the file it names.
pub fn is_edit(tool: &str) -> bool {
    fields::does(tool) == ToolEffect::Edits
}

/// True for a tool that is judged by all of its fields.
fn is_judged_by_fields(tool: &str) -> bool {
    matches!(fields::does(tool), ToolEffect::Acts | ToolEffect::Calls | ToolEffect::Loads)
        || fields::does(tool) == ToolEffect::Runs && tool != "Bash"
}

/// The absolute paths of this call whose symbolic links must be resolved before it is decided.
pub fn paths_to_resolve(call: &ToolCall<'_>, places: &ProtectedPaths) -> Vec<String> {
    let paths = match fields::does(call.tool) {
        ToolEffect::Acts => fields::paths(call, places),
        // The client may take `..` away before it opens the file, where the kernel follows links first.
        ToolEffect::Edits => {
            let path = call.input.path().filter(|path| path.contains(".."));
            path.map(str::to_owned).into_iter().collect()
        }
        _ => Vec::new(),
    };
    paths.iter().take(MOST_PATHS).map(|path| places.absolute(path, call.cwd)).collect()
}

/// How many paths of one call are resolved.
const MOST_PATHS: usize = 64;

/// True for a call that could change the tree before the baseline run of the criteria.
fn must_wait(situation: &Situation<'_>, call: &ToolCall<'_>) -> bool {
    situation.standing == LoopActivity::AwaitingBaseline && !bash::only_asks_ralph(call)
}

/// The denial of this row's cell; `None` if the cell allows the call.
fn denied(
    situation: &Situation<'_>,
    call: &ToolCall<'_>,
    rule: Rule,
    reason: String,
) -> Option<String> {
    let column = match (situation.ralplan, situation.session) {
        (Some(PlanGate { awaiting_person: true, .. }), _) => Column::AwaitingPerson,
        (Some(_), _) => Column::UntilVerdict,
        (None, Some(_)) => match situation.agent {
            Caller::Main => Column::OrchestrationMain,
            Caller::Subagent(_) => Column::OrchestrationAgent,
        },
        (None, None) => Column::Loop,
    };
    let (_, cells) = TABLE.iter().find(|(row, _)| *row == rule)?;
    let cell = cells[column as usize];
    // A paused loop leaves the agents and files to the user, who is there and can ask for anything.
    let rests = situation.standing == LoopActivity::Paused;
    match (cell, situation.ralplan, situation.session) {
        (Allowed, ..) => None,
        (DeniedWhileRunning | OnlyNext, ..) if rests => None,
        (OnlyReading, None, _) if rests => None,
        (_, None, None) => Some(reason),
        (_, None, Some(_)) if is_everywheres(rule) => Some(reason),
        (cell, None, Some(gate)) => {
            gates::check_orchestration(cell, gate, situation.agent, call, reason).err()
        }
        (cell, Some(gate), _) => match rule {
            Rule::ProtectedPlace | Rule::RefusedCommand => Some(reason),
            Rule::Skill if fields::runs_outside(situation, gate) => {
                Some(gates::foreign_skill(gate))
            }
            _ => gates::check_planning(cell, gate, situation.agent, call).err(),
        },
    }
}

/// True for rows whose denial has the same text in every mode.
fn is_everywheres(rule: Rule) -> bool {
    matches!(rule, Rule::ProtectedPlace | Rule::RefusedCommand | Rule::CutCommand)
}

/// The row that matches a call, with the text of its denial.
fn touched(situation: &Situation<'_>, call: &ToolCall<'_>) -> Option<RuleHit> {
    let carried = || fields::row(situation, call);
    match fields::does(call.tool) {
        ToolEffect::Looks => None,
        ToolEffect::Questions => Some((Rule::Question, QUESTION.to_owned())),
        ToolEffect::EntersPlan => Some((Rule::EnterPlan, PLAN.to_owned())),
        ToolEffect::LeavesPlan => Some((Rule::ExitPlan, String::new())),
        ToolEffect::Calls => Some(carried().unwrap_or((Rule::Agent, String::new()))),
        ToolEffect::Edits => Some(edited(situation, call)),
        // A planning asks for the wall, not for the text.
        ToolEffect::Runs if situation.ralplan.is_some() => Some(match call.tool {
            "Bash" | "Monitor" => (Rule::Mutation, String::new()),
            _ => (Rule::OtherTool, String::new()),
        }),
        ToolEffect::Runs => Some(match bash::row(situation, call) {
            (Rule::Mutation, reason) if call.tool != "Bash" => {
                carried().unwrap_or((Rule::Mutation, reason))
            }
            row => row,
        }),
        ToolEffect::Loads => {
            Some(fields::skill(call).or_else(carried).unwrap_or((Rule::Skill, String::new())))
        }
        // Before consent no such tool runs, whatever its input is.
        ToolEffect::Acts if situation.ralplan.is_some() => Some((Rule::OtherTool, String::new())),
        ToolEffect::Acts => Some(carried().unwrap_or((Rule::OtherTool, String::new()))),
    }
}

fn edited(situation: &Situation<'_>, call: &ToolCall<'_>) -> RuleHit {
    if let Some(gate) = situation.session.filter(|gate| gate.writes_artefact) {
        return (Rule::Artefact, gate.not_its_own.clone().unwrap_or_default());
    }
    let said = call.input.path();
    let led = call.resolved.filter(|led| said != Some(*led));
    let place =
        said.into_iter().chain(led).find_map(|path| situation.places.protected(path, call.cwd));
    match place {
        Some(place) => places::row(place),
        None => (Rule::Mutation, String::new()),
    }
}

const QUESTION: &str = "A Ralph loop is running and nobody is there to answer. Decide yourself: \
take the most reasonable choice, write the assumption into your message, and go on. If only a \
person can do it, say so with `ralph blocked 'WHAT A PERSON MUST DO'` and stop.";

/// The denial of a question while the user is there: they typed within the turn.
pub const ASK_IN_WORDS: &str = "A Ralph loop is running, so no dialog opens. The user typed a moment \
ago and may be reading: ask in plain words in your next message. The user can type the answer while \
you work, or type `ralph pause` to stop the loop after this turn. Until then take the most \
reasonable choice, write the assumption into your message, and go on.";

const BASELINE: &str = "The person asked for a baseline: the criteria are run once before anything \
changes. Run `ralph verify` now; until it is done only reading tools and `ralph` itself are let \
through. It is no failure if criteria do not hold yet.";

const PLAN: &str = "A Ralph loop is running; it goes on from its goal and its tasks. Do not enter \
plan mode: go on, and add what is missing with `ralph task add`.";

#[cfg(test)]
mod tests;
