//! `ralph completions SHELL`: prints the shell's completion script, generated
//! from the command table.

use crate::command::exit::Exit;
use anyhow::{Context, Result};
use clap::Command;
use clap_complete::Shell;
use std::io::{ErrorKind, Write};

/// For which shell.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> Result<Exit> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut shown(&super::command()), "ralph", &mut text);
    match std::io::stdout().lock().write_all(&text) {
        // A broken pipe means that nobody reads the output, so there is nobody to tell.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("could not print the completions")
        }
        _ => Ok(Exit::Done),
    }
}

/// A copy of the definition without hidden commands, which the generators would otherwise offer.
fn shown(whole: &Command) -> Command {
    // clap needs a `'static` name. The leak lasts only as long as this short process.
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
