//! Runs `bd` (beads) where a person stands, and reads what it prints.
//!
//! bd finds its own store: the `.beads` of the folder or of one around it, or what `BEADS_DIR` names.
//! It is asked for JSON only, under a deadline, and without the client's secrets: a project's own
//! hooks of bd run as its children.

use crate::git::scratch;
use crate::process;
use crate::process::programs;
use crate::store::digest;
use crate::store::home::Home;
use crate::store::lock::{self, Lock};
use anyhow::{Context, Result, anyhow, bail};
use ralph_core::tasks::beads::{self, BdVersion, Bead};
use ralph_core::text::secrets;
use std::collections::HashMap;
use std::fmt;
use std::fs::DirBuilder;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The first command of a new version brings a large store up to date, which takes half a minute.
const DEADLINE: Duration = Duration::from_secs(90);

/// Some ten thousand beads with all that is written in them; what is longer is an error, never cut.
const MOST_PRINTED: usize = 256 << 20;

/// How much of bd's words is read.
const MOST_WORDS: u64 = 16 << 10;

/// How many beads are shown at once: their ids go on one command line.
const AT_ONCE: usize = 200;

/// A `bd` that is new enough.
#[derive(Debug)]
pub struct Bd {
    program: PathBuf,
    version: BdVersion,
}

/// What came of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BdReply {
    /// It was done; the beads that were printed.
    Done(Vec<Bead>),
    /// bd exited with an error; its words.
    No(String),
}

/// The error that there is no bd.
#[derive(Debug)]
struct BdMissing(PathBuf);

impl fmt::Display for BdMissing {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            to,
            "could not find `{}`; install bd (beads, https://github.com/gastownhall/beads), or name \
             it in RALPH_BD",
            self.0.display()
        )
    }
}

impl std::error::Error for BdMissing {}

impl Bd {
    /// The program that `RALPH_BD` names, else the `bd` on `PATH`.
    ///
    /// # Errors
    /// When there is none, or none that can be used.
    pub fn find() -> Result<Bd> {
        let named = std::env::var_os("RALPH_BD").filter(|name| !name.is_empty());
        let name = PathBuf::from(named.unwrap_or_else(|| "bd".into()));
        let found = match name.parent().is_some_and(|folder| !folder.as_os_str().is_empty()) {
            true => std::path::absolute(&name).ok().filter(|path| programs::is_executable(path)),
            false => name.to_str().and_then(programs::find_on_path),
        };
        let program = found.ok_or(BdMissing(name))?;
        let (code, stdout, stderr) = run(&program, &["version", "--json"])?;
        match code {
            Some(0) => Ok(Bd { version: beads::usable(&stdout)?, program }),
            _ => bail!("`bd version` failed: {}", beads::said(&stdout, &stderr)),
        }
    }

    /// Its version.
    pub fn version(&self) -> BdVersion {
        self.version
    }

    /// All beads, closed ones and gates too, with what each depends on.
    ///
    /// # Errors
    /// When bd fails.
    pub fn list(&self) -> Result<Vec<Bead>> {
        // Without a limit of 0 the list ends after 50, and nothing in it says so.
        let mut all = self.read(&["list", "--all", "--include-gates", "--limit=0", "--json"])?;
        let lacking: Vec<String> = all
            .iter()
            .filter(|bead| bead.lacks_dependencies())
            .map(|bead| bead.id.clone())
            .collect();
        let mut known = HashMap::new();
        for ids in lacking.chunks(AT_ONCE) {
            let ids = ids.iter().map(String::as_str);
            let shown =
                self.read(&["show"].into_iter().chain(ids).chain(["--json"]).collect::<Vec<_>>())?;
            known.extend(shown.into_iter().map(|bead| (bead.id, bead.dependencies)));
        }
        for bead in &mut all {
            if let Some(dependencies) = known.remove(&bead.id) {
                bead.dependencies = dependencies;
            }
        }
        Ok(all)
    }

    /// What can be begun now, as bd sees it, in its order.
    ///
    /// # Errors
    /// When bd fails.
    pub fn ready(&self) -> Result<Vec<Bead>> {
        self.read(&["ready", "--limit=0", "--json"])
    }

    /// One bead with what it depends on; none if there is no such id.
    ///
    /// # Errors
    /// When bd fails.
    pub fn show(&self, id: &str) -> Result<Option<Bead>> {
        if !beads::is_id(id) {
            return Ok(None);
        }
        let words = match self.ask(&["show", id, "--json"])? {
            BdReply::Done(beads) => return Ok(beads.into_iter().next()),
            BdReply::No(words) => words,
        };
        // An id that does not exist and a store that cannot be opened end in the same way; of the
        // two, a list with nothing in it is the first.
        match self.read(&["list", "--all", "--limit=0", &format!("--id={id}"), "--json"]) {
            Ok(list) if list.is_empty() => Ok(None),
            _ => bail!("`bd show` failed: {words}"),
        }
    }

    /// Claims one bead: bd's own step, in which of two only one gets it. That it was said to be done
    /// is not enough; who asks next whose it is knows.
    ///
    /// # Errors
    /// When bd cannot be run.
    pub fn claim(&self, id: &str, actor: &str) -> Result<BdReply> {
        self.ask(&["update", id, "--claim", &format!("--actor={actor}"), "--json"])
    }

    /// Closes one bead, with what came of it.
    ///
    /// # Errors
    /// When bd cannot be run.
    pub fn close(&self, id: &str, actor: &str, reason: Option<&str>) -> Result<BdReply> {
        let (actor, reason) =
            (format!("--actor={actor}"), reason.map(|it| format!("--reason={it}")));
        let mut arguments = vec!["close", id, &actor, "--json"];
        arguments.extend(reason.as_deref());
        self.ask(&arguments)
    }

    /// Sets one bead aside, and adds a note that says why.
    ///
    /// # Errors
    /// When bd cannot be run.
    pub fn block(&self, id: &str, actor: &str, note: &str) -> Result<BdReply> {
        let (actor, note) = (format!("--actor={actor}"), format!("--append-notes={note}"));
        self.ask(&["update", id, "--status=blocked", &note, &actor, "--json"])
    }

    /// Makes one bead open, with nobody on it.
    ///
    /// # Errors
    /// When bd cannot be run.
    pub fn release(&self, bead: &Bead, actor: &str) -> Result<BdReply> {
        let actor = format!("--actor={actor}");
        let mut arguments =
            vec!["update", &bead.id, "--status=open", "--assignee=", &actor, "--json"];
        // A date would go on hiding it.
        arguments.extend(bead.is("deferred").then_some("--defer="));
        self.ask(&arguments)
    }

    /// Makes one bead wait for another, or wait no longer.
    ///
    /// # Errors
    /// When bd cannot be run.
    pub fn depend(
        &self,
        id: &str,
        on: &str,
        actor: &str,
        link: Link,
    ) -> Result<Result<(), String>> {
        let step = match link {
            Link::Add => "add",
            Link::Remove => "remove",
        };
        let actor = format!("--actor={actor}");
        let (code, stdout, stderr) = run(&self.program, &["dep", step, id, on, &actor, "--json"])?;
        Ok(match code {
            Some(0) => Ok(()),
            _ => Err(beads::said(&stdout, &stderr)),
        })
    }

    fn read(&self, arguments: &[&str]) -> Result<Vec<Bead>> {
        match self.ask(arguments)? {
            BdReply::Done(beads) => Ok(beads),
            BdReply::No(words) => bail!("`bd {}` failed: {words}", arguments[0]),
        }
    }

    fn ask(&self, arguments: &[&str]) -> Result<BdReply> {
        let (code, stdout, stderr) = run(&self.program, arguments)?;
        if code != Some(0) {
            return Ok(BdReply::No(beads::said(&stdout, &stderr)));
        }
        let read = beads::read(&stdout);
        read.map(BdReply::Done)
            .with_context(|| format!("could not read what `bd {}` said", arguments[0]))
    }
}

/// What becomes of a dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// It is added.
    Add,
    /// It is taken away.
    Remove,
}

/// True if the folder has a store of bd.
pub fn has_store(folder: &Path) -> bool {
    folder.join(".beads").is_dir()
}

/// Held while the next bead is looked for and claimed. Two workers under one name would otherwise be
/// given the same one: to bd, a second claim of what one has is no mistake.
///
/// # Errors
/// When it cannot be taken.
pub fn hold_claims(home: &Home, project: &Path) -> Result<Lock> {
    home.prepare()?;
    let folder = home.root().join("beads");
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)
        .with_context(|| format!("could not make the folder `{}`", folder.display()))?;
    let name = digest::of_bytes(project.as_os_str().as_bytes()).replace(':', "-");
    lock::take(&folder.join(name), DEADLINE)
}

/// Runs it to its end: exit code, and what it wrote to both streams.
fn run(program: &Path, arguments: &[&str]) -> Result<(Option<i32>, String, String)> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(secrets::is_clients_secret) {
            command.env_remove(&name);
        }
    }
    // The form that every later version keeps; older ones print theirs, which is read too.
    command.env("BD_JSON_ENVELOPE", "1");
    // A file and no pipe: it may have more to say than a pipe holds, while we read the other.
    let mut words = scratch::nameless_file()?;
    command.stderr(Stdio::from(words.try_clone().context("could not share a file")?));
    let running = process::start_as_given(&mut command)?;
    let finished = running.finish(Instant::now() + DEADLINE, MOST_PRINTED)?;
    if finished.capped {
        bail!("`bd {}` printed more than {} MiB", arguments[0], MOST_PRINTED >> 20);
    }
    let stdout = String::from_utf8(finished.stdout)
        .map_err(|_| anyhow!("`bd {}` printed what is not UTF-8 text", arguments[0]))?;
    Ok((finished.status.code(), stdout, scratch::words_in(&mut words, MOST_WORDS)))
}
