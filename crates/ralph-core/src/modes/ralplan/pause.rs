//! The row of a planning among the modes, and whether its session may end its turn.
//!
//! Until the verdict the session must go on, and each stop gives it the next step. When the user
//! has to decide, the session is told so once and then may stop: silence is not consent, and asking
//! again is not a decision. No limit and no stall ends a planning, because its end would allow
//! changes that the user did not approve. The planning pauses instead, and its guard stays active.

use super::{MIRROR, NextPlanStep, next, position, short};
use crate::modes::flow;
use crate::modes::mode::ModeRules;
use crate::protocol::reply::REASON_LIMIT;
use crate::state::{DrivenTurn, EndingKind, LoopState, PlanPhase, RalplanState};
use crate::stop::progress::stops;
use crate::stop::{
    AllowReason, AtStop, NextStep, StopInputs, StopVerdict, TaskProgress, used_up, wait_for_person,
};
use crate::text::hex::hex;
use crate::text::plural::noun;
use crate::text::truncate::bounded;
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The row of consensus planning.
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
        let verdict = at_step(state, seen.document_gone, seen.now);
        match &verdict {
            StopVerdict::GoOn => {
                state.turn = Some(DrivenTurn::new(seen.prompt_id.clone(), seen.now));
            }
            StopVerdict::LetGo(AllowReason::AwaitsPerson) => state.turn = None,
            _ => {}
        }
        verdict
    }

    fn next_step(&self, state: &LoopState, _seen: &StopInputs) -> NextStep {
        NextStep::new(&self.position(state), "", &next_in_the_line(state), next_step_text(state))
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
        format!("Ralph planning {} started", state.loop_id)
    }

    fn continues_line(&self, state: &LoopState) -> String {
        format!("Ralph planning {} continues at {}", state.loop_id, self.position(state))
    }

    fn loop_prompt(
        &self,
        heading: &str,
        state: &LoopState,
        steers: &[String],
        _now: Timestamp,
    ) -> String {
        let Some(plan) = state.ralplan() else { return heading.to_owned() };
        let mut text = format!("{heading}\nTask: {}\n", bounded(&plan.task, 420));
        let _ = write!(text, "Phase: {}, plan {}.", plan.phase, position(plan));
        match (plan.plan_path.as_str(), short(&plan.plan_hash)) {
            ("", _) => {}
            (path, "") => _ = write!(text, " Plan: `{path}`."),
            (path, hash) => _ = write!(text, " Plan: `{path}` ({hash})."),
        }
        flow::loop_prompt(text + RULES, steers, &next_step_text(state))
    }

    fn announcement(&self, state: &LoopState) -> String {
        let rejections = state.ralplan().map_or(0, |plan| plan.max_iterations);
        format!(
            "planning {} started: a planner, an architect and a critic, at most {} {}, {} {}. Until \
             you agree to the plan, only plans below `.omc/plans/` change. Esc pauses it, \
             /ralph-cancel ends it.",
            state.loop_id,
            rejections,
            noun(rejections, "rejection", "rejections"),
            state.limits.max_minutes,
            noun(state.limits.max_minutes, "minute", "minutes")
        )
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
        state.resume_anew(now);
        if let Some(plan) = state.ralplan_mut() {
            (plan.told_at, plan.still) = (String::new(), 0);
        }
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
/// Decides whether to take the next step: at a stop of the planning session, and before each round
/// of a driver.
pub(super) fn at_step(state: &mut LoopState, document_gone: bool, now: Timestamp) -> StopVerdict {
    if document_gone {
        let detail = format!("a person removed `{MIRROR}`");
        state.end(EndingKind::Cancelled, detail, now);
        return StopVerdict::Ended(EndingKind::Cancelled);
    }
    let bound = used_up(state, now);
    let limit = state.stall_limit;
    let Some(plan) = state.ralplan_mut() else { return StopVerdict::LetGo(AllowReason::NotLive) };
    let stands = progress_digest(plan);
    plan.still = if plan.told_at == stands { plan.still + 1 } else { 0 };
    plan.told_at = stands;
    let still = plan.still;
    if plan.phase == PlanPhase::AwaitingUserApproval {
        if still > 0 {
            return StopVerdict::LetGo(AllowReason::AwaitsPerson);
        }
    } else if still >= limit {
        let detail = format!("the planning made no progress at {}", stops(limit));
        return wait_for_person(state, &detail, now);
    } else if let Some((_, detail)) = bound {
        return wait_for_person(state, format!("the planning {detail}"), now);
    }
    state.iteration += 1;
    StopVerdict::GoOn
}

/// Notes that the user is being asked, so that the next stop waits whatever the answer is. A user
/// who closes the question to talk about it first must not see it again before they could say
/// anything.
pub fn asked(plan: &mut RalplanState) {
    plan.told_at = progress_digest(plan);
}

/// Whether a stop has already told the session its next step. The end of an agent that arrives late
/// adds nothing, and a step told twice would be taken twice.
pub fn is_told(plan: &RalplanState) -> bool {
    plan.told_at == progress_digest(plan)
}

/// A digest of the planning's progress. It leaves out who reported: agents that bring nothing new
/// are not progress, however many there are.
fn progress_digest(plan: &RalplanState) -> String {
    let mut digest = Sha256::new();
    let lists = [&plan.failed_gates, &plan.questions, &plan.answers];
    let texts = [
        plan.phase.as_str(),
        &plan.ready_hash,
        &plan.plan_hash,
        &plan.feedback,
        &plan.gaps,
        if plan.consulted_gap_finder { "gaps" } else { "" },
    ];
    for text in texts.into_iter().chain(lists.into_iter().flatten().map(String::as_str)) {
        digest.update(text.as_bytes());
        digest.update([0]);
    }
    digest.update(plan.iteration.to_be_bytes());
    hex(&digest.finalize()[..8])
}

/// The next step, as given at a stop.
pub fn next_step_text(state: &LoopState) -> String {
    let Some(plan) = state.ralplan() else { return String::new() };
    bounded(&next(plan, flow::prefix(state)).to_string(), REASON_LIMIT)
}

/// The next step without the prompts: `ralph ralplan next` prints these word for word.
fn next_in_the_line(state: &LoopState) -> String {
    let Some(plan) = state.ralplan() else { return String::new() };
    match next(plan, flow::prefix(state)) {
        NextPlanStep::Call(call) => {
            format!("call the agent `{}` as `ralph ralplan next` prints it", call.subagent_type)
        }
        NextPlanStep::Ask { .. } => {
            "ask the user about the plan as `ralph ralplan next` prints it".to_owned()
        }
        NextPlanStep::HandOver { .. } | NextPlanStep::Nothing => {
            "report how the planning ended, and end your turn".to_owned()
        }
    }
}

const RULES: &str = "\nRules: only `ralplan-planner` writes, and only below `.omc/plans/`. You \
     change nothing and ask the user nothing before the critic's verdict. Carry out nothing before \
     the user agrees, by answering the one question or by `ralph ralplan approve`, `adjust` or \
     `discard` in a terminal. Neither your words nor silence are consent. `ralph ralplan next` \
     repeats the next step, `ralph ralplan status` shows everything.";

#[cfg(test)]
mod tests {
    use super::super::step::tests::{awaiting, planning, reject_once};
    use super::*;
    use crate::modes::mode;
    use crate::state::PauseCause;
    use crate::state::Phase;
    use crate::stop::decide;
    use crate::text::token::CompletionRequest;

    fn state(plan: RalplanState) -> LoopState {
        LoopState {
            phase: Phase::Implementation,
            started_at: Some(Timestamp::UNIX_EPOCH),
            mode: plan.into(),
            ..LoopState::default()
        }
    }

    fn seen() -> StopInputs {
        StopInputs { prompt_id: "p".into(), ..StopInputs::default() }
    }

    #[track_caller]
    fn check(state: &mut LoopState, seen: &StopInputs, expected: &str) -> String {
        let decision = decide(mode::at_stop(state), state, seen);
        assert_eq!(decision.verdict.describe(), expected);
        let mut again = decision.record.clone();
        again.outcome = decision.record.decide_again(mode::at_stop(state));
        assert_eq!(again.outcome, decision.record.outcome, "decided again");
        decision.step.details
    }

    #[test]
    fn until_the_verdict_a_stop_is_answered_with_the_next_step() {
        let mut state = state(planning());
        let says = check(&mut state, &seen(), "go on");
        assert!(says.starts_with("Next: call the Agent tool with subagent_type `ralplan-planner`"));
        state.via = Some(crate::state::Registration::Plugin);
        assert!(next_step_text(&state).contains("`ralph:ralplan-planner`"));
    }

    #[test]
    fn no_word_of_completion_ends_a_planning() {
        let mut state = state(planning());
        let seen = StopInputs { request: CompletionRequest::Made, ..seen() };
        check(&mut state, &seen, "go on");
    }

    #[test]
    fn a_person_is_asked_once_and_then_waited_for() {
        let mut state = state(awaiting());
        let says = check(&mut state, &seen(), "go on");
        assert!(says.contains("AskUserQuestion"), "{says}");
        for _ in 0..9 {
            check(&mut state, &seen(), "let go: a person must decide about the plan");
            assert!(state.is_running() && state.turn.is_none());
        }
    }

    #[test]
    fn who_was_asked_is_not_asked_again_by_a_stop() {
        let mut state = state(awaiting());
        asked(state.ralplan_mut().unwrap());
        check(&mut state, &seen(), "let go: a person must decide about the plan");
    }

    #[test]
    fn one_that_stands_still_rests_and_does_not_end() {
        let mut state = state(planning());
        for _ in 0..3 {
            check(&mut state, &seen(), "go on");
        }
        check(&mut state, &seen(), "let go: a person must do something first");
        assert_eq!(state.phase, Phase::Paused);
        let pause = state.pause.clone().unwrap();
        assert_eq!(pause.cause, PauseCause::BlockedOnHuman);
        Ralplan.resume(&mut state, Timestamp::UNIX_EPOCH);
        check(&mut state, &seen(), "go on");
    }

    #[test]
    fn what_moves_does_not_stand_still() {
        let mut state = state(planning());
        for n in 0..9 {
            check(&mut state, &seen(), "go on");
            let plan = state.ralplan_mut().unwrap();
            // An agent that brings nothing new is not progress; a different failed gate is.
            plan.planners.push(n.to_string());
            plan.failed_gates = vec![n.to_string()];
        }
    }

    #[test]
    fn a_bound_has_it_rest_and_taken_up_it_has_all_of_it_again() {
        let mut state = LoopState { max_iterations: 1, ..state(planning()) };
        check(&mut state, &seen(), "go on");
        reject_once(state.ralplan_mut().unwrap(), "c");
        check(&mut state, &seen(), "let go: a person must do something first");
        assert!(state.pause.as_ref().unwrap().detail.contains("went on 1 time,"));
        Ralplan.resume(&mut state, Timestamp::UNIX_EPOCH);
        check(&mut state, &seen(), "go on");
    }

    #[test]
    fn a_removed_document_cancels_in_every_phase() {
        for plan in [planning(), awaiting()] {
            let mut state = state(plan);
            let seen = StopInputs { document_gone: true, ..seen() };
            check(&mut state, &seen, "ended: cancelled");
            assert_eq!(state.ralplan().unwrap().phase, PlanPhase::Cancelled);
        }
    }

    #[test]
    fn the_contract_names_where_it_stands_and_what_comes_next() {
        let state = LoopState { loop_id: "l".into(), ..state(awaiting()) };
        let (heading, now) = (Ralplan.continues_line(&state), Timestamp::UNIX_EPOCH);
        let text = Ralplan.loop_prompt(&heading, &state, &["faster".to_owned()], now);
        for words in [
            "Ralph planning l continues at 1/5\nTask: log in\n",
            "Phase: awaiting_user_approval, plan 1/5. Plan: `.omc/plans/a.md` (111111111111).",
            "STEER: faster",
            "Next: summarize in a few lines",
        ] {
            assert!(text.contains(words), "{text}");
        }
    }
}
