//! Cancels a loop. The loop ends at once. The session learns of it from its next hook call, which
//! also cuts the turn that the loop drove.

use crate::active_loop::Bound;
use crate::hook_runner::HookCall;
use crate::{obeyed, workers};
use anyhow::Result;
use ralph_core::protocol::client_version::ClientFeature;
use ralph_core::protocol::reply::Reply;
use ralph_core::state::{EndingKind, LoopState, PauseCause, Phase};
use ralph_core::transcript::cutoff::TypedRequest;
use ralph_core::views::messages;
use ralph_io::store::home::Home;
use ralph_io::store::lifecycle::{self, ManifestFate};
use ralph_io::store::loop_file::LoopFile;
use ralph_io::{client, client::transcript, process::clock, store::plan_files};
use serde_json::Value;
use std::path::Path;

/// Ends a loop at the user's request and archives it, with a tombstone left in its session's
/// manifest entry. Returns the state and its new file, or `None` if the loop had ended before.
pub fn end_loop(
    home: &Home,
    file: &LoopFile,
    how: &str,
    let_finish: bool,
) -> Result<Option<(LoopState, LoopFile)>> {
    end(home, file, how, |_| true, |state| state.let_finish = let_finish)
}

/// Like [`end_loop`], for a loop that is still planned; one that was started meanwhile goes on.
pub fn end_planned(
    home: &Home,
    file: &LoopFile,
    how: &str,
) -> Result<Option<(LoopState, LoopFile)>> {
    end(home, file, how, |state| state.phase == Phase::Planned, |_| ())
}

/// Like [`end_loop`], for a command typed in the session itself, which needs no further notice.
pub fn end_typed(call: &HookCall, file: &LoopFile) -> Result<Option<(LoopState, LoopFile)>> {
    // Mark it in the same write: a loop that ends otherwise at the same moment must not look
    // acknowledged.
    let mark = |state: &mut LoopState| {
        state.cancelled_by_prompt = Some(call.input.prompt_id.clone());
        state.obeyed = obeyed::prompt(call, state);
    };
    end(&call.home, file, "by the user in this session", |_| true, mark)
}

fn end(
    home: &Home,
    file: &LoopFile,
    how: &str,
    is_meant: impl FnOnce(&LoopState) -> bool,
    mark: impl FnOnce(&mut LoopState),
) -> Result<Option<(LoopState, LoopFile)>> {
    let now = clock::now();
    let ended = file.update(|state| {
        if state.ending.is_some() || !is_meant(state) {
            return None;
        }
        mark(state);
        state.end(EndingKind::Cancelled, how, now);
        Some(state.clone())
    })?;
    let Some(state) = ended.flatten() else { return Ok(None) };
    // The end is written. Failing to update the document must not keep the loop from being
    // archived.
    let _ = plan_files::show_change(&state);
    let away = lifecycle::put_away(home, file, &state, ManifestFate::KeepAsTombstone)?;
    Ok(Some((state, away.file)))
}

/// Answers a tool call of a session whose loop has ended: cuts the turn that the loop drove, and
/// only that turn. The main conversation is told once; each subagent is told separately.
#[inline(never)]
pub fn cut_turn(call: &HookCall, bound: &Bound) -> Result<Reply> {
    let subagent = call.input.from_subagent();
    let cuts = is_cancelled_turn(call, bound);
    if cuts {
        bound.note(call, "turn cut", "the user cancelled the loop", Value::Null);
    }
    if cuts && subagent {
        workers::is_gone(call, &bound.file)?;
    }
    // Leave a loop that has ended but is not archived to a hook that reads the whole state. Keep
    // the entry while workers have yet to learn of the end.
    let heard = (!subagent || !cuts)
        && lifecycle::is_put_away(&call.home, &bound.file)
        && !workers::may_be_there(call, &bound.file);
    let released = match heard {
        true => lifecycle::release(&call.home, &bound.file, &call.input.session_id),
        false => Ok(false),
    };
    if !cuts {
        return released.map(|_| Reply::silent());
    }
    // Cut the turn in any case. A later hook finds an entry that could not be released.
    Ok(Reply::cut(&messages::line(&format!("loop cancelled at {}", bound.state.position()))))
}

/// Ends the turn of a loop for a cancel command that the user typed and that the client holds back
/// until then. The command itself ends the loop: a line in the transcript alone ends none.
#[inline(never)]
pub fn cut_for_the_command(call: &HookCall, bound: &Bound) -> Result<Reply> {
    bound.note(call, "turn cut", "a typed cancel waits for the turn to end", Value::Null);
    if call.input.from_subagent() {
        workers::is_gone(call, &bound.file)?;
    }
    Ok(Reply::cut(&messages::line("the turn ends here for the cancel that you typed")))
}

/// Pauses the loop for a cancel typed in mid-turn, in a client that cannot end the turn for it: such a
/// client gives the words to the model at the next tool call, and no event follows. The loop is paused
/// and not ended, since a line in the transcript alone ends none.
#[inline(never)]
pub fn pause_for_the_words(call: &HookCall, bound: &Bound) -> Result<Reply> {
    pause(call, &bound.file)?;
    bound.note(call, "paused", TYPED_IN_TURN, Value::Null);
    let refusal = "The user typed a cancel: end your turn now, without another tool call.";
    Ok(Reply::deny(refusal).tell(messages::line(PAUSED)))
}

/// Lets a turn end in which the client gave a typed cancel to the model while a tool ran. `None` if
/// there was none, or if the client asks a hook about such a prompt.
pub fn typed_within_the_turn(call: &HookCall, bound: &Bound) -> Result<Option<Reply>> {
    let Some(turn) = bound.state.turn.as_ref().filter(|_| bound.state.is_running()) else {
        return Ok(None);
    };
    if client::version().is_none_or(|version| version.has(ClientFeature::PromptInTurn)) {
        return Ok(None);
    }
    let transcript = Path::new(&call.input.transcript_path);
    let given = transcript::delivered_requests(transcript, turn.at, &bound.state.scheduled);
    if !given.contains(&TypedRequest::Cancel) {
        return Ok(None);
    }
    pause(call, &bound.file)?;
    bound.note(call, "paused", TYPED_IN_TURN, Value::Null);
    Ok(Some(Reply::silent().tell(messages::line(PAUSED))))
}

const TYPED_IN_TURN: &str =
    "person: a cancel typed in mid-turn, which this client gives to the model";

const PAUSED: &str = "paused, since this client cannot end a turn for your cancel; when the turn has \
    ended, `ralph cancel` ends the loop and /ralph continues it";

fn pause(call: &HookCall, file: &LoopFile) -> Result<()> {
    let now = clock::now();
    file.update(|state| {
        state.note_event(call.via);
        state.pause(PauseCause::Person, "a cancel typed in mid-turn", now);
        if let Some(pause) = &mut state.pause {
            (pause.told, pause.attended) = (true, true);
        }
    })?;
    Ok(())
}

fn is_cancelled_turn(call: &HookCall, bound: &Bound) -> bool {
    let state = &bound.state;
    let cancelled = state.ending.as_ref().is_some_and(|end| end.kind == EndingKind::Cancelled);
    let same_turn = state.turn.as_ref().is_some_and(|turn| turn.prompt_id == call.input.prompt_id);
    let of_loop = || call.input.from_subagent() && workers::is_of_loop(call, &bound.file);
    cancelled && !state.let_finish && (same_turn || of_loop())
}

/// Removes the tombstone when a turn or the session ends after the loop has ended.
pub fn acknowledge(call: &HookCall, bound: &Bound) -> Result<Reply> {
    let Some(state) = bound.file.read()?.map(|loaded| loaded.state) else {
        return Ok(Reply::silent());
    };
    if workers::may_be_there(call, &bound.file) {
        return Ok(Reply::silent());
    }
    bound.note(call, "let go", "the loop has ended", Value::Null);
    // The hook that frees the session tells the user, so that of several events at once only one
    // does.
    let freed = lifecycle::let_go(&call.home, &bound.file, &state)?;
    Ok(match freed && state.cancelled_by_prompt.is_none() {
        true => Reply::silent().tell(messages::ended(&state)),
        false => Reply::silent(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook_runner::tests::TestLoop;
    use ralph_core::state::{DrivenTurn, Mode, Worker, WorkerStanding};
    use serde_json::json;

    /// A loop that was cancelled in the turn `p`, with its entry as a tombstone.
    fn cancelled(workers: &[Worker], let_finish: bool) -> TestLoop {
        let mut at = TestLoop::started(Mode::Plain, "task");
        at.change(|state| state.workers = workers.to_vec());
        let (_, file) = end_loop(&at.home, &at.file, "by the user", let_finish).unwrap().unwrap();
        at.file = file;
        at
    }

    fn entry(at: &TestLoop) -> bool {
        lifecycle::of_session(&at.home, "s").unwrap().is_some()
    }

    #[test]
    fn a_loop_ends_once_and_a_planned_one_only_while_it_is_planned() {
        let at = TestLoop::started(Mode::Plain, "task");
        assert!(end_planned(&at.home, &at.file, "x").unwrap().is_none());
        assert!(at.state().is_live());
        let call = at.call("UserPromptSubmit", json!({"prompt_id": "q", "prompt": "ralph cancel"}));
        let (state, file) = end_typed(&call, &at.file).unwrap().unwrap();
        let ending = state.ending.clone().unwrap();
        assert_eq!(
            (ending.kind, ending.detail.as_str()),
            (EndingKind::Cancelled, "by the user in this session")
        );
        assert_eq!(state.cancelled_by_prompt.as_deref(), Some("q"));
        assert_eq!(state.obeyed.as_ref().unwrap().words, "ralph cancel");
        assert!(entry(&at) && lifecycle::is_put_away(&at.home, &file));
        assert!(end_typed(&call, &file).unwrap().is_none());
        let planned = TestLoop::started(Mode::Plain, "task");
        planned.change(|state| state.phase = Phase::Planned);
        let (state, _) = end_planned(&planned.home, &planned.file, "x").unwrap().unwrap();
        assert!(!state.let_finish && state.ending.is_some());
        let (state, _) = {
            let at = TestLoop::started(Mode::Plain, "task");
            end_loop(&at.home, &at.file, "x", true).unwrap().unwrap()
        };
        assert!(state.let_finish);
    }

    #[test]
    fn only_the_turn_that_a_cancelled_loop_drove_is_cut_and_what_it_started() {
        let is_cut = |change: fn(&mut LoopState), id: &str, agent: &str| {
            let at = cancelled(&[], false);
            at.change(change);
            let about = json!({"prompt_id": id, "agent_id": agent});
            is_cancelled_turn(&at.call("PreToolUse", about), &at.bound())
        };
        let keep = |_: &mut LoopState| ();
        assert!(is_cut(keep, "p", ""));
        assert!(!is_cut(keep, "q", ""));
        assert!(is_cut(keep, "q", "a"), "no worker was recorded");
        assert!(!is_cut(|state| state.turn = None, "p", ""));
        assert!(!is_cut(|state| state.let_finish = true, "p", ""));
        assert!(!is_cut(
            |state| state.ending.as_mut().unwrap().kind = EndingKind::Complete,
            "p",
            ""
        ));
        let others = |state: &mut LoopState| {
            state.workers = vec![Worker { agent: "b".to_owned(), ..Worker::default() }];
        };
        assert!(!is_cut(others, "q", "a"));
        assert!(is_cut(others, "q", "b"));
    }

    #[test]
    fn a_cut_turn_frees_its_session_when_nobody_has_yet_to_hear_of_the_end() {
        let cut = |at: &TestLoop, id: &str, agent: &str| {
            let about = json!({"prompt_id": id, "agent_id": agent});
            let reply = cut_turn(&at.call("PreToolUse", about), &at.bound()).unwrap();
            (reply, entry(at))
        };
        let cuts = || Reply::cut(&messages::line("loop cancelled at 0/25"));
        let at = cancelled(&[], false);
        assert_eq!(cut(&at, "p", ""), (cuts(), false));
        assert_eq!((at.noted().decision.as_str(), at.journal().len()), ("turn cut", 1));
        let at = cancelled(&[], false);
        assert_eq!(cut(&at, "q", ""), (Reply::silent(), false), "another turn goes on");
        assert_eq!(at.journal(), []);
        let worker = Worker { agent: "a".to_owned(), ..Worker::default() };
        let at = cancelled(std::slice::from_ref(&worker), false);
        assert_eq!(cut(&at, "p", ""), (cuts(), true), "the worker has yet to hear of it");
        assert_eq!(cut(&at, "p", "a"), (cuts(), true));
        assert_eq!(at.state().workers[0].standing, WorkerStanding::Lost);
        assert_eq!(cut(&at, "p", ""), (cuts(), false));
        let at = TestLoop::started(Mode::Plain, "task");
        at.change(|state| state.end(EndingKind::Cancelled, "", clock::now()));
        assert_eq!(cut(&at, "p", ""), (cuts(), true), "it is not archived yet");
    }

    #[test]
    fn a_cancel_that_waits_cuts_the_turn_or_pauses_the_loop() {
        let at = TestLoop::started(Mode::Plain, "task");
        at.change(|state| {
            state.workers = vec![Worker { agent: "a".to_owned(), ..Worker::default() }];
        });
        let call = |agent: &str| at.call("PreToolUse", json!({"agent_id": agent}));
        let cut = Reply::cut(&messages::line("the turn ends here for the cancel that you typed"));
        assert_eq!(cut_for_the_command(&call(""), &at.bound()).unwrap(), cut);
        assert!(at.state().workers[0].is_running() && at.state().is_running());
        assert_eq!(cut_for_the_command(&call("a"), &at.bound()).unwrap(), cut);
        assert!(!at.state().workers[0].is_running());
        assert_eq!(at.noted().why, "a typed cancel waits for the turn to end");
        let refusal = "The user typed a cancel: end your turn now, without another tool call.";
        let paused = pause_for_the_words(&call(""), &at.bound()).unwrap();
        assert_eq!(paused, Reply::deny(refusal).tell(messages::line(PAUSED)));
        let pause = at.state().pause.unwrap();
        assert_eq!((pause.cause, pause.told, pause.attended), (PauseCause::Person, true, true));
        assert_eq!(pause.detail, "a cancel typed in mid-turn");
        assert_eq!(at.noted().why, TYPED_IN_TURN);
    }

    #[test]
    fn the_end_of_a_loop_is_told_once_and_not_to_who_typed_it() {
        let acknowledged = |at: &TestLoop, more: serde_json::Value| {
            let reply = acknowledge(&at.call("Stop", more), &at.bound()).unwrap();
            (reply, entry(at))
        };
        let at = cancelled(&[], false);
        let waits = json!({"background_tasks": [{"type": "subagent"}]});
        assert_eq!(acknowledged(&at, waits), (Reply::silent(), true));
        let (bound, told) = (at.bound(), Reply::silent().tell(messages::ended(&at.state())));
        assert_eq!(acknowledged(&at, json!({})), (told, false));
        assert_eq!(at.noted().decision, "let go");
        let again = acknowledge(&at.call("Stop", json!({})), &bound).unwrap();
        assert_eq!(again, Reply::silent());
        let at = cancelled(&[], false);
        at.change(|state| {
            state.cancelled_by_prompt = Some("q".to_owned());
            state.turn = Some(DrivenTurn::default());
        });
        assert_eq!(acknowledged(&at, json!({})), (Reply::silent(), false));
    }
}
