//! Data kept from one edit to the next: how long each check takes, and what the model was told.

use super::Pace;
use super::engine::Engine;
use super::item::{CheckItem, CheckTarget};
use ralph_core::project::check::CheckKind;
use ralph_core::project::check::baseline;
use ralph_core::project::check::finding::{Finding, FindingKey};
use ralph_core::project::check::timings::{CheckTimes, Had};
use ralph_io::store::checks::CheckStore;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

/// How long a finding is not repeated to the model. A burst of edits is shorter.
const BURST_MS: i64 = 120_000;

/// How long the checks of a project take.
pub(super) struct Durations<'a> {
    kept: &'a CheckStore,
}

impl<'a> Durations<'a> {
    pub(super) fn of(target: &'a CheckTarget) -> Durations<'a> {
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
    pub(super) fn of(kept: &'a CheckStore, of_loop: &Path) -> ToldFindings<'a> {
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
