//! Tasks that stay in a graph although the planner's lines do not name them.

use super::super::{Graph, TaskReadiness};
use super::TaskLine;
use crate::state::Task;
use jiff::Timestamp;
use std::collections::{HashMap, HashSet};
use std::fmt;

/// Why a task that no line names stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stays {
    /// Done: other tasks start from its result.
    Done,
    /// Claimed by a worker.
    Claimed {
        owner: String,
        /// When the lease expires, if it does.
        until: Option<Timestamp>,
    },
    /// A status that this version does not know.
    Unknown { status: String },
    /// A task that stays depends on it.
    Needed {
        /// The id of that task.
        by: String,
    },
}

impl fmt::Display for Stays {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stays::Done => to.write_str("done"),
            Stays::Claimed { owner, until: Some(until) } => {
                write!(to, "claimed by {owner} until {until}")
            }
            Stays::Claimed { owner, until: None } => write!(to, "claimed by {owner}"),
            Stays::Unknown { status } => write!(to, "its status `{status}` is not known here"),
            Stays::Needed { by } => write!(to, "{by} depends on it"),
        }
    }
}

/// The positions of the tasks that stay although no line names them. If two tasks have the same id,
/// a line names the first one.
pub(super) fn without_line(before: &Graph, lines: &[TaskLine]) -> HashMap<usize, Stays> {
    let named: HashSet<usize> =
        lines.iter().filter_map(|line| before.place(&line.task.id)).collect();
    let mut stays = HashMap::new();
    let mut open = Vec::new();
    for (place, task) in before.tasks.iter().enumerate() {
        if let Some(why) = by_itself(before, task).filter(|_| !named.contains(&place)) {
            stays.insert(place, why);
            open.push(place);
        }
    }
    while let Some(place) = open.pop() {
        let task = &before.tasks[place];
        for needed in task.deps.iter().filter_map(|id| before.place(id)) {
            if !named.contains(&needed) && !stays.contains_key(&needed) {
                stays.insert(needed, Stays::Needed { by: task.id.clone() });
                open.push(needed);
            }
        }
    }
    stays
}

fn by_itself(before: &Graph, task: &Task) -> Option<Stays> {
    match before.standing(task) {
        TaskReadiness::Done => Some(Stays::Done),
        TaskReadiness::InProgress => Some(Stays::Claimed {
            owner: task.owner.clone().unwrap_or_else(|| "someone".to_owned()),
            until: task.lease_expires_at,
        }),
        TaskReadiness::Unknown => Some(Stays::Unknown { status: task.status.to_string() }),
        TaskReadiness::Ready
        | TaskReadiness::Waiting
        | TaskReadiness::Failed
        | TaskReadiness::Blocked => None,
    }
}
