//! `ralph demo`: runs a whole loop in a scratch repository and narrates it.

use crate::command::exit::{Exit, refused};
use crate::demo::{self, DemoResult, ProgramMissing, Style};
use anyhow::Result;
use ralph_io::process::programs;
use std::io::IsTerminal;
use std::path::Path;

/// What a person may say about the demo.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Keep the scratch folder and print its path
    #[arg(long)]
    keep: bool,
}

/// Plays the demo. The exit code tells whether the loop went as expected.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let running = programs::running()?;
    let executables = running.parent().unwrap_or(Path::new("/"));
    let shown = demo::show(executables, style(), args.keep).map_err(missing_program)?;
    Ok(match shown {
        DemoResult::AsItShould => Exit::Done,
        DemoResult::Otherwise => Exit::No,
    })
}

fn style() -> Style {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    match std::io::stdout().is_terminal() && !unwanted {
        true => Style::Coloured,
        false => Style::Plain,
    }
}

fn missing_program(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<ProgramMissing>() {
        Some(missing) => refused(Exit::MissingProgram, missing.to_string()),
        None => error,
    }
}
