//! The table of commands: one variant here and one file beside this one for each.

mod doctor;
mod exit;
mod install;
mod places;
mod tell;
mod typed;
mod uninstall;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "ralph", version, about = "Makes Claude Code finish the job", long_about = None)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Register the hooks and copy the skills and agents
    Install(install::Args),
    /// Take back what `ralph install` did
    Uninstall(uninstall::Args),
    #[command(hide = true)]
    Typed(typed::Args),
    /// Say whether everything is in place, and what to do if not
    Doctor(doctor::Args),
}

/// Reads the command line, does what it says and tells the caller how it went.
pub fn run() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Install(args) => install::run(&args),
        Command::Uninstall(args) => uninstall::run(&args),
        Command::Typed(args) => typed::run(&args),
        Command::Doctor(args) => doctor::run(&args),
    };
    done.unwrap_or_else(|error| exit::report(&error)).into()
}
