//! What a stop needs to know of the tasks, found out once for the same text of them.

use super::{Graph, TaskReadiness};
use crate::state::{Task, TaskDigest, TaskList, TaskStatus};
use jiff::Timestamp;
use std::borrow::Cow;
use xxhash_rust::xxh3::Xxh3Default;

/// How the tasks stand.
pub fn digest(tasks: &TaskList, now: Timestamp) -> Cow<'_, TaskDigest> {
    let known = tasks.digest(|tasks| make(tasks, now));
    match known.holds_at(now) {
        true => Cow::Borrowed(known),
        false => Cow::Owned(make(tasks, now)),
    }
}

fn make(tasks: &[Task], now: Timestamp) -> TaskDigest {
    let graph = Graph::new(tasks, now);
    let claimed = tasks.iter().filter(|task| graph.standing(task) == TaskReadiness::InProgress);
    TaskDigest {
        from: now,
        until: claimed.filter_map(|task| task.lease_expires_at).min(),
        summary: graph.summary(),
        current: graph.current().cloned(),
        work: work(tasks),
    }
}

fn work(tasks: &[Task]) -> String {
    let mut hash = Xxh3Default::new();
    let mut add = |part: &str| {
        hash.update(part.as_bytes());
        hash.update(&[0]);
    };
    for task in tasks {
        add(&task.id);
        add(task.status.as_str());
        // The result of an open task is a note from its last owner, not a result.
        let is_open = matches!(task.status, TaskStatus::Pending | TaskStatus::InProgress);
        add(task.result.as_deref().filter(|_| !is_open).unwrap_or(""));
    }
    format!("{:032x}", hash.digest128())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn one(id: &str, status: TaskStatus, lease: Option<i64>) -> Task {
        Task { id: id.to_owned(), status, lease_expires_at: lease.map(at), ..Task::default() }
    }

    #[test]
    fn a_digest_holds_until_the_next_claim_expires() {
        let claimed = |id, lease| one(id, TaskStatus::InProgress, lease);
        let tasks: TaskList =
            vec![claimed("T-1", Some(50)), claimed("T-2", None), claimed("T-3", Some(30))].into();
        let current = |now| {
            let digest = digest(&tasks, at(now));
            let id = digest.current.as_ref().map(|task| task.id.clone());
            (id.unwrap(), digest.summary.in_progress, digest.until)
        };
        assert_eq!(current(10), ("T-1".to_owned(), 3, Some(at(30))));
        assert_eq!(current(30), ("T-1".to_owned(), 2, Some(at(50))));
        assert_eq!(current(50), ("T-2".to_owned(), 1, None));
        // A clock that was set back.
        assert_eq!(current(5).1, 3);
    }

    #[test]
    fn the_work_is_what_was_done_and_no_note_of_open_work() {
        let noted = |status, note: &str| {
            work(&[Task { result: Some(note.to_owned()), ..one("T-1", status, None) }])
        };
        assert_eq!(noted(TaskStatus::Pending, "a"), noted(TaskStatus::Pending, "b"));
        assert_ne!(noted(TaskStatus::Done, "a"), noted(TaskStatus::Done, "b"));
        assert_ne!(noted(TaskStatus::Done, "a"), noted(TaskStatus::Failed, "a"));
    }
}
