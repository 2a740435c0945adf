//! `ralph completions SHELL`: a short script that asks `ralph` for the names and values to offer.

use crate::command::exit::Exit;
use crate::command::screen;
use anyhow::{Context, Result};
use clap_complete::Shell;
use clap_complete::env::{CompleteEnv, Shells};

/// The variable by which a shell asks for completions; it holds the shell's name.
const VARIABLE: &str = "RALPH_COMPLETIONS";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> Result<Exit> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let shell = shells.completer(&args.shell.to_string()).context("this shell is not supported")?;
    shell.write_registration(VARIABLE, "ralph", "ralph", "ralph", &mut script)?;
    screen::print_bytes(&script)
}

/// Answers a shell that asks for completions, and exits. Otherwise does nothing.
pub(super) fn answer() {
    CompleteEnv::with_factory(super::command).var(VARIABLE).complete();
}
