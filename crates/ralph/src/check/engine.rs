//! What all parts of a run share: the deadline, what is remembered, and how an outcome is put
//! together.

use super::item::Target;
use super::remembered::{Durations, Told};
use super::{Came, Checked, Order, Outcome, Pace, before::Trees};
use ralph_core::check::answer::{self, Report};
use ralph_core::check::finding::Finding;
use ralph_io::clock;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

/// How long one tool may take where nothing else bounds it.
const FAR: Duration = Duration::from_secs(600);

/// Less is not worth a start.
const LEAST: Duration = Duration::from_millis(50);

/// One run.
pub(super) struct Engine<'a> {
    pub(super) order: &'a Order<'a>,
    until: Option<Instant>,
    /// Milliseconds since 1970 when the files were as they are to be looked at: what another run has
    /// looked at afterwards, it has seen like that.
    settled_ms: AtomicI64,
    pub(super) ralph: PathBuf,
    pub(super) trees: Trees,
    /// Everything that was found, for the file with the full text.
    pub(super) all: Mutex<Vec<Finding>>,
}

impl<'a> Engine<'a> {
    pub(super) fn new(order: &'a Order<'a>, until: Option<Instant>, ralph: PathBuf) -> Engine<'a> {
        let settled_ms = AtomicI64::new(clock::now().as_millisecond());
        let trees = Trees::since(order.of_loop);
        Engine { order, until, settled_ms, ralph, trees, all: Mutex::default() }
    }

    /// Says that the fixers are done.
    pub(super) fn settle(&self) {
        self.settled_ms.store(clock::now().as_millisecond(), Ordering::Relaxed);
    }

    /// When the files were as they are to be looked at, in milliseconds since 1970.
    pub(super) fn settled_ms(&self) -> i64 {
        self.settled_ms.load(Ordering::Relaxed)
    }

    /// How long the next tool may run; none if there is no time left.
    pub(super) fn left(&self, limit: Option<Duration>) -> Option<Duration> {
        let left = self.until.map_or(FAR, |at| at.saturating_duration_since(Instant::now()));
        (left >= LEAST).then(|| left.min(limit.unwrap_or(FAR)))
    }

    /// How long all checks of the run may take together, for messages.
    pub(super) fn budget(&self) -> Duration {
        match self.order.pace {
            Pace::AfterEdit(budget) | Pace::Late(budget) => budget,
            Pace::ByHand => FAR,
        }
    }

    /// True for a check that was too slow for edits, until it was run with time enough.
    pub(super) fn is_for_later(&self, target: &Target, id: &str) -> bool {
        matches!(self.order.pace, Pace::AfterEdit(_)) && Durations::of(target).is_too_slow(id)
    }

    /// The findings that the model was not told a moment ago, and how many it was.
    pub(super) fn untold(
        &self,
        target: &Target,
        id: &str,
        new: Vec<Finding>,
    ) -> (Vec<Finding>, usize) {
        match self.order.of_loop {
            Some(of_loop) => Told::of(target, of_loop).sort(id, new, self.settled_ms()),
            None => (new, 0),
        }
    }

    /// Puts together what the model is told, and writes down everything that was found.
    pub(super) fn outcome(self, targets: &[Target], checked: Vec<Checked>) -> Outcome {
        let mut report = Report {
            files: targets.iter().map(Target::name).collect(),
            full: self.write_down(targets).unwrap_or_default(),
            ..Report::default()
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
                Came::Found { new, old, elsewhere, told_before } => {
                    report.new.extend(new.iter().cloned());
                    report.old += old;
                    report.elsewhere += elsewhere;
                    report.told_before += told_before;
                }
                Came::Unfinished(what) => report.unfinished.push((name, what.clone())),
                Came::NotRun(why) => report.not_run.push((name, why.clone())),
                Came::Later => report.later.push((name, self.when())),
            }
        }
        for target in targets {
            let untold = self.untold_lacks(target);
            report.not_run.extend(untold);
        }
        Outcome { report, checked }
    }

    /// When what is too slow runs.
    fn when(&self) -> String {
        match self.order.of_loop {
            Some(_) => "when the turn ends, and with `ralph check --late`".to_owned(),
            None => "with `ralph check`".to_owned(),
        }
    }

    /// What a project lacks is said once in a loop, and to a person every time.
    fn untold_lacks(&self, target: &Target) -> Vec<(String, String)> {
        let lacks = target.lacking.iter().map(|one| (one.name.clone(), one.why.clone()));
        match self.order.of_loop {
            Some(of_loop) => {
                let told = Told::of(target, of_loop);
                lacks.filter(|(name, why)| told.is_first(&format!("{name}: {why}"))).collect()
            }
            None => lacks.collect(),
        }
    }

    /// The file with the full text of everything that was found, old and new.
    fn write_down(&self, targets: &[Target]) -> Option<String> {
        let target = targets.first()?;
        let all = self.all.lock().ok()?;
        if all.is_empty() {
            return None;
        }
        let text: Vec<String> = all.iter().map(answer::in_full).collect();
        let path = target.kept.output(&format!("all of {}", target.file.display()));
        let path = path.with_extension("txt");
        ralph_io::atomic::write(&path, text.join("\n").as_bytes()).ok()?;
        Some(path.display().to_string())
    }
}
