//! The rounds of `ralph ralplan run`: code calls each agent in a session of its own.
//!
//! The next step is decided as at a stop, so a driver has the same limits as a session. When the
//! driver stops, the planning stays paused behind its guard until a user continues it.

use super::pause::at_step;
use super::{NextPlanStep, PlanEvent, next, step};
use crate::state::{BuildRound, LoopState, PlanPhase};
use crate::stop::{AllowReason, StopVerdict};
use jiff::Timestamp;

/// What a driver knows of the project when it asks for the next round.
#[derive(Debug, Clone, Copy, Default)]
pub struct DriverSeen<'a> {
    /// `ralph:` if the agents come from a plugin.
    pub prefix: &'a str,
    /// True if the planning's document is gone.
    pub document_gone: bool,
    /// Digest of the present text of the plan; empty if there is none.
    pub hash_now: &'a str,
}

/// Decides the next step and takes it.
///
/// # Errors
/// Why the planning is paused.
pub fn due(
    state: &mut LoopState,
    seen: DriverSeen<'_>,
    now: Timestamp,
) -> Result<NextPlanStep, String> {
    if state.ending.is_some() {
        return Ok(NextPlanStep::Nothing);
    }
    // An API error that ended a round is not a user's request to pause; the driver decides whether
    // to retry.
    let wished = state.pause.as_ref().filter(|pause| !pause.cause.resumes_by_itself());
    match wished {
        Some(pause) if !seen.document_gone => return Err(format!("paused ({})", pause.cause)),
        _ => state.resume(now),
    }
    match at_step(state, seen.document_gone, now) {
        StopVerdict::GoOn | StopVerdict::LetGo(AllowReason::AwaitsPerson) => {}
        StopVerdict::Ended(_) => return Ok(NextPlanStep::Nothing),
        StopVerdict::LetGo(_) => {
            return Err(state.pause.as_ref().map(|pause| pause.detail.clone()).unwrap_or_default());
        }
    }
    let Some(plan) = state.ralplan_mut() else { return Ok(NextPlanStep::Nothing) };
    if plan.phase == PlanPhase::CriticReview {
        // A plan that has changed since it was ready is the planner's again.
        step(plan, &PlanEvent::CriticCalled { hash: seen.hash_now });
    }
    match next(plan, seen.prefix) {
        NextPlanStep::Nothing if !plan.phase.is_over() => {
            Err(format!("no step follows `{}`", plan.phase))
        }
        step => Ok(step),
    }
}

pub fn bind(state: &mut LoopState, session_id: &str, number: u32) {
    state.session_id = session_id.to_owned();
    state.round = Some(BuildRound { number, ..BuildRound::default() });
    // The round runs in a new process that has reported nothing yet.
    (state.turn, state.client, state.via) = (None, None, None);
    state.touched = true;
}

#[cfg(test)]
mod tests {
    use super::super::step::tests::{awaiting, in_review, planning};
    use super::super::{Ralplan, begin};
    use super::*;
    use crate::modes::mode::ModeRules;
    use crate::state::{EndingKind, PauseCause, Phase, RalplanState};

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
        let hash_now = state.ralplan().unwrap().ready_hash.clone();
        let seen = DriverSeen { hash_now: &hash_now, ..DriverSeen::default() };
        let said = match due(state, seen, NOW) {
            Ok(NextPlanStep::Call(call)) => call.subagent_type,
            Ok(NextPlanStep::Ask { .. }) => "ask".to_owned(),
            Ok(over) => format!("{over:?}"),
            Err(why) => format!("rest: {why}"),
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
            check(&mut waits, "ask");
        }
        assert!(waits.is_running(), "who waits for a person does not stand still");
        let unknown = RalplanState { phase: PlanPhase::Other("later".to_owned()), ..planning() };
        check(&mut state(unknown), "rest: no step follows `later`");
        let cancelled = RalplanState { phase: PlanPhase::Cancelled, ..planning() };
        check(&mut state(cancelled), "Nothing");
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
        Ralplan.resume(&mut state, NOW);
        check(&mut state, "ralplan-planner");
    }

    #[test]
    fn a_text_changed_since_it_was_ready_is_the_planners_round() {
        let mut state = state(in_review("1"));
        let seen = DriverSeen { hash_now: "2", ..DriverSeen::default() };
        let Ok(NextPlanStep::Call(call)) = due(&mut state, seen, NOW) else { panic!() };
        assert_eq!(call.subagent_type, "ralplan-planner");
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
            let seen = DriverSeen { document_gone: true, ..DriverSeen::default() };
            assert_eq!(due(&mut gone, seen, NOW), Ok(NextPlanStep::Nothing));
            assert_eq!(gone.ending.as_ref().unwrap().kind, EndingKind::Cancelled);
            check(&mut gone, "Nothing");
        }
    }

    #[test]
    fn a_round_is_bound_to_its_session() {
        let mut state = state(planning());
        bind(&mut state, "s", 2);
        assert_eq!((state.session_id.as_str(), state.round.as_ref().unwrap().number), ("s", 2));
    }
}
