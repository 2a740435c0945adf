//! A plain prompt that announces feedback: it continues an orchestration, like `/ralph-v2` with the
//! same words.

use crate::hook_runner::HookCall;
use crate::{typed, user_prompt};
use anyhow::Result;
use ralph_core::modes::arguments::LoopRequest;
use ralph_core::modes::orchestration::files::SESSIONS;
use ralph_core::modes::orchestration::which;
use ralph_core::protocol::reply::Reply;
use ralph_core::state::{EndingKind, LoopState, Mode};
use ralph_io::store::lifecycle;

/// Answers the prompt if it announces feedback for the live orchestration of this conversation.
pub(super) fn prompted(call: &HookCall, state: &LoopState) -> Result<Option<Reply>> {
    let is_meant = is_announced(&call.input.prompt) && user_prompt::is_typed(call, Some(state));
    is_meant.then(|| continued(call)).transpose()
}

/// Answers a prompt in a conversation without a loop: its last orchestration may wait for feedback.
/// Looks only for the announcement, and only if the project has orchestrations.
pub(crate) fn prompted_without_a_loop(call: &HookCall) -> Result<Reply> {
    let prompt = &call.input.prompt;
    if call.input.from_subagent() || !is_announced(prompt) || !user_prompt::is_typed(call, None) {
        return Ok(Reply::silent());
    }
    let root = call.root();
    match root.join(SESSIONS).is_dir() && waits(call) {
        true => continued(call),
        false => Ok(Reply::silent()),
    }
}

/// True for the sentence with which the user announces feedback.
fn is_announced(prompt: &str) -> bool {
    which::continued(prompt.trim()).is_some_and(|said| said.feedback && !said.more)
}

fn continued(call: &HookCall) -> Result<Reply> {
    let task = Some(call.input.prompt.trim().to_owned());
    let request = LoopRequest { task, ..LoopRequest::default() };
    typed::answer_as(call, Mode::Orchestration, Ok(request))
}

/// True if the last orchestration of this conversation waits for feedback.
fn waits(call: &HookCall) -> bool {
    let ended = lifecycle::ended(&call.home).into_iter().filter_map(|(_, state)| state.ok());
    let own = ended.filter(|state| {
        state.mode == Mode::Orchestration && state.session_id == call.input.session_id
    });
    let last = own.max_by_key(|state| state.ending.as_ref().map(|ending| ending.at));
    let kind = last.and_then(|state| state.ending).map(|ending| ending.kind);
    kind.is_some_and(|kind| kind.is_completion() || kind == EndingKind::AwaitingFeedback)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feedback_is_announced_by_the_sentence_alone() {
        let id = "260131-120000";
        assert!(is_announced(&format!(" Continue session {id} with new feedback\n")));
        assert!(!is_announced(&format!("Continue session {id}")));
        assert!(!is_announced(&format!("Continue session {id} with new feedback: paint it")));
        assert!(!is_announced("Paint the door"));
    }
}
