//! `ralph demo`: a loop from start to end in a scratch repository, narrated as it runs.
//!
//! The narration is not written in advance: it quotes what the executables answered, and the state
//! and journal that they wrote. The story names only the kind of answer that each step needs; any
//! other answer ends the demo as failed.

mod answer;
mod narrator;
mod play;
mod sandbox;
mod scripted;
mod story;

pub use narrator::Style;

use crate::setup::tell;
use anyhow::Result;
use narrator::Account;
use play::Play;
use ralph_core::protocol::registration::{COMMAND_LINE, HOOK_EXECUTABLES};
use ralph_io::project::user_files;
use sandbox::Stage;
use std::fmt;
use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DemoResult {
    /// The loop behaved as a loop must.
    AsItShould,
    /// An answer was not what the story needs; the narration shows which.
    Otherwise,
}

/// The demo needs a program that could not be found or run.
#[derive(Debug)]
pub struct ProgramMissing(String);

impl fmt::Display for ProgramMissing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for ProgramMissing {}

/// Plays the story with the executables of this folder and prints the narration.
///
/// # Errors
/// [`ProgramMissing`] if a program is missing; any other error if the scratch folder
/// cannot be made.
pub fn show(executables: &Path, style: Style, keep: bool) -> Result<DemoResult> {
    all_there(executables)?;
    let mut stage = Stage::set(executables)?;
    let play = Play::new(&stage, Account::begin(style, keep));
    let played = scripted::play(&stage, play);
    if keep {
        tell!("Kept in {}", stage.keep().display());
    }
    played
}

fn all_there(executables: &Path) -> Result<()> {
    let missing: Vec<&str> = HOOK_EXECUTABLES
        .into_iter()
        .chain([COMMAND_LINE])
        .filter(|name| user_files::access(&executables.join(name)).is_none_or(|file| !file.is_file))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let folder = executables.display();
    Err(ProgramMissing(format!(
        "could not find {} in `{folder}`, beside this `ralph`; install all of them with ./install.sh",
        missing.join(", ")
    ))
    .into())
}
