//! Talks to the remote of a shared loop: with the clone's own access, without a prompt, and for a
//! bounded time.
//!
//! One exchange pushes what is pending, reads, and settles.

use super::{BRANCH, Keep, SharedRepository, in_repository, remove_locks, scratch};
use crate::{git, process};
use anyhow::{Context, Result, bail};
use ralph_core::shell::quoted;
use ralph_core::tasks::shared::names::Reference;
use ralph_core::tasks::shared::record::{LedgerRecord, Record};
use ralph_core::tasks::shared::text::ObjectId;
use ralph_core::tasks::shared::timing::{Attempt, Settled, settle};
use ralph_core::tasks::shared::view::Commit;
use ralph_core::tasks::shared::work::Append;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The most time that one call may take. Git has no deadline of its own for ssh and `git://`.
const DEADLINE: Duration = Duration::from_secs(120);

/// The most output of one call that is read.
const MOST_PRINTED: usize = 16 << 20;

/// The most of git's messages that is read.
const MOST_WORDS: u64 = 20_000;

/// The clone's configuration that decides how a remote is reached.
const ACCESS: &str =
    r"^(http|https|credential|url|ssh|protocol)\.|^core\.(sshcommand|askpass|gitproxy)$";

/// How a remote is reached.
#[derive(Debug)]
pub(super) struct Network {
    /// Where it is: what `git remote get-url` prints.
    pub(super) fetch: String,
    /// The clone: the path of a remote may be relative to it.
    clone: PathBuf,
    push: String,
    pub(super) access: Vec<(OsString, OsString)>,
    pub(super) ssh: OsString,
    pub(super) deadline: Duration,
}

/// The result of one call.
#[derive(Debug)]
pub(super) struct Call {
    /// `None` if git did not end before the deadline.
    pub(super) status: Option<ExitStatus>,
    pub(super) stdout: Vec<u8>,
    /// What git wrote to standard error.
    pub(super) words: String,
}

impl Network {
    /// The access of a clone to one of its remotes.
    pub(super) fn for_remote(clone: &Path, remote: &str) -> Result<Network> {
        let url = |options: &[&str]| {
            let mut command = git::command(clone);
            command.args(["remote", "get-url"]).args(options).args(["--", remote]);
            git::line(&mut command).with_context(|| {
                format!("could not find the remote `{remote}`; see `git remote -v`")
            })
        };
        let (fetch, push) = (url(&[])?, url(&["--push"])?);
        let listed =
            git::answer(git::command(clone).args(["config", "--null", "--get-regexp", ACCESS]));
        let listed = listed.map(|(_, listed)| listed)?;
        let access: Vec<_> = listed.split(|byte| *byte == 0).filter_map(entry).collect();
        let ssh = Self::ssh_without_prompts(&access);
        Ok(Network { clone: clone.to_owned(), fetch, push, access, ssh, deadline: DEADLINE })
    }

    /// The user's own ssh command, which must not ask. Other programs know no such option.
    fn ssh_without_prompts(access: &[(OsString, OsString)]) -> OsString {
        let configured = || {
            let mut configured = access.iter().rev().filter(|(key, _)| key == "core.sshcommand");
            configured.next().map(|(_, value)| value.clone())
        };
        let program = || std::env::var_os("GIT_SSH").map(|it| quoted(&it.to_string_lossy()).into());
        let own = std::env::var_os("GIT_SSH_COMMAND").or_else(configured).or_else(program);
        let mut ssh = own.unwrap_or_else(|| "ssh".into());
        let text = ssh.to_string_lossy().into_owned();
        let first = text.split_whitespace().next().unwrap_or_default();
        if first.trim_matches('\'').rsplit('/').next() == Some("ssh") {
            ssh.push(" -o BatchMode=yes -o ConnectTimeout=30");
        }
        ssh
    }

    fn command(&self, folder: &Path) -> Command {
        let mut command = in_repository(folder, &self.clone);
        command.env_remove("GIT_ALLOW_PROTOCOL").env_remove("GIT_NO_LAZY_FETCH");
        command.env("GCM_INTERACTIVE", "never").env("SSH_ASKPASS_REQUIRE", "never");
        for kept in [
            "GIT_ASKPASS",
            "GIT_SSH_VARIANT",
            "GIT_PROXY_COMMAND",
            "GIT_SSL_CAINFO",
            "GIT_SSL_NO_VERIFY",
        ] {
            if let Some(value) = std::env::var_os(kept) {
                command.env(kept, value);
            }
        }
        command.env("GIT_SSH_COMMAND", &self.ssh);
        git::configure(&mut command, self.access.iter().map(|(key, value)| (key, value)));
        command
    }
}

/// An entry of `git config --null`: a key, a line feed and the value. A key without a value is `true`.
fn entry(listed: &[u8]) -> Option<(OsString, OsString)> {
    let mut parts = listed.splitn(2, |byte| *byte == b'\n');
    let key = parts.next().filter(|key| !key.is_empty())?;
    let value = parts.next().unwrap_or(b"true");
    Some((OsString::from_vec(key.to_vec()), OsStr::from_bytes(value).to_owned()))
}

/// Git's messages as one line.
fn one_line(words: &str) -> String {
    words.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

impl SharedRepository {
    /// Sets the most time that one call may take.
    pub fn set_deadline(&mut self, deadline: Duration) {
        self.network.deadline = deadline;
    }

    /// Takes over the references of the loop, and its branch, as they are now on the remote.
    ///
    /// # Errors
    /// If the remote did not answer within the time of one call; the error has git's message.
    pub fn fetch(&self) -> Result<()> {
        let (prefix, branch) = (self.records.space.prefix(), self.records.space.branch());
        // With a pattern, a branch that does not exist is no error.
        self.fetch_as(&[format!("+{prefix}/*:{prefix}/*"), format!("+{branch}*:{BRANCH}*")])
    }

    /// Takes over references of the remote as these refspecs say.
    ///
    /// # Errors
    /// If the remote did not answer within the time of one call; the error has git's message.
    pub(super) fn fetch_as(&self, refspecs: &[String]) -> Result<()> {
        let mut command = self.network.command(&self.records.folder);
        command.args([
            "fetch",
            "--quiet",
            "--prune",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
            "--no-recurse-submodules",
            "--",
        ]);
        command.arg(&self.network.fetch).args(refspecs);
        let call = self.call(command)?;
        match call.status {
            Some(status) if status.success() => Ok(()),
            Some(_) => bail!("the remote did not answer: {}", one_line(&call.words)),
            None => bail!("the remote did not answer within {} s", self.network.deadline.as_secs()),
        }
    }

    /// Runs `git push` with these options.
    pub(super) fn push_to_remote(&self, options: &[String], refspecs: &[String]) -> Result<Call> {
        let mut command = self.network.command(&self.records.folder);
        command.arg("push").args(options).arg("--").arg(&self.network.push).args(refspecs);
        self.call(command)
    }

    fn call(&self, mut command: Command) -> Result<Call> {
        // Neither needs input, and what stands there is held until the last process of git has ended.
        command.stdin(self.lock.held_by_child()?);
        let mut words = scratch::nameless_file()?;
        command.stderr(Stdio::from(words.try_clone()?));
        let running = process::start_as_given(&mut command)?;
        let finished = running.finish(Instant::now() + self.network.deadline, MOST_PRINTED);
        let words = scratch::words_in(&mut words, MOST_WORDS);
        match finished {
            Ok(finished) => {
                Ok(Call { status: Some(finished.status), stdout: finished.stdout, words })
            }
            Err(_) => {
                // It was killed with its whole group, and may have left references locked.
                remove_locks(&self.records.folder)?;
                Ok(Call { status: None, stdout: Vec::new(), words })
            }
        }
    }
}

/// What a push reported. It proves only what `settle` in `ralph-core` takes from it.
#[derive(Debug, Default)]
pub struct PushReport {
    pub lines: Vec<StatusLine>,
    /// Git's messages; empty if it printed none.
    pub words: String,
}

/// The line for one reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusLine {
    pub reference: String,
    /// ` `, `+`, `-`, `*`, `=` or `!`, as `git push --porcelain` explains.
    pub flag: char,
    pub summary: String,
}

/// One reference to be moved.
#[derive(Debug, Clone, Copy)]
pub struct Update<'a> {
    pub reference: &'a str,
    /// The value that the server has to find there; `None` if the reference must not exist.
    pub expected: Option<&'a ObjectId>,
    /// The new value; `None` deletes the reference.
    pub new: Option<&'a ObjectId>,
}

impl SharedRepository {
    /// Pushes these updates at once. The server decides about each alone.
    pub fn push(&self, updates: &[Update<'_>]) -> Result<PushReport> {
        let mut options: Vec<String> = [
            "--porcelain",
            "--no-verify",
            "--no-follow-tags",
            "--no-signed",
            "--no-atomic",
            "--recurse-submodules=no",
        ]
        .map(str::to_owned)
        .into();
        let mut refspecs = Vec::new();
        for Update { reference, expected, new } in updates {
            let (expected, new) = (text(*expected), text(*new));
            options.push(format!("--force-with-lease={reference}:{expected}"));
            refspecs.push(format!("{new}:{reference}"));
        }
        let call = self.push_to_remote(&options, &refspecs)?;
        let lines = String::from_utf8_lossy(&call.stdout).lines().filter_map(status).collect();
        Ok(PushReport { lines, words: call.words })
    }
}

fn text(id: Option<&ObjectId>) -> &str {
    id.map_or("", ObjectId::as_str)
}

impl PushReport {
    /// The flag of a reference's line, if there is one.
    pub fn flag(&self, reference: &str) -> Option<char> {
        self.lines.iter().find(|line| line.reference == reference).map(|line| line.flag)
    }

    /// The first refusal, in git's words; empty if git reports no refusal.
    pub fn refusal(&self) -> String {
        let refused = self.lines.iter().find(|line| line.flag == '!');
        let words = || self.words.trim().replace('\n', "; ");
        match refused {
            Some(line) => line.summary.clone(),
            None if self.lines.is_empty() => words(),
            None => String::new(),
        }
    }

    /// True if a lock on the server was in the way: of one reference, or of a reftable.
    pub fn is_locked(&self) -> bool {
        ["File exists", "cannot lock references"].iter().any(|words| self.words.contains(words))
    }
}

/// `<flag>\t<from>:<to>\t<summary>`
fn status(line: &str) -> Option<StatusLine> {
    let mut fields = line.splitn(3, '\t');
    let (flag, names, summary) = (fields.next()?, fields.next()?, fields.next()?);
    let mut flag = flag.chars();
    let (flag, None) = (flag.next()?, flag.next()) else { return None };
    let (_, reference) = names.split_once(':')?;
    Some(StatusLine { reference: reference.to_owned(), flag, summary: summary.to_owned() })
}

/// What is exchanged.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Exchange {
    /// New records. One for a reference with a pending record is ignored.
    pub appends: Vec<Append>,
    /// Where the branch has to be.
    pub branch: Option<BranchUpdate>,
    /// False to read only.
    pub pushes: bool,
    /// For how long a lock on the server has been in the way.
    pub locked: Duration,
}

/// A fast-forward of the branch that shows the integrated work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchUpdate {
    pub expected: Option<ObjectId>,
    pub new: ObjectId,
}

/// What an exchange brought.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ExchangeReport {
    pub sent: Vec<Sent>,
    /// True if a push was started.
    pub has_pushed: bool,
    /// True if the remote was read after the push.
    pub is_answered: bool,
    /// True if a lock on the server was in the way.
    pub is_locked: bool,
    /// Why the remote was not read, or refused a record, in git's words; empty if neither.
    pub trouble: String,
}

/// A record that was pending.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    pub reference: String,
    pub record: ObjectId,
    pub settled: Settled,
}

impl SharedRepository {
    /// Stores the new records, pushes what is pending, reads the remote, and settles each record.
    ///
    /// # Errors
    /// If git cannot be started, or the disk fails. Trouble with the remote is reported.
    pub fn exchange(&self, order: &Exchange) -> Result<ExchangeReport> {
        let mut pending = Vec::new();
        for (reference, record) in self.snapshot()?.pending {
            pending.push((reference, self.record(&record)?));
        }
        for append in &order.appends {
            if pending.iter().all(|(reference, _)| *reference != append.reference) {
                let commit = Commit {
                    id: self.store(append)?,
                    parent: append.parent.clone(),
                    work: append.work.clone(),
                    message: append.message.clone(),
                };
                pending.push((append.reference.clone(), commit));
            }
        }
        let mut report = ExchangeReport::default();
        let pushed = match order.pushes {
            true => self.push_all(&pending, order.branch.as_ref(), &mut report)?,
            false => Vec::new(),
        };
        match self.fetch() {
            Ok(()) => report.is_answered = true,
            Err(error) => report.trouble = format!("{error:#}"),
        }
        let tips = self.snapshot()?.references;
        let mut keep = Vec::new();
        for (reference, commit) in &pending {
            let status = pushed.iter().find(|(name, _)| name == reference).map(|(_, flag)| *flag);
            let tip = report.is_answered.then(|| tips.get(reference));
            let settled = self.settle(commit, status, tip, order, &report)?;
            match settled {
                Settled::Landed => {
                    if self.is_held(reference, commit) {
                        keep.push(Keep::Own(reference, &commit.id));
                    }
                    keep.push(Keep::Forgotten(reference));
                }
                Settled::Lost => keep.push(Keep::Forgotten(reference)),
                Settled::Read | Settled::Again | Settled::StaleLock => {}
            }
            let (reference, record) = (reference.clone(), commit.id.clone());
            report.sent.push(Sent { reference, record, settled });
        }
        self.update(&keep)?;
        Ok(report)
    }

    /// Returns the references that git reported, each with the flag of its line.
    fn push_all(
        &self,
        pending: &[(String, Commit)],
        branch: Option<&BranchUpdate>,
        report: &mut ExchangeReport,
    ) -> Result<Vec<(String, char)>> {
        let name = self.space.branch();
        let records = pending.iter().map(|(reference, commit)| Update {
            reference,
            expected: commit.parent.as_ref(),
            new: Some(&commit.id),
        });
        let branch = branch.map(|branch| Update {
            reference: &name,
            expected: branch.expected.as_ref(),
            new: Some(&branch.new),
        });
        let updates: Vec<Update<'_>> = records.chain(branch).collect();
        if updates.is_empty() {
            return Ok(Vec::new());
        }
        let pushed = self.push(&updates)?;
        report.has_pushed = true;
        report.is_locked = pushed.is_locked();
        report.trouble = pushed.refusal();
        Ok(pushed.lines.into_iter().map(|line| (line.reference, line.flag)).collect())
    }

    /// `tip` is the value of the reference in a read after the push; not set if nothing was read.
    fn settle(
        &self,
        commit: &Commit,
        status: Option<char>,
        tip: Option<Option<&ObjectId>>,
        order: &Exchange,
        report: &ExchangeReport,
    ) -> Result<Settled> {
        let expected = commit.parent.as_ref();
        let mut attempt = Attempt {
            record: &commit.id,
            expected,
            status,
            chain: None,
            locked: report.is_locked.then_some(order.locked),
        };
        let settled = settle(&attempt);
        let (Settled::Read, Some(tip)) = (settled, tip) else { return Ok(settled) };
        let chain = self.ids_since(tip, expected)?;
        attempt.chain = Some(&chain);
        Ok(settle(&attempt))
    }

    /// The ids of a chain with this tip, from the expected one on if the chain has it.
    fn ids_since(
        &self,
        tip: Option<&ObjectId>,
        expected: Option<&ObjectId>,
    ) -> Result<Vec<ObjectId>> {
        let Some(tip) = tip else { return Ok(Vec::new()) };
        if Some(tip) == expected {
            return Ok(vec![tip.clone()]);
        }
        let later = self.chain(expected, tip)?.into_iter().map(|commit| commit.id);
        let before = expected.filter(|expected| self.contains(tip, expected).unwrap_or(false));
        Ok(before.cloned().into_iter().chain(later).collect())
    }

    /// True if later decisions depend on who wrote the record. Of the ledger these are the records
    /// that take or renew the integrator's lease.
    fn is_held(&self, reference: &str, commit: &Commit) -> bool {
        if self.space.parse(reference) != Some(Reference::Ledger) {
            return true;
        }
        let record = Record::parse(&commit.message).map(|record| record.kind);
        matches!(record, Ok(LedgerRecord::Integrator { .. } | LedgerRecord::Verdict(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_line_is_told_from_gits_other_lines() {
        let line = status("!\tabc:refs/ralph/shared/l/t/1\t[rejected] (stale info)").unwrap();
        assert_eq!(line.flag, '!');
        assert_eq!(line.reference, "refs/ralph/shared/l/t/1");
        assert_eq!(line.summary, "[rejected] (stale info)");
        assert_eq!(status(" \ta:b\tx..y").unwrap().flag, ' ');
        for other in ["To /tmp/x.git", "Done", "", "!!\ta:b\tx", "*\tab\tx", "*\ta:b"] {
            assert_eq!(status(other), None, "{other}");
        }
    }
}
