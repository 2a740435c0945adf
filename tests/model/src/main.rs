//! Explores every model with its full bounds and prints what was found.
//!
//! `--short` takes the bounds of the tests; a word takes only the models whose names hold it.

use ralph_model::{Named, Reach, all, report};
use std::process::ExitCode;

fn main() -> ExitCode {
    let (mut reach, mut word) = (Reach::Full, String::new());
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--short" => reach = Reach::Short,
            _ => word = argument,
        }
    }
    let models: Vec<Named> = all(reach).into_iter().filter(|one| one.0.contains(&word)).collect();
    report(models)
}
