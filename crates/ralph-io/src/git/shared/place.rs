//! Where a clone keeps what it knows of a shared loop: below `$RALPH_HOME`, apart from the clone.

use super::read::TOO_MANY;
use super::{Records, SharedRepository};
use crate::process::random;
use crate::project::{identity, settings, user_files};
use crate::store::home::Home;
use crate::store::lock::{self, Lock};
use crate::store::manifest::ManifestKey;
use crate::{project::trusted_read, store::atomic};
use anyhow::{Context, Result};
use ralph_core::tasks::shared::names::{Namespace, ROOTS, Reference};
use ralph_core::tasks::shared::text::{LONGEST_NAME, Name, ObjectId};
use ralph_core::tasks::shared::view::Ledger;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

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
    pub fn alone(&self) -> Result<Lock> {
        user_files::make_folders(&self.folder, 0o700)?;
        lock::take(&self.folder.join("machine"), Duration::ZERO)
    }

    /// The name of this machine in the loop: the host's name, and what makes it unique.
    ///
    /// # Errors
    /// If the name cannot be read or written.
    pub fn machine(&self) -> Result<Name> {
        user_files::make_folders(&self.folder, 0o700)?;
        let path = self.folder.join("name");
        let known = trusted_read::read(&path)?.and_then(|name| String::from_utf8(name).ok());
        if let Some(name) = known.and_then(|name| Name::try_from(name).ok()) {
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
    ///
    /// # Errors
    /// If that commit is not there.
    pub fn digest(&self, ledger: &Ledger) -> Result<String> {
        let tree = self.records().tree(&ledger.start);
        let tree = tree.with_context(|| {
            format!("could not read commit {:.10}, from which the loop starts", ledger.start)
        })?;
        Ok(ledger.plan.digest(&tree))
    }

    /// Records that the user trusts the loop with this digest, and remembers its first record.
    ///
    /// # Errors
    /// If the records cannot be written.
    pub fn trust(&self, home: &Home, ledger: &Ledger, digest: &str) -> Result<()> {
        user_files::make_folders(&self.folder, 0o700)?;
        atomic::write(&self.folder.join(FIRST), ledger.first().as_str().as_bytes())?;
        settings::trust_file(home, &self.folder.join("plan"), digest)
    }

    /// Whether the user has trusted exactly this loop.
    pub fn trusted(&self, home: &Home, ledger: &Ledger, digest: &str) -> Trusted {
        let key = self.folder.join("plan");
        let first = trusted_read::read(&self.folder.join(FIRST)).ok().flatten();
        let first = first.and_then(|id| ObjectId::try_from(String::from_utf8(id).ok()?).ok());
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
    ///
    /// # Errors
    /// If they cannot be removed.
    pub fn remove(&self) -> Result<()> {
        match std::fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("could not remove `{}`", self.folder.display()))
            }
            _ => Ok(()),
        }
    }
}

fn remote_of(folder: &Path) -> Option<String> {
    let known = trusted_read::read(&folder.join(REMOTE)).ok().flatten();
    known.and_then(|name| String::from_utf8(name).ok())
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
