//! Which of the wanted calls can be made now.
//!
//! A call in progress is not made again, and a failed call waits as long as [`Recovery`] requires.
//! A call that is given up leads to the splitting of its task, or to the end.

use super::super::agents::Mode;
use super::super::invocation::{CallKey, Invocation};
use super::super::recovery::Recovery;
use super::View;
use super::step::Act;
use jiff::Timestamp;

/// The most tasks of an iteration that are split. Without this limit, a planner whose small tasks
/// fail like the large ones would split tasks forever.
const MOST_SPLITS: usize = 8;

/// The calls that can be made, up to the limit, or else what to wait for. `None` if no call was
/// wanted.
pub(super) fn give(view: &View<'_>, wanted: Vec<Invocation>, limit: usize) -> Option<Act> {
    let is_running = |key: &CallKey| {
        let running = view.seen.running.as_deref().unwrap_or_default();
        running.iter().any(|one| one.key == *key)
    };
    let (mut ready, mut busy, mut until) = (Vec::new(), false, None::<Timestamp>);
    for call in wanted {
        let call = match recovery(view, &call) {
            Recovery::GiveUp if may_be_split(&call) => {
                let splits = view.seen.tries.met(|key| {
                    key.mode == Mode::RebreakdownTask && key.iteration == view.iteration
                });
                if splits >= MOST_SPLITS {
                    return Some(Act::Failed(given_up(&call)));
                }
                split(view, &call)
            }
            _ => call,
        };
        if is_running(&call.key) {
            busy = true;
            continue;
        }
        match recovery(view, &call) {
            Recovery::Again => ready.push(call),
            Recovery::NotBefore(moment) => {
                until = Some(until.map_or(moment, |other| other.min(moment)));
            }
            Recovery::GiveUp => return Some(Act::Failed(given_up(&call))),
        }
    }
    if !ready.is_empty() && limit > 0 {
        ready.truncate(limit);
        return Some(Act::Invoke(ready));
    }
    if !ready.is_empty() || busy {
        let why = "for a running call".to_owned();
        return Some(Act::Wait { until, why });
    }
    until.map(|moment| Act::Wait { until: Some(moment), why: "before the next attempt".to_owned() })
}

fn recovery(view: &View<'_>, call: &Invocation) -> Recovery {
    view.seen.tries.recovery(&call.key, view.now)
}

fn may_be_split(call: &Invocation) -> bool {
    !call.key.task.is_empty() && call.mode != Mode::RebreakdownTask
}

fn split(view: &View<'_>, call: &Invocation) -> Invocation {
    let reason = format!("`{}` timed out or failed repeatedly", call.agent());
    view.call(Mode::RebreakdownTask).task(&call.key.task).with("REASON", &reason).in_iteration()
}

fn given_up(call: &Invocation) -> String {
    let about = match call.key.task.as_str() {
        "" => String::new(),
        task => format!(" for {task}"),
    };
    format!(
        "could not carry out {}{about}: `{}` timed out or failed repeatedly; reduce the scope of \
         the task, then continue",
        call.mode,
        call.agent()
    )
}
