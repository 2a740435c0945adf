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
    let event = match role {
        Role::GapFinder => PlanEvent::GapFinderReported { message: "none" },
        Role::Architect => PlanEvent::ArchitectReported { agent, message: &answers },
        Role::Planner => {
            *text = (*text).max(1);
            let (path, hash) = (PATH.to_owned(), hash_of(*text));
            let plan = PlanSeen { path, hash, ..PlanSeen::default() };
            PlanEvent::PlannerReported {
                agent,
                message: "PLAN_READY: .omc/plans/a.md",
                plan: Some(plan),
            }
        }
        Role::Critic => return judges(plan, agent, &call.prompt, *text),
    };
    step(plan, &event);
    true
}

/// A critic knows no digits but those of its prompt.
fn judges(plan: &mut RalplanState, agent: &str, prompt: &str, text: Text) -> bool {
    let Some((_, digits)) = prompt.rsplit_once("Plan hash: ") else { return false };
    let message = format!("CRITIC_FEEDBACK:\n- Verdict: OKAY\n- Plan hash: {digits}");
    let hash_now = hash_of(text);
    step(plan, &PlanEvent::CriticReported { agent, message: &message, hash_now: &hash_now });
    true
}
