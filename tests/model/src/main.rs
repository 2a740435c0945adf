//! Explores every model with its full bounds and prints what was found.

use ralph_model::{Reach, all, report};
use std::process::ExitCode;

fn main() -> ExitCode {
    let reach = match std::env::args().nth(1).as_deref() {
        Some("--short") => Reach::Short,
        _ => Reach::Full,
    };
    report(all(reach))
}
