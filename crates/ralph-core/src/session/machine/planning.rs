//! INITIALIZING and PLANNING: a plan, what it leaves open, and its tasks.

use super::super::agents::Mode;
use super::super::change::Change;
use super::super::progress::{Entry, Status};
use super::super::state::State;
use super::give::give;
use super::step::Act;
use super::{Turn, View};

/// The planner lays the session out, until it says that it has.
pub(super) fn initializing(view: &View<'_>) -> Turn {
    let is_done = view
        .progress
        .planning(1)
        .any(|entry| entry.id == "plan-init" && entry.status == Status::Done);
    if is_done {
        return Turn::Move(vec![view.enter(State::Planning)]);
    }
    let call = view.call(Mode::Initialize).with("USER_REQUEST", &view.seen.request).in_iteration();
    invoke(view, call)
}

fn invoke(view: &View<'_>, call: super::Invocation) -> Turn {
    let nothing =
        || Act::Failed(format!("could not call `{}`; ask again", Mode::Initialize.agent()));
    Turn::Act(give(view, vec![call], 1).unwrap_or_else(nothing))
}

/// Questions and answers in cycles, and then the tasks.
pub(super) fn planning(view: &View<'_>) -> Turn {
    let heard = match view.listen(State::Planning) {
        Ok(heard) => heard,
        Err(turn) => return turn,
    };
    let entries: Vec<&Entry> = view.progress.planning(view.iteration).collect();
    if entries.iter().any(|entry| entry.id == "plan-init" && !entry.status.is_settled()) {
        return initializing(view);
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
            let note = format!("cycle {cycle}, skipped: planning.max_cycles is {most}");
            return Turn::Move(vec![Change::MarkPlanning {
                iteration: view.iteration,
                line: entry.line,
                status: Status::Cancelled,
                note: Some(note),
            }]);
        }
        let call = view.call(mode).cycle(cycle).in_iteration().with("SIGNAL", &heard.told);
        return view.told(invoke(view, call), heard);
    }
    let breakdown = entries.iter().find(|entry| entry.id == "plan-breakdown");
    let is_broken_down =
        breakdown.map_or(!view.picture.tasks.is_empty(), |entry| entry.status.is_settled());
    if !is_broken_down {
        let call = view.call(Mode::TaskBreakdown).in_iteration().with("SIGNAL", &heard.told);
        return view.told(invoke(view, call), heard);
    }
    if view.picture.tasks.is_empty() && view.progress.tasks().is_empty() {
        let why = "planning ended without a task; set `plan-breakdown` in `progress.md` to `[ ]` to have \
                   the plan broken into tasks again";
        return Turn::Act(Act::Failed(why.to_owned()));
    }
    let mut changes = vec![
        Change::Row { iteration: view.iteration, status: "Executing" },
        view.enter(State::Batching),
    ];
    changes.extend(super::batches::missing_entries(view));
    changes.push(Change::Planned(view.iteration));
    Turn::Move(changes)
}

/// Which cycle an entry is: the one it names, else one more than there are of its kind before it.
pub(super) fn cycle(entries: &[&Entry], at: usize) -> u32 {
    let before = entries[..at].iter().filter(|other| other.id == entries[at].id).count();
    let by_place = u32::try_from(before + 1).unwrap_or(u32::MAX);
    entries[at].cycle().filter(|cycle| *cycle > 0).unwrap_or(by_place)
}
