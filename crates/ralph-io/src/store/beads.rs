//! Runs `bd` (beads) in the working folder, and parses its output.
//!
//! bd finds its own store: the `.beads` of the folder or of a parent, or what `BEADS_DIR` names. We
//! only ask it for JSON, under a deadline, and without the client's secrets, because a project's bd
//! hooks run as its children.

use crate::git::scratch;
use crate::process;
use crate::process::programs;
use anyhow::{Context, Error, Result, anyhow, bail};
use ralph_core::tasks::beads::{self, BdVersion, Bead};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The first command of a new version migrates a large store, which takes half a minute.
const DEADLINE: Duration = Duration::from_secs(90);

/// Some ten thousand beads with all their text. Longer output is an error and never cut.
const MOST_PRINTED: usize = 256 << 20;

/// How many bytes of bd's standard error are read.
const MOST_WORDS: u64 = 16 << 10;

/// How many beads are shown by one command: their ids go on one command line.
const AT_ONCE: usize = 200;

/// A `bd` executable of a supported version.
#[derive(Debug)]
pub struct Bd {
    program: PathBuf,
    version: BdVersion,
}

impl Bd {
    /// Finds the program that `RALPH_BD` names, otherwise the `bd` on `PATH`.
    ///
    /// # Errors
    /// If there is none, or its version is not supported.
    pub fn find() -> Result<Bd> {
        let named = std::env::var_os("RALPH_BD").filter(|name| !name.is_empty());
        let name = PathBuf::from(named.unwrap_or_else(|| "bd".into()));
        let program = programs::find_named(&name).with_context(|| {
            format!(
                "could not find `{}`; install bd (beads, https://github.com/gastownhall/beads), or \
                 name it in RALPH_BD",
                name.display()
            )
        })?;
        let (code, stdout, stderr) = run(&program, &["version", "--json"])?;
        match code {
            Some(0) => Ok(Bd { version: beads::usable(&stdout).map_err(Error::msg)?, program }),
            _ => bail!("`bd version` failed: {}", beads::said(&stdout, &stderr)),
        }
    }

    pub fn version(&self) -> BdVersion {
        self.version
    }

    /// All beads, including closed ones and gates, with their dependencies.
    pub fn list(&self) -> Result<Vec<Bead>> {
        // With any limit but 0, the list is cut after 50 beads without notice.
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

    fn read(&self, arguments: &[&str]) -> Result<Vec<Bead>> {
        let (code, stdout, stderr) = run(&self.program, arguments)?;
        if code != Some(0) {
            bail!("`bd {}` failed: {}", arguments[0], beads::said(&stdout, &stderr));
        }
        beads::read(&stdout)
            .map_err(Error::msg)
            .with_context(|| format!("could not read the output of `bd {}`", arguments[0]))
    }
}

/// True if the folder has a store of bd.
pub fn has_store(folder: &Path) -> bool {
    folder.join(".beads").is_dir()
}

/// Runs bd to its end; returns its exit code, standard output and standard error.
fn run(program: &Path, arguments: &[&str]) -> Result<(Option<i32>, String, String)> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    process::take_secrets(&mut command);
    // The JSON form that every later version keeps. Older ones print their own, which we parse too.
    command.env("BD_JSON_ENVELOPE", "1");
    // A file, not a pipe: bd may write more errors than a pipe holds while we read its output.
    let mut words = scratch::nameless_file()?;
    command.stderr(Stdio::from(words.try_clone().context("could not share a file")?));
    let running = process::start_as_given(&mut command)?;
    let finished = running.finish(Instant::now() + DEADLINE, MOST_PRINTED)?;
    if finished.capped {
        bail!("`bd {}` printed more than {} MiB", arguments[0], MOST_PRINTED >> 20);
    }
    let stdout = String::from_utf8(finished.stdout)
        .map_err(|_| anyhow!("the output of `bd {}` is not UTF-8 text", arguments[0]))?;
    Ok((finished.status.code(), stdout, scratch::words_in(&mut words, MOST_WORDS)))
}
