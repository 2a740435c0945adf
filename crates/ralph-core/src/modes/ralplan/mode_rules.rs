//! The row of consensus planning.

use super::{MIRROR, pause, position};
use crate::modes::mode::ModeRules;
use crate::state::LoopState;
use crate::stop::{AtStop, NextStep, StopInputs, StopVerdict, TaskProgress};
use jiff::Timestamp;
use std::path::{Path, PathBuf};

pub(crate) struct Ralplan;

impl AtStop for Ralplan {
    fn has_criteria(&self) -> bool {
        false
    }

    fn at_stop(
        &self,
        state: &mut LoopState,
        _work: &TaskProgress,
        seen: &StopInputs,
    ) -> StopVerdict {
        pause::at_stop(state, seen)
    }

    fn next_step(&self, state: &LoopState, _seen: &StopInputs) -> NextStep {
        let position = self.position(state);
        NextStep::new(&position, "", &pause::next_in_the_line(state), pause::told(state))
    }
}

impl ModeRules for Ralplan {
    fn noun(&self) -> &'static str {
        "planning"
    }

    fn commands(&self) -> &'static [&'static str] {
        &["ralplan"]
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["rp", "planloop"]
    }

    fn position(&self, state: &LoopState) -> String {
        state.ralplan().map(position).unwrap_or_default()
    }

    fn started_line(&self, state: &LoopState) -> String {
        pause::started_line(state)
    }

    fn continues_line(&self, state: &LoopState) -> String {
        pause::continues_line(state)
    }

    fn loop_prompt(
        &self,
        heading: &str,
        state: &LoopState,
        steers: &[String],
        _now: Timestamp,
    ) -> String {
        pause::loop_prompt(heading, state, steers)
    }

    fn announcement(&self, state: &LoopState) -> String {
        pause::announcement(state)
    }

    fn document(&self, state: &LoopState) -> Option<PathBuf> {
        Some(Path::new(&state.project_root).join(MIRROR))
    }

    fn resume_command(&self, _state: &LoopState) -> &'static str {
        "/ralplan"
    }

    fn driver(&self) -> Option<&'static str> {
        Some("ralph ralplan run")
    }

    fn resume(&self, state: &mut LoopState, now: Timestamp) {
        pause::take_up(state, now);
    }

    fn next_hint(&self, state: &LoopState) -> Option<String> {
        let hint = match state.is_running() {
            true => "`ralph ralplan status` shows all of it",
            false => "/ralplan in its session or `ralph ralplan run` in a terminal continues it",
        };
        Some(hint.to_owned())
    }

    fn blocks_start(&self, state: &LoopState, _has_task: bool) -> Option<String> {
        Some(format!(
            "a planning is live in this session ({}): type /ralplan to continue it, or \
             /ralph-cancel to end it",
            state.ralplan().map_or("", |plan| plan.phase.as_str())
        ))
    }
}
