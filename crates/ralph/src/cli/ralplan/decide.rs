//! `ralph ralplan approve`, `adjust` and `discard`: the user's decision about a
//! plan, in a terminal.

use crate::command::context_dir::Here;
use crate::command::exit::{Exit, refused};
use crate::command::screen::{self, visible_lines};
use crate::command::select_loop::LoopArgs;
use crate::runs::ralplan::take;
use anyhow::Result;
use ralph_core::state::{DecisionKind, LoopState};
use ralph_hooks::modes::ralplan::Decided;
use ralph_io::store::lifecycle::ManifestFate;

/// Which planning.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: LoopArgs,
}

/// What should change.
#[derive(Debug, clap::Args)]
pub(crate) struct Adjust {
    /// Changes for the planner to make
    #[arg(value_name = "TEXT")]
    text: Vec<String>,
    #[command(flatten)]
    which: LoopArgs,
}

pub(super) fn approve(here: &Here, args: &Args) -> Result<Exit> {
    decide(here, &args.which, DecisionKind::Proceed, "")
}

pub(super) fn adjust(here: &Here, args: &Adjust) -> Result<Exit> {
    decide(here, &args.which, DecisionKind::Adjust, &args.text.join(" "))
}

pub(super) fn discard(here: &Here, args: &Args) -> Result<Exit> {
    decide(here, &args.which, DecisionKind::Discard, "")
}

fn decide(here: &Here, which: &LoopArgs, kind: DecisionKind, text: &str) -> Result<Exit> {
    super::is_a_person(here)?;
    let found = super::live(here, which)?;
    let decided = take(here, &found, kind, text, ManifestFate::KeepAsTombstone)?;
    let (_, why) = decided.describe();
    match &decided {
        Decided::Refused(why) => Err(refused(Exit::No, format!("nothing was decided: {why}"))),
        Decided::Adjusted(state) => told(&format!("{why}{}", goes_on(state))),
        Decided::Approved { .. } | Decided::Discarded { .. } => told(&why),
    }
}

fn told(text: &str) -> Result<Exit> {
    screen::say(&visible_lines(text))?;
    Ok(Exit::Done)
}

/// How to continue: nothing wakes a session that waits for a person. A planning that a driver runs
/// or ran has no client of its own.
fn goes_on(state: &LoopState) -> String {
    match state.round.is_some() || state.client.is_none() {
        true => "\n`ralph ralplan run` goes on with it.".to_owned(),
        false => format!("\nType /ralplan in session {} to continue.", state.session_id),
    }
}
