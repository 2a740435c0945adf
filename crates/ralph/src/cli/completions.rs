//! `ralph completions SHELL`: a short script that asks `ralph` for the names and values to offer.

use crate::command::exit::Exit;
use crate::command::screen;
use anyhow::{Context, Result};
use clap_complete::Shell;
use clap_complete::env::{CompleteEnv, Shells};
use ralph_core::guard::commands::ALIASES;

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
    CompleteEnv::with_factory(with_aliases).var(VARIABLE).complete();
}

/// The table of commands with the aliases, which are completed like their commands and offered in no list.
fn with_aliases() -> clap::Command {
    // An alias may stand for a later one.
    ALIASES.iter().rev().fold(super::command(), |table, (alias, command)| {
        let mut words = command.split(' ').take_while(|word| !word.starts_with('-'));
        let found = words.try_fold(&table, |above, word| above.find_subcommand(word)).cloned();
        match (found, alias.split_once(' ')) {
            (Some(found), None) => table.subcommand(found.name(*alias).hide(true)),
            (Some(found), Some((group, name))) if table.find_subcommand(group).is_some() => {
                table.mut_subcommand(group, |group| group.subcommand(found.name(name).hide(true)))
            }
            _ => table,
        }
    })
}
