//! The one table of what each mode does. The defaults are those of a plain loop.
//!
//! Code that depends on the mode asks its row here instead of matching on the mode.

use super::orchestration::in_session::Orchestration;
use super::parallel::{self, AgentCall, Grant};
use super::plain::Plain;
use super::ralplan::Ralplan;
use super::refine::in_session::Refine;
use super::{loop_prompt, start};
use crate::state::{EndingKind, LoopState, Mode, ModeState};
use crate::stop::AtStop;
use jiff::Timestamp;
use std::path::PathBuf;

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

    /// Whether an iteration is a turn of the conversation; other modes count rounds or rejections.
    fn counts_turns(&self) -> bool {
        false
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

    /// What the user types to continue a paused loop.
    fn resume_command(&self, state: &LoopState) -> &'static str {
        if state.rounds > 0 { "`ralph run`" } else { "/ralph" }
    }

    /// The command that drives the loop from a terminal, for a mode that does not need to continue
    /// in a session.
    fn driver(&self) -> Option<&'static str> {
        None
    }

    fn resume(&self, state: &mut LoopState, now: Timestamp) {
        state.resume(now);
    }

    /// The next step of a live loop in `ralph status`, where the criteria do not tell it.
    fn next_hint(&self, state: &LoopState) -> Option<String> {
        (!state.is_running()).then(|| match state.rounds {
            0 => "/ralph in its session continues it, as `ralph resume` does".to_owned(),
            _ => "`ralph run` continues it".to_owned(),
        })
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

    /// Whether an agent may start that the guard does not refuse. One that may is recorded.
    fn grant(&self, state: &mut LoopState, asked: &AgentCall<'_>, now: Timestamp) -> Grant {
        parallel::grant(state, asked, now)
    }

    /// Whether the tasks in the state belong to the loop.
    fn has_tasks(&self) -> bool {
        true
    }
}

/// Returns the row of a mode. Ralph does not drive a mode of a later version; such a mode gets the
/// row of a plain loop.
pub fn rules(mode: &ModeState) -> &'static dyn ModeRules {
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
        ModeState::Orchestration(_) => "orchestration",
        ModeState::Refine(_) => "refine",
        ModeState::Other(word) => word,
    }
}

/// Returns the row of the loop's mode, for the code that handles stops.
pub fn at_stop(state: &LoopState) -> &'static dyn AtStop {
    rules(&state.mode)
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
        let others = ["ralph-plan", "ralph-cancel", "ralph-pause"];
        for name in COMMANDS {
            assert_eq!(of_command(name).is_none(), others.contains(&name), "{name}");
        }
    }

    #[test]
    fn the_row_of_a_plain_loop_has_these_texts() {
        let plain: &dyn ModeRules = &Plain;
        let mut state = LoopState { loop_id: "l".to_owned(), ..LoopState::default() };
        state.phase = crate::state::Phase::Implementation;
        assert_eq!((plain.noun(), plain.position(&state).as_str()), ("loop", "0/25"));
        assert_eq!(plain.commands(), ["ralph", "ralph-parallel"]);
        assert_eq!((plain.aliases(), plain.driver()), (&[][..], None));
        assert!(plain.counts_turns() && plain.has_tasks());
        assert_eq!(plain.started_line(&state), "Ralph loop l started");
        assert_eq!(plain.continues_line(&state), "Ralph loop l continues at 0/25");
        assert_eq!(plain.announcement(&state), start::announcement(&state));
        let now = Timestamp::UNIX_EPOCH;
        assert_eq!(
            plain.loop_prompt("h", &state, &[], now),
            loop_prompt::of_loop("h", &state, &[], now)
        );
        assert_eq!((plain.document(&state), plain.blocks_start(&state, true)), (None, None));
        assert_eq!(plain.after_end(&state, &EndingKind::Stalled), None);
        assert_eq!(plain.next_hint(&state), None);
        assert_eq!(plain.resume_command(&state), "/ralph");
        state.pause(crate::state::PauseCause::Person, "", Timestamp::UNIX_EPOCH);
        assert_eq!(
            plain.next_hint(&state).as_deref(),
            Some("/ralph in its session continues it, as `ralph resume` does")
        );
        state.rounds = 1;
        assert_eq!(plain.next_hint(&state).as_deref(), Some("`ralph run` continues it"));
        assert_eq!(plain.resume_command(&state), "`ralph run`");
        plain.resume(&mut state, Timestamp::UNIX_EPOCH);
        assert!(state.is_running());
    }

    #[test]
    fn each_mode_has_its_row_and_its_label() {
        let modes: [(ModeState, &str, &str); 5] = [
            (ModeState::Plain, "loop", ""),
            (crate::state::RalplanState::default().into(), "planning", "planning"),
            (crate::state::OrchestrationState::default().into(), "loop", "orchestration"),
            (crate::state::RefineState::default().into(), "refinement", "refine"),
            (ModeState::Other("dream".to_owned()), "loop", "dream"),
        ];
        for (mode, noun, expected) in modes {
            assert_eq!((rules(&mode).noun(), label(&mode)), (noun, expected));
            let turns = matches!(mode, ModeState::Plain | ModeState::Other(_));
            assert_eq!(rules(&mode).counts_turns(), turns, "{expected}");
            let tasks = !matches!(mode, ModeState::Refine(_));
            assert_eq!(rules(&mode).has_tasks(), tasks, "{expected}");
        }
        let aliases = ROWS.map(|(_, row)| row.aliases());
        assert_eq!(aliases, [&[][..], &["rp", "planloop"], &[], &[]]);
        assert_eq!(of_command("x"), None);
        assert!(is_alias("rp") && !is_alias("ralplan"));
    }
}
