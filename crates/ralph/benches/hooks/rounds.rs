//! Runs the cases of a plan in rounds, in a different order each time.
//!
//! Interleaving spreads a slow minute of the machine over all cases. Reshuffling keeps a case from
//! always running after the same neighbour and inheriting its caches.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;

use crate::driver::{Outcome, Stopwatch};
use crate::plan::{Case, CaseId, Plan};

#[derive(Clone, Default)]
pub(crate) struct Samples {
    pub(crate) took: Vec<Duration>,
    /// The first wrong answer, if there was one.
    pub(crate) wrong: Option<String>,
}

impl Samples {
    pub(crate) fn median_ms(&self) -> Option<f64> {
        let mut sorted = self.took.clone();
        sorted.sort_unstable();
        let (low, high) =
            (sorted.get(sorted.len().checked_sub(1)? / 2)?, sorted.get(sorted.len() / 2)?);
        Some((low.as_secs_f64() + high.as_secs_f64()) * 500.0)
    }
}

/// The samples of each case, in the plan's order.
pub(crate) fn run(plan: &Plan, rounds: u32, stopwatch: &Path) -> anyhow::Result<Vec<Samples>> {
    let mut samples = vec![Samples::default(); plan.cases.len()];
    let mut order: Vec<usize> = (0..plan.cases.len()).filter(|&i| plan.needed(CaseId(i))).collect();
    // A fixed seed gives every run of the bench the same order, so that a
    // surprise can be reproduced.
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);

    let mut watches = Vec::new();
    for case in &plan.cases {
        watches.push(Stopwatch::holding(stopwatch, &case.call)?);
    }
    for &i in &order {
        // Twice, uncounted: the first run loads the pages, and from the second on
        // all runs are alike.
        sample(&plan.cases[i], &mut watches[i], &mut Samples::default())?;
        sample(&plan.cases[i], &mut watches[i], &mut samples[i])?;
        samples[i].took.clear();
    }
    for round in 0..rounds {
        dice.shuffle(&mut order);
        for &i in order.iter().filter(|&&i| plan.cases[i].pace.takes_part(round, rounds)) {
            sample(&plan.cases[i], &mut watches[i], &mut samples[i])?;
        }
    }
    Ok(samples)
}

fn sample(case: &Case, watch: &mut Stopwatch, samples: &mut Samples) -> anyhow::Result<()> {
    let outcome = prepare(case).and_then(|()| watch.start());
    let outcome = outcome.with_context(|| format!("could not measure `{}`", case.name))?;
    if !case.expected.met_by(&outcome) {
        samples.wrong.get_or_insert_with(|| describe(case, &outcome));
    }
    samples.took.push(outcome.took);
    Ok(())
}

fn prepare(case: &Case) -> anyhow::Result<()> {
    if let Some(home) = &case.before.rewind {
        home.rewind()?;
    }
    case.before.advance.as_ref().map_or(Ok(()), |repo| repo.advance())
}

fn describe(case: &Case, outcome: &Outcome) -> String {
    let short = |bytes: &[u8]| String::from_utf8_lossy(bytes).chars().take(300).collect::<String>();
    let (stdout, stderr) = (short(&outcome.stdout), short(&outcome.stderr));
    format!("{}: exit {}, stdout {stdout:?}, stderr {stderr:?}", case.name, outcome.code)
}

/// Xorshift, good enough for shuffling.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }

    fn shuffle(&mut self, order: &mut [usize]) {
        for last in (1..order.len()).rev() {
            order.swap(last, self.below(last + 1));
        }
    }
}
