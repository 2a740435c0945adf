//! What is promised of every happening in a session.

use super::act::{Act, belongs};
use super::client::{Typed, prompt_id};
use super::{Answer, Step, World};
use crate::explore::Promise;
use ralph_core::state::{EndingKind, LoopState, PauseCause, Phase};

type P<'a> = Promise<Step<'a>>;

/// All of them.
pub(super) fn promises<'a>() -> [P<'a>; 16] {
    [
        P { name: "somebody else's session is never answered, and changes nothing", kept: foreign },
        P {
            name: "a person's stop wins: nothing goes on until a person takes it up",
            kept: stop_wins,
        },
        P {
            name: "nothing is counted twice, however the hooks are registered",
            kept: counted_once,
        },
        P {
            name: "a loop goes on at most as often as it may, whoever interrupts it",
            kept: bounded,
        },
        P {
            name: "what the model does never cancels, pauses as a person or takes up",
            kept: model_has_no_say,
        },
        P {
            name: "a turn that the person cancelled is cut at its next tool call",
            kept: cut_at_once,
        },
        P { name: "an ended loop stays ended, and keeps its reason", kept: ended_is_final },
        P {
            name: "after the end nothing is refused, and nothing goes on",
            kept: free_after_the_end,
        },
        P {
            name: "an ended loop is put away, a live one is found by its session",
            kept: found_or_away,
        },
        P {
            name: "a paused loop knows where to go on, and no other does",
            kept: pause_keeps_phase,
        },
        P { name: "a person's wish outlasts the session's return", kept: return_respects },
        P {
            name: "a typed command ends a turn at its next stop, uncounted",
            kept: command_is_served,
        },
        P {
            name: "what a person types in mid-turn pauses nothing by itself",
            kept: mid_turn_is_harmless,
        },
        P {
            name: "a worker's doings are no event of the loop's turn",
            kept: workers_are_not_the_loop,
        },
        P { name: "what is typed once is answered once", kept: answered_once },
        P {
            name: "only a person starts a loop, but for the skill's own way",
            kept: started_by_a_person,
        },
    ]
}

fn looped(world: &World) -> Option<&LoopState> {
    world.looped.as_ref()
}

fn is_live(world: &World) -> bool {
    looped(world).is_some_and(|one| one.is_live())
}

fn goes_on(step: &Step<'_>) -> bool {
    step.answers.contains(&Answer::GoOn)
}

fn is_of_the_model(act: Act) -> bool {
    matches!(
        act,
        Act::Stop { .. }
            | Act::UseTool
            | Act::SayPersons(_)
            | Act::SayBlocked
            | Act::StartWorker
            | Act::WorkerUsesTool
            | Act::Report { .. }
    )
}

fn foreign(step: &Step<'_>) -> bool {
    let is_foreign =
        matches!(step.act, Act::ForeignStop | Act::ForeignPrompt(_) | Act::ForeignTool);
    let untouched = step.before.looped == step.after.looped
        && step.answers.iter().all(|answer| *answer == Answer::Silent);
    !is_foreign || untouched
}

fn stop_wins(step: &Step<'_>) -> bool {
    !(step.before.noted.rests && goes_on(step))
}

fn counted_once(step: &Step<'_>) -> bool {
    let n = step.answers.iter().filter(|answer| **answer == Answer::GoOn).count();
    let (Some(before), Some(after)) = (looped(step.before), looped(step.after)) else {
        return n == 0;
    };
    let is_stop = matches!(step.act, Act::Stop { .. });
    let new = matches!(step.act, Act::Type(_) | Act::Dequeue | Act::Plan | Act::StartBySkill);
    let counted = after.iteration.saturating_sub(before.iteration) as usize;
    // Where one copy goes on, no other may have ended or rested the loop.
    let one_verdict = n == 0 || after.is_running();
    n <= 1 && one_verdict && (new || counted == n) && (is_stop || n == 0)
}

fn bounded(step: &Step<'_>) -> bool {
    let most = step.model.max_iterations;
    let same = looped(step.after).is_none_or(|one| one.iteration == step.after.noted.went_on);
    step.after.noted.went_on <= most && same
}

fn model_has_no_say(step: &Step<'_>) -> bool {
    let (Some(before), Some(after)) = (looped(step.before), looped(step.after)) else {
        return true;
    };
    if !is_of_the_model(step.act) {
        return true;
    }
    let cancels = before.ending.is_none()
        && after.ending.as_ref().is_some_and(|ending| ending.kind == EndingKind::Cancelled);
    let rests = before.phase != Phase::Paused && after.phase == Phase::Paused;
    let blocked =
        after.pause.as_ref().is_some_and(|pause| pause.cause == PauseCause::BlockedOnHuman);
    // A report may be the first event after a person's Esc.
    let revealed = matches!(step.act, Act::Report { .. })
        && after.pause.as_ref().is_some_and(|pause| pause.cause == PauseCause::Interrupted);
    let takes_up = !before.is_running() && after.is_running();
    !cancels
        && (!rests || blocked || revealed)
        && !takes_up
        && before.max_iterations == after.max_iterations
}

fn drives(world: &World) -> bool {
    let turn = looped(world).and_then(|one| one.turn.as_ref());
    let running = world.client.turn.map(prompt_id);
    turn.is_some_and(|turn| Some(&turn.prompt_id) == running.as_ref())
}

/// True when a hook is there to act in the loop's session.
fn is_heard(step: &Step<'_>) -> bool {
    step.before.client.skill
        || step.model.registered.iter().any(|via| *via != super::Registration::Skill)
}

fn cut_at_once(step: &Step<'_>) -> bool {
    let cancelled = looped(step.before).is_some_and(|one| {
        let ending = one.ending.as_ref();
        ending.is_some_and(|ending| ending.kind == EndingKind::Cancelled) && !one.let_finish
    });
    let entry = step.before.entries[usize::from(step.before.client.session)];
    let due = cancelled && entry && belongs(step.before) && drives(step.before) && is_heard(step);
    let uses = matches!(step.act, Act::UseTool | Act::SayPersons(_));
    !(due && uses) || step.after.client.turn.is_none()
}

fn ended_is_final(step: &Step<'_>) -> bool {
    let (Some(before), Some(after)) = (looped(step.before), looped(step.after)) else {
        return true;
    };
    let new = after.ending.is_none() && after.iteration == 0;
    before.ending.is_none() || before.ending == after.ending || new
}

fn free_after_the_end(step: &Step<'_>) -> bool {
    let ended = looped(step.before).is_some_and(|one| one.ending.is_some());
    let refused = step.answers.iter().any(|one| matches!(one, Answer::GoOn | Answer::Deny));
    !(ended && refused)
}

fn found_or_away(step: &Step<'_>) -> bool {
    let world = step.after;
    let Some(one) = looped(world) else { return true };
    let bound = (0..3).filter(|session| world.entries[*session]);
    let leads: Vec<String> = bound.map(|session| format!("s{session}")).collect();
    match one.is_live() {
        true => !world.away && leads == [one.session_id.clone()],
        false => world.away == one.ending.is_some() && leads.iter().all(|id| *id == one.session_id),
    }
}

fn pause_keeps_phase(step: &Step<'_>) -> bool {
    let Some(one) = looped(step.after) else { return true };
    let keeps = one.resume_phase.as_ref().is_some_and(Phase::is_running) && one.pause.is_some();
    let bare = one.resume_phase.is_none() && one.pause.is_none();
    let typed = one.ending.is_some() == (one.phase == Phase::Ended);
    typed && if one.phase == Phase::Paused { keeps } else { bare }
}

fn return_respects(step: &Step<'_>) -> bool {
    let runs = looped(step.after).is_some_and(|one| one.is_running());
    !(step.act == Act::Return && step.before.noted.rests && runs)
}

fn command_is_served(step: &Step<'_>) -> bool {
    let waits = step.before.client.queued.is_some() && matches!(step.act, Act::Stop { .. });
    !waits || step.after.client.turn.is_none() || !is_live(step.before)
}

fn mid_turn_is_harmless(step: &Step<'_>) -> bool {
    let Act::Type(Typed::Words) = step.act else { return true };
    let was = looped(step.before).is_some_and(|one| one.is_running());
    let is = looped(step.after).is_some_and(|one| one.is_running());
    !(was && drives(step.before)) || is
}

fn workers_are_not_the_loop(step: &Step<'_>) -> bool {
    let (Some(before), Some(after)) = (looped(step.before), looped(step.after)) else {
        return true;
    };
    let same = before.turn == after.turn
        && before.phase == after.phase
        && before.iteration == after.iteration;
    step.act != Act::WorkerUsesTool || same
}

fn answered_once(step: &Step<'_>) -> bool {
    step.answers.iter().filter(|answer| **answer == Answer::Contract).count() <= 1
}

fn started_by_a_person(step: &Step<'_>) -> bool {
    let began = !is_live(step.before) && is_live(step.after);
    let by_typing = matches!(step.act, Act::Type(_) | Act::Dequeue);
    !began || by_typing || step.act == Act::StartBySkill
}
