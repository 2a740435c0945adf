//! Reads the commits of a reference in order, and the chain of a task.
//!
//! A chain only grows: a reader that already knows a part of it refuses commits that do not continue
//! that part, because somebody has then replaced the reference by force. A malformed record counts as
//! none: whoever may push could otherwise end the loop for all by one.

use super::record::{Kind, Record, TaskRecord, Unreadable};
use super::text::{Name, ObjectId, Text};
use std::fmt;

/// A commit as git shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Commit {
    pub id: ObjectId,
    /// The first parent: the record before this one.
    pub parent: Option<ObjectId>,
    /// The second parent: the work, or the tip of the branch.
    pub work: Option<ObjectId>,
    pub message: String,
}

/// Why a chain is left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChainError {
    /// The commits do not continue the chain that was read before.
    Replaced,
    Unreadable(Unreadable),
}

impl fmt::Display for ChainError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChainError::Replaced => to.write_str(
                "somebody replaced records that this machine has read; \
                 compare the reference with another clone's",
            ),
            ChainError::Unreadable(why) => why.fmt(to),
        }
    }
}

impl std::error::Error for ChainError {}

/// The malformed records of a chain.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Skipped {
    pub count: usize,
    /// The first of them, with its flaw.
    pub first: Option<(ObjectId, String)>,
}

impl Skipped {
    fn add(&mut self, commit: &Commit, why: String) {
        self.count += 1;
        self.first.get_or_insert_with(|| (commit.id.clone(), why));
    }
}

/// The records of a chain, oldest first, as far as they continue `ids`. Each record is applied
/// before the next one is read, so that everything before an error counts.
pub(super) fn extend<K: Kind>(
    ids: &mut Vec<ObjectId>,
    skipped: &mut Skipped,
    commits: &[Commit],
    mut apply: impl FnMut(Record<K>, &Commit) -> Result<(), Unreadable>,
) -> Result<(), ChainError> {
    for commit in commits {
        if commit.parent.as_ref() != ids.last() {
            return Err(ChainError::Replaced);
        }
        let read = Record::parse(&commit.message).and_then(|record| apply(record, commit));
        match read {
            Err(Unreadable::Malformed(why)) => skipped.add(commit, why),
            read => read.map_err(ChainError::Unreadable)?,
        }
        ids.push(commit.id.clone());
    }
    Ok(())
}

/// The chain of a task.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Chain {
    /// The commits, oldest first.
    pub ids: Vec<ObjectId>,
    pub state: ChainState,
    /// How many times a holder gave the task up.
    pub releases: u32,
    /// The last reason for that.
    pub reason: Option<Text>,
    pub skipped: Skipped,
}

/// What the chain alone says about the task.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ChainState {
    #[default]
    Released,
    Claimed {
        machine: Name,
        worker: Name,
    },
    Finished {
        machine: Name,
        finish: ObjectId,
        work: ObjectId,
    },
}

impl Chain {
    /// Reads the next commits.
    ///
    /// # Errors
    /// If they do not continue the chain, or a newer version wrote one of them.
    pub fn extend(&mut self, commits: &[Commit]) -> Result<(), ChainError> {
        let Chain { ids, state, releases, reason, skipped } = self;
        extend(ids, skipped, commits, |record: Record<TaskRecord>, commit| {
            let machine = record.machine;
            match record.kind {
                TaskRecord::Claim { worker } => *state = ChainState::Claimed { machine, worker },
                // Only the holder finishes or releases. Nothing else follows from a record of
                // another machine, except that the tip moves.
                TaskRecord::Finish if state.is_held_by(&machine) => {
                    let work = commit.work.clone().ok_or_else(|| {
                        Unreadable::Malformed("a finish has no second parent".to_owned())
                    })?;
                    *state = ChainState::Finished { machine, finish: commit.id.clone(), work };
                }
                TaskRecord::Released { reason: given } if state.is_held_by(&machine) => {
                    *state = ChainState::Released;
                    *releases += 1;
                    *reason = Some(given);
                }
                TaskRecord::Finish | TaskRecord::Released { .. } => {}
            }
            Ok(())
        })
    }

    pub fn tip(&self) -> Option<&ObjectId> {
        self.ids.last()
    }
}

impl ChainState {
    fn is_held_by(&self, by: &Name) -> bool {
        matches!(self, ChainState::Claimed { machine, .. } if machine == by)
    }
}

#[cfg(test)]
mod tests;
