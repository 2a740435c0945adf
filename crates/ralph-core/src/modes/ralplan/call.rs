//! Which agent may be called now.
//!
//! The guard enforces who may plan; this module enforces whose turn it is. A report out of turn
//! would be ignored, so the call is refused before it costs anything, and the refusal names the
//! agent whose turn it is.

use super::next::critic;
use super::step::named;
use super::{PlanEvent, PlanOutcome, Role, short, step};
use crate::state::{PlanPhase, RalplanState};

/// Whether an agent of this role may be called with this prompt, given the digest of the plan's
/// file (empty if there is no file). The call of a critic freezes the text; a text that has changed
/// since it was ready goes back to the planner instead.
///
/// # Errors
/// Why the call is refused, and which agent to call instead.
pub fn may_call(
    plan: &mut RalplanState,
    role: Role,
    prompt: &str,
    hash_now: &str,
) -> Result<(), String> {
    let phase = &plan.phase;
    match (whose_turn(plan), role) {
        // A second call of the gap finder may find more, but nothing waits for it.
        (Some(Role::Planner), Role::Planner | Role::GapFinder) => Ok(()),
        (Some(Role::Critic), Role::Critic) => may_judge(plan, prompt, hash_now),
        (Some(turn), role) if turn == role => Ok(()),
        (Some(wanted), called) => Err(format!(
            "this planning is in `{phase}`, which ignores a report of `{}`; call `{}`",
            called.agent(),
            wanted.agent()
        )),
        (None, _) if *phase == PlanPhase::AwaitingUserApproval => Err(
            "the plan waits for the user, so no agent is due; ask with AskUserQuestion, as `ralph \
             ralplan status` shows"
                .to_owned(),
        ),
        (None, _) => Err(format!(
            "this planning is in `{phase}`, which calls no agent; `ralph ralplan status` shows the \
             next step"
        )),
    }
}

/// The role whose report the planning waits for.
fn whose_turn(plan: &RalplanState) -> Option<Role> {
    match plan.phase {
        PlanPhase::PlannerPlanning if !plan.consulted_gap_finder => Some(Role::GapFinder),
        PlanPhase::PlannerPlanning => Some(Role::Planner),
        PlanPhase::ArchitectConsultation => Some(Role::Architect),
        PlanPhase::CriticReview => Some(Role::Critic),
        PlanPhase::HandlingVerdict
        | PlanPhase::AwaitingUserApproval
        | PlanPhase::Complete
        | PlanPhase::Cancelled
        | PlanPhase::Other(_) => None,
    }
}

/// The prompt tells the critic which text to judge, and the critic repeats it in the verdict. A
/// critic that was called on an older text cannot judge a newer one.
fn may_judge(plan: &mut RalplanState, prompt: &str, hash_now: &str) -> Result<(), String> {
    let ready = plan.ready_hash.clone();
    let is_ready = !hash_now.is_empty() && hash_now == ready;
    if is_ready && !(prompt.contains(&plan.plan_path) && prompt.contains(short(&ready))) {
        return Err(format!(
            "the prompt does not name the text to judge; call `{}` with this prompt, word for \
             word:\n{}",
            Role::Critic.agent(),
            critic(plan)
        ));
    }
    match step(plan, &PlanEvent::CriticCalled { hash: hash_now }) {
        PlanOutcome::Refused(why) => Err(why),
        _ if is_ready => Ok(()),
        _ => Err(format!(
            "the plan was {} when its planner reported it and is {} now; call `{}` to read it and \
             report it again",
            named(&ready),
            named(hash_now),
            Role::Planner.agent()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::super::step::tests::{H1, H2, REJECT, awaiting, in_review, planning, verdict};
    use super::super::{NextPlanStep, begin, next, step};
    use super::*;
    use jiff::Timestamp;

    /// Checks which roles may be called with the prompt that `next` writes.
    #[track_caller]
    fn check(plan: &RalplanState, expected: &[Role]) {
        let prompt = match next(plan, "ralph:") {
            NextPlanStep::Call(call) => call.prompt,
            _ => String::new(),
        };
        for role in Role::ALL {
            let found = may_call(&mut plan.clone(), role, &prompt, H1);
            assert_eq!(found.is_ok(), expected.contains(&role), "{role:?} {found:?}");
            let Err(refusal) = found else { continue };
            let said = refusal;
            match next(plan, "") {
                NextPlanStep::Call(call) => {
                    assert!(said.contains(&format!("call `{}`", call.subagent_type)), "{said}");
                }
                _ => assert!(!said.contains("call `"), "{said}"),
            }
        }
    }

    #[test]
    fn each_phase_has_its_agent() {
        check(&begin("t", Timestamp::UNIX_EPOCH), &[Role::GapFinder]);
        check(&planning(), &[Role::GapFinder, Role::Planner]);
        check(&in_review(H1), &[Role::Critic]);
        let asked = RalplanState { phase: PlanPhase::ArchitectConsultation, ..planning() };
        check(&asked, &[Role::Architect]);
        check(&awaiting(), &[]);
        for phase in [
            PlanPhase::Complete,
            PlanPhase::Cancelled,
            PlanPhase::HandlingVerdict,
            PlanPhase::Other("of tomorrow".to_owned()),
        ] {
            check(&RalplanState { phase, ..awaiting() }, &[]);
        }
    }

    #[test]
    fn after_a_rejection_it_is_the_planners_turn() {
        let mut plan = in_review(H1);
        step(&mut plan, &verdict("c1", REJECT, H1));
        check(&plan, &[Role::GapFinder, Role::Planner]);
    }

    #[track_caller]
    fn check_critic(prompt: &str, hash_now: &str, expected: &str) {
        let said = may_call(&mut in_review(H1), Role::Critic, prompt, hash_now)
            .map_or_else(|why| why, |()| "may".to_owned());
        assert!(said.contains(expected), "{said}");
    }

    #[test]
    fn a_critics_prompt_names_the_plan_and_its_digits() {
        check_critic("Judge .omc/plans/a.md (111111111111), please.", H1, "may");
        check_critic(&format!("`.omc/plans/a.md` {H1}"), H1, "may");
        for prompt in
            ["", "Judge .omc/plans/a.md", "Judge 111111111111", ".omc/plans/a.md 11111111111"]
        {
            check_critic(prompt, H1, "with this prompt");
            check_critic(prompt, H1, "`.omc/plans/a.md`. Read the whole file");
            check_critic(prompt, H1, "`- Plan hash: 111111111111`");
        }
    }

    #[test]
    fn no_critic_is_called_on_a_text_that_was_changed() {
        for now in [H2, ""] {
            check_critic(&format!(".omc/plans/a.md {H1} {H2}"), now, "call `ralplan-planner`");
        }
        let mut never_ready = RalplanState { phase: PlanPhase::CriticReview, ..planning() };
        let refused = may_call(&mut never_ready, Role::Critic, "", "").unwrap_err();
        assert!(refused.contains("was not there when its planner reported it"), "{refused}");
        assert_eq!(never_ready.phase, PlanPhase::PlannerPlanning);
    }
}
