//! Shared loops for tests: a remote whose records are written one by one.

use super::record::{
    CriterionReceipt, End, Finish, Kind, LedgerRecord, Record, TaskRecord, Verdict,
};
use super::record::{LEASE_SECONDS, Plan};
use super::text::{Name, ObjectId, Text};
use super::view::Commit;
use super::view::Ledger;
use super::view::View;
use crate::state::{Criterion, LoopState};
use crate::tasks::graph;
use std::collections::BTreeMap;

pub(crate) fn id(number: u64) -> ObjectId {
    ObjectId::try_from(format!("{number:040x}")).unwrap()
}

pub(crate) fn name(text: &str) -> Name {
    Name::try_from(text.to_owned()).unwrap()
}

/// The plan of lines such as `T-2 after T-1`, with one criterion.
pub(crate) fn plan(lines: &str) -> Plan {
    let criterion = Criterion {
        id: "AC-1".to_owned(),
        description: "the tests pass".to_owned(),
        verification_command: "cargo test".to_owned(),
        ..Criterion::default()
    };
    let state = LoopState {
        task_graph: graph::tests::graph(lines).into(),
        acceptance_criteria: vec![criterion],
        ..LoopState::default()
    };
    Plan::from_state(&state, LEASE_SECONDS)
}

pub(crate) fn receipt(criterion: &str, holds: bool) -> CriterionReceipt {
    CriterionReceipt { criterion: criterion.to_owned(), holds, tests_run: None }
}

/// The references of a loop.
pub(crate) struct Remote {
    pub(crate) ledger: Vec<Commit>,
    pub(crate) chains: BTreeMap<String, Vec<Commit>>,
    pub(crate) renewals: BTreeMap<Name, ObjectId>,
    number: u64,
}

impl Remote {
    pub(crate) fn new(lines: &str) -> Remote {
        let (ledger, chains, renewals) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        let mut remote = Remote { ledger, chains, renewals, number: 1_000 };
        remote.ledger("a", LedgerRecord::Plan(Box::new(plan(lines))));
        remote
    }

    pub(crate) fn commit<K: Kind>(&mut self, before: &[Commit], machine: &str, kind: K) -> Commit {
        self.number += 1;
        let nonce = name(&self.number.to_string());
        Commit {
            id: id(self.number),
            parent: before.last().map(|commit| commit.id.clone()),
            work: Some(id(self.number + 1_000_000)),
            message: Record::new(nonce, name(machine), kind).message(false),
        }
    }

    pub(crate) fn ledger(&mut self, machine: &str, kind: LedgerRecord) -> ObjectId {
        let commit = self.commit(&self.ledger.clone(), machine, kind);
        self.ledger.push(commit.clone());
        commit.id
    }

    pub(crate) fn task(&mut self, task: &str, machine: &str, kind: TaskRecord) -> ObjectId {
        let before = self.chains.get(task).cloned().unwrap_or_default();
        let commit = self.commit(&before, machine, kind);
        self.chains.entry(task.to_owned()).or_default().push(commit.clone());
        commit.id
    }

    pub(crate) fn claim(&mut self, task: &str, machine: &str) -> ObjectId {
        self.task(task, machine, TaskRecord::Claim { worker: name("1") })
    }

    /// A claim and its finish.
    pub(crate) fn finish(&mut self, task: &str, machine: &str) -> Finish {
        self.claim(task, machine);
        let finish = self.task(task, machine, TaskRecord::Finish);
        Finish { task: task.to_owned(), finish }
    }

    pub(crate) fn lease(&mut self, machine: &str) -> ObjectId {
        self.ledger(machine, LedgerRecord::Integrator { lease_seconds: LEASE_SECONDS })
    }

    pub(crate) fn merge(&mut self, finishes: &[Finish], receipts: &[CriterionReceipt]) -> ObjectId {
        self.merge_as_last(finishes, receipts, None)
    }

    pub(crate) fn merge_as_last(
        &mut self,
        finishes: &[Finish],
        receipts: &[CriterionReceipt],
        end: Option<End>,
    ) -> ObjectId {
        let (finishes, receipts) = (finishes.to_vec(), receipts.to_vec());
        let merged = Verdict::Merged { finishes, tree: id(7), receipts, end };
        self.ledger("a", LedgerRecord::Verdict(merged))
    }

    pub(crate) fn give_back(&mut self, finish: Finish) -> ObjectId {
        let reason = Text::new("a conflict");
        self.ledger("a", LedgerRecord::Verdict(Verdict::Returned { finish, reason }))
    }

    pub(crate) fn view(&self) -> View {
        let mut view = View {
            ledger: Ledger::read(&self.ledger).unwrap(),
            chains: BTreeMap::new(),
            renewals: self.renewals.clone(),
            strangers: 0,
        };
        for (task, commits) in &self.chains {
            view.extend_task(task, Some(commits));
        }
        view
    }
}
