//! A shared loop in one clone: what the clone keeps of it below `$RALPH_HOME`, apart from the clone,
//! and the commands of a user that read it, add one record to its ledger, or delete its references.

use super::network::{Exchange, Update};
use super::{Records, SharedRepository, Snapshot, TOO_MANY};
use crate::process::random;
use crate::project::{identity, settings, trusted_read, user_files};
use crate::store::home::Home;
use crate::store::lock::Lock;
use crate::store::manifest::ManifestKey;
use crate::store::{atomic, lock};
use anyhow::{Context, Result, bail};
use ralph_core::tasks::shared::names::{Namespace, ROOTS, Reference};
use ralph_core::tasks::shared::record::{LedgerRecord, MachineRecord, Record};
use ralph_core::tasks::shared::text::{LONGEST_NAME, Name, ObjectId};
use ralph_core::tasks::shared::timing;
use ralph_core::tasks::shared::timing::Settled;
use ralph_core::tasks::shared::view::{Ledger, View};
use ralph_core::tasks::shared::work::Append;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The file with the id of the first record of the ledger that the user trusts.
const FIRST: &str = "first";

/// The file with the name of the remote.
const REMOTE: &str = "remote";

/// Whether the user trusts a shared loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trusted {
    Yes,
    No,
    /// Its plan, by an earlier version of Ralph, which did not cover the commit that it starts from.
    Former,
    /// A ledger of this id that began with this record: somebody has replaced it by force.
    Another(ObjectId),
}

/// A shared loop in one clone.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SharedPlace {
    folder: PathBuf,
    clone: PathBuf,
    remote: String,
    space: Namespace,
}

impl SharedPlace {
    /// The place of a loop that a remote of the clone at `root` has, or will have.
    pub fn new(home: &Home, root: &Path, remote: &str, space: Namespace) -> SharedPlace {
        SharedPlace {
            folder: folder(home, root).join(space.loop_id().as_str()),
            clone: root.to_owned(),
            remote: remote.to_owned(),
            space,
        }
    }

    pub fn space(&self) -> &Namespace {
        &self.space
    }

    pub fn remote(&self) -> &str {
        &self.remote
    }

    /// True if this clone has read or shared the loop before.
    pub fn exists(&self) -> bool {
        self.folder.exists()
    }

    /// The private repository, to be read.
    pub fn records(&self) -> Records {
        Records::at(&self.folder.join("repository.git"), self.space.clone())
    }

    /// The private repository, locked for this process.
    ///
    /// # Errors
    /// If another process of this machine uses it, the clone has no such remote, or git fails.
    pub fn open(&self) -> Result<SharedRepository> {
        let folder = self.folder.join("repository.git");
        let repository =
            SharedRepository::open(&folder, &self.clone, &self.remote, self.space.clone())?;
        if remote_of(&self.folder).as_ref() != Some(&self.remote) {
            atomic::write(&self.folder.join(REMOTE), self.remote.as_bytes())?;
        }
        Ok(repository)
    }

    /// The remote through which this clone has read or shared the loop last.
    pub fn known_remote(&self) -> Option<String> {
        remote_of(&self.folder)
    }

    /// The lock of the one process that takes part in the loop from this clone. While it is free, no
    /// such process lives.
    ///
    /// # Errors
    /// If another process takes part.
    pub fn lock_machine(&self) -> Result<Lock> {
        user_files::make_folders(&self.folder, 0o700)?;
        lock::take(&self.folder.join("machine"), Duration::ZERO)
    }

    /// The name of this machine in the loop: the host's name, and what makes it unique.
    pub fn machine(&self) -> Result<Name> {
        user_files::make_folders(&self.folder, 0o700)?;
        let path = self.folder.join("name");
        if let Some(name) = text(&path)?.and_then(|name| Name::try_from(name).ok()) {
            return Ok(name);
        }
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let host: String = host.split('.').next().unwrap_or_default().to_owned();
        let random: String = random::uuid().chars().take(4).collect();
        let host: String = host.chars().take(LONGEST_NAME - 5).collect();
        let name = Name::new(&format!("{host}-{random}"));
        atomic::write(&path, name.as_str().as_bytes())?;
        Ok(name)
    }

    /// The digest of the loop: of its plan, and of the tree that its work starts from.
    pub fn digest(&self, ledger: &Ledger) -> Result<String> {
        let tree = self.records().tree(&ledger.start);
        let tree = tree.with_context(|| {
            format!("could not read commit {:.10}, from which the loop starts", ledger.start)
        })?;
        Ok(ledger.plan.digest(&tree))
    }

    /// Records that the user trusts the loop with this digest, and remembers its first record.
    pub fn trust(&self, home: &Home, ledger: &Ledger, digest: &str) -> Result<()> {
        user_files::make_folders(&self.folder, 0o700)?;
        atomic::write(&self.folder.join(FIRST), ledger.first().as_str().as_bytes())?;
        settings::trust_file(home, &self.folder.join("plan"), digest)
    }

    /// Whether the user has trusted exactly this loop.
    pub fn trusted(&self, home: &Home, ledger: &Ledger, digest: &str) -> Trusted {
        let key = self.folder.join("plan");
        let first = text(&self.folder.join(FIRST)).ok().flatten();
        let first = first.and_then(|id| ObjectId::try_from(id).ok());
        match first {
            Some(first) if first != *ledger.first() => Trusted::Another(first),
            Some(_) if settings::is_file_trusted(home, &key, digest) => Trusted::Yes,
            None if settings::is_file_trusted(home, &key, &ledger.plan.former_digest()) => {
                Trusted::Former
            }
            _ => Trusted::No,
        }
    }

    /// Removes the private repository and the machine's name.
    pub fn remove(&self) -> Result<()> {
        atomic::remove(&self.folder).map(drop)
    }
}

fn remote_of(folder: &Path) -> Option<String> {
    text(&folder.join(REMOTE)).ok().flatten()
}

fn text(path: &Path) -> Result<Option<String>> {
    Ok(trusted_read::read(path)?.and_then(|text| String::from_utf8(text).ok()))
}

fn folder(home: &Home, root: &Path) -> PathBuf {
    home.root().join("shared").join(ManifestKey::project(&identity(root)).name())
}

/// A shared loop that a remote has.
#[derive(Debug)]
pub struct FoundLedger {
    pub space: Namespace,
    /// The ledger, or why it cannot be read.
    pub ledger: Result<Ledger>,
}

/// The shared loops of a remote, oldest first.
///
/// # Errors
/// If the clone has no such remote, or it does not answer.
pub fn found(home: &Home, root: &Path, remote: &str) -> Result<Vec<FoundLedger>> {
    home.prepare()?;
    let space = |id: &Name, at: usize| Namespace::new(id, at == 1);
    let nobody = space(&Name::new("-"), 0);
    let path = folder(home, root).join("found.git");
    let repository = SharedRepository::open(&path, root, remote, nobody)?;
    let refspecs: Vec<String> = (ROOTS.iter().enumerate())
        .map(|(at, below)| format!("+{below}*/ledger:refs/found/{at}/*"))
        .collect();
    repository.fetch_as(&refspecs)?;
    let listed = repository.list("refs/found/")?;
    let tips: Vec<_> = listed.iter().map(|(_, tip)| (None, tip)).collect();
    let mut all = Vec::new();
    for ((name, _), commits) in listed.iter().zip(repository.chains(&tips)?) {
        let rest = name.trim_start_matches("refs/found/");
        let Some((at, id)) = rest.split_once('/') else { continue };
        let Ok(id) = Name::try_from(id.to_owned()) else { continue };
        let read = || Ok(Ledger::read(&commits.context(TOO_MANY)?)?);
        all.push(FoundLedger { space: space(&id, usize::from(at == "1")), ledger: read() });
    }
    all.sort_by(|one, other| one.space.loop_id().cmp(other.space.loop_id()));
    Ok(all)
}

/// A shared loop of which this machine keeps something.
#[derive(Debug)]
pub struct KnownLoop {
    pub loop_id: Name,
    /// The remote through which it was read last.
    pub remote: Option<String>,
    /// The ledger as of the last read, or why it cannot be read; `None` if the remote had none.
    pub ledger: Option<Result<Ledger>>,
}

/// The shared loops of which this machine keeps something for the clone at `root`. The remote is not
/// asked.
pub fn known(home: &Home, root: &Path) -> Vec<KnownLoop> {
    let folder = folder(home, root);
    let ids = user_files::names(&folder).into_iter().filter_map(|name| Name::try_from(name).ok());
    ids.map(|loop_id| {
        let folder = folder.join(loop_id.as_str());
        let repository = folder.join("repository.git");
        let records = |below_heads| {
            let records = Records::at(&repository, Namespace::new(&loop_id, below_heads));
            let ledger = records.space().name(&Reference::Ledger);
            let listed = records.list(&ledger).unwrap_or_default();
            let (_, tip) = listed.into_iter().find(|(name, _)| *name == ledger)?;
            Some(records.chain(None, &tip).and_then(|commits| Ok(Ledger::read(&commits)?)))
        };
        let ledger = records(false).or_else(|| records(true));
        KnownLoop { loop_id, remote: remote_of(&folder), ledger }
    })
    .collect()
}

/// A reader that remembers what it has read.
#[derive(Debug)]
pub struct Follower {
    records: Records,
    view: Option<View>,
    /// The references at the last look.
    seen: Snapshot,
}

impl Follower {
    pub fn new(records: Records) -> Follower {
        Follower { records, view: None, seen: Snapshot::default() }
    }

    pub fn records(&self) -> &Records {
        &self.records
    }

    /// The references at the last look.
    pub fn snapshot(&self) -> &Snapshot {
        &self.seen
    }

    /// The loop as of the last fetch.
    ///
    /// # Errors
    /// If the ledger is gone, was replaced, or has a record that this version cannot read.
    pub fn refresh_view(&mut self) -> Result<&View> {
        let now = self.records.snapshot()?;
        let references = &now.references;
        let ledger = self.records.space().name(&Reference::Ledger);
        let loop_id = self.records.space().loop_id().clone();
        let Some(tip) = references.get(&ledger) else {
            bail!("the remote has no shared loop {loop_id}");
        };
        let view = self.view.take();
        let seen = self.seen.references.get(&ledger).filter(|_| view.is_some());
        let commits = match seen == Some(tip) {
            true => Vec::new(),
            false => self.records.chain(seen, tip)?,
        };
        let error = || format!("could not read the ledger of loop {loop_id}");
        let mut view = match view {
            Some(mut view) => {
                view.ledger.extend(&commits).with_context(error)?;
                view
            }
            None => View::new(Ledger::read(&commits).with_context(error)?),
        };
        let plan = view.ledger.plan.task_graph.iter().map(|task| task.id.clone());
        let plan: HashSet<String> = plan.collect();
        let (mut tasks, mut wanted) = (Vec::new(), Vec::new());
        view.strangers = 0;
        for (name, tip) in references {
            let reference = self.records.space().parse(name);
            let is_stranger =
                matches!(&reference, Some(Reference::Task(task)) if !plan.contains(task));
            view.strangers += usize::from(is_stranger);
            let seen = self.seen.references.get(name);
            if is_stranger || seen == Some(tip) {
                continue;
            }
            match reference {
                Some(Reference::Task(task)) => {
                    tasks.push(task);
                    wanted.push((seen, tip));
                }
                Some(Reference::Machine(machine)) => {
                    view.renewals.insert(machine, tip.clone());
                }
                Some(Reference::Ledger) | None => {}
            }
        }
        for (task, commits) in tasks.iter().zip(self.records.chains(&wanted)?) {
            view.extend_task(task, commits.as_deref());
        }
        self.seen = now;
        Ok(self.view.insert(view))
    }

    /// The loop as of the last fetch.
    pub fn into_view(mut self) -> Result<View> {
        self.refresh_view()?;
        self.view.context("the loop was not read")
    }
}

/// How long a command tries.
const PATIENCE: Duration = Duration::from_secs(180);

impl SharedPlace {
    /// Reads the loop from the remote.
    ///
    /// # Errors
    /// If the remote does not answer, or has no such loop.
    pub fn read(&self) -> Result<View> {
        let repository = self.open()?;
        repository.fetch()?;
        Follower::new(self.records()).into_view()
    }

    /// Adds the record that `make` returns for the loop as it then is; `None` adds nothing. Returns
    /// true if a record was added.
    ///
    /// # Errors
    /// If `make` fails, the remote does not answer, or it refuses the record for minutes.
    pub fn put(&self, mut make: impl FnMut(&View) -> Result<Option<LedgerRecord>>) -> Result<bool> {
        let repository = self.open()?;
        repository.fetch()?;
        let until = Instant::now() + PATIENCE;
        loop {
            let view = Follower::new(self.records()).into_view()?;
            let Some(kind) = make(&view)? else { return Ok(false) };
            if self.put_one(&repository, view.ledger.tip(), None, kind, until)? {
                return Ok(true);
            }
        }
    }

    /// Tries whether the host accepts the references of the loop, with the first renewal of this
    /// machine. Returns the reason if it does not.
    pub fn probe(&self) -> Result<Option<String>> {
        let (repository, machine) = (self.open()?, self.machine()?);
        let (nonce, reference) = (Name::new(&random::uuid()), Reference::Machine(machine.clone()));
        let record = Record::new(nonce, machine, MachineRecord::Renewal);
        repository.fetch()?;
        let name = self.space().name(&reference);
        if repository.snapshot()?.references.contains_key(&name) {
            return Ok(None);
        }
        let append = Append::new(self.space(), &reference, None, None, &record);
        let order = Exchange { appends: vec![append], pushes: true, ..Exchange::default() };
        let report = repository.exchange(&order)?;
        match report.sent.iter().find(|one| one.reference == name).map(|one| one.settled) {
            Some(Settled::Landed) => Ok(None),
            _ if report.is_answered => {
                repository.forget(&name)?;
                Ok(Some(report.trouble))
            }
            _ => bail!("{}", report.trouble),
        }
    }

    /// Makes the ledger with its first record. Returns false if the remote has it already.
    ///
    /// # Errors
    /// If the remote does not answer, or refuses the reference.
    pub fn put_first(&self, plan: LedgerRecord, start: &ObjectId) -> Result<bool> {
        let repository = self.open()?;
        let until = Instant::now() + PATIENCE;
        self.put_one(&repository, None, Some(start), plan, until)
    }

    /// Returns false if another record is in its place.
    fn put_one(
        &self,
        repository: &SharedRepository,
        parent: Option<&ObjectId>,
        work: Option<&ObjectId>,
        kind: LedgerRecord,
        until: Instant,
    ) -> Result<bool> {
        let nonce = Name::new(&random::uuid());
        let record = Record::new(nonce.clone(), self.machine()?, kind);
        let append = Append::new(self.space(), &Reference::Ledger, parent, work, &record);
        let mut order = Exchange { appends: vec![append], pushes: true, ..Exchange::default() };
        let mut locked_since = None;
        for attempt in 2.. {
            let report = repository.exchange(&order)?;
            let mine = report.sent.iter().find(|one| one.reference == order.appends[0].reference);
            match mine.map(|one| one.settled) {
                Some(Settled::Landed) => {
                    // The record of a command that was killed is pushed before this one.
                    let landed = mine.map(|one| repository.record(&one.record)).transpose()?;
                    return Ok(landed.is_some_and(|it| it.message.contains(nonce.as_str())));
                }
                Some(Settled::Lost) => return Ok(false),
                None => {}
                Some(Settled::StaleLock) => bail!(
                    "a lock on the server has blocked the ledger for a minute; its administrator has to remove it: {}",
                    report.trouble
                ),
                Some(Settled::Read | Settled::Again) if Instant::now() >= until => {
                    let why =
                        if report.trouble.is_empty() { "it was refused" } else { &report.trouble };
                    bail!("the remote did not take the record: {why}; type the command again");
                }
                Some(Settled::Read | Settled::Again) => {}
            }
            let since = report.is_locked.then(|| *locked_since.get_or_insert_with(Instant::now));
            order.locked = since.map(|since| since.elapsed()).unwrap_or_default();
            std::thread::sleep(timing::retry_pause(attempt, random::fraction()));
        }
        Ok(false)
    }
}

/// References in one push.
const AT_ONCE: usize = 500;

/// How many times in succession nothing may be deleted.
const MOST_FAILURES: u32 = 3;

impl SharedPlace {
    /// Deletes every reference of the loop from the remote, the ledger last: commands find the loop by
    /// it. Returns how many there were. The branch stays.
    pub fn delete_references(&self) -> Result<usize> {
        let repository = self.open()?;
        let ledger = self.space().name(&Reference::Ledger);
        let (mut deleted, mut failures) = (0, 0);
        repository.fetch()?;
        loop {
            let mut listed: Vec<(String, ObjectId)> =
                repository.snapshot()?.references.into_iter().collect();
            if listed.is_empty() {
                return Ok(deleted);
            }
            if listed.len() > 1 {
                listed.retain(|(name, _)| *name != ledger);
            }
            let mut trouble = String::new();
            for part in listed.chunks(AT_ONCE) {
                let updates = part.iter().map(|(reference, id)| Update {
                    reference,
                    expected: Some(id),
                    new: None,
                });
                let updates: Vec<Update<'_>> = updates.collect();
                trouble = repository.push(&updates)?.refusal();
            }
            repository.fetch()?;
            let rest = repository.snapshot()?.references;
            let n = listed.iter().filter(|(name, _)| !rest.contains_key(name)).count();
            deleted += n;
            failures = if n > 0 { 0 } else { failures + 1 };
            if failures == MOST_FAILURES {
                bail!("the remote did not delete the references of the loop: {trouble}");
            }
            if failures > 0 {
                std::thread::sleep(timing::retry_pause(failures + 1, random::fraction()));
            }
        }
    }
}
