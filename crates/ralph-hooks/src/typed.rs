//! A typed command that starts or continues a loop: `/ralph`, `/ralplan`, `/ralph-v2`.

use crate::active_loop::{self, Bound};
use crate::begin::{self, StartOutcome, StartRequest};
use crate::hook_runner::HookCall;
use crate::modes::{self, ralplan};
use crate::signals;
use anyhow::Result;
use ralph_core::modes::arguments::LoopRequest;
use ralph_core::protocol::{permission, reply::Reply};
use ralph_core::state::{LoopState, Mode, StartedBy};
use ralph_core::{modes::arguments, modes::mode, modes::parallel, views::messages};
use ralph_io::{process::clock, project::confined, store::lifecycle};
use serde_json::json;
use std::path::Path;

/// Answers the expansion of such a command.
pub fn answer(call: &HookCall, mode: Mode) -> Result<Reply> {
    active_loop::check_sender(call)?;
    answer_as(call, mode, request(&call.input.command_name, &call.input.command_args, &call.root()))
}

/// Answers `/ralph resume`, which is `/ralph` without a task.
pub fn resume(call: &HookCall) -> Result<Reply> {
    active_loop::check_sender(call)?;
    answer_as(call, Mode::default(), Ok(LoopRequest::default()))
}

/// The user waits for the answer, so an error blocks the prompt: a failed start must not look like
/// a start.
pub(crate) fn answer_as(
    call: &HookCall,
    mode: Mode,
    request: Result<LoopRequest, String>,
) -> Result<Reply> {
    let answered = match &request {
        Ok(request) => begun(call, mode, request),
        Err(refusal) => Ok(Reply::keep_from_model(&messages::line(refusal))),
    };
    answered.or_else(|error| Ok(Reply::keep_from_model(&messages::line(&format!("{error:#}")))))
}

fn begun(call: &HookCall, mode: Mode, request: &LoopRequest) -> Result<Reply> {
    if call.input.session_id.is_empty() {
        return Ok(Reply::keep_from_model(&messages::line(NO_SESSION)));
    }
    let begun = begin::begin(&StartRequest {
        mode,
        home: &call.home,
        request,
        session_id: &call.input.session_id,
        prompt_id: &call.input.prompt_id,
        project_root: call.root(),
        started_by: StartedBy::Person,
        via: Some(call.via),
    })?;
    match begun {
        StartOutcome::Answered => Ok(Reply::silent()),
        StartOutcome::Refused(why) => {
            // The loop in the way may be unreadable, so ignore a write error.
            let _ = journal(call, "refused", &why);
            Ok(Reply::keep_from_model(&messages::line(&why)))
        }
        StartOutcome::Planned(..) => Ok(Reply::keep_from_model(&messages::line(NO_SESSION))),
        StartOutcome::Started(state, told) => {
            journal(call, "started", TYPED)?;
            started(call, state, &told)
        }
        StartOutcome::Continues(state) => {
            journal(call, "continued", TYPED)?;
            continued(call, state)
        }
    }
}

fn started(call: &HookCall, state: LoopState, told: &[String]) -> Result<Reply> {
    let state = modes::hooks(&state.mode.word()).first_step(call, state)?;
    let row = mode::rules(&state.mode);
    let announced = [&[row.announcement(&state)], told].concat().join("\n  ");
    let heading = row.started_line(&state);
    let reply = contract(call, &heading, &state).tell(messages::line(&announced));
    Ok(reply.tell_also(&permission::dialogs(&call.input.permission_mode)))
}

fn continued(call: &HookCall, state: LoopState) -> Result<Reply> {
    let state = modes::hooks(&state.mode.word()).first_step(call, state)?;
    let heading = mode::rules(&state.mode).continues_line(&state);
    let message = messages::line(heading.trim_start_matches("Ralph "));
    let reply = contract(call, &heading, &state).tell(message);
    let reply = match lifecycle::by_id(&call.home, &state.loop_id) {
        Some(file) => ralplan::tell_log(&file, &state, reply)?,
        None => reply,
    };
    Ok(reply.tell_also(&permission::dialogs(&call.input.permission_mode)))
}

/// Parses what was typed after a command.
///
/// # Errors
/// A message for the user.
pub fn request(command: &str, typed: &str, root: &Path) -> Result<LoopRequest, String> {
    let mut request = arguments::parse(typed).map_err(|refusal| refusal.to_string())?;
    if command.ends_with("ralph-parallel") {
        let work = parallel::work(request.task.as_deref(), |name| confined::is_file(root, name))?;
        request.task = work.goal();
        request.parallel = Some(work);
    }
    Ok(request)
}

/// The loop prompt, with the user's earlier messages if the loop continues. A new loop has an empty
/// mailbox.
pub(crate) fn contract(call: &HookCall, heading: &str, state: &LoopState) -> Reply {
    let text = match lifecycle::by_id(&call.home, &state.loop_id) {
        Some(file) => signals::contract(heading, &file, state),
        None => mode::rules(&state.mode).loop_prompt(heading, state, &[], clock::now()),
    };
    Reply::context(call.input.hook_event_name, &text)
}

const NO_SESSION: &str = "the client named no session; nothing was started";

const TYPED: &str = "the user typed it";

/// Writes to the journal of the session's current loop, which a refused start may not have.
fn journal(call: &HookCall, decision: &str, why: &str) -> Result<()> {
    let bound = Bound::find(call)?.filter(|bound| !bound.is_outranked(call.via));
    if let Some(bound) = bound {
        bound.note(call, decision, why, json!({"via": bound.state.via}));
    }
    Ok(())
}
