//! `ralph completions SHELL`: what a shell reads to complete the commands, from their own definition.

use crate::command::exit::Exit;
use anyhow::{Context, Result};
use clap::Command;
use clap_complete::Shell;
use std::io::{ErrorKind, Write};

/// For which shell.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Whose completions
    shell: Shell,
}

/// Prints them.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut shown(&super::command()), "ralph", &mut text);
    match std::io::stdout().lock().write_all(&text) {
        // Nobody is left to be told that nobody is left.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("could not print the completions")
        }
        _ => Ok(Exit::Done),
    }
}

/// The definition without the commands that no person types: the generators would offer them.
fn shown(whole: &Command) -> Command {
    // A command keeps its name for as long as the process lives, which is a moment.
    let name: &'static str = Box::leak(whole.get_name().to_owned().into_boxed_str());
    let below = whole.get_subcommands().filter(|command| !command.is_hide_set()).map(shown);
    let command = Command::new(name).args(whole.get_arguments()).subcommands(below);
    let command = match whole.get_version() {
        Some(_) => command.version(env!("CARGO_PKG_VERSION")),
        None => command,
    };
    match whole.get_about() {
        Some(about) => command.about(about.clone()),
        None => command,
    }
}
