//! Runs the client without a terminal: reads its output as it comes, and leaves no process behind.
//!
//! The client leads its own process group, so that Ctrl-C reaches us and not the client. Its
//! descendants may leave that group and outlive the client; we adopt them as orphans and find them
//! by descent. Only one client runs at a time in a process, so that its orphans cannot be confused
//! with another's.

use crate::process::command::adopt_orphans;
use crate::process::command::family::{self, Family, FamilyEnding, Member};
use crate::process::wait_any::{InterruptRequest, Interrupts};
use crate::process::waits::{CLIENT_GRACE, FAMILY_AGAIN, FAR};
use crate::process::{PIECE, pipe, read_some};
use crate::project::trusted_read;
use anyhow::{Context, Result};
use ralph_core::stop::rounds::Exit;
use ralph_core::text::secrets;
use ralph_core::text::secrets::Redactor;
use rustix::fs::OFlags;
use rustix::process::{Pid, WaitStatus};
use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{PipeReader, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How much of the end of standard error is kept.
const LAST_WORDS: usize = 4096;

/// How to start the client.
#[derive(Debug, Clone, Copy)]
pub struct ClientStart<'a> {
    pub program: &'a Path,
    pub args: &'a [OsString],
    /// Variables added to our environment.
    pub env: &'a [(String, String)],
    /// Variables of our environment that the client must not see.
    pub unset: &'a [String],
    /// The working folder; ours if not set.
    pub folder: Option<&'a Path>,
    /// How long the client and its descendants may live after its last result.
    pub grace: Duration,
    /// The same while a command of the model runs in the background, for which the client waits.
    pub background: Duration,
}

/// Receives the client's output.
pub trait Listener {
    /// Takes the next piece of standard output.
    fn hear(&mut self, piece: &[u8]);
    /// Takes a new interrupt request; called once for each.
    fn asked(&mut self, asked: InterruptRequest);
    /// True if the client must end at once.
    fn is_refused(&self) -> bool {
        false
    }
    /// True if nothing more is expected of the client except its end.
    fn is_settled(&self) -> bool;
    /// True if a command of the model runs in the background.
    fn has_background(&self) -> bool {
        false
    }
}

/// The result of a client's run.
#[derive(Debug)]
pub struct ClientExit {
    pub exit: Exit,
    /// The names of the client's descendants that we had to end; the client's own name if it did
    /// not end by itself.
    pub leftovers: Vec<String>,
    /// The end of the client's standard error.
    pub last_words: String,
}

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Runs the client to its end. When this returns, nothing that it started is alive, as far as the
/// platform lets us find it.
///
/// # Errors
/// If the client cannot be started.
pub fn run(
    start: &ClientStart<'_>,
    interrupts: &Interrupts,
    listener: &mut dyn Listener,
) -> Result<ClientExit> {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    adopt_orphans()?;
    let others = family::children();
    let (client, out, err) = spawn(start)?;
    let watch = ClientWatch {
        client,
        family: Family::new(others, Some(client)),
        out: Some(out),
        err: Some(err),
        last_words: Vec::new(),
        forgot: false,
        settled_at: None,
        told: InterruptRequest::Nothing,
        grace: start.grace,
        background: start.background,
        interrupts,
        listener,
    };
    Ok(watch.finish())
}

fn spawn(start: &ClientStart<'_>) -> Result<(Pid, PipeReader, PipeReader)> {
    let ((out, to_out), (err, to_err)) = (pipe()?, pipe()?);
    // The command owns both write ends, and closes them at the end of this function.
    let mut command = Command::new(start.program);
    for name in start.unset {
        command.env_remove(name);
    }
    command
        .args(start.args)
        .envs(start.env.iter().map(|(name, value)| (name, value)))
        .envs(family::mark())
        // Nobody answers prompts: a program that asks reads the end of its input.
        .stdin(Stdio::null())
        .stdout(to_out)
        .stderr(to_err)
        .process_group(0);
    if let Some(folder) = start.folder {
        command.current_dir(folder);
    }
    let child = command.spawn();
    let child = child.with_context(|| format!("could not start `{}`", start.program.display()))?;
    Ok((Pid::from_child(&child), out, err))
}

struct ClientWatch<'a> {
    client: Pid,
    family: Family,
    /// Not set after the other end is closed.
    out: Option<PipeReader>,
    err: Option<PipeReader>,
    last_words: Vec<u8>,
    /// True if the beginning of standard error was dropped.
    forgot: bool,
    /// Since when nothing more is expected.
    settled_at: Option<Instant>,
    told: InterruptRequest,
    grace: Duration,
    background: Duration,
    interrupts: &'a Interrupts,
    listener: &'a mut dyn Listener,
}

impl ClientWatch<'_> {
    fn finish(mut self) -> ClientExit {
        let ended = self.watch();
        let names = self.names();
        let mut ending = FamilyEnding::begin(CLIENT_GRACE);
        while let Some(next) = self.family.press(&mut ending) {
            self.interrupts.wait(&[], next);
        }
        // Bounded: a process that we could not end may go on writing.
        self.read(1024);
        let leftovers = if ended == Some(Exit::Interrupted) { Vec::new() } else { names };
        let last_words = String::from_utf8_lossy(&self.whole_words()).into_owned();
        let exit = ended.or_else(|| self.family.exit.map(by_itself)).unwrap_or(Exit::Leftovers);
        ClientExit { exit, leftovers, last_words }
    }

    /// Waits until the client has ended and left nothing, or has to be ended. Returns the reason if
    /// it has to be ended.
    fn watch(&mut self) -> Option<Exit> {
        loop {
            self.take_in();
            if self.told == InterruptRequest::End || self.listener.is_refused() {
                return Some(Exit::Interrupted);
            }
            let now = Instant::now();
            let until = self.settled_at.map(|at| at + self.patience());
            if self.family.exit.is_some() && self.family.is_gone() {
                return None;
            }
            if until.is_some_and(|until| now >= until) {
                return self.family.exit.is_none().then_some(Exit::Leftovers);
            }
            // Descendants that are not our children yet send no signal when they end, so poll.
            let next = if self.family.exit.is_some() { now + FAMILY_AGAIN } else { now + FAR };
            self.wait(until.map_or(next, |until| until.min(next)));
        }
    }

    /// How long the client may still live. One that has exited waits for nothing.
    fn patience(&self) -> Duration {
        match self.family.exit.is_none() && self.listener.has_background() {
            true => self.background.max(self.grace),
            false => self.grace,
        }
    }

    fn wait(&mut self, until: Instant) {
        let pipes = [&self.out, &self.err];
        let open: Vec<_> = pipes.iter().filter_map(|pipe| Some(pipe.as_ref()?.as_fd())).collect();
        self.interrupts.wait(&open, until);
    }

    /// Handles everything that has happened by now.
    fn take_in(&mut self) {
        // Bounded: an interrupt must not wait for a client that prints without end.
        self.read(64);
        self.look_around();
    }

    /// The names of the client's descendants, or the client's own if it has none.
    fn names(&self) -> Vec<String> {
        let (client, started): (Vec<Member>, Vec<Member>) =
            self.family.members().into_iter().partition(|one| one.pid == self.client);
        let named = if started.is_empty() { client } else { started };
        named.into_iter().map(|one| one.name).collect()
    }

    fn look_around(&mut self) {
        let asked = self.interrupts.asked();
        if asked > self.told {
            self.told = asked;
            self.listener.asked(asked);
        }
        self.family.reap();
        let is_settled = self.listener.is_settled() || self.family.exit.is_some();
        self.settled_at = is_settled.then(|| self.settled_at.unwrap_or_else(Instant::now));
    }

    fn remember(&mut self, piece: &[u8]) {
        self.last_words.extend_from_slice(piece);
        let surplus = self.last_words.len().saturating_sub(LAST_WORDS);
        self.last_words.drain(..surplus);
        self.forgot |= surplus > 0;
    }

    /// Standard error without a first line whose beginning was dropped: half a secret would not be
    /// recognised as one.
    fn whole_words(&self) -> Vec<u8> {
        let mut lines = self.last_words.splitn(2, |byte| *byte == b'\n');
        let rest = if self.forgot { lines.nth(1) } else { Some(&self.last_words[..]) };
        rest.unwrap_or_default().to_vec()
    }

    /// Reads what is in the pipes, at most so many pieces of standard output.
    fn read(&mut self, most: usize) {
        let mut bytes = vec![0; PIECE];
        for _ in 0..most {
            let Some(read) = read_some(&mut self.out, &mut bytes) else { break };
            self.listener.hear(&bytes[..read]);
        }
        for _ in 0..64 {
            let Some(read) = read_some(&mut self.err, &mut bytes) else { break };
            self.remember(&bytes[..read]);
        }
    }
}

fn by_itself(status: WaitStatus) -> Exit {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => Exit::Signal(signal.unwrap_or_default()),
    }
}

// Keeps everything that a client printed, without secrets, in a file that only its owner can read.
//
// A failed write costs only the log: a full disk does not end a round.

/// A log that is being written.
#[derive(Debug)]
pub struct Log {
    file: File,
    redactor: Redactor,
    clean: Vec<u8>,
    problem: Option<String>,
    ends_a_line: bool,
}

impl Log {
    /// Creates the log or appends to it. The values of `given` and of our own environment that look
    /// like secrets are redacted.
    ///
    /// # Errors
    /// If the file cannot be created, or is a link.
    pub fn open(path: &Path, given: &[(String, String)]) -> Result<Log> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)
                .with_context(|| format!("could not make `{}`", folder.display()))?;
        }
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600);
        let file = options.custom_flags(OFlags::NOFOLLOW.bits() as i32).open(path);
        let file = file.with_context(|| format!("could not write `{}`", path.display()))?;
        let redactor = redactor(given);
        Ok(Log { file, redactor, clean: Vec::new(), problem: None, ends_a_line: true })
    }

    /// Logs the next piece of output.
    pub fn feed(&mut self, piece: &[u8]) {
        if let Some(last) = piece.last() {
            self.ends_a_line = *last == b'\n';
        }
        self.redactor.feed(piece, &mut self.clean);
        self.write();
    }

    /// Adds a line of our own after the output so far.
    pub fn note(&mut self, line: &str) {
        if !self.ends_a_line {
            self.feed(b"\n");
        }
        self.feed(line.as_bytes());
        self.feed(b"\n");
    }

    /// Writes what the redaction held back; returns the first write error, if any.
    pub fn finish(mut self) -> Option<String> {
        self.redactor.finish(&mut self.clean);
        self.write();
        self.problem
    }

    fn write(&mut self) {
        let written =
            if self.problem.is_none() { self.file.write_all(&self.clean) } else { Ok(()) };
        if let Err(error) = written {
            self.problem = Some(format!("could not write the log: {error}"));
        }
        self.clean.clear();
    }
}

/// Redacts the secrets of our environment and of `given` from a text.
pub fn without_secrets(text: &str, given: &[(String, String)]) -> String {
    let mut redactor = redactor(given);
    let mut clean = Vec::new();
    redactor.feed(text.as_bytes(), &mut clean);
    redactor.finish(&mut clean);
    String::from_utf8_lossy(&clean).into_owned()
}

/// Reads a log; `None` if it is missing, larger than any session that we know, or not ours alone.
pub fn read_log(path: &Path) -> Option<Vec<u8>> {
    const LARGEST: u64 = 256 << 20;
    trusted_read::read_at_most(path, LARGEST).ok().flatten()
}

/// The variables of our environment that are to be redacted.
pub(crate) fn secret_variables() -> Vec<(String, Vec<u8>)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.as_bytes().to_vec())))
        .filter(|(name, value)| secrets::is_redacted(name, value))
        .collect()
}

/// Redacts values both as they are and as JSON escapes them.
fn redactor(given: &[(String, String)]) -> Redactor {
    let given = given.iter().map(|(name, value)| (name.clone(), value.as_bytes().to_vec()));
    let mut all = secret_variables();
    all.extend(given.filter(|(name, value)| secrets::is_redacted(name, value)));
    let quoted: Vec<_> =
        all.iter().filter_map(|(name, value)| Some((name.clone(), quoted(value)?))).collect();
    all.extend(quoted);
    Redactor::new(all.iter().map(|(name, value)| (name.as_str(), &value[..])))
}

/// The value as JSON escapes it; `None` if that is the same.
fn quoted(value: &[u8]) -> Option<Vec<u8>> {
    let written = serde_json::to_string(std::str::from_utf8(value).ok()?).ok()?;
    let inner = written.strip_prefix('"')?.strip_suffix('"')?.as_bytes().to_vec();
    (inner != value).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_log_is_its_owners_and_holds_no_secret_however_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rounds").join("1.jsonl");
        let given = [("A_TOKEN".to_owned(), "se\"cret\n1".to_owned())];
        for _ in 0..2 {
            let mut log = Log::open(&path, &given).unwrap();
            log.feed(b"{\"a\":\"se\\\"cre");
            log.feed(b"t\\n1\"}");
            log.note("{}");
            assert_eq!(log.finish(), None);
        }
        let once = "{\"a\":\"[redacted A_TOKEN]\"}\n{}\n";
        assert_eq!(std::fs::read_to_string(&path).unwrap(), once.repeat(2));
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(without_secrets("x se\"cret\n1", &given), "x [redacted A_TOKEN]");
    }

    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("log"), folder.path().join("other"));
        std::os::unix::fs::symlink(&other, &path).unwrap();
        assert!(Log::open(&path, &[]).is_err());
        assert!(!other.exists());
    }
}
