//! What an orchestration allows: the conversation routes and does no work of its own, agents write
//! their own artefacts, and only the next agent may be called.

use super::{Caller, Cell, Rule, ToolCall, plain_readers};
use serde::{Deserialize, Serialize};

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
pub(super) fn check(
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
        (Cell::OnlyNext, Caller::Subagent(_)) => Err(NO_AGENTS.to_owned()),
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
            plain_readers::only_reads(line, |_| true).or_else(|why| {
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
