//! Starts a command with a shell, as a person would, but with nobody to talk to.
//!
//! Both outputs go into one pipe, so that what was written first is read first.

use super::wire::CommandRequest;
use crate::process::programs;
use anyhow::{Context, Result};
use rustix::process::Pid;
use std::ffi::OsStr;
use std::io::{PipeReader, pipe};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The command, which leads a group of its own, and what it writes; reading never blocks.
pub(super) fn start(request: &CommandRequest) -> Result<(Pid, PipeReader)> {
    let folder = Path::new(OsStr::from_bytes(&request.folder));
    // Asked before: the failure to start a program would not tell which of the two is missing.
    std::fs::metadata(folder)
        .with_context(|| format!("could not enter the folder `{}`", folder.display()))?;
    let shell = ["bash", "sh"].into_iter().find_map(programs::find_on_path);
    let shell = shell.unwrap_or_else(|| PathBuf::from("/bin/sh"));
    let (reader, writer) = pipe().context("could not make a pipe")?;
    rustix::io::ioctl_fionbio(&reader, true).context("could not make a pipe")?;
    // The command holds both write ends, and lets go of them at the end of this function.
    let mut command = Command::new(&shell);
    command
        .arg("-c")
        .arg(&request.command)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(writer.try_clone().context("could not make a pipe")?)
        .stderr(writer)
        .process_group(0);
    let child = command.spawn();
    let child = child.with_context(|| {
        format!("could not start `{}` in `{}`", shell.display(), folder.display())
    })?;
    Ok((Pid::from_child(&child), reader))
}
