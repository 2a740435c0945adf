//! INITIALIZING and PLANNING: a plan, its open questions, and its tasks.

use super::super::agents::Mode;
use super::super::change::RouterWrite;
use super::super::progress::{TaskEntry, TaskMark, cycle};
use super::super::state::State;
use super::give::give;
use super::step::Act;
use super::{MachineTurn, View};

/// Calls the planner to set up the orchestration until it reports that it has.
pub(super) fn initializing(view: &View<'_>) -> MachineTurn {
    let is_done = view
        .progress
        .planning(1)
        .any(|entry| entry.id == "plan-init" && entry.status == TaskMark::Done);
    if is_done {
        return MachineTurn::Move(vec![view.enter(State::Planning)]);
    }
    lay_out(view)
}

fn lay_out(view: &View<'_>) -> MachineTurn {
    let call = view.call(Mode::Initialize).with("USER_REQUEST", &view.seen.request).in_iteration();
    invoke(view, call)
}

fn invoke(view: &View<'_>, call: super::Invocation) -> MachineTurn {
    let nothing =
        || Act::Failed(format!("could not call `{}`; ask again", Mode::Initialize.agent()));
    MachineTurn::Act(give(view, vec![call], 1).unwrap_or_else(nothing))
}

/// Runs question cycles, then the breakdown into tasks.
pub(super) fn planning(view: &View<'_>) -> MachineTurn {
    let heard = view.listen(State::Planning);
    let entries: Vec<&TaskEntry> = view.progress.planning(view.iteration).collect();
    // Check only these entries: INITIALIZING checks those of the first iteration, and might return
    // here.
    if stands(&entries, "plan-init") == Some(false) {
        return lay_out(view);
    }
    for (at, entry) in entries.iter().enumerate().filter(|(_, entry)| !entry.status.is_settled()) {
        let mode = match entry.id.as_str() {
            "plan-brainstorm" => Mode::Brainstorm,
            "plan-research" => Mode::Research,
            _ => continue,
        };
        let cycle = cycle(&entries, at);
        let most = view.picture.rails.max_cycles;
        if cycle > most {
            return MachineTurn::Move(too_many(view, &entries));
        }
        let call = view.call(mode).cycle(cycle).in_iteration().with("SIGNAL", &heard.told);
        return invoke(view, call);
    }
    let is_broken_down =
        stands(&entries, "plan-breakdown").unwrap_or(!view.picture.tasks.is_empty());
    if !is_broken_down {
        let call = view.call(Mode::TaskBreakdown).in_iteration().with("SIGNAL", &heard.told);
        return invoke(view, call);
    }
    if view.picture.tasks.is_empty() && view.progress.tasks().is_empty() {
        let why = "planning ended without a task; set `plan-breakdown` in `progress.md` to `[ ]` \
             to break the plan into tasks again";
        return MachineTurn::Act(Act::Failed(why.to_owned()));
    }
    let mut changes = vec![
        RouterWrite::Row { iteration: view.iteration, status: "Executing" },
        view.enter(State::Batching),
    ];
    changes.extend(super::batches::missing_entries(view));
    changes.push(RouterWrite::Planned(view.iteration));
    MachineTurn::Move(changes)
}

/// Whether a planning task is settled; one settled entry of several is enough. `None` if there is
/// no entry.
fn stands(entries: &[&TaskEntry], id: &str) -> Option<bool> {
    let mut of_kind = entries.iter().filter(|entry| entry.id == id).peekable();
    of_kind.peek()?;
    Some(of_kind.any(|entry| entry.status.is_settled()))
}

/// Skips all question cycles beyond the limit at once: one by one, they could exceed the limit of
/// moves.
fn too_many(view: &View<'_>, entries: &[&TaskEntry]) -> Vec<RouterWrite> {
    let most = view.picture.rails.max_cycles;
    let asks = |entry: &TaskEntry| matches!(entry.id.as_str(), "plan-brainstorm" | "plan-research");
    let open =
        entries.iter().enumerate().filter(|(_, entry)| !entry.status.is_settled() && asks(entry));
    open.map(|(at, _)| (cycle(entries, at), at))
        .filter(|(cycle, _)| *cycle > most)
        .map(|(cycle, at)| RouterWrite::MarkPlanning {
            iteration: view.iteration,
            at,
            status: TaskMark::Cancelled,
            note: Some(format!("cycle {cycle}, skipped: planning.max_cycles is {most}")),
        })
        .collect()
}
