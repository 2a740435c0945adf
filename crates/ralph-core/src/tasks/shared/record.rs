//! The records, and the message of the commit that carries one.
//!
//! The first line of a message is for people who look at the reference; the JSON after it counts.
//! The nonce makes every record unique: git compares no old value where the new one is already
//! there, so two machines that push identical commits would both win.

use super::names::{LONGEST_COMPONENT, component};
use super::text::{Name, ObjectId, Text};
use crate::state::{Criterion, EndingKind, Frozen, Limits, LoopState, Task, TaskStatus};
use crate::tasks::graph;
use crate::tasks::plan::{criteria_problems, unclaimed, unverified};
use crate::text::hex;
use crate::text::plural::noun;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
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

/// Why a record cannot be read, or its chain is left alone. Ralph neither interprets such a chain nor adds to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChainError {
    /// The commits do not continue the chain that was read before.
    Replaced,
    /// A newer version of Ralph wrote the record.
    Newer {
        schema: u32,
    },
    Malformed(String),
}

impl fmt::Display for ChainError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChainError::Replaced => to.write_str(
                "somebody replaced records that this machine has read; \
                 compare the reference with another clone's",
            ),
            ChainError::Newer { schema } => write!(
                to,
                "a record has schema {schema}, and this version of Ralph reads up to {SCHEMA}; \
                 update Ralph on this machine"
            ),
            ChainError::Malformed(why) => write!(to, "a record cannot be read: {why}"),
        }
    }
}

impl std::error::Error for ChainError {}

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
    pub fn parse(message: &str) -> Result<Record<K>, ChainError> {
        #[derive(Deserialize)]
        struct Version {
            schema: u32,
        }
        let malformed = |why: &dyn fmt::Display| ChainError::Malformed(cut(why));
        if message.len() > LONGEST_MESSAGE {
            return Err(malformed(&"it is too long"));
        }
        let (_, json) = message.split_once("\n\n").ok_or_else(|| malformed(&"it has no JSON"))?;
        let Version { schema } = serde_json::from_str(json).map_err(|error| malformed(&error))?;
        if schema > SCHEMA {
            return Err(ChainError::Newer { schema });
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

// The first record of the ledger: the loop that is shared.
//
// It carries no result, no claim and nothing of the machine that shared the loop: receipts contain
// output, and the settings and the environment are a person's own.

/// The lease of a claim unless a setting says otherwise, in seconds.
pub const LEASE_SECONDS: u64 = 30 * 60;

/// How many times a task may be returned or released before Ralph gives it up.
pub const ATTEMPTS: u32 = 3;

/// Tasks in one plan.
pub const LARGEST_GRAPH: usize = 10_000;

/// The contract, the criteria and the tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub prompt: String,
    pub acceptance_criteria: Vec<Criterion>,
    /// What the user agreed to.
    pub frozen: Option<Frozen>,
    pub task_graph: Vec<Task>,
    pub context_report: String,
    pub max_iterations: u32,
    pub limits: Limits,
    /// A claim expires if its machine does not renew it for so long.
    pub lease_seconds: u64,
    /// After so many returns and releases, no machine tries the task again.
    pub attempts: u32,
}

impl Plan {
    /// The plan of a loop that is being shared.
    pub fn from_state(state: &LoopState, lease_seconds: u64) -> Plan {
        let mut plan = Plan {
            prompt: state.prompt.clone(),
            acceptance_criteria: state.acceptance_criteria.clone(),
            frozen: state.frozen.clone(),
            task_graph: state.task_graph.to_vec(),
            context_report: state.context_report.clone(),
            max_iterations: state.max_iterations,
            limits: state.limits.clone(),
            lease_seconds,
            attempts: ATTEMPTS,
        };
        // The time would give the same agreement another digest.
        if let Some(frozen) = &mut plan.frozen {
            frozen.at = None;
        }
        plan.acceptance_criteria.iter_mut().for_each(unverified);
        plan.task_graph.iter_mut().for_each(unclaimed);
        plan
    }

    /// What `ralph trust` confirms before a machine runs a command of the plan: the plan, and the tree of
    /// the commit that the work starts from.
    pub fn digest(&self, start: &ObjectId) -> String {
        hex::sha256(format!("{}\n{start}", self.text()))
    }

    /// The digest of earlier versions, which did not cover that tree.
    pub fn former_digest(&self) -> String {
        hex::sha256(self.text())
    }

    fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Why the plan cannot be shared, or was not written by Ralph.
    pub fn flaw(&self) -> Option<String> {
        if self.task_graph.is_empty() || self.task_graph.len() > LARGEST_GRAPH {
            return Some(format!(
                "a shared plan has at least one task and at most {LARGEST_GRAPH}"
            ));
        }
        if !(1..=LONGEST_LEASE).contains(&self.lease_seconds) || self.attempts == 0 {
            return Some("the lease or the number of attempts is out of bounds".to_owned());
        }
        if let Some(flaw) = graph::lint(&self.task_graph).first() {
            return Some(flaw.to_string());
        }
        if let Some(problem) = criteria_problems(&self.acceptance_criteria).first() {
            return Some(problem.to_string());
        }
        let is_vouched = |one: &Criterion| one.verified || one.receipt.is_some();
        let is_claimed =
            |task: &Task| task.owner.is_some() || task.status == TaskStatus::InProgress;
        if self.acceptance_criteria.iter().any(is_vouched) || self.task_graph.iter().any(is_claimed)
        {
            return Some("a plan carries receipts or claims".to_owned());
        }
        let mut seen = HashSet::new();
        self.task_graph.iter().map(|task| &task.id).find_map(|id| {
            if component(id).len() > LONGEST_COMPONENT {
                return Some(format!("the task id {id} is too long for a reference"));
            }
            // Each id is a file in some repository, and file systems may ignore case.
            let is_new = seen.insert(id.to_lowercase());
            (!is_new).then(|| format!("another task id differs from {id} by case only"))
        })
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod plan_tests {
    use super::*;
    use crate::state::Receipt;
    use crate::tasks::shared::fixture::{id, plan};
    use jiff::Timestamp;

    #[track_caller]
    fn check(change: impl Fn(&mut Plan), flaw: &str) {
        let mut plan = plan("T-1\nT-2 after T-1");
        assert_eq!(plan.flaw(), None);
        change(&mut plan);
        assert!(plan.flaw().is_some_and(|found| found.contains(flaw)), "{:?}", plan.flaw());
    }

    #[test]
    fn a_plan_that_no_machine_could_carry_out_is_refused() {
        check(|plan| plan.task_graph.clear(), "at most 10000");
        check(|plan| plan.task_graph = vec![Task::default(); 10_001], "at most 10000");
        check(|plan| plan.lease_seconds = 0, "lease");
        check(|plan| plan.lease_seconds = LONGEST_LEASE + 1, "lease");
        check(|plan| plan.attempts = 0, "attempts");
        check(|plan| plan.task_graph[1].deps = vec!["T-9".to_owned()], "T-9");
        check(|plan| plan.task_graph[1].id = "t-1".to_owned(), "by case only");
        check(|plan| plan.task_graph[1].id = "é".repeat(34), "too long");
        check(|plan| plan.task_graph[0].owner = Some("me".to_owned()), "claims");
        check(|plan| plan.acceptance_criteria[0].verified = true, "receipts");
        check(|plan| plan.acceptance_criteria[0].verification_command.clear(), "command");
    }

    #[test]
    fn nothing_of_the_machine_that_shares_is_in_the_plan() {
        let mut state = LoopState {
            task_graph: plan("T-1 in_progress").task_graph.into(),
            acceptance_criteria: plan("T-1").acceptance_criteria,
            ..LoopState::default()
        };
        state.task_graph[0].owner = Some("laptop".to_owned());
        let criterion = &mut state.acceptance_criteria[0];
        criterion.verified = true;
        criterion.receipt = Some(Receipt { tail: "SECRET".to_owned(), ..Receipt::default() });
        state.frozen = Some(Frozen { at: Some(Timestamp::UNIX_EPOCH), ..Frozen::default() });
        let plan = Plan::from_state(&state, LEASE_SECONDS);
        assert_eq!(plan.flaw(), None);
        let text = serde_json::to_string(&plan).unwrap();
        assert!(!text.contains("SECRET") && !text.contains("laptop"), "{text}");
        let agreed_later = Frozen { at: Some(Timestamp::MAX), ..Frozen::default() };
        state.frozen = Some(agreed_later);
        assert_eq!(Plan::from_state(&state, LEASE_SECONDS).former_digest(), plan.former_digest());
    }

    #[test]
    fn any_change_of_the_plan_or_of_what_it_starts_from_changes_its_digest() {
        let (plan, mut other) = (plan("T-1"), plan("T-1"));
        assert_eq!(plan.digest(&id(1)), other.digest(&id(1)));
        assert_ne!(plan.digest(&id(1)), other.digest(&id(2)));
        assert_ne!(plan.digest(&id(1)), plan.former_digest());
        other.acceptance_criteria[0].verification_command.push(' ');
        assert_ne!(plan.digest(&id(1)), other.digest(&id(1)));
    }
}
