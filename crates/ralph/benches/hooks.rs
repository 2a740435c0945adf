//! Measures the hooks as the client starts them, against the best that the machine can do.
//!
//! Every figure covers a whole process: from the spawn until both output pipes are closed and the
//! process is reaped. Absolute times vary between runs and between machines; quote only the ratios,
//! taken within one interleaved run. A hook that gives the wrong answer has no speed: each answer
//! is checked, outside the measured time.
#![allow(clippy::disallowed_methods, reason = "a bench starts programs and lays out files")]

#[path = "hooks/bash_call.rs"]
mod bash_call;
#[path = "hooks/built.rs"]
mod built;
#[path = "hooks/cases.rs"]
mod cases;
#[path = "hooks/commands.rs"]
mod commands;
#[path = "hooks/driver.rs"]
mod driver;
#[path = "hooks/home.rs"]
mod home;
#[path = "hooks/machine.rs"]
mod machine;
#[path = "hooks/options.rs"]
mod options;
#[path = "hooks/payloads.rs"]
mod payloads;
#[path = "hooks/peers.rs"]
mod peers;
#[path = "hooks/plan.rs"]
mod plan;
#[path = "hooks/programs.rs"]
mod programs;
#[path = "hooks/repos.rs"]
mod repos;
#[path = "hooks/rounds.rs"]
mod rounds;
#[path = "hooks/session.rs"]
mod session;
#[path = "hooks/stops.rs"]
mod stops;
#[path = "hooks/table.rs"]
mod table;
#[path = "hooks/workshop.rs"]
mod workshop;

use std::process::ExitCode;

use options::{BenchOrder, Options};

fn main() -> anyhow::Result<ExitCode> {
    match options::from_args(std::env::args().skip(1))? {
        BenchOrder::Measure(options) => measure(&options),
        BenchOrder::Help => {
            println!("{}", options::HELP);
            Ok(ExitCode::SUCCESS)
        }
        // `cargo test --all-targets` also starts benches, to check that they start.
        BenchOrder::Nothing => {
            println!("not measuring: run by `cargo bench -p ralph --bench hooks`");
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn measure(options: &Options) -> anyhow::Result<ExitCode> {
    let workshop = workshop::Workshop::open(options)?;
    machine::describe(&workshop);
    let plan = cases::plan(&workshop, options)?;
    let samples = rounds::run(&plan, options.rounds, &workshop.stopwatch.path)?;
    let rows = table::judge(&plan, &samples);
    print!("{}", table::render(&rows));
    for wrong in samples.iter().flat_map(|s| &s.wrong) {
        eprintln!("wrong answer: {wrong}");
    }
    Ok(match rows.iter().any(|r| r.mark == table::Mark::WrongAnswer) {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}
