//! `ralph delegate left-running`: reports what the shell that starts it leaves running.

use crate::command::exit::Exit;
use crate::command::screen;
use anyhow::Result;
use ralph_core::protocol::sandbox;
use ralph_io::process;
use std::path::PathBuf;

/// What ran before the shell's command.
#[derive(clap::Args)]
pub(in crate::cli) struct Args {
    /// The folders in `/proc` of those processes
    before: Vec<PathBuf>,
}

pub(super) fn run(args: &Args) -> Result<Exit> {
    let number = |folder: &PathBuf| folder.file_name()?.to_str()?.parse().ok();
    let before: Vec<u32> = args.before.iter().filter_map(number).collect();
    if let Some(report) = sandbox::left_running_report(&process::left_running::names(&before)) {
        screen::print(&report)?;
    }
    Ok(Exit::Done)
}
