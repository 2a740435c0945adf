//! Decides whether a tool may run now: one function, one table.
//!
//! The loop protects itself from a mistaken agent, not from a hostile one with a shell: what
//! cannot be known about a command line is let through, unless its bare text already names a
//! protected place or a refused command. Consensus planning guards a person's decision: what is not
//! known to read is refused until it is made.

pub mod blocked;
pub mod human_only;
pub mod scheduled;
pub mod speaker;
pub mod unreadable;

mod bash;
mod bash_readonly;
mod brought;
mod elsewhere;
mod fields;
mod places;
mod ralph_command;
mod ralplan_gate;
mod record;
mod session;
mod tools;

use crate::protocol::event::ToolInput;
use crate::state::Mode;
use serde::{Deserialize, Serialize};
use tools::Does;

pub use brought::{Brought, may_matter, patched, run_by};
pub use elsewhere::git_folders;
pub use places::{ProtectedPaths, Skill};
pub use ralplan_gate::PlanGate;
pub use record::{DenialRecord, Gate, SessionSeen};
pub use session::{SessionGate, is_own_work};
pub use tools::{is_known, knows_field, listed};

/// What the guard knows about the session.
#[derive(Debug, Clone, Copy)]
pub struct Situation<'a> {
    /// Which rules drive the loop.
    pub mode: &'a Mode,
    /// Whether it runs or rests.
    pub standing: LoopActivity,
    /// Who calls the tool.
    pub agent: Caller<'a>,
    /// Claude Code's id of the session.
    pub session_id: &'a str,
    /// What is protected.
    pub places: &'a ProtectedPaths,
    /// How far consensus planning is, in the mode that plans. Without it that mode counts as one of
    /// the others, so whoever reads the state and finds none must refuse by itself.
    pub ralplan: Option<PlanGate<'a>>,
    /// What an orchestrated session has to say about the call, in the mode that orchestrates. Without it that
    /// mode counts as one of the others.
    pub session: Option<SessionGate<'a>>,
}

/// How a live loop stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopActivity {
    /// It drives the conversation.
    Running,
    /// It does, and the criteria are to be run once before anything changes.
    AwaitingBaseline,
    /// It rests.
    Paused,
}

/// Who calls a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller<'a> {
    /// The main conversation.
    Main,
    /// A subagent of this type.
    Subagent(&'a str),
}

/// A tool call.
#[derive(Debug, Clone, Copy)]
pub struct ToolCall<'a> {
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
    /// The Skill tool.
    Skill,
    /// A tool that is not known to read only.
    OtherTool,
    /// Anything that may change the tree before the baseline was taken.
    Baseline,
    /// An edit of a place that belongs to Ralph or registers its hooks.
    ProtectedPlace,
    /// A change of what belongs to an orchestrated session.
    Artefact,
    /// A `ralph` command that only a person may give.
    RefusedCommand,
    /// A command line that is not whole and so cannot be read.
    CutCommand,
    /// A command line that is whole and cannot be read exactly.
    UnreadableCommand,
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
            Rule::UnreadableCommand => "unreadable_command",
        }
    }
}

/// What one cell of the table says.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Cell {
    Allowed,
    DeniedWhileRunning,
    DeniedWhileLive,
    /// The question of the gate and no other.
    OnlyGatesQuestion,
    /// A planner's files below the folder of plans, and commands that only read.
    OnlyPlanner,
    /// Commands that only read; in an orchestrated session also tools that do nobody's work.
    OnlyReading,
    /// The agents that plan.
    OnlyPlanningAgents,
    /// The skills that plan.
    OnlyPlanningSkills,
    /// The agent that owns what would be written.
    OnlyOwner,
    /// The call that comes next, by the main conversation.
    OnlyNext,
}

/// The columns of the table.
#[derive(Clone, Copy)]
enum Column {
    Loop,
    UntilVerdict,
    AwaitingPerson,
    SessionMain,
    SessionAgent,
}

use Cell::{
    Allowed, DeniedWhileLive, DeniedWhileRunning, OnlyGatesQuestion, OnlyNext, OnlyOwner,
    OnlyPlanner, OnlyPlanningAgents, OnlyPlanningSkills, OnlyReading,
};

/// Gate × tool. A loop without a gate of its mode has the first column.
#[rustfmt::skip]
const TABLE: [(Rule, [Cell; 5]); 12] = [
    //                      any other           until the verdict   awaiting the person session, main       session, agent
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
    (Rule::UnreadableCommand, [DeniedWhileLive, DeniedWhileLive,    DeniedWhileLive,    DeniedWhileLive,    DeniedWhileLive]),
];

/// Whether a command line only reads, whatever its variables, files and commands hold.
///
/// # Errors
/// Why it may not, in words.
pub fn only_reads(line: &str) -> Result<(), String> {
    bash_readonly::only_reads(line).map_err(|why| why.says())
}

/// May this tool run now?
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

/// True for a tool that is let through in every mode: it changes nothing but what the client keeps for the
/// conversation itself.
pub fn only_looks(tool: &str) -> bool {
    tools::find(tool).does == Does::Looks
}

/// True for tools whose ruling depends on where the protected places are: to find them out costs
/// time that no other call should pay.
pub fn looks_at_places(tool: &str) -> bool {
    fields::matters(tool)
}

/// True for a tool that edits the file that it names.
pub fn is_edit(tool: &str) -> bool {
    tools::find(tool).does == Does::Edits
}

/// True for a tool that is judged by all of its fields.
fn is_judged_by_fields(tool: &str) -> bool {
    matches!(tools::find(tool).does, Does::Acts | Does::Calls | Does::Loads)
        || tools::find(tool).does == Does::Runs && tool != "Bash"
}

/// What whoever can see the disk should look at for [`ProtectedPaths::links`] and [`ProtectedPaths::brought`].
#[derive(Debug, Default)]
pub struct PathsToResolve {
    /// Absolute paths, of which it is to be found out where they lead.
    pub paths: Vec<String>,
    /// Absolute paths of what the call would put somewhere as a whole.
    pub folders: Vec<String>,
    /// Absolute paths of patches that it would apply.
    pub patches: Vec<String>,
}

/// What has to be known of the disk before this call is decided.
pub fn wanted(call: &ToolCall<'_>, places: &ProtectedPaths) -> PathsToResolve {
    match tools::find(call.tool).does {
        Does::Runs => call
            .input
            .command
            .as_deref()
            .map_or_else(PathsToResolve::default, |line| bash::wanted(line, places, call.cwd)),
        Does::Acts => {
            let paths = fields::paths(call, places);
            let absolute = |path: &String| places.absolute(path, call.cwd);
            let mut wanted = PathsToResolve {
                paths: paths.iter().map(absolute).collect(),
                ..PathsToResolve::default()
            };
            for line in fields::lines(call) {
                let more = bash::wanted(&line, places, call.cwd);
                wanted.paths.extend(more.paths);
                wanted.folders.extend(more.folders);
                wanted.patches.extend(more.patches);
            }
            wanted.paths.truncate(MOST_PATHS);
            wanted
        }
        _ => PathsToResolve::default(),
    }
}

/// How many paths of one call are followed.
const MOST_PATHS: usize = 64;

/// True for a call that could change the tree before the criteria were run on it.
fn must_wait(situation: &Situation<'_>, call: &ToolCall<'_>) -> bool {
    situation.standing == LoopActivity::AwaitingBaseline && !bash::only_asks_ralph(call)
}

/// What the cell of this row says to the model; none when it lets the call through.
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
            Caller::Main => Column::SessionMain,
            Caller::Subagent(_) => Column::SessionAgent,
        },
        (None, None) => Column::Loop,
    };
    let (_, cells) = TABLE.iter().find(|(row, _)| *row == rule)?;
    let cell = cells[column as usize];
    // Whoever rests is there for the person: what they want of an agent or a file then is theirs to say.
    let rests = situation.standing == LoopActivity::Paused;
    match (cell, situation.ralplan, situation.session) {
        (Allowed, ..) => None,
        (DeniedWhileRunning | OnlyNext, ..) if rests => None,
        (OnlyReading, None, _) if rests => None,
        (_, None, None) => Some(reason),
        (_, None, Some(_)) if is_everywheres(rule) => Some(reason),
        (cell, None, Some(gate)) => {
            session::check(cell, &gate, situation.agent, call, reason).err()
        }
        (cell, Some(gate), _) => match rule {
            Rule::ProtectedPlace | Rule::RefusedCommand => Some(reason),
            Rule::CutCommand => Some(ralplan_gate::cut(&gate)),
            Rule::Skill if fields::is_borrowed(situation, call) => {
                Some(ralplan_gate::foreign_skill(&gate))
            }
            _ => ralplan_gate::check(cell, &gate, situation.agent, call).err(),
        },
    }
}

/// True for the rows whose words are the same in every mode.
fn is_everywheres(rule: Rule) -> bool {
    matches!(
        rule,
        Rule::ProtectedPlace | Rule::RefusedCommand | Rule::CutCommand | Rule::UnreadableCommand
    )
}

/// The row that a call falls into, with what its denial would say.
fn touched(situation: &Situation<'_>, call: &ToolCall<'_>) -> Option<(Rule, String)> {
    let carried = || fields::row(situation, call);
    match tools::find(call.tool).does {
        Does::Looks => None,
        Does::Questions => Some((Rule::Question, QUESTION.to_owned())),
        Does::EntersPlan => Some((Rule::EnterPlan, PLAN.to_owned())),
        Does::LeavesPlan => Some((Rule::ExitPlan, String::new())),
        Does::Calls => Some(carried().unwrap_or((Rule::Agent, String::new()))),
        Does::Edits => Some(edited(situation, call)),
        // The wall reads the command lines of Bash only.
        Does::Runs if call.tool != "Bash" && situation.ralplan.is_some() => {
            Some((Rule::OtherTool, String::new()))
        }
        Does::Runs => Some(match bash::row(situation, call) {
            (Rule::Mutation, reason) if call.tool != "Bash" => {
                carried().unwrap_or((Rule::Mutation, reason))
            }
            row => row,
        }),
        Does::Loads => Some(
            fields::skill(situation, call).or_else(carried).unwrap_or((Rule::Skill, String::new())),
        ),
        // Before consent no such tool runs, whatever it carries.
        Does::Acts if situation.ralplan.is_some() => Some((Rule::OtherTool, String::new())),
        Does::Acts => Some(carried().unwrap_or((Rule::OtherTool, String::new()))),
    }
}

fn edited(situation: &Situation<'_>, call: &ToolCall<'_>) -> (Rule, String) {
    if let Some(judged) = situation.session.and_then(|gate| gate.artefact) {
        return (Rule::Artefact, judged.err().unwrap_or_default().to_owned());
    }
    let place = [call.input.path(), call.resolved]
        .into_iter()
        .flatten()
        .find_map(|path| situation.places.protected(path, call.cwd));
    match place {
        Some(place) => places::row(place),
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
