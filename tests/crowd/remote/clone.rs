//! A clone with its private repository, and pushes that are settled by the rule of `ralph-core`.

use ralph_core::tasks::shared::names::{Namespace, Reference};
use ralph_core::tasks::shared::record::{Record, TaskRecord};
use ralph_core::tasks::shared::text::{Name, ObjectId};
use ralph_core::tasks::shared::timing::{Attempt, Settled, settle};
use ralph_core::tasks::shared::work::Append;
use ralph_io::git::shared::{PushReport, SharedRepository, Update};
use ralph_test_support::PATIENCE;
use ralph_test_support::git_server::GitServer;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

static NONCE: AtomicU64 = AtomicU64::new(0);

/// A machine as far as the remote sees it.
pub(super) struct CloneOf {
    pub(super) repository: SharedRepository,
    name: Name,
    _folder: tempfile::TempDir,
}

/// A record that was stored, and is pushed until it is settled.
#[derive(Debug, Clone)]
pub(super) struct Stored {
    pub(super) append: Append,
    pub(super) record: ObjectId,
}

impl CloneOf {
    pub(super) fn new(server: &GitServer, name: &str) -> CloneOf {
        let folder = ralph_test_support::private_folder("ralph-test-");
        let clone = folder.path().join("clone");
        server.clone_into(&clone);
        let private = folder.path().join("private/loop.git");
        let repository = SharedRepository::open(&private, &clone, "origin", space()).unwrap();
        CloneOf { repository, name: Name::new(name), _folder: folder }
    }

    /// Stores a claim of a task after this value.
    pub(super) fn claim(&self, task: &str, parent: Option<&ObjectId>) -> Stored {
        let kind = TaskRecord::Claim { worker: Name::new("1") };
        let nonce = Name::new(&format!("{:06}", NONCE.fetch_add(1, Ordering::Relaxed)));
        let record = Record::new(nonce, self.name.clone(), kind);
        let task = Reference::Task(task.to_owned());
        let append = Append::new(&space(), &task, parent, None, &record);
        let record = self.repository.store(&append).unwrap();
        Stored { append, record }
    }

    pub(super) fn push(&self, stored: &[&Stored]) -> PushReport {
        let updates: Vec<_> = stored.iter().map(|one| one.update()).collect();
        self.repository.push(&updates).unwrap()
    }

    /// What is known after one push, and a read if the push alone does not decide.
    pub(super) fn settle(&self, stored: &Stored, report: &PushReport) -> Settled {
        self.settle_locked(stored, report, None)
    }

    /// The same after a lock has been in the way for so long.
    pub(super) fn settle_locked(
        &self,
        stored: &Stored,
        report: &PushReport,
        locked: Option<Duration>,
    ) -> Settled {
        let Stored { append, record } = stored;
        let attempt = Attempt {
            record,
            expected: append.parent.as_ref(),
            status: report.flag(&append.reference),
            chain: None,
            locked,
        };
        match settle(&attempt) {
            Settled::Read => {
                let chain = self.read(&append.reference);
                settle(&Attempt { chain: chain.as_deref(), ..attempt })
            }
            settled => settled,
        }
    }

    /// The chain of a reference, if the remote answers.
    pub(super) fn read(&self, reference: &str) -> Option<Vec<ObjectId>> {
        self.repository.fetch().ok()?;
        let references = self.repository.snapshot().unwrap().references;
        let Some((_, tip)) = references.into_iter().find(|(name, _)| name == reference) else {
            return Some(Vec::new());
        };
        let chain = self.repository.chain(None, &tip).unwrap();
        Some(chain.into_iter().map(|commit| commit.id).collect())
    }

    /// Pushes until the push has landed or is lost.
    #[track_caller]
    pub(super) fn finish(&self, stored: &Stored) -> Settled {
        let began = Instant::now();
        loop {
            let report = self.push(&[stored]);
            match self.settle(stored, &report) {
                Settled::Again | Settled::Read => {}
                settled => return settled,
            }
            assert!(began.elapsed() < PATIENCE, "not settled: {report:?}");
        }
    }
}

impl Stored {
    fn update(&self) -> Update<'_> {
        Update {
            reference: &self.append.reference,
            expected: self.append.parent.as_ref(),
            new: Some(&self.record),
        }
    }
}

/// The value of a reference, read from the repository itself.
pub(super) fn value(server: &GitServer, reference: &str) -> String {
    server.git(&["for-each-ref", "--format=%(objectname)", reference])
}

fn space() -> Namespace {
    Namespace::new(&Name::new("l"), false)
}
