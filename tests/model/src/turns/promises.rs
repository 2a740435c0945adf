//! What is promised of every turn.

use super::act::{Act, Says, agreed};
use super::{State, Step};
use crate::explore::Promise;
use ralph_core::modes::mode;
use ralph_core::state::{EndingKind, Phase, Signal};
use ralph_core::stop::{AllowReason, StopVerdict};

type P<'a> = Promise<Step<'a>>;

/// All of them.
pub(super) fn promises<'a>() -> [P<'a>; 18] {
    [
        P {
            name: "each stop goes on, ends, rests or waits, and the state says the same",
            kept: is_one_of_four,
        },
        P {
            name: "the loop goes on at most as often as it may, whatever the model says",
            kept: is_bounded,
        },
        P {
            name: "going on costs exactly one iteration, and nothing else does",
            kept: is_counted_once,
        },
        P {
            name: "each stop that does not wait for workers uses up an iteration, or is the last",
            kept: uses_up,
        },
        P { name: "workers are waited for only while the loop's time lasts", kept: waits_in_time },
        P {
            name: "waiting for workers is counted neither as an iteration nor as standing still",
            kept: waits_for_free,
        },
        P { name: "no loop goes on beyond its time or its tokens", kept: is_within_budget },
        P {
            name: "complete means that each criterion was proven on this tree, as agreed",
            kept: complete_is_proven,
        },
        P { name: "nothing but the token asks for completion", kept: only_asked_for },
        P {
            name: "unverified is only what had nothing to prove, by its rule",
            kept: unverified_by_rule,
        },
        P {
            name: "a request that is proven is granted, on the last iteration too",
            kept: proof_is_granted,
        },
        P {
            name: "an ending has a kind, a reason and, for a stall, a cause",
            kept: ending_is_typed,
        },
        P {
            name: "a paused loop knows where to go on, and no other does",
            kept: pause_keeps_phase,
        },
        P { name: "blocked rests the loop only while no task is ready", kept: blocked_is_true },
        P {
            name: "criteria and bounds change by a person's act only",
            kept: only_a_person_weakens,
        },
        P {
            name: "a loop whose tree is new at each stop does not stall",
            kept: progress_is_no_stall,
        },
        P {
            name: "a loop stalls after as many still stops as its limit, and not before",
            kept: stalls_in_time,
        },
        P { name: "what was recorded of a decision is decided alike", kept: is_decided_again },
    ]
}

fn verdict<'a>(step: &'a Step<'_>) -> Option<&'a StopVerdict> {
    step.decision.map(|decision| &decision.verdict)
}

fn ended(step: &Step<'_>) -> Option<EndingKind> {
    match verdict(step) {
        Some(StopVerdict::Ended(kind)) => Some(kind.clone()),
        _ => None,
    }
}

fn is_one_of_four(step: &Step<'_>) -> bool {
    let after = &step.after.looped;
    if !step.before.looped.is_running() {
        let same = after.phase == step.before.looped.phase;
        return verdict(step).is_none_or(|one| same && matches!(one, StopVerdict::LetGo(_)));
    }
    match verdict(step) {
        None => true,
        Some(StopVerdict::GoOn) => after.is_running() && after.turn.is_some(),
        Some(StopVerdict::Ended(kind)) => {
            after.phase == Phase::Ended
                && after.ending.as_ref().is_some_and(|ending| ending.kind == *kind)
        }
        Some(StopVerdict::LetGo(AllowReason::WorkersRun)) => {
            after.is_running() && step.before.worker
        }
        Some(StopVerdict::LetGo(AllowReason::Blocked)) => after.phase == Phase::Paused,
        Some(StopVerdict::LetGo(_)) => false,
    }
}

fn is_bounded(step: &Step<'_>) -> bool {
    step.after.noted.went_on <= step.model.max_iterations
}

fn is_counted_once(step: &Step<'_>) -> bool {
    step.after.looped.iteration == step.after.noted.went_on
}

/// A number that no stop may raise, and that only waiting leaves as it is: so each path of stops
/// that do not wait is finite. `waits_in_time` bounds the others.
fn left(state: &State) -> u32 {
    match state.looped.is_running() {
        true => {
            1 + state.looped.max_iterations
                - state.looped.iteration.min(state.looped.max_iterations)
        }
        false => 0,
    }
}

fn uses_up(step: &Step<'_>) -> bool {
    match verdict(step) {
        _ if !step.before.looped.is_running() => left(step.after) == 0,
        None | Some(StopVerdict::LetGo(AllowReason::WorkersRun)) => {
            left(step.after) <= left(step.before)
        }
        Some(_) => left(step.after) < left(step.before),
    }
}

fn is_late(step: &Step<'_>) -> bool {
    step.model.hours.is_some_and(|most| step.before.hour >= most)
}

fn waits_in_time(step: &Step<'_>) -> bool {
    let waits = verdict(step) == Some(&StopVerdict::LetGo(AllowReason::WorkersRun));
    let must_wait = verdict(step).is_some()
        && step.before.looped.is_running()
        && step.before.worker
        && !is_late(step);
    waits == must_wait
}

fn waits_for_free(step: &Step<'_>) -> bool {
    let (before, after) = (&step.before.looped, &step.after.looped);
    let same = before.iteration == after.iteration
        && before.stall_hashes == after.stall_hashes
        && before.progress.standing == after.progress.standing
        && before.progress.same_failure == after.progress.same_failure
        && before.progress.left_at == after.progress.left_at;
    verdict(step) != Some(&StopVerdict::LetGo(AllowReason::WorkersRun)) || same
}

fn is_within_budget(step: &Step<'_>) -> bool {
    let used = step.before.looped.usage.total();
    let spent = step.model.tokens.is_some_and(|most| used >= most);
    verdict(step) != Some(&StopVerdict::GoOn) || !(is_late(step) || spent)
}

fn is_proven(state: &State) -> bool {
    let noted = &state.noted;
    let all = noted.evidence.iter().all(|evidence| evidence.proves(state.tree));
    all && !noted.evidence.is_empty() && noted.text.0 == noted.text.1
}

fn complete_is_proven(step: &Step<'_>) -> bool {
    ended(step) != Some(EndingKind::Complete) || is_proven(step.after)
}

fn asks(step: &Step<'_>) -> bool {
    matches!(step.act, Act::Stop(Says::Token, ..))
}

fn only_asked_for(step: &Step<'_>) -> bool {
    let completes =
        matches!(ended(step), Some(EndingKind::Complete | EndingKind::CompleteUnverified));
    !completes || asks(step)
}

fn needs_proof(step: &Step<'_>) -> bool {
    use ralph_core::state::Completion;
    step.model.criteria > 0 && step.model.completion == Completion::Verified
}

fn unverified_by_rule(step: &Step<'_>) -> bool {
    ended(step) != Some(EndingKind::CompleteUnverified) || !needs_proof(step)
}

fn proof_is_granted(step: &Step<'_>) -> bool {
    use super::act::Checks;
    let looked = matches!(step.act, Act::Stop(Says::Token, Checks::Run(_), _));
    let waits = step.before.worker && !is_late(step);
    let rests = step.before.looped.blocked.is_some();
    let due = looked
        && step.before.looped.is_running()
        && needs_proof(step)
        && is_proven(step.after)
        && !waits
        && !rests;
    !due || ended(step) == Some(EndingKind::Complete)
}

fn ending_is_typed(step: &Step<'_>) -> bool {
    let Some(ending) = &step.after.looped.ending else { return true };
    let known = matches!(
        ending.kind,
        EndingKind::Complete
            | EndingKind::CompleteUnverified
            | EndingKind::MaxIterations
            | EndingKind::Stalled
            | EndingKind::Budget
            | EndingKind::Cancelled
    );
    let stall = ending.kind == EndingKind::Stalled;
    known && !ending.detail.is_empty() && stall == ending.cause.is_some()
}

fn pause_keeps_phase(step: &Step<'_>) -> bool {
    let after = &step.after.looped;
    let keeps = after.resume_phase.as_ref().is_some_and(Phase::is_running) && after.pause.is_some();
    let bare = after.resume_phase.is_none() && after.pause.is_none();
    if after.phase == Phase::Paused { keeps } else { bare }
}

fn blocked_is_true(step: &Step<'_>) -> bool {
    use ralph_core::state::TaskStatus;
    let ready = step.before.looped.task_graph.iter().any(|task| task.status == TaskStatus::Pending);
    let rests = verdict(step) == Some(&StopVerdict::LetGo(AllowReason::Blocked));
    !rests || (step.before.looped.blocked.is_some() && !ready)
}

fn only_a_person_weakens(step: &Step<'_>) -> bool {
    let by_a_person = matches!(step.act, Act::Accept | Act::ChangeCriterion);
    by_a_person || agreed(&step.before.looped) == agreed(&step.after.looped)
}

fn progress_is_no_stall(step: &Step<'_>) -> bool {
    let trees = &step.after.noted.trees;
    let moves =
        !trees.is_empty() && trees.iter().enumerate().all(|(at, tree)| !trees[..at].contains(tree));
    !moves || ended(step) != Some(EndingKind::Stalled)
}

/// How many stops in a row, up to the last, found what the one before had left.
fn still(trees: &[u8]) -> usize {
    trees.windows(2).rev().take_while(|pair| pair[0] == pair[1]).count()
}

fn goes_round(trees: &[u8], limit: usize) -> bool {
    (2..=8).any(|period| {
        let n_back = (period..trees.len()).rev().take_while(|at| trees[*at] == trees[at - period]);
        let n_back = n_back.count();
        let circle = &trees[trees.len().saturating_sub(period)..];
        n_back >= period && n_back + 1 >= limit && circle.iter().any(|tree| *tree != circle[0])
    })
}

fn stalls_in_time(step: &Step<'_>) -> bool {
    let trees = &step.after.noted.trees;
    let counted = matches!(verdict(step), Some(StopVerdict::GoOn))
        || ended(step) == Some(EndingKind::Stalled);
    if trees.is_empty() || !counted {
        return true;
    }
    let limit = step.model.stall_limit as usize;
    let (stands, circles) = (still(trees) >= limit, goes_round(trees, limit));
    let cause = step.after.looped.ending.as_ref().and_then(|ending| ending.cause.clone());
    match cause {
        Some(Signal::NoChange | Signal::Idle) => stands,
        Some(Signal::Cycle) => circles && !stands,
        Some(_) => false,
        None => !stands && !circles,
    }
}

fn is_decided_again(step: &Step<'_>) -> bool {
    step.decision.is_none_or(|decision| {
        decision.record.decide_again(mode::at_stop(&decision.record.before))
            == decision.record.outcome
    })
}
