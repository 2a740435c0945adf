//! What an orchestration allows: the conversation routes and does no work of its own, agents write
//! their own artefacts, and only the next agent may be called.

use super::{Caller, Cell, Rule, ToolCall, plain_readers, ralph_command};
use crate::shell::Simple;

/// What is known about a call in an orchestration.
#[derive(Debug, Clone, Copy)]
pub struct OrchestrationGate<'a> {
    /// For a call that would write an artefact in a way that can be judged: ok if the caller may
    /// write it, otherwise why not. `None` for every other call.
    pub artefact: Option<Result<(), &'a str>>,
    /// For an agent call by the conversation: ok if that agent is next, otherwise why not.
    pub next_call: Result<(), &'a str>,
    /// What the conversation does instead of its own work: which agent to call next.
    pub next: &'a str,
}

/// True for a row in which the conversation would do work of its own.
pub fn is_own_work(rule: Rule) -> bool {
    matches!(rule, Rule::Mutation | Rule::Skill | Rule::OtherTool)
}

/// Ok if this cell allows the call; otherwise the message to the model.
pub(super) fn check(
    cell: Cell,
    gate: &OrchestrationGate<'_>,
    agent: Caller<'_>,
    call: &ToolCall<'_>,
    reason: String,
) -> Result<(), String> {
    match (cell, agent) {
        (Cell::OnlyReading, _) => reads(gate, call),
        (Cell::DeniedWhileRunning, Caller::Main) if call.tool == "Skill" => {
            Err(routes(gate, "a skill is loaded by the agent that needs it"))
        }
        (Cell::OnlyOwner, _) => match gate.artefact {
            Some(judged) => judged.map_err(str::to_owned),
            // A command line, in which it cannot be seen what would be written.
            None => Err(reason),
        },
        (Cell::OnlyNext, Caller::Main) => gate.next_call.map_err(str::to_owned),
        (Cell::OnlyNext, Caller::Subagent(_)) => Err(NO_AGENTS.to_owned()),
        _ if matches!(call.tool, "Agent" | "Task") => Err(NO_AGENTS.to_owned()),
        _ => Err(reason),
    }
}

/// The conversation routes: it may read everything, wait, and run `ralph`, but changes are left to
/// agents.
fn reads(gate: &OrchestrationGate<'_>, call: &ToolCall<'_>) -> Result<(), String> {
    let refused = |what: &str| Err(routes(gate, what));
    match call.tool {
        "Bash" | "Monitor" => {
            let line = call.input.command.as_deref().unwrap_or_default();
            plain_readers::only_reads(line, concerns_the_loop).or_else(|why| {
                let readers = plain_readers::named();
                refused(&format!("it runs `ralph` and {readers}, with pipes between them: {why}"))
            })
        }
        "PowerShell" => {
            refused("a command of this conversation only reads, and this one cannot be read")
        }
        tool if super::is_edit(tool) => refused("files are written by the agents"),
        tool if is_nobodys_work(tool) => Ok(()),
        tool => refused(&format!("`{tool}` is not known to change nothing")),
    }
}

fn routes(gate: &OrchestrationGate<'_>, what: &str) -> String {
    format!(
        "This conversation routes the session and does no work of its own: {what}. {}",
        gate.next
    )
}

/// True for a `ralph` command that reads, or that concerns the loop and not its work.
fn concerns_the_loop(simple: &Simple) -> bool {
    const ASKS: [&str; 3] = ["blocked", "task", "verify"];
    let first = simple.arguments().first();
    first.is_some_and(|word| ASKS.contains(&word.text.as_str()))
        || ralph_command::only_reads(simple)
}

/// True for a tool that ends or wakes something or talks to the user.
fn is_nobodys_work(tool: &str) -> bool {
    const KNOWN: [&str; 11] = [
        "Brief",
        "CronCreate",
        "CronDelete",
        "EndConversation",
        "KillBash",
        "KillShell",
        "PushNotification",
        "ScheduleWakeup",
        "SendUserFile",
        "SendUserMessage",
        "TaskStop",
    ];
    KNOWN.contains(&tool)
}

const NO_AGENTS: &str = "An agent of a session calls no agents: the conversation does, when `ralph session next` \
names one. Do your own part, and write what is left into your report.";

/// The denial for a command line that would change an artefact.
pub(super) const BY_COMMAND: &str = "This would change the session's folder by a command, and nobody can see what it \
writes. The conversation writes nothing there and calls the agent that comes next. An agent writes its own files with the \
Write or Edit tool, and marks its task with `ralph session mark`. Reading is allowed (`cat`, `grep`, `ralph session status`).";
