//! Reads what the machines wrote.

use super::{SharedRepository, local, object};
use crate::git;
use anyhow::{Result, bail};
use ralph_core::tasks::shared::chain::Commit;
use ralph_core::tasks::shared::text::ObjectId;

impl SharedRepository {
    /// Takes over the references of the loop from the remote, as they are now.
    ///
    /// # Errors
    /// If the remote did not answer within the time of one call; the error has git's message.
    pub fn fetch(&self) -> Result<()> {
        let all = format!("{}/*", self.space.as_str());
        let options = [
            "--quiet",
            "--prune",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
            "--no-recurse-submodules",
        ];
        let call = self.fetch_from_remote(&options, &format!("+{all}:{all}"))?;
        match call.status {
            Some(status) if status.success() => Ok(()),
            Some(_) => bail!("the remote did not answer: {}", call.words.replace('\n', "; ")),
            None => bail!("the remote did not answer within {} s", self.network.deadline.as_secs()),
        }
    }

    /// The references of the loop, as of the last fetch.
    ///
    /// # Errors
    /// If git fails.
    pub fn references(&self) -> Result<Vec<(String, ObjectId)>> {
        self.list(&format!("{}/", self.space.as_str()))
    }

    /// The commits of a chain after the one that was seen last, oldest first.
    ///
    /// # Errors
    /// If git fails.
    pub fn chain(&self, seen: Option<&ObjectId>, tip: &ObjectId) -> Result<Vec<Commit>> {
        let mut command = local(&self.folder);
        command.args([
            "log",
            "-z",
            "--first-parent",
            "--reverse",
            "--no-color",
            "--format=%H %P%n%B",
        ]);
        command.arg(tip.as_str());
        command.args(seen.map(|seen| format!("^{}", seen.as_str())));
        let printed = git::output(command.arg("--"))?;
        let commits = printed.split(|byte| *byte == 0).filter(|one| !one.is_empty());
        commits.map(|one| commit(&String::from_utf8_lossy(one))).collect()
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

/// `<id> <parents>`, then the message.
fn commit(text: &str) -> Result<Commit> {
    let (ids, message) = text.split_once('\n').unwrap_or((text, ""));
    let mut ids = ids.split_whitespace();
    let id = object(ids.next().unwrap_or_default())?;
    let parent = ids.next().map(object).transpose()?;
    let work = ids.next().map(object).transpose()?;
    Ok(Commit { id, parent, work, message: message.to_owned() })
}
