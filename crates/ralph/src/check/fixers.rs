//! Runs the fixers of one file, one after the other, under a lock on the file.

use super::engine::Engine;
use super::item::{CheckItem, CheckTarget};
use super::{CheckResult, Checked, tool};
use ralph_core::project::check::{CheckKind, CheckMethod};
use ralph_io::store::checks;
use std::time::{Duration, Instant};

/// Runs the fixers. One that does not finish leaves the file unchanged.
pub(super) fn run(engine: &Engine<'_>, target: &CheckTarget) -> Vec<Checked> {
    let fixers: Vec<&CheckItem> = target.of_kind(CheckKind::Fix).collect();
    if fixers.is_empty() {
        return Vec::new();
    }
    let lock = format!("fixers of {}", target.file.display());
    let held = target.kept.lock(&lock, engine.left(None).unwrap_or_default());
    let results = fixers.into_iter().map(|item| match &held {
        Ok(_) => fix(engine, target, item),
        Err(_) => item.checked(target, busy(), Duration::ZERO, false),
    });
    results.collect()
}

fn busy() -> CheckResult {
    CheckResult::Unfinished("the fixers of another edit of this file used all the time".to_owned())
}

fn fix(engine: &Engine<'_>, target: &CheckTarget, item: &CheckItem) -> Checked {
    let began = Instant::now();
    if engine.is_for_later(target, &item.id) {
        return item.checked(target, CheckResult::Later, Duration::ZERO, false);
    }
    let Some(before) = checks::content(&target.file) else {
        let gone = CheckResult::NotRun("the file is gone".to_owned());
        return item.checked(target, gone, began.elapsed(), false);
    };
    let came = tool::run(engine, target, item);
    let mut after = checks::content(&target.file).unwrap_or_else(|| before.clone());
    if !matches!(came, CheckResult::Found { .. })
        && !matches!(item.check.by, CheckMethod::Filter(_))
        && after != before
    {
        // The fixer was ended while it wrote, or failed half way. Discard the result.
        if checks::put_back(&target.file, &after, &before).is_ok() {
            after.clone_from(&before);
        }
    }
    item.checked(target, came, began.elapsed(), after != before)
}
