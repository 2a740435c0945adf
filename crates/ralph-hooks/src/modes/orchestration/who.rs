//! Who makes a call: the conversation, an agent of the orchestration, or an unknown agent.

use crate::hook_runner::HookCall;
use ralph_core::modes::orchestration::agents::AgentRole;
use ralph_core::modes::orchestration::invocation::{CallKey, Invocation};
use ralph_core::modes::orchestration::rules::Writer;
use ralph_core::state::{LoopState, OrchestrationCall, OrchestrationState};
use ralph_io::{client, client::transcript};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Who {
    /// The conversation that orchestrates.
    Main,
    /// An agent of the orchestration, with the key of its call.
    Agent(CallKey),
    /// An agent that the orchestration has not called.
    Stranger(String),
}

impl Who {
    pub(super) fn of(call: &HookCall, state: &LoopState) -> Who {
        let input = &call.input;
        if let (false, Some(driven)) = (input.from_subagent(), driven()) {
            return Who::Agent(driven);
        }
        if !input.from_subagent() {
            return Who::Main;
        }
        let known = state.orchestration().and_then(|session| place(call, session));
        let key = known.and_then(|at| state.orchestration()?.calls.get(at)?.key());
        key.map_or_else(|| Who::Stranger(input.agent_type.clone()), Who::Agent)
    }

    pub(super) fn writer(&self) -> Writer<'_> {
        match self {
            Who::Main => Writer::Main,
            Who::Agent(key) => Writer::Agent { mode: key.mode, task: &key.task },
            Who::Stranger(_) => Writer::Stranger,
        }
    }

    /// The agent type that the guard checks.
    pub(super) fn kind(&self) -> Option<&str> {
        match self {
            Who::Main => None,
            Who::Agent(key) => Some(key.mode.agent().name()),
            Who::Stranger(kind) => Some(kind),
        }
    }
}

/// The call for which a driver started this client session.
fn driven() -> Option<CallKey> {
    serde_json::from_str(&client::session_call()?).ok()
}

/// Which call under way belongs to this agent: by the client's agent id, else by the first prompt
/// of its transcript, else because only one call is possible.
pub(super) fn place(call: &HookCall, session: &OrchestrationState) -> Option<usize> {
    let input = &call.input;
    let calls = &session.calls;
    if let Some(at) = calls.iter().position(|one| one.agent == input.agent_id) {
        return Some(at);
    }
    let agent = AgentRole::of(&input.agent_type)?;
    let can_be = |one: &OrchestrationCall| one.agent.is_empty() && one.agent() == Some(agent);
    if let Some(prompt) = transcript_of(call).and_then(|path| transcript::first_prompt(&path)) {
        return calls
            .iter()
            .position(|one| can_be(one) && Invocation::are_same(&one.prompt, &prompt));
    }
    let mut all = (0..calls.len()).filter(|at| can_be(&calls[*at]));
    let only = all.next()?;
    all.next().is_none().then_some(only)
}

/// The agent's own transcript. The SubagentStop event names it; before that, it is in the folder
/// where the client keeps the transcripts of a session's agents.
fn transcript_of(call: &HookCall) -> Option<PathBuf> {
    let input = &call.input;
    if !input.agent_transcript_path.is_empty() {
        return Some(PathBuf::from(&input.agent_transcript_path));
    }
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    let folder = Path::new(input.transcript_path.strip_suffix(".jsonl")?).join("subagents");
    let path = folder.join(format!("agent-{}.jsonl", input.agent_id));
    (input.agent_id.chars().all(is_plain) && path.is_file()).then_some(path)
}
