//! The row of a refinement in a session.

use super::in_session;
use crate::modes::mode::ModeRules;
use crate::modes::parallel::{AgentCall, Grant};
use crate::modes::plain::Plain;
use crate::state::{EndingKind, LoopState};
use crate::stop::{AtStop, NextStep, StopInputs, StopVerdict, TaskProgress};
use jiff::Timestamp;

pub(crate) struct Refine;

impl AtStop for Refine {
    fn has_criteria(&self) -> bool {
        false
    }

    fn at_stop(
        &self,
        state: &mut LoopState,
        _work: &TaskProgress,
        seen: &StopInputs,
    ) -> StopVerdict {
        in_session::at_stop(state, seen)
    }

    fn next_step(&self, state: &LoopState, _seen: &StopInputs) -> NextStep {
        let next = in_session::next_in_the_line(state);
        NextStep::new(&state.position(), "", &next, in_session::told(state))
    }
}

impl ModeRules for Refine {
    fn noun(&self) -> &'static str {
        "refinement"
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

    fn next_hint(&self, state: &LoopState) -> Option<String> {
        match state.refining() {
            Some(refining) if state.is_running() => {
                Some(format!("`ralph refine status --id {}` shows its rounds", refining.word))
            }
            _ => Plain.next_hint(state),
        }
    }

    fn after_end(&self, state: &LoopState, kind: &EndingKind) -> Option<String> {
        let word = &state.refining()?.word;
        Some(match kind {
            EndingKind::Plateau => {
                format!("`ralph refine history --id {word}` shows its rounds.")
            }
            EndingKind::MaxIterations => format!(
                "`ralph refine loop --id {word} --max-iterations 10` continues it in a \
                 terminal."
            ),
            _ => {
                format!("`ralph refine loop --id {word}` continues it in a terminal.")
            }
        })
    }

    fn blocks_start(&self, state: &LoopState, has_task: bool) -> Option<String> {
        has_task.then(|| {
            format!(
                "a refinement is live in this session at {}: type /ralph to continue it, or \
                 /ralph-cancel to end it",
                state.position()
            )
        })
    }

    fn grant(&self, state: &mut LoopState, asked: &AgentCall<'_>, _now: Timestamp) -> Grant {
        in_session::grant(state, asked.call, asked.from_worker)
    }

    fn has_tasks(&self) -> bool {
        false
    }
}
