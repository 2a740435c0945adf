//! Plays all cases over the processors, and says how each went.

use crate::case::Case;
use crate::implementation::Implementation;
use crate::play;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// How a case went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// As it must.
    Holds,
    /// Otherwise, and where.
    Fails(String),
    /// The implementation does not have what the case is about, and why that is no failure.
    NotApplicable(String),
    /// Fails, as is known, and why.
    Pending(String),
    /// Holds although it is listed as pending: the list is out of date.
    NoLongerPending,
    /// Sometimes holds, and why.
    Unsteady(String),
}

/// How thoroughly cases are played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As often as each case says, and with `stop_hook_active` both ways.
    Full,
    /// Every case once, a race twice, and `stop_hook_active` as the client sends it.
    Once,
    /// The first variant of each case, as in `Once`.
    Short,
}

/// The cases that a form plays.
pub fn chosen(cases: Vec<Case>, form: Form) -> Vec<Case> {
    let mut cases = cases;
    if form == Form::Short {
        cases.dedup_by(|later, earlier| later.file == earlier.file);
    }
    cases
}

/// Plays the cases; the outcomes are in the order of the cases.
pub fn run(implementation: &Implementation, cases: &[Case], form: Form) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    // A case waits for processes about as long as it computes.
    let workers = 2 * thread::available_parallelism().map_or(2, usize::from);
    let mut done: Vec<(usize, Outcome)> = thread::scope(|scope| {
        let work = || {
            let mine = std::iter::from_fn(|| {
                let at = next.fetch_add(1, Ordering::Relaxed);
                Some((at, outcome(implementation, cases.get(at)?, form)))
            });
            mine.collect::<Vec<_>>()
        };
        let running: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let done = running
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        done.flatten().collect()
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

fn outcome(implementation: &Implementation, case: &Case, form: Form) -> Outcome {
    if let Some(why) = case.needs.iter().find_map(|need| implementation.lacks.get(need)) {
        return Outcome::NotApplicable(why.clone());
    }
    let otherwise = [&case.name, &case.file].into_iter();
    if let Some(why) = otherwise.filter_map(|name| implementation.otherwise.get(name)).next() {
        return Outcome::NotApplicable(why.clone());
    }
    // Nothing follows from how a case went that goes now so and now so.
    if let Some(why) = implementation.unsteady.get(&case.name) {
        return Outcome::Unsteady(why.clone());
    }
    let played = play::play(implementation, case, form);
    match (played, implementation.pending.get(&case.name)) {
        (Ok(()), None) => Outcome::Holds,
        (Ok(()), Some(_)) => Outcome::NoLongerPending,
        (Err(_), Some(why)) => Outcome::Pending(why.clone()),
        (Err(error), None) => Outcome::Fails(format!("{error:#}")),
    }
}
