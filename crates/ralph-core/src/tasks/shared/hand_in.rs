//! Which records one push carries.
//!
//! A push may name several references. The server decides about each of them alone, and each has a
//! result of its own: a lost claim does not affect the finish.

use super::names::{Namespace, Reference};
use super::next_task::Next;
use super::record::{Kind, Record, TaskRecord};
use super::text::{Name, ObjectId};
use serde::{Deserialize, Serialize};

/// A record that is ready to be stored and pushed: a commit on the empty tree. The push expects the
/// reference at `parent`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Append {
    /// The full name.
    pub reference: String,
    /// The first parent, and the value that the push expects; `None` if the reference must not exist.
    pub parent: Option<ObjectId>,
    /// The second parent.
    pub work: Option<ObjectId>,
    pub message: String,
}

impl Append {
    /// A record after `parent` on a reference.
    pub fn new<K: Kind>(
        space: &Namespace,
        reference: &Reference,
        parent: Option<&ObjectId>,
        work: Option<&ObjectId>,
        record: &Record<K>,
    ) -> Append {
        Append {
            reference: space.name(reference),
            parent: parent.cloned(),
            work: work.cloned(),
            message: record.message(space.is_below_heads()),
        }
    }
}

/// A worker's finished task.
#[derive(Debug, Clone, Copy)]
pub struct Done<'a> {
    pub task: &'a str,
    /// The worker's claim.
    pub claim: &'a ObjectId,
    pub work: &'a ObjectId,
}

/// The finish of the task that a worker has done, and the claim of its next one. Each record needs a
/// nonce of its own.
pub fn hand_in(
    space: &Namespace,
    machine: &Name,
    worker: &Name,
    done: Option<Done<'_>>,
    next: &Next,
    mut nonce: impl FnMut() -> Name,
) -> Vec<Append> {
    let mut record = |kind| Record::new(nonce(), machine.clone(), kind);
    let task = |id: &str| Reference::Task(id.to_owned());
    let finish = done.map(|done| {
        let record = record(TaskRecord::Finish);
        Append::new(space, &task(done.task), Some(done.claim), Some(done.work), &record)
    });
    let claim = match next {
        // The finish and a claim of the same task would be two values of one reference.
        Next::Claim { task: id, expected } if done.is_none_or(|done| done.task != id) => {
            let record = record(TaskRecord::Claim { worker: worker.clone() });
            Some(Append::new(space, &task(id), expected.as_ref(), None, &record))
        }
        _ => None,
    };
    finish.into_iter().chain(claim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::shared::fixture::{id, name};

    #[test]
    fn one_push_carries_a_finish_and_the_next_claim() {
        let space = Namespace::new(&name("l"), true);
        let mut n = 0;
        let mut push = |done, next: &Next| {
            hand_in(&space, &name("a"), &name("1"), done, next, || {
                n += 1;
                name(&format!("n{n}"))
            })
        };
        let done = Done { task: "T-1", claim: &id(1), work: &id(2) };
        let next = Next::Claim { task: "T-2".to_owned(), expected: Some(id(3)) };
        let both = push(Some(done), &next);
        let parents: Vec<_> =
            both.iter().map(|one| (one.parent.clone(), one.work.clone())).collect();
        assert_eq!(parents, [(Some(id(1)), Some(id(2))), (Some(id(3)), None)]);
        assert_eq!(both[0].reference, "refs/heads/ralph/shared/l/t/T-1");
        assert_eq!(
            both[1].message,
            "Claim for worker 1 by a [skip ci]\n\n\
             {\"schema\":1,\"nonce\":\"n2\",\"machine\":\"a\",\"kind\":\"claim\",\"worker\":\"1\"}\n"
        );
        assert_eq!(push(Some(done), &Next::Wait).len(), 1);
        assert_eq!(push(None, &next).len(), 1);
        let same = Next::Claim { task: "T-1".to_owned(), expected: None };
        assert_eq!(push(Some(done), &same).len(), 1, "one reference, one value");
    }
}
