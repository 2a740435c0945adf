//! `sandbox-exec` with a profile that `ralph-core` writes. Nobody has run this on a Mac yet.

use super::Wall;
use anyhow::{Context, Result};
use ralph_core::project::bounds::seatbelt;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

const TOOL: &str = "/usr/bin/sandbox-exec";

pub(super) fn cannot_stand() -> Option<String> {
    (!Path::new(TOOL).exists()).then(|| format!("`{TOOL}` is missing"))
}

pub(super) fn command(wall: &Wall<'_>, program: &OsStr, arguments: &[&OsStr]) -> Result<Command> {
    let writable = wall.writable.map(Path::canonicalize).transpose();
    let writable = writable.context("could not find the file that the client reads")?;
    let writable = writable.as_ref().map(|path| path.to_string_lossy());
    let private = wall.private.to_string_lossy();
    let profile = seatbelt::reader(&private, writable.as_deref(), wall.network);
    let mut command = Command::new(TOOL);
    command.arg("-p").arg(profile).arg(program).args(arguments);
    Ok(command)
}
