//! Checks that continue beside the work.
//!
//! An edit puts the files whose checks take longer than it waits on the loop's list, and starts the
//! runner. One runner serves a loop: it waits until a burst of edits is over, runs each tool once for
//! all files, and ends when nothing is left. The result is kept until the next hook or the stop tells
//! the model. Each run is a process that ends with its input: an edit, the end of the loop or the
//! death of the runner ends its tools.

use super::{CheckOrder, CheckOutcome, CheckResult, Pace};
use crate::check::engine::{Durations, ToldFindings};
use crate::check::{self, CheckTarget};
use anyhow::Result;
use ralph_core::project::check::{CheckKind, answer};
use ralph_io::process::watch::Watch;
use ralph_io::process::{self, clock, programs};
use ralph_io::store::checks::{self, CheckStore, LateFindings, LaterFile, LaterFiles};
use ralph_io::store::home::Home;
use ralph_io::store::lock::Lock;
use ralph_io::store::loop_file::LoopFile;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A pause this long between edits is the end of a burst.
const QUIET: Duration = Duration::from_millis(300);

/// How long the runner waits before it looks again whether its loop is live.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What a run may take beyond its budget, to end its tools and keep its result.
pub(crate) const MARGIN: Duration = Duration::from_secs(5);

/// Checks what was edited in a loop, and hands over what takes longer. Also tells what earlier edits
/// of this agent have led to.
///
/// # Errors
/// As for [`super::run`].
pub(crate) fn after_edit(
    order: &CheckOrder<'_>,
    file: &LoopFile,
    agent: &str,
) -> Result<Vec<String>> {
    let folder = file.folder();
    let targets = check::targets(order)?;
    let entry = |checks, at_stop| LaterFile { checks, at_stop, agent: agent.to_owned(), edit: 0 };
    let expected = targets.iter().filter(|target| has_slow(order, target));
    let expected = expected.map(|target| (target.file.clone(), entry(BTreeSet::new(), false)));
    // Ends a run that reads the older content. Without the lock, the next one may begin early: no
    // harm but to speed.
    let mut early = checks::add_later(folder, expected.collect())?;
    let held = (!early.is_empty()).then(|| checks::hold_back(folder));
    let mut said = tell(order.home, folder, agent);
    let outcome = super::run_on(order, &targets)?;
    let ids = ids_of(&outcome);
    let slow = ids.into_iter().map(|(path, (beside, later))| {
        let at_stop = beside.is_empty();
        (path, entry(beside.into_iter().chain(later).collect(), at_stop))
    });
    let slow = checks::add_later(folder, slow.collect())?;
    early.retain(|path, _| !slow.contains_key(path));
    checks::settle(folder, &early, LaterFiles::new(), || Ok(()))?;
    drop(held);
    if slow.values().any(|file| !file.at_stop) {
        start(file)?;
    }
    said.extend(answer::text(&outcome.report));
    Ok(said)
}

/// True if a check of the file will probably take longer than the edit waits.
fn has_slow(order: &CheckOrder<'_>, target: &CheckTarget) -> bool {
    let Pace::WhileWaiting { wait, .. } = order.pace else { return false };
    let times = Durations::for_target(target);
    let checks = target.items.iter().filter(|item| item.check.kind != CheckKind::Fix);
    checks.into_iter().any(|item| !times.is_quick(item, wait) && !times.is_too_slow(&item.id))
}

/// By file, the checks that run beside the work, and those for the end of the turn.
fn ids_of(outcome: &CheckOutcome) -> BTreeMap<PathBuf, (BTreeSet<String>, BTreeSet<String>)> {
    let mut ids = BTreeMap::<PathBuf, (BTreeSet<String>, BTreeSet<String>)>::new();
    for one in &outcome.checked {
        match one.came {
            CheckResult::Beside => {
                ids.entry(one.path.clone()).or_default().0.insert(one.id.clone());
            }
            CheckResult::Later => {
                ids.entry(one.path.clone()).or_default().1.insert(one.id.clone());
            }
            _ => {}
        }
    }
    ids
}

/// Starts the runner. If the loop has one, the new process ends at once.
fn start(file: &LoopFile) -> Result<()> {
    process::start_apart(&programs::running()?, &arguments("--beside", file), false)
}

fn arguments(how: &str, file: &LoopFile) -> [String; 5] {
    let path = file.path().to_string_lossy().into_owned();
    ["delegate".to_owned(), "checks".to_owned(), how.to_owned(), "--state".to_owned(), path]
}

/// The runner: runs the checks of the list until nothing is left.
///
/// # Errors
/// If the loop's folder cannot be watched or a run cannot be started.
pub(crate) fn serve(file: &LoopFile, budget: Duration) -> Result<()> {
    process::lead_own_session();
    let folder = file.folder();
    let watch = Watch::begin(&[folder])?;
    // An edit may add a file after the last look and find the lock still held, so look once more.
    while !checks::beside(folder).is_empty() && is_live(file) {
        let Ok(_only) = checks::become_runner(folder, Duration::ZERO) else { return Ok(()) };
        while let Some((files, running)) = after_the_burst(file, &watch)? {
            // Held until the last tool has ended, also when the run is killed.
            running.share_with_children()?;
            let until = Instant::now() + budget + MARGIN;
            let is_wanted =
                || is_live(file) && Instant::now() < until && checks::beside(folder) == files;
            let arguments = arguments("--once", file);
            let arguments = arguments.each_ref().map(String::as_str);
            let running_once = process::start_held(&programs::running()?, &arguments)?;
            running_once.finish_while_wanted(&watch, is_wanted)?;
            // A run that settled nothing would not do so the next time.
            leave(folder, &files)?;
            drop(running);
        }
    }
    Ok(())
}

/// Waits until no edit is at work and none has come for a moment. `None` if nothing is left to do.
fn after_the_burst(file: &LoopFile, watch: &Watch) -> Result<Option<(LaterFiles, Lock)>> {
    let mut seen = (LaterFiles::new(), Instant::now());
    while is_live(file) {
        let Some(running) = checks::may_run(file.folder(), LOOK_AGAIN) else { continue };
        let files = checks::beside(file.folder());
        if files.is_empty() {
            return Ok(None);
        }
        if files != seen.0 {
            seen = (files, Instant::now());
        }
        if seen.1.elapsed() >= QUIET {
            return Ok(Some((seen.0, running)));
        }
        drop(running);
        watch.wait(seen.1 + QUIET)?;
    }
    Ok(None)
}

/// True while the loop runs in a client that is alive.
fn is_live(file: &LoopFile) -> bool {
    let loaded = file.view().ok().flatten();
    loaded.is_some_and(|loaded| {
        let client = loaded.state.live_client();
        loaded.state.phase.is_running() && client.is_none_or(ralph_io::client::is_alive)
    })
}

/// Leaves these files to the end of the turn, unless they were edited again.
fn leave(folder: &Path, files: &LaterFiles) -> Result<()> {
    let at_stop = |(path, file): (&PathBuf, &LaterFile)| {
        (path.clone(), LaterFile { at_stop: true, ..file.clone() })
    };
    checks::settle(folder, files, files.iter().map(at_stop).collect(), || Ok(()))
}

/// One run of the runner.
///
/// # Errors
/// As for [`super::run`], and if the result cannot be kept.
pub(crate) fn once(order: &CheckOrder<'_>, folder: &Path, files: &LaterFiles) -> Result<()> {
    let since = clock::now().as_nanosecond();
    let outcome = super::run(order)?;
    let later = ids_of(&outcome).into_iter().filter_map(|(path, (_, later))| {
        let file = files.get(&path)?.clone();
        Some((path, LaterFile { at_stop: true, checks: later, ..file }))
    });
    let later: LaterFiles = later.collect();
    let mut report = outcome.report;
    report.later.clear();
    let is_silent = answer::text(&report).is_none();
    report.new.clear();
    let of_findings = outcome.untold.iter().flat_map(|check| {
        let named = check.new.iter().filter(|finding| !finding.file.is_empty());
        named.map(|finding| check.root.join(&finding.file))
    });
    let edited: BTreeSet<PathBuf> = files.keys().cloned().collect();
    let speaks_of = edited.iter().cloned().chain(of_findings).collect();
    let Some(contents) = checks::contents_before(since, speaks_of) else { return Ok(()) };
    let agents = files.values().map(|file| file.agent.clone()).collect();
    let found = LateFindings { report, checks: outcome.untold, contents, edited, agents };
    checks::settle(folder, files, later, || match is_silent {
        true => Ok(()),
        false => checks::add_found(folder, found),
    })
}

/// The checks to run for these files; `None` for all.
pub(crate) fn only(files: &LaterFiles) -> Option<BTreeSet<String>> {
    let is_known = files.values().all(|file| !file.checks.is_empty());
    is_known.then(|| files.values().flat_map(|file| file.checks.iter().cloned()).collect())
}

/// What the model has to be told of earlier runs, as far as it is still true.
pub(crate) fn tell(home: &Home, folder: &Path, agent: &str) -> Vec<String> {
    if !checks::has_found(folder) {
        return Vec::new();
    }
    // What cannot be taken stays for the next hook.
    let taken = checks::take_found(folder, agent).unwrap_or_default();
    taken.into_iter().filter_map(|found| findings_text(home, folder, found)).collect()
}

fn findings_text(home: &Home, folder: &Path, found: LateFindings) -> Option<String> {
    if !found.are_true() {
        // Best effort: the criteria look at everything.
        let _ = checks::add_unseen(folder, found.edited);
        return None;
    }
    let now_ms = clock::now().as_millisecond();
    let mut report = found.report;
    for check in found.checks {
        let Ok(kept) = CheckStore::open(home, &check.root) else {
            report.new.extend(check.new);
            continue;
        };
        let (new, before) =
            ToldFindings::for_loop(&kept, folder).sort(&check.id, check.new, now_ms);
        report.new.extend(new);
        report.told_before += before;
    }
    answer::text(&report)
}
