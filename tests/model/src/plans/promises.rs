//! What is promised of every step of a planning.

use super::act::{Act, Answer, Does, OTHERS, Question, Says, Tool, Who, Wish};
use super::{Loop, Step, World};
use crate::explore::Promise;
use ralph_core::modes::ralplan::{PlanOutcome, Role};
use ralph_core::state::{PlanPhase, RalplanState};

type P<'a> = Promise<Step<'a>>;

/// All of them.
pub(super) fn promises<'a>() -> [P<'a>; 16] {
    [
        P {
            name: "before a person agreed or ended it, nothing but the plan is changed",
            kept: changes_nothing,
        },
        P {
            name: "the plan's file is changed by a planner that plans, and by a person",
            kept: only_the_planner_writes,
        },
        P { name: "nothing that a model does or says ends a planning", kept: only_a_person_ends },
        P {
            name: "a plan comes to the person by its critic's verdict on the frozen text only",
            kept: comes_by_a_verdict,
        },
        P {
            name: "complete is the judged text, still in the file, and a person's agreement to it",
            kept: complete_is_agreed,
        },
        P {
            name: "a person who agrees to the judged text is heard, resting or not",
            kept: agreement_is_heard,
        },
        P { name: "a person's adjustment leads to a planner, from the first", kept: adjusts },
        P { name: "a person ends a planning from every state", kept: ends },
        P { name: "silence decides nothing", kept: silence_waits },
        P { name: "an agent is called in its turn only", kept: called_in_turn },
        P {
            name: "a critic is called with the digits of the reported text only",
            kept: critic_is_told,
        },
        P { name: "who planned never judges, and who judged never plans", kept: roles_are_apart },
        P {
            name: "the person is asked after the verdict, in one form, about that text",
            kept: asks_in_form,
        },
        P { name: "no plan mode is left and no work begun while a planning lives", kept: stays },
        P { name: "what only reads is let through in every phase", kept: reads },
        P {
            name: "what is refused changes nothing, and what is over stays over",
            kept: refused_is_nothing,
        },
    ]
}

/// What a tool does that was let through.
fn did(step: &Step<'_>) -> Option<Does> {
    match step.act {
        Act::Tool(_, Tool::Other(number)) if step.let_through => Some(OTHERS[number].2),
        _ => None,
    }
}

fn is_persons(step: &Step<'_>) -> bool {
    matches!(step.act, Act::Person(_))
}

fn phase(world: &World) -> &PlanPhase {
    &world.plan.phase
}

fn comes_to(step: &Step<'_>, to: &PlanPhase) -> bool {
    phase(step.before) != to && phase(step.after) == to
}

fn changes_nothing(step: &Step<'_>) -> bool {
    let noted = &step.before.noted;
    step.before.changed == step.after.changed || noted.agreed || noted.ended
}

fn only_the_planner_writes(step: &Step<'_>) -> bool {
    let is_planners = match step.act {
        Act::Tool(Who::Agent(kind), _) => {
            Role::from_agent_type(kind) == Some(Role::Planner)
                && *phase(step.before) == PlanPhase::PlannerPlanning
        }
        _ => false,
    };
    let free = is_persons(step) || !step.before.is_live();
    step.before.text == step.after.text || is_planners || free
}

fn only_a_person_ends(step: &Step<'_>) -> bool {
    let ends = step.before.looped != Loop::Ended && step.after.looped == Loop::Ended;
    !ends || is_persons(step)
}

/// The observer's own reading of a report: what it judges, and whether it approves.
fn comes_by_a_verdict(step: &Step<'_>) -> bool {
    if !comes_to(step, &PlanPhase::AwaitingUserApproval) {
        return true;
    }
    let Act::Report(Role::Critic, id, says) = step.act else { return false };
    let (text, okay) = match says {
        Says::Okay(text) => (text, true),
        Says::Reject(text) | Says::RejectAsking(text) => (text, false),
        _ => return false,
    };
    let rejections = step.before.noted.rejections + 1;
    let is_frozen = text != 0 && step.before.noted.frozen == Some(text);
    let is_last = rejections == step.model.max_rejections && step.after.plan.forced;
    is_frozen
        && text == step.after.text
        && !step.before.noted.planned[id]
        && (okay && !step.after.plan.forced || is_last)
}

fn complete_is_agreed(step: &Step<'_>) -> bool {
    if !comes_to(step, &PlanPhase::Complete) {
        return true;
    }
    agrees(step)
}

/// True where a person says to go on, about the text that was judged last and stands in the file.
fn agrees(step: &Step<'_>) -> bool {
    let (before, text) = (step.before, Some(step.before.text));
    let says_so = match step.act {
        Act::Person(Wish::Says(Answer::Proceed)) => true,
        Act::Person(Wish::Answers(Answer::Proceed)) => before.asked == text,
        _ => false,
    };
    says_so && before.noted.judged == text && *phase(before) == PlanPhase::AwaitingUserApproval
}

fn agreement_is_heard(step: &Step<'_>) -> bool {
    !agrees(step) || *phase(step.after) == PlanPhase::Complete
}

/// True where the person answers what is before them: the question of this verdict, or no question.
fn is_answer(step: &Step<'_>, answers: &[Answer]) -> bool {
    let said = match step.act {
        Act::Person(Wish::Says(answer)) => Some(answer),
        Act::Person(Wish::Answers(answer)) if step.before.asked == step.before.noted.judged => {
            Some(answer)
        }
        _ => None,
    };
    let awaited = *phase(step.before) == PlanPhase::AwaitingUserApproval;
    awaited && said.is_some_and(|said| answers.contains(&said))
}

fn adjusts(step: &Step<'_>) -> bool {
    let plan: &RalplanState = &step.after.plan;
    let anew = plan.phase == PlanPhase::PlannerPlanning
        && (plan.iteration, plan.forced, plan.plan_hash.as_str()) == (0, false, "")
        && !plan.feedback.is_empty();
    !is_answer(step, &[Answer::Adjust, Answer::Free]) || anew
}

fn ends(step: &Step<'_>) -> bool {
    let ends = is_answer(step, &[Answer::Discard])
        || matches!(step.act, Act::Person(Wish::Cancels | Wish::RemovesDocument));
    let over = step.after.looped == Loop::Ended && phase(step.after).is_over();
    !ends || over
}

fn silence_waits(step: &Step<'_>) -> bool {
    let silent = matches!(step.act, Act::Person(Wish::Answers(Answer::Silence)));
    !silent || step.before.plan == step.after.plan
}

/// The role that was called, where the call was let through.
fn called(step: &Step<'_>) -> Option<Role> {
    match step.act {
        Act::Tool(_, Tool::Call(role, _)) if step.let_through && step.before.is_live() => {
            Some(role)
        }
        _ => None,
    }
}

fn called_in_turn(step: &Step<'_>) -> bool {
    let Some(role) = called(step) else { return true };
    match phase(step.before) {
        PlanPhase::PlannerPlanning => match role {
            Role::GapFinder => true,
            Role::Planner => step.before.plan.consulted_gap_finder,
            Role::Architect | Role::Critic => false,
        },
        PlanPhase::ArchitectConsultation => role == Role::Architect,
        PlanPhase::CriticReview => role == Role::Critic,
        _ => false,
    }
}

fn critic_is_told(step: &Step<'_>) -> bool {
    use super::act::Prompt;
    let text = step.before.text;
    let is_ready = text != 0 && step.before.plan.ready_hash == super::hash_of(text);
    let is_told = match step.act {
        Act::Tool(_, Tool::Call(_, Prompt::Naming(named))) => named == text,
        _ => true,
    };
    called(step) != Some(Role::Critic) || is_ready && is_told
}

fn roles_are_apart(step: &Step<'_>) -> bool {
    let Act::Report(role, id, _) = step.act else { return true };
    let noted = &step.before.noted;
    let both = match role {
        Role::Planner => noted.judging[id],
        Role::Critic => noted.planned[id],
        Role::Architect | Role::GapFinder => false,
    };
    !both || matches!(step.outcome, Some(PlanOutcome::Refused(_)))
}

fn asks_in_form(step: &Step<'_>) -> bool {
    let Act::Tool(who, Tool::Ask(asks)) = step.act else { return true };
    let before = step.before;
    let is_form = match asks {
        Question::Told => true,
        Question::Naming(text) => Some(text) == before.noted.judged && text != 0,
        Question::Answered | Question::Else => false,
    };
    let due = *phase(before) == PlanPhase::AwaitingUserApproval && who == Who::Main && is_form;
    !before.is_live() || step.let_through == due
}

fn stays(step: &Step<'_>) -> bool {
    let live = step.before.is_live();
    !live || matches!(did(step), None | Some(Does::Reads | Does::WritesPlan))
}

fn reads(step: &Step<'_>) -> bool {
    match step.act {
        Act::Tool(_, Tool::Other(number)) if OTHERS[number].2 == Does::Reads => step.let_through,
        _ => true,
    }
}

fn refused_is_nothing(step: &Step<'_>) -> bool {
    let (mut before, after) = (step.before.plan.clone(), &step.after.plan);
    before.planners.clone_from(&after.planners);
    before.critics.clone_from(&after.critics);
    let refused = matches!(step.outcome, Some(PlanOutcome::Refused(_)));
    let over = step.before.looped == Loop::Ended;
    !(refused || over) || before == *after
}
