//! The private bare repository of a loop that is shared through a git remote.
//!
//! It lies below `$RALPH_HOME` and borrows the objects of the user's clone, so the clone's references,
//! hooks and locks are never touched. One process at a time uses it. Its lock is inherited by each git
//! that talks to the remote: while the lock is free, no git of ours runs, so what a killed one left
//! locked can be removed.

mod network;
mod push;
mod read;

pub use push::{PushReport, StatusLine, Update};

use crate::git;
use crate::git::scratch;
use crate::store::lock::{self, Lock};
use anyhow::{Context, Result, bail};
use network::Network;
use ralph_core::tasks::shared::hand_in::Append;
use ralph_core::tasks::shared::names::Namespace;
use ralph_core::tasks::shared::text::ObjectId;
use std::ffi::OsStr;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// How long another process of this machine may hold the repository.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where records that were pushed, but not settled yet, are kept.
const PENDING: &str = "refs/pending/";

/// The repository, locked for this process.
#[derive(Debug)]
pub struct SharedRepository {
    folder: PathBuf,
    space: Namespace,
    network: Network,
    empty_tree: String,
    lock: Lock,
}

impl SharedRepository {
    /// Opens the repository in this folder, or makes it for a clone and one of its remotes.
    ///
    /// # Errors
    /// If another process of this machine uses it, the clone has no such remote, or git fails.
    pub fn open(
        folder: &Path,
        clone: &Path,
        remote: &str,
        space: Namespace,
    ) -> Result<SharedRepository> {
        let parent = folder.parent().context("the folder has no parent")?;
        std::fs::create_dir_all(parent)
            .with_context(|| format!("could not make `{}`", parent.display()))?;
        let lock = lock::take(folder, PATIENCE)?;
        let network = Network::of(clone, remote)?;
        remove_locks(folder)?;
        make(folder, clone)?;
        let empty_tree = git::line(local(folder).args(["mktree"]))?;
        Ok(SharedRepository { folder: folder.to_owned(), space, network, empty_tree, lock })
    }

    /// Stores a record as a commit, and keeps it until [`SharedRepository::forget`], so that a process
    /// that is killed now settles it at its next start.
    ///
    /// # Errors
    /// If git or the disk fails.
    pub fn store(&self, append: &Append) -> Result<ObjectId> {
        let mut message = tempfile::NamedTempFile::new_in(&self.folder)?;
        message.write_all(append.message.as_bytes())?;
        let mut command = local(&self.folder);
        command.arg("commit-tree").arg("-F").arg(message.path());
        for parent in append.parent.iter().chain(&append.work) {
            command.args(["-p", parent.as_str()]);
        }
        let line = git::line(command.arg(&self.empty_tree))?;
        let record = object(&line)?;
        let pending = pending(&append.reference)?;
        git::output(local(&self.folder).args(["update-ref", &pending, record.as_str()]))?;
        Ok(record)
    }

    /// The references with a record that was stored and not forgotten, and the record.
    ///
    /// # Errors
    /// If git fails.
    pub fn pending(&self) -> Result<Vec<(String, ObjectId)>> {
        let pending = self.list(PENDING)?;
        Ok(pending.into_iter().map(|(name, id)| (name.replacen("pending/", "", 1), id)).collect())
    }

    /// Forgets the pending record of a reference, which is settled.
    ///
    /// # Errors
    /// If git fails.
    pub fn forget(&self, reference: &str) -> Result<()> {
        git::output(local(&self.folder).args(["update-ref", "-d", &pending(reference)?])).map(drop)
    }
}

/// `refs/x/y` becomes `refs/pending/x/y`.
fn pending(reference: &str) -> Result<String> {
    let rest = reference.strip_prefix("refs/").context("a reference begins with `refs/`")?;
    Ok(format!("{PENDING}{rest}"))
}

/// A git command for the repository that talks to nobody.
fn local(folder: &Path) -> Command {
    in_repository(folder, folder)
}

/// A git command for the repository in `folder`, started elsewhere.
fn in_repository(folder: &Path, start: &Path) -> Command {
    let mut command = git::command(start);
    command.env_remove("GIT_WORK_TREE").env("GIT_DIR", folder);
    // Records carry the name of their machine; a person's name and address stay here.
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "Ralph");
        command.env(format!("GIT_{who}_EMAIL"), "ralph@localhost");
    }
    command.args(["-c", "log.showSignature=false", "-c", "i18n.logOutputEncoding=UTF-8"]);
    command
}

/// Changes nothing in a repository that is there, but completes one whose maker was killed and follows a clone that was moved.
fn make(folder: &Path, clone: &Path) -> Result<()> {
    let format = git::line(git::command(clone).args(["rev-parse", "--show-object-format"]))?;
    let objects = git::line(git::command(clone).args([
        "rev-parse",
        "--path-format=absolute",
        "--git-path",
        "objects",
    ]))?;
    let mut init = git::command(folder.parent().context("the folder has no parent")?);
    init.env_remove("GIT_WORK_TREE").args(["init", "--quiet", "--bare", "--template="]);
    git::output(init.arg(format!("--object-format={format}")).arg(folder))?;
    let alternates = folder.join("objects/info/alternates");
    std::fs::create_dir_all(folder.join("objects/info"))
        .and_then(|()| std::fs::write(&alternates, format!("{objects}\n")))
        .with_context(|| format!("could not write `{}`", alternates.display()))
}

/// Removes the locks that a killed git left. The caller holds the lock of the repository.
fn remove_locks(folder: &Path) -> Result<()> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries.with_context(|| format!("could not read `{}`", folder.display()))?,
    };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() && path.file_name() != Some(OsStr::new("objects")) {
            remove_locks(&path)?;
        } else if path.extension() == Some(OsStr::new("lock")) {
            std::fs::remove_file(&path)
                .with_context(|| format!("could not remove `{}`", path.display()))?;
        }
    }
    Ok(())
}

fn object(text: &str) -> Result<ObjectId> {
    match ObjectId::try_from(text.to_owned()) {
        Ok(id) => Ok(id),
        Err(why) => bail!("git printed `{text}` for an object: {why}"),
    }
}

#[cfg(test)]
mod tests;
