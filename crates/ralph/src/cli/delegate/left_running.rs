//! `ralph delegate left-running`: reports what the shell that starts it leaves running.

use crate::command::exit::Exit;
use crate::command::screen;
use anyhow::Result;
use ralph_core::protocol::sandbox::left_running;
use ralph_io::process;

pub(super) fn run() -> Result<Exit> {
    if let Some(report) = left_running::report(&process::left_running::names()) {
        screen::print(&report)?;
    }
    Ok(Exit::Done)
}
