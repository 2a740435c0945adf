//! Which cases are taken.

use crate::corpus::Case;
use ralph_test_support::sample::seed;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The cases that were asked for: all with `RALPH_PROOF=full`, those that `RALPH_PROOF_CASES` names, or as many as
/// `RALPH_PROOF_SAMPLE` says, chosen by a seed. They start real runners, so a run of all tests plays none.
pub(crate) fn take(mut cases: Vec<&'static Case>, all: bool) -> Vec<&'static Case> {
    let named = std::env::var("RALPH_PROOF_CASES").unwrap_or_default();
    let proof = std::env::var("RALPH_PROOF").unwrap_or_default();
    if !named.is_empty() {
        cases.retain(|case| named.split(',').any(|part| case.id().contains(part)));
    }
    if all || !named.is_empty() || proof == "full" {
        return cases;
    }
    let size = std::env::var("RALPH_PROOF_SAMPLE").ok().and_then(|size| size.parse().ok());
    let size: usize = size.unwrap_or(0);
    let (seed, n_all) = (seed(), cases.len());
    cases.sort_by_cached_key(|case| {
        let mut hasher = DefaultHasher::new();
        (seed, case.id()).hash(&mut hasher);
        hasher.finish()
    });
    cases.truncate(size);
    println!(
        "proof: a sample of {} of {n_all} cases; RALPH_SEED={seed} repeats it, RALPH_PROOF=full plays all",
        cases.len()
    );
    cases
}
