//! The one table of what each mode does. The defaults are those of a plain loop.
//!
//! Code that depends on the mode asks its row here instead of matching on the mode.

use super::{loop_prompt, orchestration, ralplan, refine, start};
use crate::state::{EndingKind, LoopState, Mode, ModeState, StateView};
use crate::stop::{self, AtStop, StopInputs, StopVerdict, TaskProgress};
use jiff::Timestamp;
use std::path::{Path, PathBuf};

/// One row of the table: what a mode does, besides its rules at a stop.
pub trait ModeRules: AtStop {
    /// The word for a loop of this mode in messages.
    fn noun(&self) -> &'static str {
        "loop"
    }

    /// The commands that start or continue a loop of this mode.
    fn commands(&self) -> &'static [&'static str] {
        &[]
    }

    /// More names of these commands, so short that they may also be other people's.
    fn aliases(&self) -> &'static [&'static str] {
        &[]
    }

    /// The loop's progress in the mode's own count: `3/25`.
    fn position(&self, state: &LoopState) -> String {
        state.position()
    }

    /// The line by which the skill recognizes that a loop was started for it.
    fn started_line(&self, state: &LoopState) -> String {
        format!("Ralph loop {} started", state.loop_id)
    }

    /// The line by which the skill recognizes that its loop continues.
    fn continues_line(&self, state: &LoopState) -> String {
        format!("Ralph loop {} continues at {}", state.loop_id, state.position())
    }

    /// The text for a model that knows nothing of the loop, below one of the two lines above.
    /// `steers` holds the user's messages since the start, newest first.
    fn loop_prompt(
        &self,
        heading: &str,
        state: &LoopState,
        steers: &[String],
        now: Timestamp,
    ) -> String {
        loop_prompt::of_loop(heading, state, steers, now)
    }

    /// The message to the user when the loop starts.
    fn announcement(&self, state: &LoopState) -> String {
        start::announcement(state)
    }

    /// The project's own state document. Removing it cancels the loop.
    fn document(&self, _state: &LoopState) -> Option<PathBuf> {
        None
    }

    /// What the user types in the session of a paused loop to continue it.
    fn resume_command(&self) -> &'static str {
        "/ralph"
    }

    /// The command that drives the loop from a terminal, for a mode that does not need to continue
    /// in a session.
    fn driver(&self) -> Option<&'static str> {
        None
    }

    fn resume(&self, state: &mut LoopState, _now: Timestamp) {
        state.resume();
    }

    /// The next step of a live loop in `ralph status`, where the criteria do not tell it.
    fn next_hint(&self, state: &LoopState) -> Option<String> {
        (!state.is_running())
            .then(|| "/ralph in its session continues it, as `ralph resume` does".to_owned())
    }

    /// What the user can type after an ending; `None` if the kind of ending already tells it.
    fn after_end(&self, _state: &LoopState, _kind: &EndingKind) -> Option<String> {
        None
    }

    /// Why a typed `/ralph` cannot start anything beside this live loop; `None` if it may continue
    /// or replace it.
    fn blocks_start(&self, _state: &LoopState, _has_task: bool) -> Option<String> {
        None
    }

    /// Whether the tasks in the state belong to the loop.
    fn has_tasks(&self) -> bool {
        true
    }
}

/// Returns the row of a mode. Ralph does not drive a mode of a later version; such a mode gets the
/// row of a plain loop.
pub fn of(mode: &ModeState) -> &'static dyn ModeRules {
    match mode {
        ModeState::Plain | ModeState::Other(_) => &Plain,
        ModeState::Ralplan(_) => &Ralplan,
        ModeState::Orchestration(_) => &Orchestration,
        ModeState::Refine(_) => &Refine,
    }
}

const ROWS: [(Mode, &dyn ModeRules); 4] = [
    (Mode::Plain, &Plain),
    (Mode::Ralplan, &Ralplan),
    (Mode::Orchestration, &Orchestration),
    (Mode::Refine, &Refine),
];

/// The mode whose loops a typed command starts or continues, by the command's name without a
/// plugin's prefix.
pub fn of_command(name: &str) -> Option<Mode> {
    let is_its =
        |row: &dyn ModeRules| row.commands().contains(&name) || row.aliases().contains(&name);
    ROWS.into_iter().find(|(_, row)| is_its(*row)).map(|(mode, _)| mode)
}

/// True for an alias of a mode's command.
pub fn is_alias(name: &str) -> bool {
    ROWS.iter().any(|(_, row)| row.aliases().contains(&name))
}

/// The word before the phase in a list of loops; empty for a plain loop.
pub fn label(mode: &ModeState) -> &str {
    match mode {
        ModeState::Plain => "",
        ModeState::Ralplan(_) => "planning",
        ModeState::Orchestration(_) => "session",
        ModeState::Refine(_) => "refine",
        ModeState::Other(word) => word,
    }
}

/// Returns the row of the loop's mode, for the code that handles stops.
pub fn at_stop(state: &LoopState) -> &'static dyn AtStop {
    of(&state.mode)
}

struct Plain;

impl AtStop for Plain {
    fn next_step(&self, state: &LoopState, seen: &StopInputs) -> String {
        loop_prompt::next_step(state, seen.request, seen.proof.as_ref(), seen.now)
    }
}

impl ModeRules for Plain {
    fn commands(&self) -> &'static [&'static str] {
        &["ralph", "ralph-parallel"]
    }
}

struct Ralplan;

impl AtStop for Ralplan {
    fn wants_tree(&self) -> bool {
        false
    }

    fn wants_proof(&self, _state: &LoopState, _seen: &StopInputs) -> bool {
        false
    }

    fn at_stop(
        &self,
        state: &mut LoopState,
        _work: &TaskProgress,
        seen: &StopInputs,
    ) -> StopVerdict {
        ralplan::at_stop(state, seen)
    }

    fn next_step(&self, state: &LoopState, _seen: &StopInputs) -> String {
        ralplan::told(state)
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
        state.ralplan().map(ralplan::position).unwrap_or_default()
    }

    fn started_line(&self, state: &LoopState) -> String {
        ralplan::started_line(state)
    }

    fn continues_line(&self, state: &LoopState) -> String {
        ralplan::continues_line(state)
    }

    fn loop_prompt(
        &self,
        heading: &str,
        state: &LoopState,
        steers: &[String],
        _now: Timestamp,
    ) -> String {
        ralplan::contract(heading, state, steers)
    }

    fn announcement(&self, state: &LoopState) -> String {
        ralplan::announcement(state)
    }

    fn document(&self, state: &LoopState) -> Option<PathBuf> {
        Some(Path::new(&state.project_root).join(ralplan::MIRROR))
    }

    fn resume_command(&self) -> &'static str {
        "/ralplan"
    }

    fn driver(&self) -> Option<&'static str> {
        Some("ralph ralplan run")
    }

    fn resume(&self, state: &mut LoopState, now: Timestamp) {
        ralplan::take_up(state, now);
    }

    fn next_hint(&self, state: &LoopState) -> Option<String> {
        let hint = match state.is_running() {
            true => "`ralph ralplan status` shows it whole",
            false => {
                "/ralplan in its session goes on with it, or `ralph ralplan run` in a terminal"
            }
        };
        Some(hint.to_owned())
    }

    fn blocks_start(&self, state: &LoopState, _has_task: bool) -> Option<String> {
        Some(format!(
            "a planning is live in this session ({}): type /ralplan to go on with it, or /ralph-cancel to end it",
            state.ralplan().map_or("", |plan| plan.phase.as_str())
        ))
    }
}

struct Orchestration;

impl AtStop for Orchestration {
    fn wants_tree(&self) -> bool {
        false
    }

    fn wants_proof(&self, state: &LoopState, seen: &StopInputs) -> bool {
        let routed = seen.session.as_ref();
        routed.is_some_and(|routed| orchestration::in_session::wants_proof(state, routed))
    }

    fn at_stop(
        &self,
        state: &mut LoopState,
        work: &TaskProgress,
        seen: &StopInputs,
    ) -> StopVerdict {
        if seen.document_gone {
            let detail = "a person removed the session's folder".to_owned();
            return stop::end(state, EndingKind::Cancelled, detail, seen.now);
        }
        if let Some(verdict) = stop::blocked(state, work, seen) {
            return verdict;
        }
        orchestration::in_session::at_stop(state, seen)
    }

    fn next_step(&self, state: &LoopState, _seen: &StopInputs) -> String {
        match state.context_lost {
            true => {
                let heading = orchestration::in_session::continues_line(state);
                orchestration::in_session::contract(&heading, state, &[])
            }
            false => orchestration::in_session::told(state),
        }
    }
}

impl ModeRules for Orchestration {
    fn commands(&self) -> &'static [&'static str] {
        &["ralph-v2"]
    }

    fn started_line(&self, state: &LoopState) -> String {
        orchestration::in_session::started_line(state)
    }

    fn continues_line(&self, state: &LoopState) -> String {
        orchestration::in_session::continues_line(state)
    }

    fn loop_prompt(
        &self,
        heading: &str,
        state: &LoopState,
        steers: &[String],
        _now: Timestamp,
    ) -> String {
        orchestration::in_session::contract(heading, state, steers)
    }

    fn announcement(&self, state: &LoopState) -> String {
        orchestration::in_session::announcement(state)
    }

    fn document(&self, state: &LoopState) -> Option<PathBuf> {
        StateView::document(state)
    }

    fn resume_command(&self) -> &'static str {
        "/ralph-v2"
    }

    fn resume(&self, state: &mut LoopState, now: Timestamp) {
        orchestration::in_session::take_up(state, now);
    }

    fn next_hint(&self, state: &LoopState) -> Option<String> {
        let hint = match state.is_running() {
            true => "`ralph session status` shows it whole",
            false => "/ralph-v2 in its session goes on with it, as `ralph resume` does",
        };
        Some(hint.to_owned())
    }

    fn after_end(&self, state: &LoopState, kind: &EndingKind) -> Option<String> {
        let id = orchestration::in_session::id(state);
        (*kind == EndingKind::AwaitingFeedback).then(|| {
            format!(
                "`ralph session feedback new --id {id}` takes what the next iteration is to do; then /ralph-v2 {id} \
                 goes on."
            )
        })
    }

    fn blocks_start(&self, state: &LoopState, _has_task: bool) -> Option<String> {
        Some(format!(
            "the orchestrated session {} is live in this session: type /ralph-v2 to go on with it, or /ralph-cancel to \
             end it",
            orchestration::in_session::id(state)
        ))
    }
}

struct Refine;

impl AtStop for Refine {
    fn wants_tree(&self) -> bool {
        false
    }

    fn wants_proof(&self, _state: &LoopState, _seen: &StopInputs) -> bool {
        false
    }

    fn at_stop(
        &self,
        state: &mut LoopState,
        _work: &TaskProgress,
        seen: &StopInputs,
    ) -> StopVerdict {
        refine::in_session::at_stop(state, seen)
    }

    fn next_step(&self, state: &LoopState, _seen: &StopInputs) -> String {
        refine::in_session::told(state)
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
        refine::in_session::contract(heading, state, steers)
    }

    fn next_hint(&self, state: &LoopState) -> Option<String> {
        match state.refining() {
            Some(refining) if state.is_running() => {
                Some(format!("`ralph refine status --session {}` shows its rounds", refining.word))
            }
            _ => Plain.next_hint(state),
        }
    }

    fn after_end(&self, state: &LoopState, kind: &EndingKind) -> Option<String> {
        let word = &state.refining()?.word;
        Some(match kind {
            EndingKind::Plateau => {
                format!("`ralph refine history --session {word}` shows its rounds.")
            }
            EndingKind::MaxIterations => format!(
                "`ralph refine loop --session {word} --max-iterations 10` goes on in a terminal."
            ),
            EndingKind::Complete
            | EndingKind::CompleteUnverified
            | EndingKind::Stalled
            | EndingKind::Budget
            | EndingKind::Cancelled
            | EndingKind::Approved
            | EndingKind::Discarded
            | EndingKind::AwaitingFeedback
            | EndingKind::Failed
            | EndingKind::Other(_) => {
                format!("`ralph refine loop --session {word}` goes on in a terminal.")
            }
        })
    }

    fn blocks_start(&self, state: &LoopState, has_task: bool) -> Option<String> {
        has_task.then(|| {
            format!(
                "a refinement is live in this session at {}: type /ralph to go on with it, or /ralph-cancel to end it",
                state.position()
            )
        })
    }

    fn has_tasks(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::registration::COMMANDS;

    #[test]
    fn every_command_of_a_mode_needs_our_hook_and_leads_to_its_mode() {
        for (mode, row) in ROWS {
            for name in [row.commands(), row.aliases()].concat() {
                assert!(COMMANDS.contains(&name), "{name}");
                assert_eq!(of_command(name), Some(mode.clone()), "{name}");
                assert_eq!(is_alias(name), row.aliases().contains(&name), "{name}");
            }
        }
        let others = ["ralph-plan", "ralph-build", "ralph-cancel"];
        for name in COMMANDS {
            assert_eq!(of_command(name).is_none(), others.contains(&name), "{name}");
        }
    }
}
