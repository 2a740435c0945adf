//! A stored list of the cases that do not hold for an implementation, so that a table of it can be
//! kept without playing them all, and a change does not go unseen.

use crate::case::Case;
use crate::suite::Outcome;
use anyhow::{Result, bail, ensure};

/// The list: a line for each case that does not hold.
pub fn listed(cases: &[Case], outcomes: &[Outcome]) -> String {
    let line =
        |(case, outcome): (&Case, &Outcome)| Some(format!("{} {}\n", word(outcome)?, case.name));
    cases.iter().zip(outcomes).filter_map(line).collect()
}

/// The outcomes that a list tells, in the order of the cases.
///
/// # Errors
/// If a line names no case or no outcome.
pub fn outcomes_of(list: &str, cases: &[Case]) -> Result<Vec<Outcome>> {
    let mut outcomes = vec![Outcome::Holds; cases.len()];
    for line in list.lines() {
        let (word, name) = line.split_once(' ').unwrap_or((line, ""));
        let place = cases.iter().position(|case| case.name == name);
        ensure!(place.is_some(), "`{name}` is not a case");
        let outcome = match word {
            "fails" => Outcome::Fails(String::new()),
            "n/a" => Outcome::NotApplicable(String::new()),
            "pending" => Outcome::Pending(String::new()),
            "unsteady" => Outcome::Unsteady(String::new()),
            other => bail!("`{other}` is no outcome"),
        };
        place.into_iter().for_each(|at| outcomes[at] = outcome.clone());
    }
    Ok(outcomes)
}

fn word(outcome: &Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::Holds => None,
        Outcome::Fails(_) | Outcome::NoLongerPending => Some("fails"),
        Outcome::NotApplicable(_) => Some("n/a"),
        Outcome::Pending(_) => Some("pending"),
        Outcome::Unsteady(_) => Some("unsteady"),
    }
}
