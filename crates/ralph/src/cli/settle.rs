//! `ralph settle`: what `ralph-stop-hook` asks its neighbour when completion is requested.
//!
//! Not for people: it runs the criteria whose receipt is missing or stale and prints what all of
//! them are worth. Its standard input is the life of the hook that asked: when that ends, however
//! it does, nothing goes on here.

use super::exit::Exit;
use super::screen;
use crate::verify::{self, Order, Pace, Silent, Which};
use anyhow::{Context, Result};
use ralph_core::receipt::Proof;
use ralph_core::settings::Settings;
use ralph_io::store::LoopFile;
use ralph_io::{command, given};
use std::path::PathBuf;

/// The loop that is to be settled.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Its state file
    state: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<Exit> {
    given::end_with_input();
    let _ = command::adopt_orphans();
    let file = LoopFile::at(&args.state);
    let state = file.read()?.context("the loop is gone")?.state;
    let order = Order {
        file: &file,
        ids: &[],
        which: Which::WithoutReceipt,
        pace: Pace::Together,
        within: Some(Settings::of(&state).to_settle()),
    };
    let proof = match verify::run(&order, &Silent) {
        Ok(outcome) => outcome.proof,
        // Nothing is proven then, and the refusal says why.
        Err(error) => Proof { problem: format!("{error:#}"), ..Proof::default() },
    };
    screen::print(&serde_json::to_string(&proof)?)?;
    Ok(Exit::Done)
}
