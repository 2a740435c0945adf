//! The private bare repository of a loop that is shared through a git remote.
//!
//! It lies below `$RALPH_HOME` and borrows the objects of the user's clone, so the clone's references,
//! hooks and locks are never touched. One process at a time uses it. Its lock is inherited by each git
//! that talks to the remote: while the lock is free, no git of ours runs, so what a killed one left
//! locked can be removed.

mod network;
mod place;
#[cfg(test)]
mod tests;

pub use network::{BranchUpdate, Exchange, ExchangeReport, PushReport, Sent, StatusLine, Update};
pub use place::{Follower, FoundLedger, KnownLoop, SharedPlace, Trusted, found, known};

use crate::git;
use crate::git::scratch;
use crate::store::lock;
use crate::store::lock::Lock;
use anyhow::{Context, Result, bail};
use network::Network;
use ralph_core::tasks::shared::names::Namespace;
use ralph_core::tasks::shared::text::ObjectId;
use ralph_core::tasks::shared::view::Commit;
use ralph_core::tasks::shared::work::Append;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use walkdir::WalkDir;

/// How long another process of this machine may hold the repository: a process that was killed may
/// have left a git that talks to the remote until its deadline.
const PATIENCE: Duration = Duration::from_secs(150);

/// Where records that were stored, but not settled yet, are kept.
const PENDING: &str = "refs/pending/";

/// Where this machine's last records that landed are kept.
const OWN: &str = "refs/own/";

/// The commit that stands for no record where git needs a first parent: the same in every repository
/// with SHA-1, and with SHA-256.
pub const BEGINNINGS: [&str; 2] = [
    "de544f9c247564e55b910079dcf7d2803d697985",
    "00ba42e0b3aec4c3df218c6bfdfdcbfa18a7059981bd8e5b2be28a30daf1e716",
];

/// The empty tree with SHA-1, and with SHA-256.
const EMPTY_TREES: [&str; 2] = [
    "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
];

/// The reference of a private repository that has the branch of the integrated work, as it is on the
/// remote.
pub const BRANCH: &str = "refs/branch";

/// The repository, locked for this process.
#[derive(Debug)]
pub struct SharedRepository {
    records: Records,
    network: Network,
    empty_tree: &'static str,
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
        let network = Network::for_remote(clone, remote)?;
        remove_locks(folder)?;
        if !is_whole(folder) {
            make(folder, clone)?;
        }
        let config = std::fs::read_to_string(folder.join("config")).unwrap_or_default();
        let empty_tree = EMPTY_TREES[usize::from(config.contains("sha256"))];
        Ok(SharedRepository { records: Records::at(folder, space), network, empty_tree, lock })
    }

    /// Stores a record as a commit that is pending until it is settled, so that a process that is
    /// killed now settles it at its next start.
    pub fn store(&self, append: &Append) -> Result<ObjectId> {
        let mut command = local(&self.folder);
        let message = scratch::input(append.message.as_bytes())?;
        command.args(["commit-tree", "-F", "-"]).stdin(message);
        let beginning = match (&append.parent, &append.work) {
            (None, Some(_)) => Some(self.make_beginning()?),
            _ => None,
        };
        for parent in append.parent.iter().chain(&beginning).chain(&append.work) {
            command.args(["-p", parent.as_str()]);
        }
        let line = git::line(command.arg(self.empty_tree))?;
        let record = object(&line)?;
        self.update(&[Keep::Pending(&append.reference, &record)])?;
        Ok(record)
    }

    /// Makes the first parent of a chain's first record that has a second parent.
    fn make_beginning(&self) -> Result<ObjectId> {
        let mut command = local(&self.folder);
        for date in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
            command.env(date, "@0 +0000");
        }
        command.args(["commit-tree", "-m", "The beginning of a chain", self.empty_tree]);
        object(&git::line(&mut command)?)
    }

    /// Forgets the pending record of a reference, which is settled.
    pub fn forget(&self, reference: &str) -> Result<()> {
        self.update(&[Keep::Forgotten(reference)])
    }

    /// Keeps and forgets records, all of them with one call of git.
    fn update(&self, all: &[Keep<'_>]) -> Result<()> {
        if all.is_empty() {
            return Ok(());
        }
        let mut orders = String::new();
        for one in all {
            orders += &match one {
                Keep::Pending(reference, id) => {
                    format!("update {} {id}\n", kept_as(PENDING, reference)?)
                }
                Keep::Own(reference, id) => format!("update {} {id}\n", kept_as(OWN, reference)?),
                Keep::Forgotten(reference) => format!("delete {}\n", kept_as(PENDING, reference)?),
            };
        }
        let orders = scratch::input(orders.as_bytes())?;
        let mut command = local(&self.folder);
        git::output(command.args(["update-ref", "--stdin"]).stdin(orders)).map(drop)
    }
}

/// What is recorded about a record of this machine.
enum Keep<'a> {
    Pending(&'a str, &'a ObjectId),
    /// It has landed, and is this machine's last one of the reference.
    Own(&'a str, &'a ObjectId),
    /// The pending one is settled.
    Forgotten(&'a str),
}

impl Deref for SharedRepository {
    type Target = Records;

    fn deref(&self) -> &Records {
        &self.records
    }
}

/// `refs/x/y` becomes `refs/pending/x/y`.
fn kept_as(folder: &str, reference: &str) -> Result<String> {
    let rest = reference.strip_prefix("refs/").context("a reference begins with `refs/`")?;
    Ok(format!("{folder}{rest}"))
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
    git::by_ralph(&mut command);
    for setting in
        ["log.showSignature=false", "i18n.logOutputEncoding=UTF-8", "i18n.commitEncoding=UTF-8"]
    {
        command.args(["-c", setting]);
    }
    command
}

/// True if the repository was made whole, for a clone that is still there.
fn is_whole(folder: &Path) -> bool {
    let objects = std::fs::read_to_string(folder.join("objects/info/alternates"));
    folder.join("HEAD").is_file() && objects.is_ok_and(|path| Path::new(path.trim()).is_dir())
}

/// Changes nothing in a repository that is there, but completes one whose maker was killed and follows
/// a clone that was moved.
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
    git::output(local(folder).arg("mktree"))?;
    let alternates = folder.join("objects/info/alternates");
    std::fs::create_dir_all(folder.join("objects/info"))
        .and_then(|()| std::fs::write(&alternates, format!("{objects}\n")))
        .with_context(|| format!("could not write `{}`", alternates.display()))
}

/// Removes the locks that a killed git left. The caller holds the lock of the repository.
fn remove_locks(folder: &Path) -> Result<()> {
    let walk = WalkDir::new(folder).into_iter();
    for entry in walk.filter_entry(|entry| entry.file_name() != "objects") {
        let path = match entry {
            Err(error) if error.io_error().is_some_and(|io| io.kind() == ErrorKind::NotFound) => {
                continue;
            }
            entry => entry?.into_path(),
        };
        if path.extension() == Some(OsStr::new("lock")) {
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

/// The most records that are read at once: more than ten thousand tasks have.
const MOST_RECORDS: usize = 100_000;

/// Why a chain is not read.
const TOO_MANY: &str = "there are more than 100,000 records, which are not read";

/// The references of a private repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Those of the loop, as of the last fetch.
    pub references: BTreeMap<String, ObjectId>,
    /// The records that were stored and not settled yet, by the loop's reference.
    pub pending: BTreeMap<String, ObjectId>,
    /// This machine's last record of each reference that landed. A machine knows its claims and its
    /// lease by these ids, not by its name.
    pub own: BTreeMap<String, ObjectId>,
    /// The branch of the integrated work on the remote; `None` if it does not exist.
    pub branch: Option<ObjectId>,
}

/// The private repository of a loop, to be read.
#[derive(Debug, Clone)]
pub struct Records {
    folder: PathBuf,
    space: Namespace,
}

impl Records {
    pub fn at(folder: &Path, space: Namespace) -> Records {
        Records { folder: folder.to_owned(), space }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn space(&self) -> &Namespace {
        &self.space
    }

    /// Every reference, as of now.
    pub fn snapshot(&self) -> Result<Snapshot> {
        let prefix = format!("{}/", self.space.prefix());
        let mut snapshot = Snapshot::default();
        for (name, id) in self.list("refs/")? {
            if let Some(rest) = name.strip_prefix(PENDING) {
                snapshot.pending.insert(format!("refs/{rest}"), id);
            } else if let Some(rest) = name.strip_prefix(OWN) {
                snapshot.own.insert(format!("refs/{rest}"), id);
            } else if name == BRANCH {
                snapshot.branch = Some(id);
            } else if name.starts_with(&prefix) {
                snapshot.references.insert(name, id);
            }
        }
        Ok(snapshot)
    }

    /// The commits of a chain after the one that was seen last, oldest first.
    pub fn chain(&self, seen: Option<&ObjectId>, tip: &ObjectId) -> Result<Vec<Commit>> {
        match self.chains(&[(seen, tip)])?.pop().flatten() {
            Some(chain) => Ok(chain),
            None => bail!(TOO_MANY),
        }
    }

    /// The commits of several chains, each after the one that was seen last, with one call of git. A chain is
    /// `None` if not all of it was read: together they have more than `MOST_RECORDS` commits, or
    /// one of its commits is another chain's.
    pub fn chains(
        &self,
        wanted: &[(Option<&ObjectId>, &ObjectId)],
    ) -> Result<Vec<Option<Vec<Commit>>>> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let mut orders = String::new();
        for (seen, tip) in wanted {
            orders += &format!("{tip}\n");
            orders.extend(seen.map(|seen| format!("^{seen}\n")));
        }
        let orders = scratch::input(orders.as_bytes())?;
        let mut command = self.command_to_log();
        command.arg(format!("--max-count={MOST_RECORDS}")).arg("--stdin").stdin(orders);
        let read = commits(&git::output(&mut command)?)?;
        let is_cut = read.len() + 1 >= MOST_RECORDS;
        let mut known: HashMap<ObjectId, Option<Commit>> =
            read.into_iter().map(|one| (one.id.clone(), Some(one))).collect();
        let chain = |(seen, tip): &(Option<&ObjectId>, &ObjectId)| {
            let (mut chain, mut next) = (Vec::new(), Some((*tip).clone()));
            while let Some(id) = next.filter(|id| Some(id) != *seen) {
                match known.get_mut(&id).map(Option::take) {
                    Some(commit) => {
                        let commit = commit?;
                        next = commit.parent.clone();
                        chain.push(commit);
                    }
                    None if is_cut => return None,
                    // Behind what was seen: the chain was replaced.
                    None => break,
                }
            }
            chain.reverse();
            Some(chain)
        };
        Ok(wanted.iter().map(chain).collect())
    }

    /// The tree id of a commit's work.
    pub fn tree(&self, commit: &ObjectId) -> Result<ObjectId> {
        let mut command = local(&self.folder);
        command.args(["rev-parse", "--verify", "--quiet", &format!("{commit}^{{tree}}")]);
        object(&git::line(&mut command)?)
    }

    /// One record.
    pub fn record(&self, id: &ObjectId) -> Result<Commit> {
        match self.log(&["--max-count=1".to_owned(), id.to_string()])?.pop() {
            Some(commit) => Ok(commit),
            None => bail!("git printed nothing for the record {id}"),
        }
    }

    fn log(&self, options: &[String]) -> Result<Vec<Commit>> {
        commits(&git::output(self.command_to_log().args(options).arg("--"))?)
    }

    fn command_to_log(&self) -> Command {
        let mut command = local(&self.folder);
        command.args(["log", "-z", "--first-parent", "--no-color", "--format=%H %P%n%B"]);
        command
    }

    /// True if the commit `whole` is `part` or descends from it.
    pub fn contains(&self, whole: &ObjectId, part: &ObjectId) -> Result<bool> {
        let mut command = local(&self.folder);
        command.args(["merge-base", "--is-ancestor", part.as_str(), whole.as_str()]);
        Ok(git::answer(&mut command)?.0)
    }

    /// Brings the objects of these references to the clone, which gets no reference for them.
    pub fn bring_to(&self, clone: &Path, references: &[String]) -> Result<()> {
        let mut command = git::command(clone);
        command.env("GIT_ALLOW_PROTOCOL", "file");
        command.args(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"]);
        command.args(["--no-auto-maintenance", "--no-recurse-submodules", "--"]);
        git::output(command.arg(&self.folder).args(references)).map(drop)
    }

    fn list(&self, prefix: &str) -> Result<Vec<(String, ObjectId)>> {
        let mut command = local(&self.folder);
        command.args(["for-each-ref", "--format=%(objectname) %(refname)", prefix]);
        let printed = git::output(&mut command)?;
        let read = |line: &str| match line.split_once(' ') {
            Some((id, name)) => Ok((name.to_owned(), object(id)?)),
            None => bail!("git printed `{line}` for a reference"),
        };
        String::from_utf8_lossy(&printed).lines().map(read).collect()
    }
}

fn is_beginning(id: &ObjectId) -> bool {
    BEGINNINGS.contains(&id.as_str())
}

/// The records that git has printed.
fn commits(printed: &[u8]) -> Result<Vec<Commit>> {
    let commits = git::zero_ended(printed).map(|one| commit(&String::from_utf8_lossy(one)));
    commits.filter(|read| !read.as_ref().is_ok_and(|it| is_beginning(&it.id))).collect()
}

/// `<id> <parents>`, then the message.
fn commit(text: &str) -> Result<Commit> {
    let (ids, message) = text.split_once('\n').unwrap_or((text, ""));
    let mut ids = ids.split_whitespace();
    let id = object(ids.next().unwrap_or_default())?;
    let parent = ids.next().map(object).transpose()?.filter(|parent| !is_beginning(parent));
    let work = ids.next().map(object).transpose()?;
    Ok(Commit { id, parent, work, message: message.to_owned() })
}
