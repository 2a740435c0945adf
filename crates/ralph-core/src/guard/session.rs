//! What an orchestrated session lets through: its conversation routes and writes none of its artefacts, its agents
//! write what is theirs, and who is called is who comes next.

use super::{Agent, Call, Cell};

/// What is known of a call in an orchestrated session.
#[derive(Debug, Clone, Copy)]
pub struct SessionGate<'a> {
    /// For a call that would write an artefact of the session in a way that can be judged: ok where it is its
    /// writer's to make, else why not. None for every other call.
    pub artefact: Option<Result<(), &'a str>>,
    /// For a call of an agent by the conversation: ok where it is one that comes next, else why not.
    pub next_call: Result<(), &'a str>,
}

/// Ok when this cell lets this call through; else what the model reads.
pub(super) fn check(
    cell: Cell,
    gate: &SessionGate<'_>,
    agent: Agent<'_>,
    call: &Call<'_>,
    reason: String,
) -> Result<(), String> {
    match (cell, agent) {
        (Cell::OnlyOwner, _) => match gate.artefact {
            Some(judged) => judged.map_err(str::to_owned),
            // By a command line, in which nobody can see what would be written.
            None => Err(reason),
        },
        (Cell::OnlyNext, Agent::Main) => gate.next_call.map_err(str::to_owned),
        (Cell::OnlyNext, Agent::Subagent(_)) => Err(NO_AGENTS.to_owned()),
        _ if matches!(call.tool, "Agent" | "Task") => Err(NO_AGENTS.to_owned()),
        _ => Err(reason),
    }
}

const NO_AGENTS: &str = "An agent of a session calls no agents: the conversation does, when `ralph session next` \
names one. Do your own part, and write what is left into your report.";

/// What a command line is told that would change an artefact.
pub(super) const BY_COMMAND: &str = "This would change the session's folder by a command, and nobody can see what it \
writes. The conversation writes nothing there and calls the agent that comes next. An agent writes its own files with the \
Write or Edit tool, and marks its task with `ralph session mark`. Reading is allowed (`cat`, `grep`, `ralph session status`).";
