//! `ralph doctor`: prints one line per check, with what to do about each problem.
//!
//! Changes nothing without `--fix`, and then only Ralph's own files and entries. A check that could
//! not run is reported as such, never as passed.

pub(crate) mod executables;
pub(crate) mod loops;
mod registration;
pub(crate) mod settings;

use crate::command::context_dir::{Here, note};
use crate::command::exit::Exit;
use crate::command::screen::{self, Colour};
use crate::parallel::clean;
use crate::setup::install::files::InstallRecord;
use crate::setup::install::{self, ScopeArgs};
use crate::setup::places::InstallPaths;
use crate::setup::tell;
use anyhow::{Context, Result, bail};
use loops::Loops;
use ralph_core::state::PauseCause;
use ralph_core::text::plural::counted;
use ralph_io::client;
use ralph_io::project::user_files;
use ralph_io::store::lifecycle;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::store::manifest::{self, ManifestKey};
use registration::Plugin;
use serde::Serialize;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// First fix what is Ralph's own and safe to fix, and print each fix
    #[arg(long, conflicts_with = "json")]
    fix: bool,
}

/// Runs all checks. The exit code says whether all of them passed.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let places = InstallPaths::from_environment()?;
    let mut checks = examine(&places);
    if args.fix && fix(&checks, &places) {
        checks = examine(&places);
    }
    let well = checks.iter().all(|check| check.verdict != CheckVerdict::Fail);
    if args.json {
        screen::print_json(&document(&checks, well))?;
    } else {
        checks.iter().for_each(show);
        tell!("{}", conclusion(&checks));
    }
    Ok(if well { Exit::Done } else { Exit::No })
}

/// Prints a check: its verdict in colour, and the rest below itself at the terminal's width.
fn show(check: &Check) {
    let colour = match check.verdict {
        CheckVerdict::Well => Colour::Green,
        CheckVerdict::Warn => Colour::Yellow,
        CheckVerdict::Fail => Colour::Red,
    };
    let (word, indent) = (check.verdict.word(), CheckVerdict::WIDTH + 2);
    let padding = " ".repeat(indent - word.len());
    let text = screen::wrapped(&check.text(), indent, indent);
    tell!("{}{padding}{text}", screen::coloured(word, colour));
}

/// Runs the fixes one after the other, since one fix may make the next unnecessary. Each is
/// reported at once.
fn fix(checks: &[Check], places: &InstallPaths) -> bool {
    let mut tried = false;
    for check in checks {
        let Some(fix) = &check.fix else { continue };
        tried = true;
        match fix.carry_out(places) {
            Ok(done) => tell!("fixed {}: {done}", check.name),
            Err(error) => tell!("not fixed {}: {error:#}", check.name),
        }
    }
    tried
}

fn examine(places: &InstallPaths) -> Vec<Check> {
    let settings = settings::gather(places);
    let plugin = Plugin::find(&settings, places);
    let loops = Loops::gather(&places.ralph);
    let hooks = executables::gather(places);
    let mut checks = executables::check_executables(&hooks, places);
    checks.extend(settings::check_readable(&settings));
    checks.extend(registration::check_registration(&settings, plugin.as_ref(), places));
    checks.extend(executables::check_versions(&hooks, plugin.as_ref(), places));
    checks.extend(registration::check_firing(&settings, plugin.as_ref(), &hooks, places));
    checks.push(settings::check_hooks_enabled(&settings));
    checks.push(settings::check_block_cap(&settings));
    checks.extend(settings::check_sandbox(&settings, places));
    checks.extend(settings::check_bounds());
    checks.extend(settings::check_own(places));
    checks.extend(executables::check_path(&settings, places));
    checks.push(loops::check_home(places.ralph.root()));
    checks.push(settings::check_elsewhere(&places.current));
    checks.push(settings::check_wall(places));
    checks.push(settings::check_mods(&places.current));
    checks.extend(loops::check_states(&loops));
    checks.extend(loops::check_orphans(&loops, places));
    checks.push(loops::check_worktrees(&loops));
    checks.extend(loops::check_left(places));
    checks.extend(loops::check_base(&places.current));
    checks.extend(loops::check_shared(&loops, places));
    checks.push(executables::check_client());
    checks.extend(executables::check_beads(&places.current));
    checks
}

// The result of one check, and its display.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum CheckVerdict {
    #[serde(rename = "ok")]
    Well,
    /// It works, but the user should know about it.
    #[serde(rename = "warn")]
    Warn,
    /// Something keeps loops from being enforced reliably.
    #[serde(rename = "fail")]
    Fail,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Check {
    /// The name of the check.
    pub(crate) name: &'static str,
    pub(crate) verdict: CheckVerdict,
    pub(crate) detail: String,
    /// What to do about it, if anything.
    pub(crate) cure: Option<String>,
    /// What `--fix` does about it; `None` if the user has to decide.
    #[serde(rename = "fixable", serialize_with = "is_there")]
    pub(crate) fix: Option<Fix>,
}

impl Check {
    pub(crate) fn with_fix(self, fix: Fix) -> Check {
        Check { fix: Some(fix), ..self }
    }
}

fn is_there<S: serde::Serializer>(fix: &Option<Fix>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(fix.is_some())
}

pub(crate) fn well(name: &'static str, detail: impl Into<String>) -> Check {
    Check { name, verdict: CheckVerdict::Well, detail: detail.into(), cure: None, fix: None }
}

pub(crate) fn warn(
    name: &'static str,
    detail: impl Into<String>,
    cure: impl Into<String>,
) -> Check {
    Check { verdict: CheckVerdict::Warn, cure: Some(cure.into()), ..well(name, detail) }
}

pub(crate) fn fail(
    name: &'static str,
    detail: impl Into<String>,
    cure: impl Into<String>,
) -> Check {
    Check { verdict: CheckVerdict::Fail, ..warn(name, detail, cure) }
}

impl CheckVerdict {
    /// The columns of the longest word.
    pub(crate) const WIDTH: usize = 4;

    pub(crate) fn word(self) -> &'static str {
        match self {
            CheckVerdict::Well => "ok",
            CheckVerdict::Warn => "warn",
            CheckVerdict::Fail => "FAIL",
        }
    }
}

impl Check {
    /// What was checked and found, and what to do about it.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{}: {}", self.name, self.detail);
        if let Some(cure) = &self.cure {
            text += &format!("; {cure}");
        }
        if self.fix.is_some() {
            text += " (or run `ralph doctor --fix`)";
        }
        text
    }
}

/// The values of each key, in the order of the first: one line of the report for each cause.
pub(crate) fn grouped<K: PartialEq, V>(all: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in all {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// The last line of the report.
pub(crate) fn conclusion(checks: &[Check]) -> String {
    let count = |verdict| checks.iter().filter(|check| check.verdict == verdict).count();
    match (count(CheckVerdict::Fail), count(CheckVerdict::Warn)) {
        (0, 0) => "all is well".to_owned(),
        (0, n) => format!("all is well, with {}", counted(n, "warning", "warnings")),
        (n, _) => format!("{} to fix", counted(n, "problem", "problems")),
    }
}

/// The report as JSON, for scripts.
pub(crate) fn document(checks: &[Check], well: bool) -> serde_json::Value {
    serde_json::json!({ "schema_version": 1, "well": well, "checks": checks })
}

// What `ralph doctor --fix` does. Each step reports what it did, and touches only Ralph's own
// files and entries.
//
// The state may have changed since the check, so each step looks again, under the lock if there is
// one, and leaves alone what is fine by now.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fix {
    /// Makes a folder private to its owner.
    MakePrivate(PathBuf),
    /// Removes the write permission of group and others.
    RemoveWriteAccess(PathBuf),
    /// Removes the manifest entry of a session that leads to no loop.
    ForgetEntry(String),
    /// Restores a loop's state from its last good copy, and keeps the broken file.
    RestoreState(PathBuf),
    /// Pauses a loop whose client is gone.
    PauseLoop(PathBuf),
    /// Repeats an installation that has lost a part, or is of another version.
    Install(ScopeArgs),
    /// Removes the worktrees of workers whose work is merged.
    CleanWorktrees(PathBuf),
}

impl Fix {
    /// A repeated installation, if the record shows that Ralph was installed into this settings
    /// file.
    pub(super) fn install_again(settings: &Path, places: &InstallPaths) -> Option<Fix> {
        let record = InstallRecord::read(places.ralph.root()).ok()?;
        record.find_install(settings)?;
        ScopeArgs::of_settings(settings, places).map(Fix::Install)
    }

    /// Carries out the step. Returns what was done.
    ///
    /// # Errors
    /// When the step failed; nothing has changed then.
    pub(super) fn carry_out(&self, places: &InstallPaths) -> Result<String> {
        match self {
            Fix::MakePrivate(folder) => {
                user_files::change_mode(folder, 0o700, 0o077)?;
                Ok(format!("`{}` is private now", folder.display()))
            }
            Fix::RemoveWriteAccess(path) => {
                user_files::change_mode(path, 0, 0o022)?;
                Ok(format!("others can no longer write to `{}`", path.display()))
            }
            Fix::ForgetEntry(session) => forget(session, places),
            Fix::RestoreState(state) => restore(&LoopFile::at(state)),
            Fix::PauseLoop(state) => pause(&LoopFile::at(state)),
            Fix::Install(args) => {
                install::again(args.clone())?;
                Ok(format!("repeated `{}`", args.command(None)))
            }
            Fix::CleanWorktrees(root) => clean_worktrees(places, root),
        }
    }
}

fn forget(session: &str, places: &InstallPaths) -> Result<String> {
    let key = ManifestKey::session(session).context("this entry is not for a session")?;
    let Some(state) = manifest::read(&places.ralph, &key)? else {
        return Ok(format!("the entry of session {session} does not exist any more"));
    };
    let leads_to = lifecycle::of_session(&places.ralph, session)?.map(|file| file.read());
    if let Some(Ok(Some(_))) = leads_to {
        bail!("the entry of session {session} now points to a loop; not removed");
    }
    manifest::remove(&places.ralph, &key, &state)?;
    Ok(format!("removed the entry of session {session}, which pointed to no loop"))
}

fn restore(file: &LoopFile) -> Result<String> {
    let id = file.update(|state| state.loop_id.clone())?.context("the loop no longer exists")?;
    Ok(format!("loop {id} restored from its last good state; the broken file is kept beside it"))
}

fn pause(file: &LoopFile) -> Result<String> {
    let here = Here::gather()?;
    let paused = file.update(|state| {
        let is_gone = state.client.as_ref().is_some_and(|client| !client::is_alive(client));
        (state.is_running() && is_gone).then(|| {
            state.pause(PauseCause::Crashed, "its client went away", here.now);
            state.clone()
        })
    })?;
    let Some(state) = paused.context("the loop no longer exists")? else {
        bail!("the loop is running again or paused; not changed");
    };
    note(&here, file, &state, "doctor", "paused", "its client went away");
    Ok(format!("loop {} is paused at {}", state.loop_id, state.position()))
}

fn clean_worktrees(places: &InstallPaths, root: &Path) -> Result<String> {
    let items = clean::clean(&places.ralph, root, false)?;
    if let Some(item) = items.iter().find(|item| !item.problem.is_empty()) {
        bail!("could not remove `{}`: {}", item.worktree, item.problem);
    }
    let gone: Vec<&str> = items
        .iter()
        .filter(|item| item.stays.is_none())
        .map(|item| if item.worktree.is_empty() { &item.branch } else { &item.worktree })
        .map(String::as_str)
        .collect();
    Ok(format!("removed what is merged: {}", gone.join(", ")))
}
