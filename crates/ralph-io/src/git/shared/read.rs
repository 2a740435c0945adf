//! Reads what the machines wrote, as of the last fetch. It needs no lock.

use super::{BEGINNINGS, BRANCH, OWN, PENDING, local, object};
use crate::git;
use crate::git::scratch;
use anyhow::{Result, bail};
use ralph_core::tasks::shared::names::Namespace;
use ralph_core::tasks::shared::text::ObjectId;
use ralph_core::tasks::shared::view::Commit;
use std::collections::{BTreeMap, HashMap};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The most records that are read at once: more than ten thousand tasks have.
const MOST_RECORDS: usize = 100_000;

/// Why a chain is not read.
pub(super) const TOO_MANY: &str = "there are more than 100,000 records, which are not read";

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
    pub(super) folder: PathBuf,
    pub(super) space: Namespace,
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
    ///
    /// # Errors
    /// If git fails.
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
    ///
    /// # Errors
    /// If git fails.
    pub fn chain(&self, seen: Option<&ObjectId>, tip: &ObjectId) -> Result<Vec<Commit>> {
        match self.chains(&[(seen, tip)])?.pop().flatten() {
            Some(chain) => Ok(chain),
            None => bail!(TOO_MANY),
        }
    }

    /// The commits of several chains, each after the one that was seen last, with one call of git. A chain is
    /// `None` if not all of it was read: together they have more than `MOST_RECORDS` commits, or
    /// one of its commits is another chain's.
    ///
    /// # Errors
    /// If git fails.
    pub fn chains(
        &self,
        wanted: &[(Option<&ObjectId>, &ObjectId)],
    ) -> Result<Vec<Option<Vec<Commit>>>> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let mut orders = scratch::nameless_file()?;
        for (seen, tip) in wanted {
            writeln!(orders, "{tip}")?;
            if let Some(seen) = seen {
                writeln!(orders, "^{seen}")?;
            }
        }
        orders.rewind()?;
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
    ///
    /// # Errors
    /// If git fails, as for a commit that is not there.
    pub fn tree(&self, commit: &ObjectId) -> Result<ObjectId> {
        let mut command = local(&self.folder);
        command.args(["rev-parse", "--verify", "--quiet", &format!("{commit}^{{tree}}")]);
        object(&git::line(&mut command)?)
    }

    /// One record.
    ///
    /// # Errors
    /// If git fails.
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
    ///
    /// # Errors
    /// If git fails, as for a commit that is not there.
    pub fn contains(&self, whole: &ObjectId, part: &ObjectId) -> Result<bool> {
        let mut command = local(&self.folder);
        command.args(["merge-base", "--is-ancestor", part.as_str(), whole.as_str()]);
        Ok(git::answer(&mut command)?.0)
    }

    /// Brings the objects of these references to the clone, which gets no reference for them.
    ///
    /// # Errors
    /// If git fails.
    pub fn bring_to(&self, clone: &Path, references: &[String]) -> Result<()> {
        let mut command = git::command(clone);
        command.env("GIT_ALLOW_PROTOCOL", "file");
        command.args(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"]);
        command.args(["--no-auto-maintenance", "--no-recurse-submodules", "--"]);
        git::output(command.arg(&self.folder).args(references)).map(drop)
    }

    pub(super) fn list(&self, prefix: &str) -> Result<Vec<(String, ObjectId)>> {
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
    let commits = printed.split(|byte| *byte == 0).filter(|one| !one.is_empty());
    let commits = commits.map(|one| commit(&String::from_utf8_lossy(one)));
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
