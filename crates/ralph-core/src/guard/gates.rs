//! What is let through while nothing may be changed: in a planning, in an orchestration, and where a loop cannot be read.

use super::{Caller, Cell, Rule, ToolCall, bash, ralph_command};
use crate::guard;
use crate::shell::LONGEST;
use serde::{Deserialize, Serialize};

// What consensus planning allows before the user agrees to the plan.
//
// The gate holds as long as the planning is live, also while it is paused: only the user's
// decision, by the gate's question or on the command line, lifts it. A call that is not known to
// be read-only is refused both before and after the verdict: another vendor's tool may do
// anything, and a plan needs none.

/// The state of consensus planning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanGate {
    /// False until the critic's verdict, then true: the user must decide.
    pub awaiting_person: bool,
    /// True while a planner works. In any other phase nothing may write, not even a planner that is
    /// still running, because the architect reads the text and the critic judges it.
    #[serde(default)]
    pub planner_writes: bool,
    /// The project's folder, absolute and without symbolic links.
    pub project_root: String,
    /// The plan's path, as the user is shown it.
    pub plan_path: String,
    /// Hash of the judged plan.
    pub plan_hash: String,
    /// Why this call, an AskUserQuestion, is not the gate's question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_its_question: Option<String>,
    /// Why the command lines of this call do not run behind the wall.
    #[serde(default = "not_recorded", skip_serializing_if = "Option::is_none")]
    pub no_wall: Option<String>,
}

/// A journal from before the wall.
fn not_recorded() -> Option<String> {
    Some("it was not recorded".to_owned())
}

/// The planning agents.
const PLANNERS: [&str; 4] =
    ["ralplan-planner", "ralplan-architect", "ralplan-critic", "ralplan-metis"];

/// Ok if this cell allows the call; otherwise the message to the model.
pub(super) fn check_planning(
    cell: Cell,
    gate: &PlanGate,
    agent: Caller<'_>,
    call: &ToolCall<'_>,
) -> Result<(), String> {
    let refuse = |what: &str| Err(format!("{what} {}", gate.next()));
    match cell {
        Cell::OnlyGatesQuestion => question(gate, agent),
        Cell::OnlyPlanner | Cell::OnlyReading if runs_lines(call.tool) => command(gate, call),
        Cell::OnlyPlanner if !gate.planner_writes => {
            refuse("The plan is being read, and nobody writes until a planner is called again.")
        }
        Cell::OnlyPlanner => match (agent, in_plans(gate, call)) {
            (Caller::Subagent(kind), true) if own_name(kind) == "ralplan-planner" => Ok(()),
            (Caller::Subagent(kind), false) if own_name(kind) == "ralplan-planner" => {
                refuse("The planner writes below `.omc/plans/` of the project and nowhere else.")
            }
            _ => refuse(
                "Until the plan is agreed to, only the agent `ralplan-planner` writes, and only below \
                 `.omc/plans/`. Say what you would change in your message.",
            ),
        },
        Cell::OnlyReading => refuse("Until the person decided, nothing is changed."),
        Cell::OnlyPlanningAgents => {
            let kind = call.input.subagent_type.as_deref().unwrap_or_default();
            match PLANNERS.contains(&own_name(kind)) {
                true => Ok(()),
                false => refuse(
                    "Until the plan is agreed to, only `ralplan-planner`, `ralplan-architect`, \
                     `ralplan-critic` and `ralplan-metis` are called.",
                ),
            }
        }
        Cell::OnlyPlanningSkills => {
            let skill = own_name(call.input.skill.as_deref().unwrap_or_default());
            match super::fields::is_planning(skill) || gate.no_wall.is_none() {
                true => Ok(()),
                false => refuse(
                    "Skills that run commands wait for the user's consent; only those of `ralplan` are let \
                     through.",
                ),
            }
        }
        // This cell refuses the call for every caller.
        _ => refuse(&format!("`{}` is not let through while a plan is made.", call.tool)),
    }
}

impl PlanGate {
    /// What the model does instead.
    fn next(&self) -> String {
        let (path, hash) = (&self.plan_path, self.plan_hash.get(..12).unwrap_or(&self.plan_hash));
        match self.awaiting_person {
            true => format!(
                "The plan `{path}` ({hash}) waits for the person: ask with AskUserQuestion, the one \
                 question that `ralph ralplan next` prints: it names both, with the options Proceed, \
                 Proceed and start, Adjust and Discard. Reading is \
                 allowed meanwhile (Read, Grep, Glob). Silence is no consent: wait."
            ),
            false => "The plan is not judged yet: `ralph ralplan status` names the agent that is called next. \
                           Reading is allowed meanwhile (Read, Grep, Glob)."
                .to_owned(),
        }
    }
}

fn question(gate: &PlanGate, agent: Caller<'_>) -> Result<(), String> {
    match (agent, &gate.not_its_question) {
        (Caller::Main, None) => Ok(()),
        (Caller::Main, Some(why)) => {
            Err(format!("This is not the question of the gate: {why}. {}", gate.next()))
        }
        (Caller::Subagent(_), _) => {
            Err(format!("The person is asked by the main conversation only. {}", gate.next()))
        }
    }
}

/// True for a tool whose command line the session's shell runs.
fn runs_lines(tool: &str) -> bool {
    matches!(tool, "Bash" | "Monitor")
}

/// Behind the wall every command line may run, however long it is and whatever it does.
fn command(gate: &PlanGate, call: &ToolCall<'_>) -> Result<(), String> {
    let Some(obstacle) = &gate.no_wall else { return Ok(()) };
    if call.cut {
        return Err(cut(gate));
    }
    let line = call.input.command.as_deref().unwrap_or_default();
    bash::only_reads(line, ralph_command::only_reads).map_err(|why| {
        format!(
            "Before the user agreed to the plan nothing may be changed, and this session's commands cannot be bounded: \
             {obstacle}. So Bash has only these programs, with pipes between them: {}. Here {why}. `ralph doctor` names \
             the remedy. {}",
            bash::named_readers(),
            gate.next()
        )
    })
}

/// The name of an agent or a skill without the plugin's prefix.
fn own_name(name: &str) -> &str {
    name.strip_prefix("ralph:").unwrap_or(name)
}

/// True for a file in the plans folder, after resolving links.
fn in_plans(gate: &PlanGate, call: &ToolCall<'_>) -> bool {
    let root = gate.project_root.trim_end_matches('/');
    let plans = format!("{root}/.omc/plans/");
    let has = |path: &str, dots: &str| path.split('/').any(|part| part == dots);
    let is_below = |path: &str| {
        path.strip_prefix(&plans).is_some_and(|rest| !rest.is_empty())
            && !has(path, ".")
            && !has(path, "..")
    };
    // With `..` behind a link, the client and the kernel may mean two files.
    let is_plain = call.input.path().is_some_and(|path| !has(path, ".."));
    // Through a link the project may have two names, so only the resolved path counts.
    root.starts_with('/') && is_plain && call.resolved.is_some_and(is_below)
}

/// The denial for a skill whose hooks or commands would run outside of the wall.
pub(super) fn foreign_skill(gate: &PlanGate) -> String {
    format!(
        "Until the user agreed to the plan, a skill loads only if its text is found, it brings no hooks, and its \
         commands run behind the wall; or if it is `ralplan`, `rp` or `planloop` with the text that Ralph ships. {}",
        gate.next()
    )
}

/// The denial for a truncated command, which cannot be read.
pub(super) fn cut(gate: &PlanGate) -> String {
    format!(
        "This command is longer than {} KiB and cannot be read whole, and before the user agreed \
         to the plan a command may only read. {}",
        LONGEST >> 10,
        gate.next()
    )
}

// What an orchestration allows: the conversation routes and does no work of its own, agents write
// their own artefacts, and only the next agent may be called.

/// What is known about a call in an orchestration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrchestrationGate {
    /// True for a call that would write an artefact in a way that can be judged.
    pub writes_artefact: bool,
    /// Why the caller may not write the artefact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_its_own: Option<String>,
    /// Why the agent that the conversation calls is not the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_next: Option<String>,
    /// What the conversation does instead of its own work: which agent to call next.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub next: String,
}

/// True for a row in which the conversation would do work of its own.
pub fn is_own_work(rule: Rule) -> bool {
    matches!(rule, Rule::Mutation | Rule::Skill | Rule::OtherTool)
}

/// Ok if this cell allows the call; otherwise the message to the model.
pub(super) fn check_orchestration(
    cell: Cell,
    gate: &OrchestrationGate,
    agent: Caller<'_>,
    call: &ToolCall<'_>,
    reason: String,
) -> Result<(), String> {
    match (cell, agent) {
        (Cell::OnlyReading, _) => reads(gate, call),
        (Cell::DeniedWhileRunning, Caller::Main) if call.tool == "Skill" => {
            Err(routes(gate, "a skill is loaded by the agent that needs it"))
        }
        (Cell::OnlyOwner, _) if gate.writes_artefact => ok_unless(&gate.not_its_own),
        (Cell::OnlyNext, Caller::Main) => ok_unless(&gate.not_next),
        _ if matches!(call.tool, "Agent" | "Task") => Err(NO_AGENTS.to_owned()),
        _ => Err(reason),
    }
}

fn ok_unless(why: &Option<String>) -> Result<(), String> {
    why.clone().map_or(Ok(()), Err)
}

/// The conversation routes: it may read everything, wait, and run `ralph`, but changes are left to
/// agents.
fn reads(gate: &OrchestrationGate, call: &ToolCall<'_>) -> Result<(), String> {
    let refused = |what: &str| Err(routes(gate, what));
    match call.tool {
        "Bash" | "Monitor" => {
            let line = call.input.command.as_deref().unwrap_or_default();
            bash::only_reads(line, |_| true).or_else(|why| {
                let readers = bash::named_readers();
                refused(&format!("it runs `ralph` and {readers}, with pipes between them: {why}"))
            })
        }
        "PowerShell" => refused(
            "this conversation may only run read-only commands, and Ralph cannot tell what this one does",
        ),
        tool if super::is_edit(tool) => refused("files are written by the agents"),
        tool if is_nobodys_work(tool) => Ok(()),
        tool => refused(&format!("`{tool}` is not known to change nothing")),
    }
}

fn routes(gate: &OrchestrationGate, what: &str) -> String {
    format!(
        "This conversation routes the session and does no work of its own: {what}. {}",
        gate.next
    )
}

/// True for a tool that ends or wakes something or talks to the user.
fn is_nobodys_work(tool: &str) -> bool {
    #[rustfmt::skip]
    const KNOWN: [&str; 11] = [
        "Brief", "CronCreate", "CronDelete", "EndConversation", "KillBash", "KillShell", "PushNotification",
        "ScheduleWakeup", "SendUserFile", "SendUserMessage", "TaskStop",
    ];
    KNOWN.contains(&tool)
}

const NO_AGENTS: &str = "An agent of a session calls no agents: the conversation does, when `ralph session next` \
names one. Do your own part, and write what is left into your report.";

/// The denial for a command line that would change an artefact.
pub(super) const BY_COMMAND: &str = "This would change the session's folder by a command, and nobody can see what it \
writes. The conversation writes nothing there and calls the agent that comes next. An agent writes its own files with the \
Write or Edit tool, and marks its task with `ralph session mark`. Reading is allowed (`cat`, `grep`, `ralph session status`).";

// A session whose loop cannot be read stays bound: it may only read until the user repairs the
// state or ends the loop.
//
// The loop's mode is also in the state, so the strictest rule of all modes applies, whatever the
// mode was.

/// A tool call in such a session.
#[derive(Debug, Clone, Copy)]
pub struct UnreadableCall<'a> {
    pub tool: &'a str,
    /// Its command line, if it is a shell.
    pub command: Option<&'a str>,
    /// True if the input was truncated and the command may be incomplete.
    pub cut: bool,
    /// True if the command runs behind the wall.
    pub walled: bool,
}

/// Ok for a read-only call; otherwise the message to the model. `why` is why the loop cannot be
/// read.
///
/// # Errors
/// When the call may change something, or its effect is unknown.
pub fn judge_unreadable(call: UnreadableCall<'_>, why: &str) -> Result<(), String> {
    let what = match (call.tool, call.command) {
        (tool, _) if guard::only_looks(tool) => return Ok(()),
        ("Bash" | "Monitor", _) if call.walled => return Ok(()),
        ("Bash", _) if call.cut => "this command line is not whole".to_owned(),
        ("Bash", Some(line)) => match bash::only_reads(line, |_| false) {
            Ok(()) => return Ok(()),
            Err(what) => what,
        },
        (tool, _) => format!("`{tool}` may change something"),
    };
    Err(unreadable_refusal(&what, why))
}

/// The message to the model about a call that is refused because the loop cannot be read.
pub fn unreadable_refusal(what: &str, why: &str) -> String {
    format!(
        "Ralph cannot use the state of the loop that this session is bound to ({why}), so only reading is \
         allowed until the user repairs it: {what}. Do not try to repair it. End your turn; the user is \
         told what to type."
    )
}

#[cfg(test)]
mod unreadable_tests {
    use super::*;

    #[track_caller]
    fn check(tool: &str, command: Option<&str>, expected: bool) {
        let call = UnreadableCall { tool, command, cut: false, walled: false };
        assert_eq!(judge_unreadable(call, "it is gone").is_ok(), expected, "{tool} {command:?}");
    }

    #[test]
    fn only_what_is_known_to_read_runs() {
        for tool in ["Read", "Grep", "Glob", "TaskOutput"] {
            check(tool, None, true);
        }
        for tool in [
            "Write",
            "Edit",
            "Agent",
            "Skill",
            "AskUserQuestion",
            "Monitor",
            "mcp__x__write",
            "Task",
            "",
        ] {
            check(tool, None, false);
        }
        for line in ["ls", "cat a | grep b"] {
            check("Bash", Some(line), true);
            let cut =
                UnreadableCall { tool: "Bash", command: Some(line), cut: true, walled: false };
            assert!(judge_unreadable(cut, "").is_err());
            assert!(judge_unreadable(UnreadableCall { walled: true, ..cut }, "").is_ok());
        }
        for line in [
            "rm a",
            "chmod -R go-w ~/.local",
            "ralph cancel",
            "echo $(touch x)",
            "cargo test",
            "git status",
        ] {
            check("Bash", Some(line), false);
        }
        check("Bash", None, false);
        check("Monitor", Some("ls"), false);
    }
}
