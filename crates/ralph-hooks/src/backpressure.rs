//! `ralph-backpressure`: what the model reads after a tool has run.
//!
//! Messages from the user come first. The `ralph` executable beside this one checks the files that
//! the call has written; its answer goes into the one field that the client reads.

use crate::active_loop::{self, Bound, JournalLine};
use crate::delegate::{self, CheckRequest};
use crate::hook_runner::HookCall;
use crate::{modes, signals};
use anyhow::Result;
use ralph_core::protocol::event::HookEvent;
use ralph_core::protocol::event::edited_files;
use ralph_core::protocol::reply::Reply;
use ralph_core::state::{DrivenTurn, LoopState};
use ralph_core::text::truncate;
use ralph_io::{process::clock, project::settings, store::checks};
use serde_json::json;

/// The word in the settings that turns on checks in sessions without a loop.
pub(crate) const EVERY_SESSION: &str = "always";

/// Answers PostToolUse and PostToolUseFailure.
pub fn answer(call: &HookCall) -> Result<Reply> {
    let event = call.input.hook_event_name;
    if !matches!(event, HookEvent::PostToolUse | HookEvent::PostToolUseFailure) {
        return Ok(Reply::silent());
    }
    let bound = Bound::find(call)?;
    let news = |bound: &&Bound| !bound.is_driven() && is_news(call, &bound.state);
    if let Some(bound) = bound.as_ref().filter(news) {
        catch_up(call, bound)?;
    }
    let files = match event {
        HookEvent::PostToolUse => edited_files(&call.input, &call.raw),
        // Files written by a tool that then failed are checked at the next edit.
        _ => Vec::new(),
    };
    match bound.filter(|bound| bound.state.phase.is_running()) {
        // Every registration starts a copy of this hook; only one of them answers.
        Some(bound) if bound.state.outranks(call.via) => Ok(Reply::silent()),
        Some(bound) => modes::hooks(&bound.state.mode.word()).after_a_tool(call, &bound, &files),
        None if !files.is_empty() && settings::mention(EVERY_SESSION) => {
            Ok(said(event, &delegate::check(CheckRequest::WithoutLoop(&files))?))
        }
        None => Ok(Reply::silent()),
    }
}

/// What the checks of the edited files report, after the user's messages.
pub(crate) fn checked(call: &HookCall, bound: &Bound, files: &[String]) -> Reply {
    signals::prepend_signals(call, &bound.file, &bound.state, in_loop(call, bound, files))
}

fn in_loop(call: &HookCall, bound: &Bound, files: &[String]) -> Reply {
    if files.is_empty() && !checks::has_found(bound.file.folder()) {
        return Reply::silent();
    }
    let text = delegate::check(CheckRequest::Edited(&bound.file, files, &call.input.agent_id))
        // The model must not read silence as "nothing found".
        .unwrap_or_else(|error| format!("Ralph could not check the edit: {error:#}"));
    if text.trim().is_empty() {
        return Reply::silent();
    }
    // The first finding says more than how many there are.
    let first: Vec<&str> = text.lines().take(2).collect();
    let why = truncate::bounded(&first.join(" "), 300);
    let position = bound.state.position();
    let seen = json!({"tool": call.input.tool_name, "files": files});
    let told = JournalLine { position: &position, decision: "told", why: &why, seen };
    active_loop::keep(&bound.file, call, told, None::<()>);
    said(call.input.hook_event_name, &text)
}

fn said(event: HookEvent, text: &str) -> Reply {
    match text.trim() {
        "" => Reply::silent(),
        text => Reply::context(event, text),
    }
}

/// True if this call shows something that only a hook can see: a registration of higher rank, which
/// turn the loop drives if no prompt named it, or that the turn is working. Each is new once per
/// turn; later calls write nothing.
fn is_news(call: &HookCall, state: &LoopState) -> bool {
    let works = !call.input.from_subagent() && !state.turn.as_ref().is_some_and(|turn| turn.worked);
    state.phase.is_running() && (state.via < Some(call.via) || works)
}

fn catch_up(call: &HookCall, bound: &Bound) -> Result<()> {
    bound.file.update(|state| {
        // The loop may have been paused since it was read. Then no turn is outstanding.
        if state.is_running() && !call.input.from_subagent() {
            // If no turn is set, the session was started without a hook or woken without a prompt.
            let turn = state.turn.get_or_insert_with(|| {
                DrivenTurn::new(call.input.prompt_id.as_str(), clock::now())
            });
            turn.worked = true;
        }
        state.note_event(call.via);
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook_runner::tests::TestLoop;
    use ralph_core::state::{Mode, PauseCause, Phase, Registration};

    fn event(at: &TestLoop, agent: &str) -> HookCall {
        at.call("PostToolUse", json!({"prompt_id": "q", "agent_id": agent, "tool_name": "Read"}))
    }

    #[test]
    fn what_only_a_hook_sees_is_news_once_in_a_turn() {
        let at = TestLoop::started(Mode::Plain, "task");
        let turn = |worked| Some(DrivenTurn { worked, ..DrivenTurn::default() });
        let (highest, lower) = (Some(Registration::Settings), Some(Registration::Plugin));
        let (running, paused) = (Phase::Implementation, Phase::Paused);
        for (agent, phase, via, turn, expected) in [
            ("", &running, highest, turn(true), false),
            ("", &running, highest, turn(false), true),
            ("", &running, highest, None, true),
            ("", &running, lower, turn(true), true),
            ("", &running, None, turn(true), true),
            ("a", &running, highest, turn(false), false),
            ("a", &running, lower, turn(true), true),
            ("", &paused, lower, None, false),
        ] {
            let state = LoopState { phase: phase.clone(), via, turn, ..LoopState::default() };
            assert_eq!(is_news(&event(&at, agent), &state), expected, "{agent} {state:?}");
        }
    }

    #[test]
    fn a_turn_works_when_its_own_conversation_uses_a_tool_in_a_running_loop() {
        let at = TestLoop::started(Mode::Plain, "task");
        let caught_up = |agent: &str, turn: Option<DrivenTurn>, is_paused: bool| {
            at.change(|state| (state.turn, state.via) = (turn, Some(Registration::Plugin)));
            let bound = at.bound();
            if is_paused {
                at.change(|state| state.pause(PauseCause::Person, "", clock::now()));
            }
            catch_up(&event(&at, agent), &bound).unwrap();
            let state = at.state();
            at.change(|state| state.resume(clock::now()));
            assert_eq!((state.via, state.touched), (Some(Registration::Settings), true));
            state.turn.map(|turn| (turn.prompt_id, turn.worked))
        };
        let turn = || Some(DrivenTurn::new("p", clock::now()));
        let of = |id: &str, worked| Some((id.to_owned(), worked));
        assert_eq!(caught_up("", turn(), false), of("p", true));
        assert_eq!(caught_up("", None, false), of("q", true));
        assert_eq!(caught_up("agent", turn(), false), of("p", false));
        assert_eq!(caught_up("agent", None, false), None);
        assert_eq!(caught_up("", None, true), None, "no turn is outstanding");
    }

    #[test]
    fn only_the_copy_that_answers_says_anything_and_only_if_there_is_something() {
        let at = TestLoop::started(Mode::Plain, "task");
        let mut call = event(&at, "");
        assert_eq!(answer(&call).unwrap(), Reply::silent());
        assert!(at.state().turn.unwrap().worked);
        call.input.hook_event_name = HookEvent::PreToolUse;
        at.change(|state| state.turn = None);
        assert_eq!(answer(&call).unwrap(), Reply::silent());
        assert_eq!(at.state().turn, None, "it is another hook's event");
        let input = json!({"file_path": at.root().join("a")});
        let edit = json!({"tool_name": "Write", "tool_input": input});
        let mut nobodys = at.call("PostToolUse", edit);
        nobodys.input.session_id = "another".to_owned();
        // Whoever runs this may want checks in every session.
        assert!(settings::mention(EVERY_SESSION) || answer(&nobodys).unwrap() == Reply::silent());
        let used = HookEvent::PostToolUse;
        assert_eq!(said(used, " \n"), Reply::silent());
        assert_eq!(said(used, " found\n"), Reply::context(used, "found"));
    }
}
