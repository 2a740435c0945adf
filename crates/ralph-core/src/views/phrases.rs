//! What the words of a state and of a journal are called on a screen. Programs get the words.

use crate::state::{EndingKind, EndingTone, LoopState, PauseCause, Phase};

/// A keyword as a user reads it: `not run` for `not_run`.
pub fn spaced(word: &str) -> String {
    word.replace('_', " ")
}

/// A decision of the journal: the event or command, and what was decided.
pub fn decision(event: &str, decision: &str) -> String {
    let phrase = match (event, decision) {
        ("Stop", "go on") => "next turn",
        ("Stop", "let go") => "turn over",
        ("PreToolUse", "denied") => "tool call refused",
        ("PostToolUse", "told") => "checks after an edit",
        ("ralph verify", "holds") => "criteria hold",
        ("ralph verify", "does not hold") => "criteria do not hold",
        (_, "delivered") => "signal delivered",
        (_, "notified") => "notification",
        (_, "turned red") => "a criterion turned red",
        (_, "started" | "paused" | "resumed" | "ended") => {
            return match event.strip_prefix("ralph ") {
                Some(_) => format!("{event}: {decision}"),
                None => format!("loop {decision}"),
            };
        }
        (command, _) if command.starts_with("ralph ") => {
            return format!("{command}: {}", spaced(decision));
        }
        _ => return spaced(decision),
    };
    phrase.to_owned()
}

/// How a loop has ended, in a word or two.
pub fn ended(kind: &EndingKind) -> String {
    match kind {
        EndingKind::MaxIterations => "limit reached".to_owned(),
        kind => spaced(kind.as_str()),
    }
}

/// Where a loop stands: `running`, `paused (rate limited)`, `stalled`.
pub fn standing(state: &LoopState) -> String {
    if let Some(ending) = &state.ending {
        return ended(&ending.kind);
    }
    match (&state.phase, state.ralplan(), &state.pause) {
        _ if state.awaits_decision() => "you decide".to_owned(),
        (_, Some(plan), _) if state.is_running() => spaced(plan.phase.as_str()),
        (Phase::Paused, _, Some(pause)) => format!("paused{}", paused(&pause.cause)),
        (Phase::Implementation, ..) => "running".to_owned(),
        (Phase::Verification, ..) => "running criteria".to_owned(),
        (phase, ..) => spaced(phase.as_str()),
    }
}

/// Why a loop is paused, after the word `paused`; empty if the user paused it.
pub fn paused(cause: &PauseCause) -> String {
    match cause {
        PauseCause::Person => String::new(),
        PauseCause::BlockedOnHuman => " (needs you)".to_owned(),
        PauseCause::HostCapped => " (Claude Code's cap on stop hooks)".to_owned(),
        PauseCause::HostBudget => " (Claude Code's own limit)".to_owned(),
        PauseCause::Tampered => " (its hooks, settings or state were changed)".to_owned(),
        PauseCause::Mod => " (by a mod of Claude Code, not by you)".to_owned(),
        cause => format!(" ({})", spaced(cause.as_str())),
    }
}

/// How a loop's standing is rated, the same on every screen; `None` while it runs or is planned.
pub fn rated(state: &LoopState) -> Option<EndingTone> {
    match &state.ending {
        Some(ending) => Some(ending.kind.tone()),
        None if state.phase == Phase::Paused || state.awaits_decision() => Some(EndingTone::Look),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    #[test]
    fn no_screen_shows_a_word_of_a_program() {
        for (event, word, phrase) in [
            ("Stop", "go on", "next turn"),
            ("Stop", "let go", "turn over"),
            ("PreToolUse", "denied", "tool call refused"),
            ("PostToolUse", "told", "checks after an edit"),
            ("UserPromptExpansion", "ended", "loop ended"),
            ("SessionEnd", "paused", "loop paused"),
            ("ralph pause", "paused", "ralph pause: paused"),
            ("ralph signal", "sent", "ralph signal: sent"),
            ("SubagentStop", "kept_out", "kept out"),
        ] {
            assert_eq!(decision(event, word), phrase);
        }
    }

    #[test]
    fn a_standing_is_said_in_words() {
        let mut state = LoopState { phase: Phase::Implementation, ..LoopState::default() };
        assert_eq!((standing(&state).as_str(), rated(&state)), ("running", None));
        state.pause(PauseCause::Person, "", Timestamp::UNIX_EPOCH);
        assert_eq!((standing(&state).as_str(), rated(&state)), ("paused", Some(EndingTone::Look)));
        state.pause.as_mut().unwrap().cause = PauseCause::RateLimited;
        assert_eq!(standing(&state), "paused (rate limited)");
        state.end(EndingKind::MaxIterations, "", Timestamp::UNIX_EPOCH);
        assert_eq!(standing(&state), "limit reached");
    }
}
