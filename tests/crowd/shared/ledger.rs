//! What the bare repository says about a loop, read with the rules of `ralph-core`.

use ralph_core::tasks::shared::names::{Namespace, Reference};
use ralph_core::tasks::shared::record::{Kind, LedgerRecord, Record, TaskRecord, Verdict};
use ralph_core::tasks::shared::text::{Name, ObjectId};
use ralph_core::tasks::shared::view::{Commit, Ledger};
use ralph_io::git::shared::Records;
use ralph_test_support::git_server::GitServer;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

#[derive(Debug)]
pub(super) struct Proof {
    pub(super) ledger: Ledger,
    /// The ledger's records after the plan, oldest first.
    pub(super) records: Vec<Record<LedgerRecord>>,
    /// The records of each task, with their commits.
    pub(super) chains: BTreeMap<String, Vec<(Commit, Record<TaskRecord>)>>,
    branch: String,
}

impl Proof {
    pub(super) fn read(server: &GitServer, loop_id: &str) -> Proof {
        let space = Namespace::new(&Name::new(loop_id), false);
        let read = Records::at(&server.repository(), space.clone());
        let (mut commits, mut chains) = (Vec::new(), BTreeMap::new());
        for (name, tip) in read.snapshot().unwrap().references {
            match space.parse(&name) {
                Some(Reference::Ledger) => commits = read.chain(None, &tip).unwrap(),
                Some(Reference::Task(id)) => {
                    let chain = read.chain(None, &tip).unwrap().into_iter();
                    chains.insert(id, chain.map(parsed).collect());
                }
                Some(Reference::Machine(_)) | None => {}
            }
        }
        let records = commits[1..].iter().map(|it| parsed(it.clone()).1).collect();
        let ledger = Ledger::read(&commits).unwrap();
        Proof { ledger, records, chains, branch: space.branch() }
    }

    /// How many verdicts have merged each task.
    fn merges(&self) -> BTreeMap<String, usize> {
        let mut merges = BTreeMap::new();
        for record in &self.records {
            if let LedgerRecord::Verdict(Verdict::Merged { finishes, .. }) = &record.kind {
                for finish in finishes {
                    *merges.entry(finish.task.clone()).or_default() += 1;
                }
            }
        }
        merges
    }

    fn count(&self, is: impl Fn(&LedgerRecord) -> bool) -> usize {
        self.records.iter().filter(|record| is(&record.kind)).count()
    }

    pub(super) fn returns(&self) -> usize {
        self.count(|kind| matches!(kind, LedgerRecord::Verdict(Verdict::Returned { .. })))
    }

    /// Machines that took the integrator's lease, each time that it changed hands.
    pub(super) fn integrators(&self) -> Vec<&Name> {
        let taken = self.records.iter().filter(
            |it| matches!(it.kind, LedgerRecord::Integrator { lease_seconds } if lease_seconds > 0),
        );
        let mut machines: Vec<&Name> = taken.map(|record| &record.machine).collect();
        machines.dedup();
        machines
    }

    /// Tasks that are finished, or were, according to their chains.
    pub(super) fn finished(&self) -> usize {
        let is_finish =
            |(_, record): &(Commit, Record<TaskRecord>)| record.kind == TaskRecord::Finish;
        self.chains.values().filter(|chain| chain.iter().any(is_finish)).count()
    }

    /// The invariants of a loop that ended complete.
    #[track_caller]
    pub(super) fn check(&self, server: &GitServer, tasks: &BTreeSet<String>) {
        let merges = self.merges();
        assert!(merges.values().all(|n| *n == 1), "a task was merged twice: {merges:?}");
        assert_eq!(merges.keys().collect::<BTreeSet<_>>(), tasks.iter().collect());
        let is_end = |kind: &LedgerRecord| {
            matches!(kind, LedgerRecord::End(_) | LedgerRecord::Cancel { .. })
        };
        assert_eq!(self.count(is_end), 1, "{:#?}", self.records);
        let end = self.ledger.end.as_ref().expect("it has ended");
        assert!(end.ending.is_completion(), "{end:?}");
        assert!(self.ledger.receipts.iter().all(|one| one.holds), "{:?}", self.ledger.receipts);

        let tree = |commit: &str| server.git(&["rev-parse", &format!("{commit}^{{tree}}")]);
        let tip = self.ledger.branch.as_str();
        assert_eq!(tree(&self.branch), tree(tip), "the branch is a mirror of the ledger's tip");
        for task in tasks {
            let file = server.git(&["show", &format!("{tip}:work/{task}.txt")]);
            assert_eq!(&file, task, "the work of {task} is on the branch");
        }
        for record in &self.records {
            if let LedgerRecord::Verdict(Verdict::Merged { finishes, .. }) = &record.kind {
                for finish in finishes {
                    let work = self.work(&finish.task, &finish.finish);
                    server.git(&["merge-base", "--is-ancestor", work.as_str(), tip]);
                }
            }
        }
    }

    /// The work of a finish, which its task's chain must contain.
    fn work(&self, task: &str, finish: &ObjectId) -> &ObjectId {
        let found = self.chains[task].iter().find(|(commit, _)| commit.id == *finish);
        let (commit, record) = found.expect("the finish is in the chain of its task");
        assert_eq!(record.kind, TaskRecord::Finish);
        commit.work.as_ref().expect("a finish has its work as second parent")
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let records: usize = self.chains.values().map(Vec::len).sum();
        let verdicts = self.count(|kind| matches!(kind, LedgerRecord::Verdict(_)));
        write!(
            to,
            "{records} records of tasks, {} of the ledger, {verdicts} verdicts, {} returned, {} integrators",
            self.records.len() + 1,
            self.returns(),
            self.integrators().len()
        )
    }
}

fn parsed<K: Kind>(commit: Commit) -> (Commit, Record<K>) {
    let record = Record::parse(&commit.message).unwrap();
    (commit, record)
}
