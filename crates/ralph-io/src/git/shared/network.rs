//! Talks to the remote: with the clone's own access, without a prompt, and for a bounded time.

use super::{BRANCH, SharedRepository, in_repository, remove_locks, scratch};
use crate::git;
use crate::process;
use anyhow::{Context, Result, bail};
use ralph_core::shell::quoted;
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
    pub(super) fn of(clone: &Path, remote: &str) -> Result<Network> {
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
        command.env("GIT_CONFIG_COUNT", self.access.len().to_string());
        for (count, (key, value)) in self.access.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{count}"), key);
            command.env(format!("GIT_CONFIG_VALUE_{count}"), value);
        }
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
