//! What an orchestrated session lets through: its conversation routes and does no work of its own, its agents
//! write what is theirs, and who is called is who comes next.

use super::{Caller, Cell, Rule, ToolCall, ralph_command};
use crate::shell::{self, Simple};

/// What is known of a call in an orchestrated session.
#[derive(Debug, Clone, Copy)]
pub struct SessionGate<'a> {
    /// For a call that would write an artefact of the session in a way that can be judged: ok where it is its
    /// writer's to make, else why not. None for every other call.
    pub artefact: Option<Result<(), &'a str>>,
    /// For a call of an agent by the conversation: ok where it is one that comes next, else why not.
    pub next_call: Result<(), &'a str>,
    /// What the conversation does instead of work of its own: who is called next.
    pub next: &'a str,
}

/// True for a row in which the conversation would do work of its own.
pub fn is_own_work(rule: Rule) -> bool {
    matches!(rule, Rule::Mutation | Rule::Skill | Rule::OtherTool)
}

/// Ok when this cell lets this call through; else what the model reads.
pub(super) fn check(
    cell: Cell,
    gate: &SessionGate<'_>,
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
            // By a command line, in which nobody can see what would be written.
            None => Err(reason),
        },
        (Cell::OnlyNext, Caller::Main) => gate.next_call.map_err(str::to_owned),
        (Cell::OnlyNext, Caller::Subagent(_)) => Err(NO_AGENTS.to_owned()),
        _ if matches!(call.tool, "Agent" | "Task") => Err(NO_AGENTS.to_owned()),
        _ => Err(reason),
    }
}

/// The conversation routes. It may look at everything, wait, and ask Ralph; what changes something is an agent's.
fn reads(gate: &SessionGate<'_>, call: &ToolCall<'_>) -> Result<(), String> {
    let refused = |what: &str| Err(routes(gate, what));
    match call.tool {
        "Bash" | "Monitor" => {
            let line = call.input.command.as_deref().unwrap_or_default();
            if asks_ralph(line) {
                return Ok(());
            }
            super::only_reads(line).or_else(|why| {
                refused(&format!("a command of this conversation only reads: {why}"))
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

fn routes(gate: &SessionGate<'_>, what: &str) -> String {
    format!(
        "This conversation routes the session and does no work of its own: {what}. {}",
        gate.next
    )
}

/// True for a line that does nothing but run `ralph`, by commands that concern the loop and not its work.
fn asks_ralph(line: &str) -> bool {
    const ASKS: [&str; 3] = ["blocked", "task", "verify"];
    let reading = shell::read(line, &[]);
    let asks = |simple: &Simple| {
        let first = simple.arguments().first();
        ralph_command::is_ralph(simple)
            && !ralph_command::may_hand_on(simple)
            && first.is_some_and(|word| ASKS.contains(&word.text.as_str()))
            && simple.redirects.iter().all(|to| !to.writes)
    };
    reading.opaque.is_empty() && !reading.commands.is_empty() && reading.commands.iter().all(asks)
}

/// True for a tool that ends or wakes something, or speaks to the person; and for one of another vendor that says
/// by its name that it reads.
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
    const READS: [&str; 14] = [
        "convert",
        "describe",
        "fetch",
        "find",
        "get",
        "list",
        "lookup",
        "read",
        "search",
        "sequentialthinking",
        "show",
        "sleep",
        "view",
        "wait",
    ];
    const CHANGES: [&str; 44] = [
        "add", "and", "append", "apply", "build", "call", "change", "clear", "click", "commit",
        "copy", "create", "delete", "do", "edit", "eval", "exec", "execute", "import", "insert",
        "install", "invoke", "kill", "make", "merge", "move", "new", "or", "patch", "post", "push",
        "put", "remove", "rename", "replace", "reset", "run", "save", "send", "set", "sync",
        "update", "upload", "write",
    ];
    if KNOWN.contains(&tool) {
        return true;
    }
    // Of another vendor's tool only its own name counts, not that of the server.
    let Some((_, name)) = tool.strip_prefix("mcp__").and_then(|rest| rest.rsplit_once("__")) else {
        return false;
    };
    let words = words(name);
    words.iter().any(|word| READS.contains(&word.as_str()))
        && !words.iter().any(|word| CHANGES.contains(&word.as_str()))
}

/// The words of `getFile`, `get_file` and `get-file`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars() {
        if !letter.is_alphanumeric() || letter.is_uppercase() && was_lower {
            words.push(String::new());
        }
        was_lower = letter.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
    }
    words
}

const NO_AGENTS: &str = "An agent of a session calls no agents: the conversation does, when `ralph session next` \
names one. Do your own part, and write what is left into your report.";

/// What a command line is told that would change an artefact.
pub(super) const BY_COMMAND: &str = "This would change the session's folder by a command, and nobody can see what it \
writes. The conversation writes nothing there and calls the agent that comes next. An agent writes its own files with the \
Write or Edit tool, and marks its task with `ralph session mark`. Reading is allowed (`cat`, `grep`, `ralph session status`).";
