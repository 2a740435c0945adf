//! The rounds of `ralph ralplan run`: code calls each agent in a session of its own.
//!
//! The next step is decided as at a stop, so a driver has the same limits as a session. When the
//! driver stops, the planning stays paused behind its guard until a user continues it.

use super::pause::at_step;
use super::{NextPlanStep, Role, may_call, next};
use crate::modes::build;
use crate::modes::flow::AgentInput;
use crate::state::{BuildRound, LoopState, PauseCause, PlanPhase};
use crate::stop::{AllowReason, StopVerdict};
use jiff::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DueRound {
    /// Run a round of this agent.
    Round(AgentInput),
    /// Wait for the user's decision.
    Person,
    /// Do nothing: the planning is paused, for this reason.
    Rest(String),
    /// Do nothing: the planning is over.
    Over,
}

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
pub fn due(state: &mut LoopState, seen: DriverSeen<'_>, now: Timestamp) -> DueRound {
    if state.ending.is_some() {
        return DueRound::Over;
    }
    // An API error that ended a round is not a user's request to pause; the driver decides whether
    // to retry.
    let wished = state.pause.as_ref().filter(|pause| !pause.cause.resumes_by_itself());
    match wished {
        Some(pause) if !seen.document_gone => {
            return DueRound::Rest(format!("paused ({})", pause.cause));
        }
        _ => state.resume(now),
    }
    match at_step(state, seen.document_gone, now) {
        StopVerdict::GoOn | StopVerdict::LetGo(AllowReason::AwaitsPerson) => step(state, seen),
        StopVerdict::Ended(_) => DueRound::Over,
        StopVerdict::LetGo(_) => DueRound::Rest(
            state.pause.as_ref().map(|pause| pause.detail.clone()).unwrap_or_default(),
        ),
    }
}

/// The next step if nothing prevents it. A plan that has changed since it was ready goes back to its
/// planner instead of to the critic, and the second step is the planner's.
fn step(state: &mut LoopState, seen: DriverSeen<'_>) -> DueRound {
    let Some(plan) = state.ralplan_mut() else { return DueRound::Over };
    let mut refused = String::new();
    for _ in 0..2 {
        let call = match next(plan, seen.prefix) {
            NextPlanStep::Call(call) => call,
            NextPlanStep::Ask { .. } => return DueRound::Person,
            NextPlanStep::HandOver { .. } => return DueRound::Over,
            NextPlanStep::Nothing if plan.phase == PlanPhase::Cancelled => return DueRound::Over,
            NextPlanStep::Nothing => {
                return DueRound::Rest(format!("no step follows `{}`", plan.phase));
            }
        };
        let Some(role) = Role::from_agent_type(&call.subagent_type) else { continue };
        match may_call(plan, role, &call.prompt, seen.hash_now) {
            Ok(()) => return DueRound::Round(call),
            Err(why) => refused = why,
        }
    }
    DueRound::Rest(refused)
}

pub fn bind(state: &mut LoopState, session_id: &str, number: u32) {
    state.session_id = session_id.to_owned();
    state.round = Some(BuildRound { number, ..BuildRound::default() });
    // The round runs in a new process that has reported nothing yet.
    (state.turn, state.client, state.via) = (None, None, None);
    state.touched = true;
}

/// Pauses the planning when its driver leaves: no agent is called until a user continues it.
pub fn pause(state: &mut LoopState, cause: PauseCause, why: &str, now: Timestamp) {
    state.round = None;
    build::pause(state, cause, why, now);
}

#[cfg(test)]
mod tests {
    use super::super::step::tests::{awaiting, in_review, planning};
    use super::super::{Ralplan, begin};
    use super::*;
    use crate::modes::mode::ModeRules;
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
        let hash_now = state.ralplan().unwrap().ready_hash.clone();
        let seen = DriverSeen { hash_now: &hash_now, ..DriverSeen::default() };
        let said = match due(state, seen, NOW) {
            DueRound::Round(call) => call.subagent_type,
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
        let cancelled = RalplanState { phase: PlanPhase::Cancelled, ..planning() };
        check(&mut state(cancelled), "Over");
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
        let DueRound::Round(call) = due(&mut state, seen, NOW) else { panic!() };
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
            assert_eq!(due(&mut gone, seen, NOW), DueRound::Over);
            assert_eq!(gone.ending.as_ref().unwrap().kind, EndingKind::Cancelled);
            check(&mut gone, "Over");
        }
    }

    #[test]
    fn a_round_is_bound_and_left() {
        let mut state = state(planning());
        bind(&mut state, "s", 2);
        assert_eq!((state.session_id.as_str(), state.round.as_ref().unwrap().number), ("s", 2));
        pause(&mut state, PauseCause::Person, "Ctrl-C", NOW);
        assert_eq!((state.phase, state.round), (Phase::Paused, None));
        assert!(state.pause.unwrap().told);
    }
}
