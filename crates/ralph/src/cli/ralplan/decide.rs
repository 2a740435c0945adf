//! `ralph ralplan approve`, `adjust` and `discard`: a person's decision about a plan, in a terminal.

use super::super::context_dir::Here;
use super::super::exit::{Exit, bad_state, refused};
use super::super::journal::note;
use super::super::screen::{self, visible_lines};
use super::super::select_loop::{FoundLoop, LoopArgs};
use anyhow::Result;
use ralph_core::state::{DecidedBy, DecisionKind, LoopState};
use ralph_hooks::ralplan::{self, Decided, DecisionRequest};
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
    /// What should change, for the planner
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

/// Takes a person's decision, and notes it.
pub(super) fn take(
    here: &Here,
    found: &FoundLoop,
    kind: DecisionKind,
    text: &str,
    entry: ManifestFate,
) -> Result<Decided> {
    let word = if kind == DecisionKind::Proceed { "approve" } else { kind.as_str() };
    let command = format!("ralplan {word}");
    let said =
        DecisionRequest { kind, text: text.to_owned(), by: DecidedBy::CommandLine, via: None };
    let decided = ralplan::decide(&here.home, &found.file, said, entry).map_err(bad_state)?;
    let (decision, why) = decided.describe();
    let file = decided.file().unwrap_or(&found.file);
    note(here, file, &found.state, (&command, decision), &why);
    Ok(decided)
}

fn told(text: &str) -> Result<Exit> {
    screen::print(&visible_lines(text))?;
    Ok(Exit::Done)
}

/// Nothing wakes a session that waits for a person. One that a driver has or had has no client of its own.
fn goes_on(state: &LoopState) -> String {
    match state.round.is_some() || state.client.is_none() {
        true => "\n`ralph ralplan run` goes on with it.".to_owned(),
        false => format!("\nType /ralplan in session {} to go on.", state.session_id),
    }
}
