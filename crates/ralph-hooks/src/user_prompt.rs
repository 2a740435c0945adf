//! `ralph-user-prompt`: starts, continues, pauses and cancels from what a person typed, without a
//! shell and without the model.
//!
//! A typed command reaches us twice, first as a prompt and then as an expansion; the expansion
//! decides. A plain prompt matters for two things: the words `ralph cancel` and `ralph pause` in
//! mid-turn, and what it reveals, since pressing Esc fires no hook at all.

use crate::active_loop::{self, Bound, NotFromClient};
use crate::cancel;
use crate::hook_runner::HookCall;
use crate::{orchestration, ralplan, signals, typed, unreadable};
use anyhow::Result;
use ralph_core::modes::orchestration::files::SESSIONS;
use ralph_core::modes::orchestration::which;
use ralph_core::protocol::event::HookEvent;
use ralph_core::protocol::reply::Reply;
use ralph_core::state::{DrivenTurn, LoopState, Mode, PauseCause, Phase, Via};
use ralph_core::{guard::scheduled, modes::build, transcript::cutoff, views::messages};
use ralph_io::{client, client::transcript, process::clock, project};
use serde_json::Value;
use std::path::Path;

/// Answers UserPromptSubmit and UserPromptExpansion.
pub fn answer(call: &HookCall) -> Result<Reply> {
    match call.input.hook_event_name {
        HookEvent::UserPromptSubmit => prompt(call),
        HookEvent::UserPromptExpansion => command(call),
        _ => Ok(Reply::silent()),
    }
}

/// A typed slash command, by its name without a plugin's prefix.
fn command(call: &HookCall) -> Result<Reply> {
    let name = call.input.command_name.as_str();
    let is_ours = cutoff::is_our_command(&format!("/{name}"));
    if is_ours && name.strip_prefix("ralph:").unwrap_or(name) != "ralph-build" {
        let bound = Bound::<LoopState>::find(call).ok().flatten();
        if !is_typed(call, bound.as_ref().map(|bound| &bound.state)) {
            return refuse(call, bound.as_ref());
        }
    }
    let outcome = match name.strip_prefix("ralph:").unwrap_or(name) {
        "ralph" | "ralph-parallel" | "ralph-v2" | "ralplan" => start_command(call),
        // A plugin's commands have its prefix; names as short as these may be somebody else's without it.
        "rp" | "planloop" if call.via == Via::Plugin && !name.starts_with("ralph:") => {
            Ok(Reply::silent())
        }
        "rp" | "planloop" => start_command(call),
        "ralph-cancel" => cancel_command(call),
        "ralph-plan" => plan_command(call),
        "ralph-build" => build_command(call),
        _ => Ok(Reply::silent()),
    };
    // A person waits for the answer, and a start that failed must not look like one.
    outcome.or_else(|error| match error.is::<NotFromClient>() {
        true => Err(error),
        false => Ok(Reply::block(&messages::line(&format!("{error:#}")))),
    })
}

/// Whether a person typed this prompt, as far as can be known: the client says so, or neither the model has scheduled
/// it nor the client has just told that it was due.
fn is_typed(call: &HookCall, state: Option<&LoopState>) -> bool {
    if let Some(typed) = call.input.says_typed() {
        return typed;
    }
    let prompt = &call.input.prompt;
    let is_scheduled = state.is_some_and(|state| scheduled::is_one(&state.scheduled, prompt));
    !is_scheduled && !transcript::was_due(Path::new(&call.input.transcript_path), prompt)
}

/// A prompt that the model has scheduled does nothing here, and the person sees why.
fn refuse(call: &HookCall, bound: Option<&Bound>) -> Result<Reply> {
    let why = scheduled::refusal(&call.input.prompt);
    if let Some(bound) = bound.filter(|bound| !bound.is_outranked(call.via)) {
        bound.note(call, "refused", &why, Value::Null);
    }
    Ok(Reply::block(&messages::line(&why)))
}

fn start_command(call: &HookCall) -> Result<Reply> {
    if call.cut {
        anyhow::bail!("what was typed is too long; put it into a file and name the file");
    }
    typed::answer(call)
}

/// Cancels and answers without a model call. The second copy of a hook that is registered twice
/// finds the tombstone of this very prompt and has nothing to add.
fn cancel_command(call: &HookCall) -> Result<Reply> {
    let found = match Bound::<LoopState>::find(call) {
        // It ends all the same. Where only rights were wrong, they are not any more.
        Err(error) => match unreadable::cancel(call, error) {
            Ok(reply) => return Ok(reply),
            Err(error) => Bound::<LoopState>::find(call).map_err(|_| error)?,
        },
        Ok(found) => found,
    };
    let Some(bound) = found else {
        return Ok(Reply::block(&messages::line(
            "no loop is live in this session; `ralph status` lists them",
        )));
    };
    if bound.state.ending.is_some() {
        return Ok(match cancelled_by(&bound.state, &call.input.prompt_id) {
            true => Reply::silent(),
            false => Reply::block(&messages::ended(&bound.state)),
        });
    }
    Ok(cancel(call, &bound)?.map_or(Reply::silent(), |message| Reply::block(&message)))
}

fn cancelled_by(state: &LoopState, prompt_id: &str) -> bool {
    !prompt_id.is_empty() && state.cancelled_by_prompt.as_deref() == Some(prompt_id)
}

/// Ends the loop; returns what to tell the person, or none if another copy of this hook, started by
/// the same prompt at the same moment, was first and tells them.
fn cancel(call: &HookCall, bound: &Bound) -> Result<Option<String>> {
    match cancel::end_typed(&call.home, &bound.file, &call.input.prompt_id)? {
        Some((state, archived)) => {
            active_loop::note(
                &archived,
                call,
                &state.position(),
                "ended",
                "the person cancelled",
                Value::Null,
            );
            Ok(Some(format!("{} Kept in {}", messages::ended(&state), archived.folder().display())))
        }
        None => Ok(match Bound::<LoopState>::find(call)? {
            Some(now) if cancelled_by(&now.state, &call.input.prompt_id) => None,
            _ => Some(messages::line("the loop had ended before")),
        }),
    }
}

/// The session of a round is told its task; a person has no use for this command.
fn build_command(call: &HookCall) -> Result<Reply> {
    let bound = Bound::<LoopState>::find(call)?;
    let Some(bound) = bound.filter(|one| one.state.is_running() && one.state.round.is_some())
    else {
        return Ok(Reply::block(&messages::line(
            "`ralph build` in a terminal begins this; type /ralph to work here",
        )));
    };
    if bound.is_outranked(call.via) {
        return Ok(Reply::silent());
    }
    let turn = DrivenTurn::new(call.input.prompt_id.clone(), clock::now());
    bound.file.update(|state| {
        state.note_event(call.via);
        state.turn = Some(turn);
    })?;
    bound.note(call, "started", "a round of `ralph build`", Value::Null);
    let heading = format!("Ralph build round, loop {}", bound.state.loop_id);
    // A fresh session knows nothing of what was said to those before it.
    let contract = signals::contract(&heading, &bound.file, &bound.state);
    let text = format!("{contract}\n\n{}", build::task(&bound.state));
    Ok(Reply::context(HookEvent::UserPromptExpansion, &text))
}

/// By its first words the skill tells a round from a dialogue, also where what was typed is empty.
const PLAN_ROUND: &str = "Ralph plan round. Nobody is there to answer: follow the section \"A plan \
round\" and no other. What stands between the tags is the task graph as it is now; if that is empty, \
nothing is planned yet.";

/// Planning is a dialogue that ends by an import, and an import is refused while a loop is live.
fn plan_command(call: &HookCall) -> Result<Reply> {
    if client::is_plan_round() {
        return Ok(Reply::context(HookEvent::UserPromptExpansion, PLAN_ROUND));
    }
    let live = Bound::<LoopState>::find(call)?.filter(|bound| bound.state.is_live());
    Ok(live.map_or(Reply::silent(), |bound| {
        let position = bound.state.position();
        let why = format!(
            "a loop is live in this session at {position}: end it with /ralph-cancel before you plan another"
        );
        if !bound.is_outranked(call.via) {
            bound.note(call, "refused", &why, Value::Null);
        }
        Reply::block(&messages::line(&why))
    }))
}

fn prompt(call: &HookCall) -> Result<Reply> {
    let found = match Bound::<LoopState>::find(call) {
        Err(_) if call.input.prompt.trim() == "ralph cancel" => return cancel_command(call),
        found => found?,
    };
    let Some(bound) = found else { return without_a_loop(call) };
    if bound.is_outranked(call.via) || bound.is_driven() {
        return Ok(Reply::silent());
    }
    if bound.state.phase == Phase::Ended {
        return after_the_end(call, &bound);
    }
    if !bound.state.is_live() {
        return Ok(Reply::silent());
    }
    match call.input.prompt.trim() {
        "ralph cancel" | "ralph pause" if !is_typed(call, Some(&bound.state)) => {
            refuse(call, Some(&bound))
        }
        "ralph cancel" => typed_cancel(call, &bound),
        "ralph pause" => typed_pause(call, &bound),
        prompt
            if bound.state.mode == Mode::Session
                && continues(prompt)
                && is_typed(call, Some(&bound.state)) =>
        {
            goes_on_with_feedback(call)
        }
        _ => other_prompt(call, &bound),
    }
}

/// True for the sentence by which a person says that there is feedback for a session.
fn continues(prompt: &str) -> bool {
    which::continued(prompt).is_some_and(|said| said.feedback && !said.more)
}

/// A session that waits for feedback has no loop any more. The sentence that takes it up again is all that is looked
/// for, and only where the project has sessions.
fn without_a_loop(call: &HookCall) -> Result<Reply> {
    if call.input.from_subagent() || !continues(&call.input.prompt) || !is_typed(call, None) {
        return Ok(Reply::silent());
    }
    let root = project::root(client::project_dir(), Path::new(&call.input.cwd));
    match root.join(SESSIONS).is_dir() {
        true => goes_on_with_feedback(call),
        false => Ok(Reply::silent()),
    }
}

fn goes_on_with_feedback(call: &HookCall) -> Result<Reply> {
    Ok(typed::continued_by_feedback(call)?.unwrap_or_else(Reply::silent))
}

/// The tombstone is kept for the turn that the loop drove, and for the copy of the hook that was
/// started by the same prompt; a new prompt has nothing more to do with the loop.
fn after_the_end(call: &HookCall, bound: &Bound) -> Result<Reply> {
    let same_turn = drives(&bound.state, &call.input.prompt_id);
    if same_turn || cancelled_by(&bound.state, &call.input.prompt_id) {
        return Ok(Reply::silent());
    }
    cancel::acknowledge(call, bound)
}

fn drives(state: &LoopState, prompt_id: &str) -> bool {
    state.turn.as_ref().is_some_and(|turn| turn.prompt_id == prompt_id)
}

/// In mid-turn, where the turn is cut at its next tool call and the person reads the answer then,
/// or at once: in neither case does the model hear the words.
fn typed_cancel(call: &HookCall, bound: &Bound) -> Result<Reply> {
    let mid_turn = drives(&bound.state, &call.input.prompt_id);
    let Some(message) = cancel(call, bound)? else { return Ok(Reply::silent()) };
    Ok(if mid_turn { Reply::keep_from_model(&message) } else { Reply::block(&message) })
}

fn typed_pause(call: &HookCall, bound: &Bound) -> Result<Reply> {
    let mid_turn = drives(&bound.state, &call.input.prompt_id);
    let message = pause(call, bound, PauseCause::Person, "typed in the session")?;
    Ok(if mid_turn { Reply::keep_from_model(&message) } else { Reply::block(&message) })
}

/// Pauses the loop; returns what the person is told, and notes that they were.
fn pause(call: &HookCall, bound: &Bound, cause: PauseCause, detail: &str) -> Result<String> {
    let now = clock::now();
    let text = bound.file.update(|state| {
        let (touched, turn) = (state.touched, state.turn.take());
        state.note_event(call.via);
        // The first of the two events of a typed command: the second must still be able to tell a
        // loop that never began.
        state.touched = touched || !cutoff::is_our_command(&call.input.prompt);
        state.pause(cause.clone(), detail, now);
        // A typed pause does not end the turn: until its stop, what is typed is typed in mid-turn.
        state.turn = turn.filter(|_| cause == PauseCause::Person);
        if let Some(pause) = &mut state.pause {
            pause.told = true;
        }
        messages::paused(state)
    })?;
    bound.note(call, "paused", &format!("{cause}: {detail}"), Value::Null);
    Ok(messages::line(&text.unwrap_or_default()))
}

/// Any other prompt: of the running turn, of a background worker, or a new one that reveals that
/// the loop's turn was cut.
fn other_prompt(call: &HookCall, bound: &Bound) -> Result<Reply> {
    let state = &bound.state;
    let prompt_id = &call.input.prompt_id;
    if state.phase == Phase::Paused {
        return tell_of_pause(call, bound);
    }
    let heard = || {
        let reply = match state.mode.word() {
            // The conversation was woken by the end of an agent, and what comes next is known already.
            Mode::Ralplan if call.input.is_task_notification() => ralplan::woken(call)?,
            Mode::Session if call.input.is_task_notification() => orchestration::woken(call)?,
            _ => Reply::silent(),
        };
        Ok(signals::lead(call, &bound.file, state, reply))
    };
    if prompt_id.is_empty() || drives(state, prompt_id) {
        return heard();
    }
    match &state.turn {
        Some(turn) if reveals_a_cut(call, state, turn) => {
            let cause = cut_by(call, turn).unwrap_or_else(|| unmarked(state));
            let message =
                pause(call, bound, cause, "a new prompt came in the middle of the loop's turn")?;
            // A command of ours says itself what becomes of the loop.
            Ok(match cutoff::is_our_command(&call.input.prompt) {
                true => Reply::silent(),
                false => Reply::silent().tell(message),
            })
        }
        // Its expansion follows with the same prompt id, which must not look answered by then.
        _ if cutoff::is_our_command(&call.input.prompt) => Ok(Reply::silent()),
        _ => {
            // Nothing was outstanding: the loop goes on in this turn.
            let turn = DrivenTurn::new(prompt_id.clone(), clock::now());
            bound.file.update(|state| {
                state.note_event(call.via);
                state.turn = Some(turn);
            })?;
            heard()
        }
    }
}

/// True when a prompt shows that the turn it does not belong to was cut. A worker's report shows
/// nothing by itself, but it must not take up what a person had cut before it came.
fn reveals_a_cut(call: &HookCall, state: &LoopState, turn: &DrivenTurn) -> bool {
    (!call.input.is_task_notification() && is_typed(call, Some(state)))
        || cut_by(call, turn).is_some_and(|cause| !cause.resumes_by_itself())
}

fn cut_by(call: &HookCall, turn: &DrivenTurn) -> Option<PauseCause> {
    transcript::cut_by(Path::new(&call.input.transcript_path), Some(turn.at))
}

/// How a turn was cut that left no mark. Esc before the first words of a reply leaves none; a
/// client that is still the same process did not crash.
fn unmarked(state: &LoopState) -> PauseCause {
    match state.client.is_some() && state.client == client::process() {
        true => PauseCause::Interrupted,
        false => PauseCause::Crashed,
    }
}

/// A pause that was revealed by an event that cannot speak is told at the next prompt.
fn tell_of_pause(call: &HookCall, bound: &Bound) -> Result<Reply> {
    let untold = bound.state.pause.as_ref().is_some_and(|pause| !pause.told);
    if !untold || cutoff::is_our_command(&call.input.prompt) {
        return Ok(Reply::silent());
    }
    let text = bound.file.update(|state| {
        if let Some(pause) = &mut state.pause {
            pause.told = true;
        }
        messages::paused(state)
    })?;
    Ok(Reply::silent().tell(messages::line(&text.unwrap_or_default())))
}
