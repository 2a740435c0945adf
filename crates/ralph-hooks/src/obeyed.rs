//! Takes back what a mod of the client has commanded in the user's name.
//!
//! No field of an event tells a mod's prompt from a typed one (measured with 2.1.328). The client records who gave it
//! only after its hooks have answered. So a prompt that was obeyed is remembered, and the next event reads the record.

use crate::active_loop::{self, Bound};
use crate::hook_runner::HookCall;
use anyhow::Result;
use ralph_core::protocol::event::HookEvent;
use ralph_core::state::{LoopState, Obeyed, PauseCause, Phase, PlanPhase};
use ralph_core::text::truncate;
use ralph_core::transcript::cutoff::Giver;
use ralph_core::views::messages;
use ralph_io::store::lifecycle;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::{client::transcript, process::clock, store::plan_files};
use serde_json::Value;
use std::path::Path;

/// The prompt of this call, as one that is obeyed in this loop now.
pub(crate) fn prompt(call: &HookCall, state: &LoopState) -> Option<Obeyed> {
    let (id, name) = (&call.input.prompt_id, &call.input.command_name);
    let words = match name.is_empty() {
        true => call.input.prompt.lines().next().unwrap_or_default().to_owned(),
        false => format!("/{name} {}", call.input.command_args.lines().next().unwrap_or_default()),
    };
    let planning = state.ralplan().map(|plan| plan.phase.clone());
    let words = truncate::bounded(words.trim(), 60);
    (!id.is_empty()).then(|| Obeyed { prompt_id: id.clone(), words, planning })
}

/// Remembers the prompt of this call as one that was obeyed. What is wrong with the state has been said by then.
pub(crate) fn remember(call: &HookCall) {
    let found = Bound::find(call).ok().flatten();
    let is_new = |bound: &Bound| match &bound.state.obeyed {
        Some(before) => before.prompt_id != call.input.prompt_id,
        None => true,
    };
    let has_id = !call.input.prompt_id.is_empty();
    if let Some(bound) = found.filter(|bound| has_id && bound.state.is_live() && is_new(bound)) {
        let _ = bound.update(|state| state.obeyed = prompt(call, state));
    }
}

/// Looks at who gave the prompt that was obeyed last; true if the state is another one by now.
pub(crate) fn judge_giver(call: &HookCall, bound: &Bound) -> bool {
    match &bound.state.obeyed {
        Some(obeyed) => judged(call, &bound.file, obeyed).unwrap_or_default(),
        None => false,
    }
}

#[inline(never)]
fn judged(call: &HookCall, file: &LoopFile, obeyed: &Obeyed) -> Result<bool> {
    let event = &call.input.hook_event_name;
    let is_prompt = matches!(event, HookEvent::UserPromptSubmit | HookEvent::UserPromptExpansion);
    if is_prompt && obeyed.prompt_id == call.input.prompt_id {
        return Ok(false);
    }
    match transcript::giver(Path::new(&call.input.transcript_path), &obeyed.prompt_id) {
        None => Ok(false),
        Some(Giver::User) => {
            let seen = |state: &mut LoopState| {
                state.obeyed.take_if(|one| *one == *obeyed && state.phase != Phase::Ended).is_some()
            };
            Ok(file.update(seen)?.unwrap_or_default())
        }
        Some(Giver::Mod(name)) => take_back(call, file, obeyed, &name),
    }
}

fn take_back(call: &HookCall, file: &LoopFile, obeyed: &Obeyed, name: &str) -> Result<bool> {
    let file = match lifecycle::is_put_away(&call.home, file) {
        true => lifecycle::take_back(&call.home, file)?,
        false => file.clone(),
    };
    let taken = file.update(|state| {
        state.obeyed.take_if(|one| *one == *obeyed)?;
        if obeyed.words.is_empty() {
            if let Some(turn) = &mut state.turn {
                turn.typed = false;
            }
            return Some((None, state.clone()));
        }
        let what = match (&state.phase, state.pause.as_ref().map(|pause| &pause.cause)) {
            (Phase::Ended, _) => "ended by".to_owned(),
            (Phase::Paused, Some(PauseCause::Person)) => "paused by".to_owned(),
            _ => format!("`{}` was given by", obeyed.words),
        };
        let what = format!("{what} the mod `{name}`, not by you");
        undo(state, obeyed.planning.as_ref());
        state.pause(PauseCause::Mod, &what, clock::now());
        if let Some(pause) = &mut state.pause {
            pause.told = !matches!(
                call.input.hook_event_name,
                HookEvent::ConfigChange | HookEvent::SessionEnd
            );
        }
        Some((Some(what), state.clone()))
    })?;
    let Some((what, state)) = taken.flatten() else { return Ok(true) };
    lifecycle::bind(&call.home, &file, &state.session_id)?;
    if let Some(what) = what {
        lifecycle::point_project_at(&call.home, &file, &state.project_root)?;
        let _ = plan_files::show_change(&state);
        active_loop::note(&file, call, &state.position(), "paused", &what, Value::Null);
        call.alarms.borrow_mut().push(messages::line(&messages::paused(&state)));
    }
    Ok(true)
}

/// Makes a loop that was ended or paused run again, so that it can be paused for the mod.
fn undo(state: &mut LoopState, planning: Option<&PlanPhase>) {
    if state.ending.take().is_some() {
        (state.phase, state.cancelled_by_prompt) = (Phase::Implementation, None);
        if let (Some(plan), Some(phase)) = (state.ralplan_mut(), planning) {
            plan.phase = phase.clone();
        }
    }
    if state.pause.as_ref().is_some_and(|pause| pause.cause == PauseCause::Person) {
        state.resume(clock::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook_runner::tests::TestLoop;
    use ralph_core::state::{EndingKind, Mode};
    use serde_json::json;

    #[test]
    fn a_prompt_is_obeyed_by_its_first_line_or_by_its_command() {
        let at = TestLoop::started(Mode::Plain, "task");
        let obeyed = |more: Value| {
            let call = at.call("UserPromptSubmit", more);
            prompt(&call, &at.state()).map(|one| (one.prompt_id, one.words, one.planning))
        };
        let of = |words: &str| Some(("q".to_owned(), words.to_owned(), None));
        assert_eq!(
            obeyed(json!({"prompt_id": "q", "prompt": " ralph pause \nnow"})),
            of("ralph pause")
        );
        assert_eq!(obeyed(json!({"prompt_id": "q", "prompt": ""})), of(""));
        assert_eq!(
            obeyed(json!({"prompt_id": "q", "command_name": "ralph", "command_args": "a\nb"})),
            of("/ralph a")
        );
        assert_eq!(obeyed(json!({"prompt_id": "q", "command_name": "ralph"})), of("/ralph"));
        assert_eq!(obeyed(json!({"prompt": "x"})), None);
        let plan = TestLoop::started(Mode::Ralplan, "log in");
        let call = plan.call("UserPromptSubmit", json!({"prompt_id": "q", "prompt": "x"}));
        let phase = plan.state().ralplan().unwrap().phase.clone();
        assert_eq!(prompt(&call, &plan.state()).unwrap().planning, Some(phase));
    }

    #[test]
    fn a_new_prompt_is_remembered_while_the_loop_is_live() {
        let at = TestLoop::started(Mode::Plain, "task");
        let remembered = |id: &str, words: &str| {
            remember(&at.call("UserPromptSubmit", json!({"prompt_id": id, "prompt": words})));
            at.state().obeyed.map(|one| (one.prompt_id, one.words))
        };
        let of = |id: &str, words: &str| Some((id.to_owned(), words.to_owned()));
        at.change(|state| state.obeyed = None);
        assert_eq!(remembered("", "no id"), None);
        assert_eq!(remembered("q", "first"), of("q", "first"));
        assert_eq!(remembered("q", "again"), of("q", "first"));
        assert_eq!(remembered("r", "next"), of("r", "next"));
        at.change(|state| state.end(EndingKind::Cancelled, "", clock::now()));
        assert_eq!(remembered("t", "late"), of("r", "next"));
    }

    #[test]
    fn what_the_user_gave_is_forgotten_unless_the_loop_is_over_and_a_mods_pauses_the_loop() {
        let at = TestLoop::started(Mode::Plain, "task");
        let transcript = at.root().join("transcript.jsonl");
        let said = |origin: Value| {
            let row = json!({"type": "user", "promptId": "q", "origin": origin});
            std::fs::write(&transcript, format!("{row}\n")).unwrap();
        };
        let set = |id: &str| {
            at.change(|state| {
                let words = "/ralph".to_owned();
                state.obeyed = Some(Obeyed { prompt_id: id.to_owned(), words, planning: None });
            });
        };
        let event = |name: &str, id: &str| {
            at.call(name, json!({"prompt_id": id, "transcript_path": transcript}))
        };
        let seen = |name: &str, id: &str, obeyed: Option<Obeyed>| {
            let mut bound = at.bound();
            bound.state.obeyed = obeyed;
            (judge_giver(&event(name, id), &bound), at.state().obeyed.is_some())
        };
        let q = || Some(Obeyed { prompt_id: "q".into(), words: "/ralph".into(), planning: None });
        set("q");
        assert_eq!(seen("Stop", "q", None), (false, true), "nothing was obeyed");
        assert_eq!(seen("Stop", "q", q()), (false, true), "nobody has recorded it");
        said(json!({"kind": "human"}));
        assert_eq!(seen("UserPromptSubmit", "q", q()), (false, true), "it comes only now");
        assert_eq!(seen("UserPromptExpansion", "q", q()), (false, true));
        set("another");
        assert_eq!(seen("Stop", "q", q()), (false, true), "another was obeyed since");
        set("q");
        assert_eq!(seen("UserPromptSubmit", "r", q()), (true, false));
        set("q");
        assert_eq!(seen("Stop", "q", q()), (true, false));
        set("q");
        at.change(|state| state.phase = Phase::Ended);
        assert_eq!(seen("Stop", "q", q()), (false, true), "it may be taken back");
        at.change(|state| state.phase = Phase::Implementation);
        said(json!({"kind": "plugin", "name": "owl"}));
        let call = event("Stop", "q");
        assert!(judge_giver(&call, &at.bound()));
        let state = at.state();
        let pause = state.pause.clone().unwrap();
        let what = "`/ralph` was given by the mod `owl`, not by you";
        assert_eq!((pause.cause, pause.detail.as_str(), pause.told), (PauseCause::Mod, what, true));
        assert_eq!(*call.alarms.borrow(), [messages::line(&messages::paused(&state))]);
        assert_eq!((state.obeyed, at.noted().why.as_str()), (None, what));
    }
}
