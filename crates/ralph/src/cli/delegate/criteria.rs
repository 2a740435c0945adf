//! `ralph delegate criteria`: when completion is requested, runs the criteria that no receipt
//! proves or disproves, and prints the value of all receipts. The stop hook and Ralph's own drivers
//! call it in the same way.

use crate::command::exit::{Exit, refused};
use crate::command::screen;
use crate::verify::{self, CriteriaChoice, Pace, Silent, VerifyOrder, asked};
use anyhow::{Context, Result};
use ralph_core::evidence::receipt::Proof;
use ralph_core::project::settings::Settings;
use ralph_core::state::CriterionRunner;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::{client::given, process::command};
use std::path::PathBuf;

/// The loop that is to be settled.
#[derive(clap::Args)]
pub(in crate::cli) struct Args {
    /// Its state file
    state: PathBuf,
    /// Observe what the criteria are worth: completion is requested
    #[arg(long, hide = true)]
    observe: bool,
    /// The variables that were given their recorded values
    #[arg(long, hide = true)]
    restored: Option<String>,
}

pub(super) fn run(args: &Args) -> Result<Exit> {
    let Some(by) = asked::by() else {
        let why = "`ralph delegate criteria` answers Ralph's own stop hook; `ralph verify` runs the criteria";
        return Err(refused(Exit::No, why));
    };
    // On failure nothing is proven, and the refusal gives the reason.
    let proof = prove(args, by)
        .unwrap_or_else(|error| Proof { problem: format!("{error:#}"), ..Proof::default() });
    screen::print(&serde_json::to_string(&proof)?)?;
    Ok(Exit::Done)
}

fn prove(args: &Args, by: CriterionRunner) -> Result<Proof> {
    let file = LoopFile::at(&args.state);
    // `prepare` may start this program again, which needs standard input untouched.
    let surroundings = asked::prepare(&file, by, args.restored.as_deref())?;
    given::end_with_input();
    let _ = command::adopt_orphans();
    let state = file.read()?.context("the loop is gone")?.state;
    let order = VerifyOrder {
        file: &file,
        ids: &[],
        which: CriteriaChoice::WithoutProof,
        // One after another, so that each runs once: a criterion that fails
        // beside others runs again.
        pace: Pace::InTurn,
        by,
        surroundings,
        observes: args.observe,
        clean: true,
        within: (by == CriterionRunner::Hook).then(|| Settings::of(&state).to_settle()),
    };
    Ok(verify::run(&order, &Silent)?.proof)
}
