//! Starts a command in a shell, as a person would, but with no standard input.
//!
//! Standard output and standard error share one pipe, so the order of writing is kept.

use super::family;
use super::wire::CommandRequest;
use crate::process::bounds::Bounded;
use crate::process::elsewhere;
use crate::process::programs;
use anyhow::{Context, Result};
use rustix::process::Pid;
use std::ffi::OsStr;
use std::io::{PipeReader, pipe};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Starts the command as the leader of its own process group. Returns its output as a pipe whose
/// reads never block.
pub(super) fn start(request: &CommandRequest) -> Result<(Pid, PipeReader, Option<Bounded>)> {
    let folder = Path::new(to_text(&request.folder));
    // Checked first: the error of a failed start would not tell whether the folder or the shell is
    // missing.
    std::fs::metadata(folder)
        .with_context(|| format!("could not enter the folder `{}`", folder.display()))?;
    let shell = programs::shell();
    let (reader, writer) = pipe().context("could not make a pipe")?;
    rustix::io::ioctl_fionbio(&reader, true).context("could not make a pipe")?;
    // The command owns both write ends, and closes them at the end of this function.
    let line = [OsStr::new("-c"), OsStr::new(&request.command)];
    let elsewhere = request.elsewhere.as_deref().map(|order| Path::new(to_text(order)));
    let mut bounded = match &request.bounds {
        Some(bounds) => Some(Bounded::wrap(bounds, folder, elsewhere, &shell, &line)?),
        None => None,
    };
    let mut plain = elsewhere::in_front(elsewhere, &shell)?;
    plain.args(line).current_dir(folder).stdin(Stdio::null());
    let command = bounded.as_mut().map_or(&mut plain, |bounded| &mut bounded.command);
    command
        .stdout(writer.try_clone().context("could not make a pipe")?)
        .stderr(writer)
        .envs(family::mark())
        .envs(request.variables.iter().map(|(name, value)| (to_text(name), to_text(value))))
        .process_group(0);
    let child = command.spawn();
    let child = child.with_context(|| {
        format!("could not start `{}` in `{}`", shell.display(), folder.display())
    })?;
    // What the command line holds would keep the pipe and the socket open.
    let pid = Pid::from_child(&child);
    drop(plain);
    if let Some(bounded) = &mut bounded {
        bounded.command = Command::new(&shell);
    }
    Ok((pid, reader, bounded))
}

fn to_text(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}
