//! When a shared loop ends by itself.

use super::record::End;
use super::text::Text;
use super::view::{TaskStanding, View};
use crate::state::EndingKind;

/// The end that is due: every task is merged, or no machine can continue.
pub fn ending(view: &View) -> Option<End> {
    if view.ledger.end.is_some() {
        return None;
    }
    let mut stuck = Vec::new();
    for (task, standing) in view.tasks() {
        match standing {
            TaskStanding::Merged => {}
            TaskStanding::GivenUp | TaskStanding::Waiting => stuck.push(task.id.as_str()),
            // A machine with a newer version may continue an unreadable task.
            TaskStanding::Ready
            | TaskStanding::Claimed { .. }
            | TaskStanding::Finished { .. }
            | TaskStanding::Unreadable(_) => return None,
        }
    }
    let end = |ending, reason: &str| Some(End { ending, reason: Text::new(reason) });
    if !stuck.is_empty() {
        let reason = format!("given up, or waiting for a task that is: {}", stuck.join(", "));
        return end(EndingKind::Stalled, &reason);
    }
    let ledger = &view.ledger;
    let criteria = ledger.plan.acceptance_criteria.iter().map(|one| one.id.as_str());
    let holds = |id: &str| ledger.receipts.iter().any(|one| one.criterion == id && one.holds);
    let red: Vec<&str> = criteria.filter(|id| !holds(id)).collect();
    match red.as_slice() {
        [] if ledger.plan.acceptance_criteria.is_empty() => {
            end(EndingKind::CompleteUnverified, "every task is merged")
        }
        [] => ledger.end_if_last.clone().or_else(|| {
            // Merged by a machine that compares nothing.
            end(
                EndingKind::Complete,
                "every task is merged and every criterion passes; not compared",
            )
        }),
        red => {
            let reason = format!("every task is merged, but not proven: {}", red.join(", "));
            end(EndingKind::Stalled, &reason)
        }
    }
}

#[cfg(test)]
mod tests;
