//! `ralph answer`: what a hook asks its neighbour where the answer needs more than the hook holds.
//!
//! Not for people: it reads the client's event on standard input and prints the hook's answer. No answer
//! is an exit code: the hook that asked decides what that means.

use super::exit::Exit;
use anyhow::Result;

/// What the hook knows besides the event.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The hook could not keep the event whole
    #[arg(long)]
    cut: bool,
    /// The registration of the hook that asks: settings, plugin or skill
    via: Option<String>,
}

pub(super) fn run(args: &Args) -> Result<Exit> {
    Ok(match ralph_hooks::hook_runner::enter_for_a_hook(ralph_hooks::answer::answer, args.cut) {
        true => Exit::Done,
        false => Exit::MissingProgram,
    })
}
