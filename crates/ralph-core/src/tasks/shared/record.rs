//! The records, and the message of the commit that carries one.
//!
//! The first line of a message is for people who look at the reference; the JSON after it counts.
//! The nonce makes every record unique: git compares no old value where the new one is already
//! there, so two machines that push identical commits would both win.

use super::plan::Plan;
use super::text::{Name, ObjectId, Text};
use crate::state::EndingKind;
use crate::text::plural::noun;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The schema version that this code writes, and the newest that it reads. A new kind of record needs a new
/// one: a record that cannot be read counts as none.
pub const SCHEMA: u32 = 1;

/// The longest message: a plan with ten thousand tasks is smaller.
pub const LONGEST_MESSAGE: usize = 16 << 20;

/// The longest lease of an integrator, in seconds.
pub const LONGEST_LEASE: u64 = 24 * 60 * 60;

/// Finishes in one verdict.
pub const LARGEST_BATCH: usize = 16;

/// One record of a chain; `K` lists the kinds of that chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record<K> {
    pub schema: u32,
    pub nonce: Name,
    /// The machine that wrote the record.
    pub machine: Name,
    #[serde(flatten)]
    pub kind: K,
}

/// The records of the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LedgerRecord {
    /// The first record. The commit's second parent is the commit that the work starts from.
    Plan(Box<Plan>),
    /// Takes or renews the integrator's lease; 0 seconds give it back.
    Integrator {
        lease_seconds: u64,
    },
    /// The integrator's decision about finished work.
    Verdict(Verdict),
    Pause {
        reason: Text,
    },
    Resume,
    Cancel {
        reason: Text,
    },
    /// A message of the user to every machine.
    Signal {
        /// True if the message only informs; otherwise it changes the work from then on.
        #[serde(default, skip_serializing_if = "is_false")]
        info: bool,
        text: Text,
    },
    End(End),
}

/// The integrator's decision. It holds what changed, not the whole state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// The branch contains these finishes. The commit's second parent is the tip of the branch.
    Merged {
        /// Empty if only a commit of a person on the branch was merged.
        finishes: Vec<Finish>,
        /// The tree id of the merged work.
        tree: ObjectId,
        /// Each criterion on this tree.
        receipts: Vec<CriterionReceipt>,
        /// How the loop ends if nothing follows: what the criteria are worth, compared with the commit that the work
        /// started from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        end: Option<End>,
    },
    /// The task is open again.
    Returned {
        #[serde(flatten)]
        finish: Finish,
        reason: Text,
    },
}

/// A finish record, as a verdict names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Finish {
    pub task: String,
    /// The commit of the finish record.
    pub finish: ObjectId,
}

/// The result of one criterion on a verdict's tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriterionReceipt {
    pub criterion: String,
    pub holds: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests_run: Option<u64>,
}

/// How the loop ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    pub ending: EndingKind,
    pub reason: Text,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// The records of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TaskRecord {
    Claim {
        worker: Name,
    },
    /// The work is done. The commit's second parent is the work.
    Finish,
    /// The holder gives the task up without work.
    Released {
        reason: Text,
    },
}

/// The records of a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum MachineRecord {
    /// Renews every claim of the machine.
    Renewal,
}

/// A list of kinds: what the first line says, and the bounds that types cannot express.
pub trait Kind: Serialize + DeserializeOwned {
    /// The record in a few words.
    fn subject(&self) -> String;

    /// The bound that is exceeded.
    fn flaw(&self) -> Option<String> {
        None
    }
}

/// Why a record cannot be read. Ralph neither interprets its chain nor adds to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreadable {
    /// A newer version of Ralph wrote the record.
    Newer {
        schema: u32,
    },
    Malformed(String),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreadable::Newer { schema } => write!(
                to,
                "a record has schema {schema}, and this version of Ralph reads up to {SCHEMA}; \
                 update Ralph on this machine"
            ),
            Unreadable::Malformed(why) => write!(to, "a record cannot be read: {why}"),
        }
    }
}

impl<K: Kind> Record<K> {
    /// A record of this version.
    pub fn new(nonce: Name, machine: Name, kind: K) -> Record<K> {
        Record { schema: SCHEMA, nonce, machine, kind }
    }

    /// The message of the commit. Below `refs/heads/`, the first line keeps CI systems from starting.
    pub fn message(&self, below_heads: bool) -> String {
        let json = serde_json::to_string(self).unwrap_or_default();
        let skip = if below_heads { " [skip ci]" } else { "" };
        format!("{} by {}{skip}\n\n{json}\n", self.kind.subject(), self.machine)
    }

    /// Reads a message. Members that this version does not know are ignored.
    pub fn parse(message: &str) -> Result<Record<K>, Unreadable> {
        #[derive(Deserialize)]
        struct Version {
            schema: u32,
        }
        let malformed = |why: &dyn fmt::Display| Unreadable::Malformed(cut(why));
        if message.len() > LONGEST_MESSAGE {
            return Err(malformed(&"it is too long"));
        }
        let (_, json) = message.split_once("\n\n").ok_or_else(|| malformed(&"it has no JSON"))?;
        let Version { schema } = serde_json::from_str(json).map_err(|error| malformed(&error))?;
        if schema > SCHEMA {
            return Err(Unreadable::Newer { schema });
        }
        let record: Record<K> = serde_json::from_str(json).map_err(|error| malformed(&error))?;
        match record.kind.flaw() {
            None => Ok(record),
            Some(flaw) => Err(malformed(&flaw)),
        }
    }
}

/// A parser's error may quote the record.
fn cut(why: &dyn fmt::Display) -> String {
    use crate::text::{sanitize, truncate};
    truncate::bounded(&sanitize::plain(&why.to_string()), 200)
}

fn tasks(n: usize) -> String {
    format!("{n} {}", noun(n, "task", "tasks"))
}

impl Kind for LedgerRecord {
    fn subject(&self) -> String {
        match self {
            LedgerRecord::Plan(plan) => format!("Plan of {}", tasks(plan.task_graph.len())),
            LedgerRecord::Integrator { lease_seconds: 0 } => "Integrator's lease back".to_owned(),
            LedgerRecord::Integrator { .. } => "Integrator's lease".to_owned(),
            LedgerRecord::Verdict(Verdict::Merged { finishes, .. }) => {
                format!("Merge of {}", tasks(finishes.len()))
            }
            LedgerRecord::Verdict(Verdict::Returned { .. }) => "Return of a task".to_owned(),
            LedgerRecord::Pause { .. } => "Pause".to_owned(),
            LedgerRecord::Resume => "Resume".to_owned(),
            LedgerRecord::Cancel { .. } => "Cancel".to_owned(),
            LedgerRecord::Signal { .. } => "Signal".to_owned(),
            LedgerRecord::End(_) => "End".to_owned(),
        }
    }

    fn flaw(&self) -> Option<String> {
        let long = |id: &str| id.is_empty() || id.len() > super::names::LONGEST_COMPONENT;
        let flaw = match self {
            LedgerRecord::Plan(plan) => return plan.flaw(),
            LedgerRecord::Integrator { lease_seconds } if *lease_seconds > LONGEST_LEASE => {
                "a lease is too long"
            }
            LedgerRecord::Verdict(Verdict::Merged { finishes, .. })
                if finishes.len() > LARGEST_BATCH =>
            {
                "a verdict names too many tasks"
            }
            LedgerRecord::Verdict(Verdict::Merged { finishes, receipts, .. })
                if finishes.iter().any(|one| long(&one.task))
                    || receipts.iter().any(|one| long(&one.criterion)) =>
            {
                "an id is empty or too long"
            }
            LedgerRecord::Verdict(Verdict::Returned { finish, .. }) if long(&finish.task) => {
                "an id is empty or too long"
            }
            LedgerRecord::End(end)
            | LedgerRecord::Verdict(Verdict::Merged { end: Some(end), .. })
                if long(end.ending.as_str()) =>
            {
                "an ending is too long"
            }
            _ => return None,
        };
        Some(flaw.to_owned())
    }
}

impl Kind for TaskRecord {
    fn subject(&self) -> String {
        match self {
            TaskRecord::Claim { worker } => format!("Claim for worker {worker}"),
            TaskRecord::Finish => "Finish".to_owned(),
            TaskRecord::Released { .. } => "Release".to_owned(),
        }
    }
}

impl Kind for MachineRecord {
    fn subject(&self) -> String {
        "Renewal".to_owned()
    }
}

#[cfg(test)]
mod tests;
