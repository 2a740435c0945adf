//! `ralph-stop-hook`: may this turn end, and is the loop over?
//!
//! Gathers what the rules need (the tree's fingerprint only when they will ask for it), lets
//! `ralph_core::stop` decide under the state's lock, and carries out the verdict.

use crate::bound::{self, Bound};
use crate::cancel;
use crate::door::Call;
use anyhow::Result;
use ralph_core::ending_marks;
use ralph_core::event::Event;
use ralph_core::reply::{GoOnForm, Reply};
use ralph_core::say;
use ralph_core::state::{Client, LoopState, PauseCause, Phase};
use ralph_core::stop::{self, Seen, Verdict};
use ralph_io::lifecycle::{self, Entry};
use ralph_io::store::LoopFile;
use ralph_io::{client, clock, transcript, tree};
use serde_json::json;
use std::path::Path;

/// Answers Stop, StopFailure and SessionEnd. A SubagentStop belongs to a worker, not to the loop.
pub fn answer(call: &Call) -> Result<Reply> {
    let event = call.input.hook_event_name;
    let interesting = matches!(event, Event::Stop | Event::StopFailure | Event::SessionEnd);
    if !interesting || call.input.from_subagent() {
        return Ok(Reply::silent());
    }
    let Some(bound) = Bound::<LoopState>::find(call)? else { return Ok(Reply::silent()) };
    // First of all: the copy that answers may have ended the loop a moment ago.
    if bound.is_outranked(call.via) {
        return Ok(Reply::silent());
    }
    if bound.state.phase == Phase::Ended {
        return cancel::acknowledge(call, &bound);
    }
    match event {
        Event::Stop => at_stop(call, bound),
        Event::StopFailure => at_failure(call, &bound),
        _ => at_session_end(call, &bound),
    }
}

fn at_stop(call: &Call, bound: Bound) -> Result<Reply> {
    // Git is the longest part of a stop: it runs while the rest is gathered.
    let status = begin_fingerprint(call, &bound.state);
    let command_waits = bound.state.is_running()
        && transcript::command_waits(Path::new(&call.input.transcript_path));
    // A git that fails or hangs is no sign of anything, least of all of a stall.
    let fingerprint = status.and_then(|status| status.finish().ok());
    let now = clock::now();
    let seen = Seen {
        now,
        prompt_id: &call.input.prompt_id,
        message: call.input.last_assistant_message.as_deref(),
        workers: call
            .input
            .background_tasks
            .iter()
            .filter(|task| task.is_subagent())
            .map(|task| format!("{} ({})", task.description, task.agent_type))
            .collect(),
        command_waits,
        tree: fingerprint.as_deref(),
    };
    let (file, warning) = (bound.file.clone(), bound.warning.clone());
    let decided = bound.update(|state| {
        bound::raise(state, call.via);
        let verdict = stop::decide(state, &seen);
        Decided {
            untold: tell_of_pause(state),
            position: state.position(),
            ended: state.ending.is_some().then(|| Box::new(state.clone())),
            verdict,
        }
    })?;
    let Some(decided) = decided else { return Ok(Reply::silent()) };
    note(call, &file, &seen, &decided);
    let reply = carry_out(call, &file, &decided)?;
    Ok(match decided.untold.or(warning) {
        Some(message) => reply.tell(say::line(&message)),
        None => reply,
    })
}

/// What was decided at a stop, and what of the state is needed to carry it out. The state itself
/// may be large, and is copied only when the loop is over.
struct Decided {
    verdict: Verdict,
    position: String,
    untold: Option<String>,
    ended: Option<Box<LoopState>>,
}

/// Starts to look at the project, where the decision will ask for it. The conversation's shell may
/// have moved elsewhere; the project is what the loop was started in.
fn begin_fingerprint(call: &Call, state: &LoopState) -> Option<tree::Pending> {
    if !stop::wants_tree(&state.phase) {
        return None;
    }
    let root = match state.project_root.as_str() {
        "" => client::project_dir().unwrap_or_else(|| call.input.cwd.clone().into()),
        root => root.into(),
    };
    tree::begin(&root).ok().flatten()
}

/// The pause that the person has not been told of yet.
fn tell_of_pause(state: &mut LoopState) -> Option<String> {
    let text = say::paused(state);
    let pause = state.pause.as_mut().filter(|pause| !pause.told)?;
    pause.told = true;
    Some(text)
}

fn note(call: &Call, file: &LoopFile, seen: &Seen<'_>, decided: &Decided) {
    let (decision, why) = match &decided.verdict {
        Verdict::LetGo(why) => ("let go", why.describe().to_owned()),
        Verdict::Ended(kind) => ("ended", format!("{kind}: {}", detail(decided))),
        Verdict::GoOn(reason) => ("go on", reason.clone()),
    };
    let seen = json!({
        "tree": seen.tree,
        "workers": seen.workers,
        "command_waits": seen.command_waits,
        "message": seen.message.map(|message| say::tail(message, 200)),
    });
    bound::note(file, call, &decided.position, decision, &why, seen);
}

fn detail(decided: &Decided) -> &str {
    let ending = decided.ended.as_ref().and_then(|state| state.ending.as_ref());
    ending.map_or("", |ending| &ending.detail)
}

fn carry_out(call: &Call, file: &LoopFile, decided: &Decided) -> Result<Reply> {
    match (&decided.verdict, &decided.ended) {
        (Verdict::GoOn(reason), _) => {
            let form = GoOnForm::for_client(&client::ai_agent());
            Ok(Reply::go_on(Event::Stop, form, reason))
        }
        (Verdict::Ended(_), Some(state)) => {
            lifecycle::put_away(&call.home, file, state, Entry::Remove)?;
            Ok(Reply::silent().tell(say::ended(state)))
        }
        (Verdict::LetGo(_) | Verdict::Ended(_), _) => Ok(Reply::silent()),
    }
}

/// An API error ended the turn. It is never fought; the loop rests until someone goes on.
fn at_failure(call: &Call, bound: &Bound) -> Result<Reply> {
    let cause = ending_marks::api_error(&call.input.error);
    let detail = format!(
        "the turn ended by an API error ({}): {}",
        call.input.error,
        say::tail(call.input.last_assistant_message.as_deref().unwrap_or_default(), 300)
    );
    rest(call, bound, cause, &detail)
}

/// The session is over. A loop that still runs was cut, in whatever way the transcript tells.
fn at_session_end(call: &Call, bound: &Bound) -> Result<Reply> {
    let since = bound.state.turn.as_ref().map(|turn| turn.at);
    let cause = match call.input.reason.as_str() {
        "clear" => PauseCause::Cleared,
        _ => transcript::cut_by(Path::new(&call.input.transcript_path), since)
            .unwrap_or(PauseCause::Crashed),
    };
    let detail = format!("the session ended ({})", call.input.reason);
    rest(call, bound, cause, &detail)
}

fn rest(call: &Call, bound: &Bound, cause: PauseCause, detail: &str) -> Result<Reply> {
    let now = clock::now();
    let position = bound.file.update(|state| {
        state.pause(cause.clone(), detail, now);
        if let (PauseCause::Cleared, Some(pause)) = (&cause, &mut state.pause) {
            // Whatever it rested for before, the conversation is gone now; the session that
            // follows in the same process finds the loop by this.
            pause.cause = PauseCause::Cleared;
            state.client = client::process();
        } else if call.input.hook_event_name == Event::SessionEnd {
            state.client = Some(Client::gone());
        }
        state.position()
    })?;
    if let Some(position) = position {
        bound::note(
            &bound.file,
            call,
            &position,
            "paused",
            &format!("{cause}: {detail}"),
            json!({}),
        );
    }
    Ok(Reply::silent())
}
