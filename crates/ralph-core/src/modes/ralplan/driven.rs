//! The rounds of `ralph ralplan run`: code calls each agent in a session of its own.
//!
//! The next step is decided as at a stop, so a driver has the same limits as a session. When the
//! driver stops, the planning stays paused behind its guard until a user continues it.

use super::pause::at_step;
use super::{AgentInput, NextPlanStep, Role, next};
use crate::modes::build;
use crate::state::{BuildRound, LoopState, PauseCause, PlanPhase};
use crate::stop::{AllowReason, StopVerdict};
use jiff::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DueRound {
    /// Run a round of this agent.
    Round(Role, AgentInput),
    /// Wait for the user's decision.
    Person,
    /// Do nothing: the planning is paused, for this reason.
    Rest(String),
    /// Do nothing: the planning is over.
    Over,
}

/// Decides the next step and takes it. `prefix` is `ralph:` if the agents come from a plugin.
pub fn due(state: &mut LoopState, prefix: &str, document_gone: bool, now: Timestamp) -> DueRound {
    if state.ending.is_some() {
        return DueRound::Over;
    }
    // An API error that ended a round is not a user's request to pause; the driver decides whether
    // to retry.
    let wished = state.pause.as_ref().filter(|pause| !pause.cause.resumes_by_itself());
    match wished {
        Some(pause) if !document_gone => {
            return DueRound::Rest(format!("paused ({})", pause.cause));
        }
        _ => state.resume(now),
    }
    match at_step(state, document_gone, now) {
        StopVerdict::GoOn | StopVerdict::LetGo(AllowReason::AwaitsPerson) => step(state, prefix),
        StopVerdict::Ended(_) => DueRound::Over,
        StopVerdict::LetGo(_) => DueRound::Rest(
            state.pause.as_ref().map(|pause| pause.detail.clone()).unwrap_or_default(),
        ),
    }
}

/// The next step if nothing prevents it.
pub fn step(state: &LoopState, prefix: &str) -> DueRound {
    let Some(plan) = state.ralplan() else { return DueRound::Over };
    match next(plan, prefix) {
        NextPlanStep::Call(call) => match Role::of(&call.subagent_type) {
            Some(role) => DueRound::Round(role, call),
            None => {
                DueRound::Rest(format!("`{}` is not an agent of a planning", call.subagent_type))
            }
        },
        NextPlanStep::Ask { .. } => DueRound::Person,
        NextPlanStep::HandOver { .. } => DueRound::Over,
        NextPlanStep::Nothing if plan.phase == PlanPhase::Cancelled => DueRound::Over,
        NextPlanStep::Nothing => DueRound::Rest(format!("no step follows `{}`", plan.phase)),
    }
}

pub fn bind(state: &mut LoopState, session_id: &str, number: u32) {
    state.session_id = session_id.to_owned();
    state.round = Some(BuildRound { number, ..BuildRound::default() });
    // The round runs in a new process that has reported nothing yet.
    (state.turn, state.client, state.via) = (None, None, None);
    state.touched = true;
}

/// Pauses the planning when its driver leaves: no agent is called until a user continues it.
pub fn leave(state: &mut LoopState, cause: PauseCause, why: &str, now: Timestamp) {
    state.round = None;
    build::rest(state, cause, why, now);
}

#[cfg(test)]
mod tests {
    use super::super::step::tests::{awaiting, in_review, planning};
    use super::super::{begin, take_up};
    use super::*;
    use crate::state::{EndingKind, Phase, RalplanState};

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn state(plan: RalplanState) -> LoopState {
        LoopState {
            phase: Phase::Implementation,
            started_at: Some(NOW),
            mode: plan.into(),
            ..LoopState::default()
        }
    }

    #[track_caller]
    fn check(state: &mut LoopState, expected: &str) {
        let said = match due(state, "", false, NOW) {
            DueRound::Round(_, call) => call.subagent_type,
            DueRound::Rest(why) => format!("rest: {why}"),
            other => format!("{other:?}"),
        };
        assert_eq!(said, expected);
    }

    #[test]
    fn each_phase_has_its_round_and_the_person_theirs() {
        check(&mut state(begin("t", NOW)), "ralplan-metis");
        check(&mut state(planning()), "ralplan-planner");
        check(&mut state(in_review("1")), "ralplan-critic");
        let asked = RalplanState { phase: PlanPhase::ArchitectConsultation, ..planning() };
        check(&mut state(asked), "ralplan-architect");
        let mut waits = state(awaiting());
        for _ in 0..9 {
            check(&mut waits, "Person");
        }
        assert!(waits.is_running(), "who waits for a person does not stand still");
        let unknown = RalplanState { phase: PlanPhase::Other("later".to_owned()), ..planning() };
        check(&mut state(unknown), "rest: no step follows `later`");
    }

    #[test]
    fn rounds_that_bring_nothing_end_in_a_rest_and_not_in_an_end() {
        let mut state = state(planning());
        for _ in 0..3 {
            check(&mut state, "ralplan-planner");
        }
        check(&mut state, "rest: the planning made no progress at 3 stops in a row");
        assert_eq!(state.phase, Phase::Paused);
        check(&mut state, "rest: paused (blocked_on_human)");
        take_up(&mut state, NOW);
        check(&mut state, "ralplan-planner");
    }

    #[test]
    fn a_persons_pause_stands_and_an_api_errors_does_not() {
        for (cause, expected) in [
            (PauseCause::Person, "rest: paused (person)"),
            (PauseCause::Crashed, "ralplan-planner"),
            (PauseCause::RateLimited, "ralplan-planner"),
        ] {
            let mut state = state(planning());
            state.pause(cause, "", NOW);
            check(&mut state, expected);
        }
    }

    #[test]
    fn what_is_over_stays_over_and_a_removed_document_ends_it() {
        for paused in [false, true] {
            let mut gone = state(planning());
            if paused {
                gone.pause(PauseCause::Person, "", NOW);
            }
            assert_eq!(due(&mut gone, "", true, NOW), DueRound::Over);
            assert_eq!(gone.ending.as_ref().unwrap().kind, EndingKind::Cancelled);
            check(&mut gone, "Over");
        }
    }

    #[test]
    fn a_round_is_bound_and_left() {
        let mut state = state(planning());
        bind(&mut state, "s", 2);
        assert_eq!((state.session_id.as_str(), state.round.as_ref().unwrap().number), ("s", 2));
        leave(&mut state, PauseCause::Person, "Ctrl-C", NOW);
        assert_eq!((state.phase, state.round), (Phase::Paused, None));
        assert!(state.pause.unwrap().told);
    }
}
