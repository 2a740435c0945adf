//! `ralph typed`: what `ralph-user-prompt` asks its neighbour when a person typed `/ralph`.
//!
//! Not for people: it reads the client's event on standard input and prints the hook's answer.

use super::exit::Exit;
use anyhow::Result;

/// The registration of the hook that asks.
#[derive(clap::Args)]
pub(super) struct Args {
    /// settings, plugin or skill
    via: Option<String>,
}

pub(super) fn run(_args: &Args) -> Result<Exit> {
    ralph_hooks::door::enter("ralph-user-prompt", ralph_hooks::typed::answer);
    Ok(Exit::Done)
}
