//! The parts that all steps of a run share: the deadline, the stored data, and the assembly of the
//! outcome.

use super::before::Starts;
use super::{CheckOrder, CheckOutcome, CheckResult, Checked, Pace};
use crate::check::{CheckItem, CheckTarget};
use anyhow::Result;
use ralph_core::project::check::answer::{self, CheckReport};
use ralph_core::project::check::finding::{Finding, FindingKey};
use ralph_core::project::check::timings::{CheckTimes, Had};
use ralph_core::project::check::{CheckKind, baseline};
use ralph_core::state::Bounds;
use ralph_io::process::clock;
use ralph_io::store::checks::{CheckStore, LateCheck};
use ralph_io::store::loop_file::LoopFile;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The time limit of one tool if nothing else limits it.
const FAR: Duration = Duration::from_secs(600);

/// The time that an edit waits for its checks after fixers that took all of its time.
const AFTER_FIXERS: Duration = Duration::from_millis(300);

/// With less time than this, a tool is not started.
const LEAST: Duration = Duration::from_millis(50);

/// One run.
pub(super) struct Engine<'a> {
    pub(super) order: &'a CheckOrder<'a>,
    began: Instant,
    until: Option<Instant>,
    /// When the fixers must stop, to leave time for the checks and tests.
    fixers_until: Option<Instant>,
    /// When the edited files were last changed, in milliseconds since 1970, as far as this run
    /// knows. A result that another run started after that is still valid.
    pub(super) settled_ms: i64,
    pub(super) ralph: PathBuf,
    /// The bounds of the loop, in which its checks run.
    pub(super) bounds: Option<Bounds>,
    pub(super) starts: Starts,
    /// All findings, for the file with the full text.
    pub(super) all: Mutex<Vec<Finding>>,
    /// The findings that are told later.
    untold: Mutex<Vec<LateCheck>>,
}

impl<'a> Engine<'a> {
    pub(super) fn new(
        order: &'a CheckOrder<'a>,
        until: Option<Instant>,
        ralph: PathBuf,
    ) -> Result<Engine<'a>> {
        let settled_ms = clock::now().as_millisecond();
        let starts = Starts::since(order.of_loop);
        let now = Instant::now();
        let fixers_until = until.map(|until| now + until.saturating_duration_since(now) / 2);
        // A state that cannot be read may name bounds; no check runs without them.
        let state = order.of_loop.map(|folder| LoopFile::at(folder.join("state.json")).read());
        let bounds = match state {
            Some(read) => read?.and_then(|document| document.state.bounds),
            None => None,
        };
        let (all, untold) = (Mutex::default(), Mutex::default());
        let began = now;
        Ok(Engine {
            order,
            began,
            until,
            fixers_until,
            settled_ms,
            ralph,
            bounds,
            starts,
            all,
            untold,
        })
    }

    /// Records that the fixers are done. If they have changed files, earlier results are no longer
    /// valid.
    pub(super) fn settle(&mut self, fixed: &[Checked]) {
        if let Pace::WhileWaiting { wait, .. } = self.order.pace {
            // What is known at once answers the edit also after slow fixers.
            let least = Instant::now() + wait.min(AFTER_FIXERS);
            self.until = Some(least.max(self.began + wait));
        }
        if fixed.iter().any(|one| one.fixed) {
            self.settled_ms = clock::now().as_millisecond();
            self.starts.forget();
        }
    }

    /// The time limit for the next tool; `None` if no time is left.
    pub(super) fn left(&self, limit: Option<Duration>) -> Option<Duration> {
        let left = self.until.map_or(FAR, |at| at.saturating_duration_since(Instant::now()));
        (left >= LEAST).then(|| left.min(limit.unwrap_or(FAR)))
    }

    /// The time limit for this check. The fixers get half the time, so that a hanging one does not
    /// keep the compiler and the tests from running.
    pub(super) fn left_for(&self, target: &CheckTarget, item: &CheckItem) -> Option<Duration> {
        let has_others = target.items.iter().any(|item| item.check.kind != CheckKind::Fix);
        let limit = item.check.limit;
        match self.fixers_until {
            Some(until) if item.check.kind == CheckKind::Fix && has_others => {
                let left = until.saturating_duration_since(Instant::now());
                self.left(Some(left.min(limit.unwrap_or(FAR)))).filter(|left| *left >= LEAST)
            }
            _ => self.left(limit),
        }
    }

    /// The time for all checks of the run, for messages.
    pub(super) fn budget(&self) -> Duration {
        self.order.pace.budget().unwrap_or(FAR)
    }

    /// True for a check that was too slow for edits, until it has run with enough time.
    pub(super) fn is_for_later(&self, target: &CheckTarget, id: &str) -> bool {
        !matches!(self.order.pace, Pace::Late(_) | Pace::ByHand)
            && Durations::for_target(target).is_too_slow(id)
    }

    /// True while an edit waits, for whose slow checks a runner is at hand.
    pub(super) fn is_waiting(&self) -> bool {
        matches!(self.order.pace, Pace::WhileWaiting { .. })
    }

    /// True for a check that takes longer than the edit waits.
    pub(super) fn is_for_beside(&self, target: &CheckTarget, item: &CheckItem) -> bool {
        let quick = |left| Durations::for_target(target).is_quick(item, left);
        self.is_waiting() && !self.left(None).is_some_and(quick)
    }

    /// The findings that the model was not told a moment ago, and the number of the others. What
    /// was found beside the work is sorted when the model is told.
    pub(super) fn untold(
        &self,
        target: &CheckTarget,
        id: &str,
        new: Vec<Finding>,
    ) -> (Vec<Finding>, usize) {
        if matches!(self.order.pace, Pace::Beside(_)) && !new.is_empty() {
            let found =
                LateCheck { root: target.root.clone(), id: id.to_owned(), new: new.clone() };
            if let Ok(mut untold) = self.untold.lock() {
                untold.push(found);
            }
            return (new, 0);
        }
        match self.order.of_loop {
            Some(of_loop) => {
                ToldFindings::for_loop(&target.kept, of_loop).sort(id, new, self.settled_ms)
            }
            None => (new, 0),
        }
    }

    /// Assembles the report for the model, and writes all findings to a file.
    pub(super) fn outcome(self, targets: &[CheckTarget], checked: Vec<Checked>) -> CheckOutcome {
        let mut report = CheckReport {
            files: targets.iter().map(CheckTarget::name).collect(),
            full: self.write_down(targets).unwrap_or_default(),
            ..CheckReport::default()
        };
        for one in &checked {
            let name = match targets.len() {
                0 | 1 => one.name.clone(),
                _ => format!("{} of {}", one.name, one.file),
            };
            if one.fixed {
                report.fixed.push((one.file.clone(), one.name.clone()));
            }
            match &one.came {
                CheckResult::Found { new, old, elsewhere, told_before } => {
                    report.new.extend(new.iter().cloned());
                    report.old += old;
                    report.elsewhere += elsewhere;
                    report.told_before += told_before;
                }
                CheckResult::Unfinished(what) => report.unfinished.push((name, what.clone())),
                CheckResult::NotRun(why) => report.not_run.push((name, why.clone())),
                CheckResult::Later => report.later.push((name, self.when())),
                CheckResult::Beside => report.beside.push(name),
            }
        }
        for target in targets {
            let untold = self.untold_lacks(target);
            report.not_run.extend(untold);
        }
        let untold = self.untold.into_inner().unwrap_or_default();
        CheckOutcome { report, checked, untold }
    }

    /// When the slow checks run.
    fn when(&self) -> String {
        match self.order.of_loop {
            Some(_) => "when the turn ends, and with `ralph check --late`".to_owned(),
            None => "with `ralph check`".to_owned(),
        }
    }

    /// Missing checks of a project are reported once per loop, but every time to the user.
    fn untold_lacks(&self, target: &CheckTarget) -> Vec<(String, String)> {
        let lacks = target.lacking.iter().map(|one| (one.name.clone(), one.why.clone()));
        match self.order.of_loop {
            Some(of_loop) => {
                let told = ToldFindings::for_loop(&target.kept, of_loop);
                lacks.filter(|(name, why)| told.is_first(&format!("{name}: {why}"))).collect()
            }
            None => lacks.collect(),
        }
    }

    /// Writes the full text of all findings, old and new, to a file.
    fn write_down(&self, targets: &[CheckTarget]) -> Option<String> {
        let target = targets.first()?;
        let all = self.all.lock().ok()?;
        if all.is_empty() {
            return None;
        }
        let text: Vec<String> = all.iter().map(answer::in_full).collect();
        let path = target.kept.output(&format!("all of {}", target.file.display()));
        let path = path.with_extension("txt");
        ralph_io::store::atomic::write(&path, text.join("\n").as_bytes()).ok()?;
        Some(path.display().to_string())
    }
}

// Data kept from one edit to the next: how long each check takes, and what the model was told.

/// How long a finding is not repeated to the model. A burst of edits is shorter.
const BURST_MS: i64 = 120_000;

/// How long the checks of a project take.
pub(super) struct Durations<'a> {
    kept: &'a CheckStore,
}

impl<'a> Durations<'a> {
    pub(super) fn for_target(target: &'a CheckTarget) -> Durations<'a> {
        Durations { kept: &target.kept }
    }

    /// True if the check is left for the end of the turn.
    pub(super) fn is_too_slow(&self, id: &str) -> bool {
        self.of_check(id).is_some_and(|measured| measured.is_too_slow())
    }

    /// True if the check probably finishes within this time.
    pub(super) fn is_quick(&self, item: &CheckItem, left: Duration) -> bool {
        CheckTimes::is_quick(self.of_check(&item.id), &item.check, left)
    }

    /// True if the time is enough for a run without caches, as far as known.
    pub(super) fn fits(&self, id: &str, left: Duration) -> bool {
        self.of_check(id).is_none_or(|measured| measured.fits(left))
    }

    /// How long it took last time; `None` if it has not run.
    pub(super) fn last(&self, id: &str) -> Option<Duration> {
        self.of_check(id).map(|measured| Duration::from_millis(measured.last_ms))
    }

    fn of_check(&self, id: &str) -> Option<CheckTimes> {
        let mut all: BTreeMap<String, CheckTimes> = self.kept.read("durations").unwrap_or_default();
        all.remove(id)
    }

    /// Records a run.
    pub(super) fn note(
        &self,
        item: &CheckItem,
        took: Duration,
        finished: bool,
        engine: &Engine<'_>,
    ) {
        let had = match engine.order.pace {
            Pace::WhileWaiting { .. } if item.check.kind != CheckKind::Fix => Had::TimeOfAWait,
            Pace::WhileWaiting { .. } | Pace::AfterEdit(_) | Pace::Beside(_) => Had::TimeOfAnEdit,
            Pace::Late(_) | Pace::ByHand => Had::TimeEnough,
        };
        // If the write fails, the next run is measured again.
        let _ = self.kept.update("durations", |all: &mut BTreeMap<String, CheckTimes>| {
            all.entry(item.id.clone()).or_default().note(took, finished, had);
        });
    }
}

/// What the model of one loop was told.
pub(super) struct ToldFindings<'a> {
    kept: &'a CheckStore,
    name: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Memory {
    /// By check: when the first of its findings was reported, and which they were.
    findings: BTreeMap<String, (i64, Vec<FindingKey>)>,
    /// Messages that are reported only once.
    once: BTreeSet<String>,
}

impl<'a> ToldFindings<'a> {
    pub(super) fn for_loop(kept: &'a CheckStore, of_loop: &Path) -> ToldFindings<'a> {
        ToldFindings { kept, name: format!("told in {}", of_loop.display()) }
    }

    /// Removes the findings that were reported a moment ago, and records the others as reported
    /// now.
    pub(super) fn sort(&self, id: &str, new: Vec<Finding>, now_ms: i64) -> (Vec<Finding>, usize) {
        let keys: Vec<FindingKey> = new.iter().map(Finding::key).collect();
        let told = self.kept.update(&self.name, |memory: &mut Memory| {
            // Of two simultaneous edits, the one that settled first may get here last.
            let known = memory.findings.remove(id);
            let (at, told) = known
                .filter(|(at, _)| (now_ms - at).abs() < BURST_MS)
                .unwrap_or((now_ms, Vec::new()));
            if !keys.is_empty() {
                memory.findings.insert(id.to_owned(), (at, keys));
            }
            told
        });
        // If the write fails, report twice rather than never.
        baseline::untold(new, &told.unwrap_or_default())
    }

    /// True for the first call with this text.
    pub(super) fn is_first(&self, what: &str) -> bool {
        self.kept
            .update(&self.name, |memory: &mut Memory| memory.once.insert(what.to_owned()))
            .unwrap_or(true)
    }
}
