//! Records as commits, and references: what git keeps.

use super::{Shared, State};
use ralph_core::tasks::shared::names::Reference;
use ralph_core::tasks::shared::record::{LedgerRecord, Record};
use ralph_core::tasks::shared::text::{Name, ObjectId};
use ralph_core::tasks::shared::view::{Chain, Commit, Ledger, View};
use ralph_core::tasks::shared::work::Append;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Values of the references, as the numbers of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct References {
    /// The ledger's.
    pub ledger: u8,
    /// Each task's.
    pub tasks: [Option<u8>; 2],
}

/// A record, and what a reader makes of the chain up to it.
#[derive(Clone)]
pub struct Made {
    /// Its chain: a task, or the ledger.
    pub task: Option<usize>,
    /// The record before it.
    pub parent: Option<u8>,
    /// The commit.
    pub commit: Arc<Commit>,
    /// The state of the chain.
    pub after: After,
}

/// The state of a chain.
#[derive(Clone)]
pub enum After {
    /// Of the ledger.
    Ledger(Arc<Ledger>),
    /// Of a task.
    Task(Arc<Chain>),
}

impl PartialEq for Made {
    fn eq(&self, other: &Made) -> bool {
        self.parent == other.parent && self.task == other.task && self.commit == other.commit
    }
}

impl Hash for Made {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (self.task, self.parent, &self.commit.work).hash(hasher);
        // The plan is the same in every state.
        if self.parent.is_some() || self.task.is_some() {
            self.commit.message.hash(hasher);
        }
    }
}

impl fmt::Debug for Made {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{} after {:?}", self.commit.message.lines().next().unwrap_or(""), self.parent)
    }
}

/// The name of an object.
pub(super) fn id(number: usize) -> ObjectId {
    ObjectId::try_from(format!("{number:040x}")).expect("forty digits")
}

/// The record with this name.
pub(super) fn number(id: &ObjectId) -> u8 {
    u8::from_str_radix(&id.as_str()[32..], 16).expect("a record's number")
}

impl Made {
    /// The first record.
    pub fn plan(model: &Shared) -> Made {
        let kind = LedgerRecord::Plan(Box::new(model.plan()));
        let record = Record::new(Name::new("0"), model.machine(0), kind);
        let commit =
            Commit { id: id(0), parent: None, work: Some(id(900)), message: record.message(false) };
        let ledger = Ledger::read(std::slice::from_ref(&commit)).expect("a plan");
        Made {
            task: None,
            parent: None,
            commit: commit.into(),
            after: After::Ledger(ledger.into()),
        }
    }
}

impl State {
    /// Stores a record; the same bytes are the same record.
    pub fn store(&mut self, model: &Shared, append: Append) -> u8 {
        let same = self.made.iter().position(|made| {
            made.commit.message == append.message
                && made.commit.parent == append.parent
                && made.commit.work == append.work
        });
        if let Some(same) = same {
            return u8::try_from(same).expect("few records");
        }
        let place = self.made.len();
        let commit = Commit {
            id: id(place),
            parent: append.parent,
            work: append.work,
            message: append.message,
        };
        let commits = std::slice::from_ref(&commit);
        let parent = commit.parent.as_ref().map(number);
        let task = match model.space().parse(&append.reference) {
            Some(Reference::Task(task)) => task.strip_prefix("T-").and_then(|at| at.parse().ok()),
            _ => None,
        };
        let before = parent.map(|parent| self.made[usize::from(parent)].after.clone());
        let after = match (before, task) {
            (Some(After::Ledger(ledger)), _) => {
                let mut ledger = Ledger::clone(&ledger);
                ledger.extend(commits).expect("records of this version");
                After::Ledger(ledger.into())
            }
            (before, _) => {
                let mut chain = match before {
                    Some(After::Task(chain)) => Chain::clone(&chain),
                    _ => Chain::default(),
                };
                chain.extend(commits).expect("records of this version");
                After::Task(chain.into())
            }
        };
        self.made.push(Made { task, parent, commit: commit.into(), after });
        u8::try_from(place).expect("few records")
    }

    /// What a machine that has read these references knows.
    pub fn view(&self, seen: &References) -> View {
        let chains = seen.tasks.iter().enumerate().filter_map(|(task, tip)| {
            let chain = self.chain((*tip)?)?;
            Some((format!("T-{task}"), Ok(Chain::clone(chain))))
        });
        View { chains: chains.collect(), ..View::new(Ledger::clone(self.ledger(seen))) }
    }

    /// The ledger at these references.
    pub fn ledger(&self, seen: &References) -> &Ledger {
        match &self.made[usize::from(seen.ledger)].after {
            After::Ledger(ledger) => ledger,
            After::Task(_) => unreachable!("the ledger has no tasks' records"),
        }
    }

    /// The chain of a task up to this record.
    pub fn chain(&self, tip: u8) -> Option<&Chain> {
        match &self.made[usize::from(tip)].after {
            After::Task(chain) => Some(chain),
            After::Ledger(_) => None,
        }
    }

    /// The commits of the reference that this record is for, in what a machine has read.
    pub fn ids(&self, seen: &References, record: u8) -> &[ObjectId] {
        match self.made[usize::from(record)].task {
            None => &self.ledger(seen).ids,
            Some(task) => {
                seen.tasks[task].and_then(|tip| self.chain(tip)).map_or(&[], |chain| &chain.ids)
            }
        }
    }
}

impl References {
    /// The value of the reference of a chain.
    pub fn get(&self, task: Option<usize>) -> Option<u8> {
        task.map_or(Some(self.ledger), |task| self.tasks[task])
    }

    /// Moves it.
    pub fn set(&mut self, task: Option<usize>, record: u8) {
        match task {
            None => self.ledger = record,
            Some(task) => self.tasks[task] = Some(record),
        }
    }
}
