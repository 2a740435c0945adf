//! A typed command that begins or continues a loop: `/ralph`, `/ralplan`, `/ralph-v2`.

use crate::active_loop::{self, Bound};
use crate::begin::{self, StartOutcome, StartRequest};
use crate::hook_runner::HookCall;
use crate::{ralplan, signals};
use anyhow::Result;
use ralph_core::modes::arguments::LoopRequest;
use ralph_core::modes::orchestration::{in_session, which};
use ralph_core::protocol::event::HookEvent;
use ralph_core::protocol::reply::Reply;
use ralph_core::state::{EndingKind, Mode};
use ralph_core::state::{LoopState, StartedBy};
use ralph_core::{
    modes::arguments, modes::loop_prompt, modes::parallel, modes::ralplan as rules, modes::start,
    views::messages,
};
use ralph_io::{client, process::clock, project, project::confined, store::lifecycle};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Answers the expansion of a typed command that begins or continues something.
pub fn answer(call: &HookCall) -> Result<Reply> {
    active_loop::check_sender(call)?;
    let name = call.input.command_name.as_str();
    let answered = match name.strip_prefix("ralph:").unwrap_or(name) {
        "ralplan" | "rp" | "planloop" => plan_command(call),
        "ralph-v2" => session_command(call),
        _ => start_command(call),
    };
    // The person waits for the answer, and a start that failed must not look like one.
    answered.or_else(|error| Ok(Reply::block(&messages::line(&format!("{error:#}")))))
}

fn start_command(call: &HookCall) -> Result<Reply> {
    let request = match request(call) {
        Ok(request) => request,
        Err(refusal) => return Ok(Reply::block(&messages::line(&refusal))),
    };
    if call.input.session_id.is_empty() {
        return Ok(Reply::block(&messages::line(NO_SESSION)));
    }
    let begun = begin::begin(&StartRequest {
        home: &call.home,
        request: &request,
        session_id: &call.input.session_id,
        prompt_id: &call.input.prompt_id,
        project_root: root(call),
        started_by: StartedBy::Person,
        via: Some(call.via),
    })?;
    Ok(match begun {
        StartOutcome::Answered => Reply::silent(),
        StartOutcome::Refused(why) => {
            // The loop that stands in the way may be one that cannot be read.
            let _ = journal(call, "refused", &why);
            Reply::block(&messages::line(&why))
        }
        StartOutcome::Planned(_) => Reply::block(&messages::line(NO_SESSION)),
        StartOutcome::Started(state) => {
            journal(call, "started", TYPED)?;
            contract(call, &loop_prompt::started_line(&state), &state)
                .tell(messages::line(&start::announcement(&state)))
        }
        StartOutcome::Continues(state) => {
            journal(call, "continued", TYPED)?;
            contract(call, &loop_prompt::continues_line(&state), &state).tell(messages::line(
                &format!("loop {} continues at {}", state.loop_id, state.position()),
            ))
        }
    })
}

fn plan_command(call: &HookCall) -> Result<Reply> {
    let request = match arguments::parse(&call.input.command_args) {
        Ok(request) => request,
        Err(refusal) => return Ok(Reply::block(&messages::line(&refusal.to_string()))),
    };
    if call.input.session_id.is_empty() {
        return Ok(Reply::block(&messages::line(NO_SESSION)));
    }
    let begun = ralplan::begin(&ralplan::PlanningRequest {
        home: &call.home,
        request: &request,
        session_id: &call.input.session_id,
        prompt_id: &call.input.prompt_id,
        project_root: root(call),
        via: Some(call.via),
    })?;
    Ok(match begun {
        ralplan::PlanningStart::Answered => Reply::silent(),
        ralplan::PlanningStart::Refused(why) => {
            let _ = journal(call, "refused", &why);
            Reply::block(&messages::line(&why))
        }
        ralplan::PlanningStart::Started(state, told) => {
            journal(call, "started", TYPED)?;
            let announced = rules::announcement(&state);
            let announced = [vec![announced], told].concat().join("\n  ");
            let log = state.ralplan.as_ref().map(|plan| plan.log.join("\n")).unwrap_or_default();
            contract(call, &rules::started_line(&state), &state)
                .tell(messages::line(&announced))
                .tell_also(&log)
        }
        ralplan::PlanningStart::Continues(state) => {
            journal(call, "continued", TYPED)?;
            let line = rules::continues_line(&state);
            let reply = contract(call, &line, &state)
                .tell(messages::line(line.trim_start_matches("Ralph ")));
            match lifecycle::by_id(&call.home, &state.loop_id) {
                Some(file) => ralplan::tell_log(&file, &state, reply)?,
                None => reply,
            }
        }
    })
}

/// A plain prompt that says that there is feedback for a session: in a conversation that has orchestrated one it means
/// what `/ralph-v2` with these words does. None for every other prompt and every other conversation.
pub(crate) fn continued(call: &HookCall) -> Result<Option<Reply>> {
    let prompt = call.input.prompt.trim();
    let is_plain = call.input.hook_event_name == HookEvent::UserPromptSubmit;
    let said = is_plain.then(|| which::continued(prompt)).flatten();
    if !said.is_some_and(|said| said.feedback && !said.more) || !orchestrates(call)? {
        return Ok(None);
    }
    let request = LoopRequest { task: Some(prompt.to_owned()), ..LoopRequest::default() };
    let begun = session_begun(call, &request);
    begun.or_else(|error| Ok(Reply::block(&messages::line(&format!("{error:#}"))))).map(Some)
}

/// True where this conversation orchestrates a session, or the last that it did waits for feedback.
fn orchestrates(call: &HookCall) -> Result<bool> {
    if let Some(bound) = Bound::<LoopState>::find(call)? {
        return Ok(bound.state.mode == Mode::Session && bound.state.is_live());
    }
    let ended = lifecycle::ended(&call.home).into_iter().filter_map(|(_, state)| state.ok());
    let own = ended
        .filter(|state| state.mode == Mode::Session && state.session_id == call.input.session_id);
    let last = own.max_by_key(|state| state.ending.as_ref().map(|ending| ending.at));
    let kind = last.and_then(|state| state.ending).map(|ending| ending.kind);
    Ok(matches!(
        kind,
        Some(EndingKind::AwaitingFeedback | EndingKind::Complete | EndingKind::CompleteUnverified)
    ))
}

fn session_command(call: &HookCall) -> Result<Reply> {
    match arguments::parse(&call.input.command_args) {
        Ok(request) => session_begun(call, &request),
        Err(refusal) => Ok(Reply::block(&messages::line(&refusal.to_string()))),
    }
}

fn session_begun(call: &HookCall, request: &LoopRequest) -> Result<Reply> {
    if call.input.session_id.is_empty() {
        return Ok(Reply::block(&messages::line(NO_SESSION)));
    }
    let begun = crate::orchestration::begin(&StartRequest {
        home: &call.home,
        request,
        session_id: &call.input.session_id,
        prompt_id: &call.input.prompt_id,
        project_root: root(call),
        started_by: StartedBy::Person,
        via: Some(call.via),
    })?;
    Ok(match begun {
        StartOutcome::Answered => Reply::silent(),
        StartOutcome::Refused(why) => {
            let _ = journal(call, "refused", &why);
            Reply::block(&messages::line(&why))
        }
        StartOutcome::Planned(_) => Reply::block(&messages::line(NO_SESSION)),
        StartOutcome::Started(_) => {
            journal(call, "started", TYPED)?;
            let state = crate::orchestration::first_look(call)?;
            contract(call, &in_session::started_line(&state), &state)
                .tell(messages::line(&in_session::announcement(&state)))
        }
        StartOutcome::Continues(_) => {
            journal(call, "continued", TYPED)?;
            let state = crate::orchestration::first_look(call)?;
            let line = in_session::continues_line(&state);
            contract(call, &line, &state).tell(messages::line(line.trim_start_matches("Ralph ")))
        }
    })
}

/// What was typed, in words where it cannot be done.
fn request(call: &HookCall) -> Result<LoopRequest, String> {
    let mut request =
        arguments::parse(&call.input.command_args).map_err(|refusal| refusal.to_string())?;
    if call.input.command_name.ends_with("ralph-parallel") {
        let root = root(call);
        let work = parallel::work(request.task.as_deref(), |name| confined::is_file(&root, name))?;
        request.task = work.goal();
        request.parallel = Some(work);
    }
    Ok(request)
}

fn root(call: &HookCall) -> PathBuf {
    project::root(client::project_dir(), Path::new(&call.input.cwd))
}

/// What a person said before to a loop that goes on is still to be heard; one that has just begun has
/// an empty mailbox.
fn contract(call: &HookCall, heading: &str, state: &LoopState) -> Reply {
    let text = match lifecycle::by_id(&call.home, &state.loop_id) {
        Some(file) => signals::contract(heading, &file, state),
        None => loop_prompt::contract(heading, state, &[], clock::now()),
    };
    Reply::context(call.input.hook_event_name, &text)
}

const NO_SESSION: &str = "the client named no session; nothing was started";

const TYPED: &str = "the person typed it";

/// In the journal of the loop that the session has now; a start that was refused may leave none.
fn journal(call: &HookCall, decision: &str, why: &str) -> Result<()> {
    let bound = Bound::<LoopState>::find(call)?.filter(|bound| !bound.is_outranked(call.via));
    if let Some(bound) = bound {
        bound.note(call, decision, why, json!({"via": bound.state.via}));
    }
    Ok(())
}
