//! Runs the linters and the tests side by side, as many as there are cores.

use super::engine::Engine;
use super::item::{CheckItem, CheckTarget};
use super::{CheckResult, Checked, tool};
use ralph_core::project::check::{CheckKind, FindingScope};
use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Instant;

/// Runs all of them. The checks that usually take longest start first: whole projects, then tests.
pub(super) fn run(engine: &Engine<'_>, targets: &[CheckTarget]) -> Vec<Checked> {
    let mut todo: Vec<(&CheckTarget, &CheckItem)> = targets
        .iter()
        .flat_map(|target| target.items.iter().map(move |item| (target, item)))
        .filter(|(_, item)| item.check.kind != CheckKind::Fix)
        .collect();
    todo.sort_by_key(|(_, item)| match (&item.check.scope, item.check.kind) {
        (FindingScope::Whole(_), _) => 0,
        (FindingScope::File, CheckKind::Test) => 1,
        (FindingScope::File, _) => 2,
    });
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let n_workers = cores.clamp(2, 8).min(todo.len());
    let todo = Mutex::new(VecDeque::from(todo));
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..n_workers {
            scope.spawn(|| {
                while let Some((target, item)) =
                    todo.lock().ok().and_then(|mut todo| todo.pop_front())
                {
                    let checked = look(engine, target, item);
                    if let Ok(mut done) = done.lock() {
                        done.push(checked);
                    }
                }
            });
        }
    });
    done.into_inner().unwrap_or_default()
}

fn look(engine: &Engine<'_>, target: &CheckTarget, item: &CheckItem) -> Checked {
    let began = Instant::now();
    let came = match engine.is_for_later(target, &item.id) {
        true => CheckResult::Later,
        false if engine.is_for_beside(target, item) => CheckResult::Beside,
        false => tool::run(engine, target, item),
    };
    // What did not finish while the edit waited gets its time beside the work.
    let came = match came {
        CheckResult::Unfinished(_) if engine.is_waiting() && engine.left(None).is_none() => {
            CheckResult::Beside
        }
        came => came,
    };
    item.checked(target, came, began.elapsed(), false)
}
