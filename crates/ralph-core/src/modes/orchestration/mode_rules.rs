//! The row of an orchestration.

use super::in_session;
use crate::modes::mode::ModeRules;
use crate::state::{EndingKind, LoopState};
use crate::stop::{self, AtStop, NextStep, StopInputs, StopVerdict, TaskProgress};
use jiff::Timestamp;
use std::path::PathBuf;

pub(crate) struct Orchestration;

impl AtStop for Orchestration {
    fn wants_tree(&self) -> bool {
        false
    }

    fn wants_proof(&self, state: &LoopState, seen: &StopInputs) -> bool {
        let routed = seen.session.as_ref();
        routed.is_some_and(|routed| in_session::wants_proof(state, routed))
    }

    fn at_stop(
        &self,
        state: &mut LoopState,
        work: &TaskProgress,
        seen: &StopInputs,
    ) -> StopVerdict {
        if seen.document_gone {
            let detail = "the user removed the orchestration's folder".to_owned();
            return stop::end(state, EndingKind::Cancelled, detail, seen.now);
        }
        if let Some(verdict) = stop::blocked(state, work, seen) {
            return verdict;
        }
        in_session::at_stop(state, seen)
    }

    fn next_step(&self, state: &LoopState, _seen: &StopInputs) -> NextStep {
        let details = match state.context_lost {
            true => {
                let heading = in_session::continues_line(state);
                in_session::loop_prompt(&heading, state, &[])
            }
            false => in_session::told(state),
        };
        NextStep::new(&state.position(), "", &in_session::next_in_the_line(state), details)
    }
}

impl ModeRules for Orchestration {
    fn commands(&self) -> &'static [&'static str] {
        &["ralph-v2"]
    }

    fn started_line(&self, state: &LoopState) -> String {
        in_session::started_line(state)
    }

    fn continues_line(&self, state: &LoopState) -> String {
        in_session::continues_line(state)
    }

    fn loop_prompt(
        &self,
        heading: &str,
        state: &LoopState,
        steers: &[String],
        _now: Timestamp,
    ) -> String {
        in_session::loop_prompt(heading, state, steers)
    }

    fn announcement(&self, state: &LoopState) -> String {
        in_session::announcement(state)
    }

    fn document(&self, state: &LoopState) -> Option<PathBuf> {
        state.document()
    }

    fn resume_command(&self, _state: &LoopState) -> &'static str {
        "/ralph-v2"
    }

    fn resume(&self, state: &mut LoopState, now: Timestamp) {
        in_session::take_up(state, now);
    }

    fn next_hint(&self, state: &LoopState) -> Option<String> {
        let hint = match state.is_running() {
            true => "`ralph session status` shows all of it",
            false => "/ralph-v2 in its session or `ralph resume` continues it",
        };
        Some(hint.to_owned())
    }

    fn after_end(&self, state: &LoopState, kind: &EndingKind) -> Option<String> {
        let id = in_session::id(state);
        (*kind == EndingKind::AwaitingFeedback).then(|| {
            format!(
                "Write the next iteration's work with `ralph session feedback new --id {id}`, then \
                 type /ralph-v2 {id}."
            )
        })
    }

    fn blocks_start(&self, state: &LoopState, _has_task: bool) -> Option<String> {
        Some(format!(
            "orchestration {} is live in this session: type /ralph-v2 to continue it, or \
             /ralph-cancel to end it",
            in_session::id(state)
        ))
    }
}
