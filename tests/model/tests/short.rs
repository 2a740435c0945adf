//! Every model with small bounds; `cargo run --profile model -p ralph-model` takes the full ones.

use ralph_model::{Reach, all, report};
use std::process::ExitCode;

fn main() -> ExitCode {
    report(all(Reach::Short))
}
