//! What can be reached: by the exploration at all, and from every state by agents that do as they are
//! told.

use super::{PATH, Plans, Text, World, hash_of};
use ralph_core::modes::ralplan::{self, NextPlanStep, PlanEvent, PlanSeen, Role, may_call, step};
use ralph_core::state::{PlanPhase, RalplanState};
use stateright::Property;

/// Calls after which an obedient session has to be through.
const CALLS: usize = 8;

pub(super) fn properties(model: &Plans) -> Vec<Property<Plans>> {
    let mut all = vec![
        Property::always(
            "agents that do as they are told bring every live planning to the person",
            |_, world: &World| !world.is_live() || comes_to_the_person(world),
        ),
        Property::sometimes("an approved plan is agreed to", |_, world: &World| {
            world.noted.agreed && !world.plan.forced
        }),
        Property::sometimes("a plan that no critic approved is agreed to", |_, world: &World| {
            world.noted.agreed && world.plan.forced
        }),
        Property::sometimes("work begins after the agreement", |_, world: &World| {
            world.noted.agreed && world.changed
        }),
    ];
    if model.max_rejections > 1 {
        all.push(Property::sometimes(
            "an architect is asked after a rejection",
            |_, world: &World| {
                world.plan.phase == PlanPhase::ArchitectConsultation && world.plan.iteration > 0
            },
        ));
    }
    all
}

/// Carries out what comes next, again and again.
fn comes_to_the_person(world: &World) -> bool {
    // A person takes up what rests; the rules of the planning know nothing of it.
    let mut plan = world.plan.clone();
    let mut text = world.text;
    for number in 0..CALLS {
        if plan.phase == PlanPhase::AwaitingUserApproval {
            return true;
        }
        if !obeys(&mut plan, &mut text, &format!("new-{number}")) {
            return false;
        }
    }
    false
}

/// One call as the next step words it, and the report of an agent that has read its prompt.
fn obeys(plan: &mut RalplanState, text: &mut Text, agent: &str) -> bool {
    let NextPlanStep::Call(call) = ralplan::next(plan, "") else { return false };
    let Some(role) = Role::from_agent_type(&call.subagent_type) else { return false };
    let may = may_call(plan, role, &call.prompt, &hash_of(*text));
    // Refused as it was changed, it is the planner's again; for anything else there is no excuse.
    if may.is_err() {
        return plan.phase == PlanPhase::PlannerPlanning && role == Role::Critic;
    }
    let answer = "ARCHITECT_ANSWER:\n- Topic: a\n- Analysis: b\n- Recommendation: c\n- Trade-offs: d\n\
                  - References: src/a.rs:1\n";
    let answers = answer.repeat(plan.questions.len());
    let message = match role {
        Role::GapFinder => "none".to_owned(),
        Role::Architect => answers,
        Role::Planner => {
            *text = (*text).max(1);
            format!("PLAN_READY: {PATH}")
        }
        Role::Critic => {
            let Some(digits) = digits(&call.prompt) else { return false };
            format!("CRITIC_FEEDBACK:\n- Verdict: OKAY\n- Plan hash: {digits}")
        }
    };
    let file = PlanSeen { path: PATH.to_owned(), hash: hash_of(*text), ..PlanSeen::default() };
    let event = PlanEvent::Reported { role, agent, message: &message, file: Some(file) };
    step(plan, &event);
    true
}

/// A critic knows no digits but those of its prompt.
fn digits(prompt: &str) -> Option<&str> {
    prompt.rsplit_once("Plan hash: ").map(|(_, digits)| digits)
}
