//! When a machine tries to become the integrator, and what the integrator does next.
//!
//! One machine merges at a time. The lease saves work; the compare-and-swap of the ledger makes it
//! safe. Every verdict renews the lease. Between two verdicts the integrator renews it while it works
//! (`lease::is_renewal_due`), and an idle one does not: after the lease, the next machine with work takes over.

use super::batch;
use super::ending;
use super::record::{End, Finish};
use super::view::View;
use std::time::Duration;

/// What a machine does for the integration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Integration {
    /// Nothing is due, or another machine integrates.
    Nothing,
    /// Takes the lease after this time, if the ledger is then still the same.
    Take(Duration),
    /// Merges the commits of a person on the branch, then these finishes, and runs the criteria once
    /// for all of them.
    Merge(Vec<Finish>),
    /// Ends the loop.
    End(End),
}

/// What a machine knows when it decides.
#[derive(Debug, Clone, Copy)]
pub struct Candidate {
    /// True if this process took the lease that the ledger shows: it knows the record by its id.
    pub is_holder: bool,
    /// True if the lease in the ledger has expired.
    pub expired: bool,
    /// True if the branch has commits of a person that no verdict contains.
    pub has_commits: bool,
    /// True if this machine has just handed in work.
    pub has_finished: bool,
    pub poll: Duration,
    /// Between 0 and 1.
    pub random: f64,
}

/// The next step. A machine that handed in work tries at once; the others follow after one to two
/// poll intervals, or they would all try at the same time.
pub fn integration(view: &View, candidate: &Candidate) -> Integration {
    if view.ledger.end.is_some() || view.ledger.pause.is_some() {
        return Integration::Nothing;
    }
    let finishes = batch::next(view);
    let end = ending::ending(view).filter(|_| !candidate.has_commits);
    if finishes.is_empty() && end.is_none() && !candidate.has_commits {
        return Integration::Nothing;
    }
    match &view.ledger.integrator {
        Some(_) if candidate.is_holder => match end {
            Some(end) => Integration::End(end),
            None => Integration::Merge(finishes),
        },
        Some(_) if !candidate.expired => Integration::Nothing,
        _ if candidate.has_finished => Integration::Take(Duration::ZERO),
        _ => Integration::Take(candidate.poll.mul_f64(1.0 + candidate.random.clamp(0.0, 1.0))),
    }
}

#[cfg(test)]
mod tests;
