//! Which checks a file gets, by what it is and what stands around it.

use super::around::Around;
use super::{Check, Lacking, Plan};

/// The checks for the file that is around here.
pub fn plan(around: &dyn Around) -> Plan {
    let _ = around;
    Plan::default()
}

/// What one language says of a file, in the order in which its fixers run.
#[allow(dead_code)]
#[derive(Debug, Default)]
struct Wanted(Vec<Result<Check, Lacking>>);
