//! The process before a command that runs on other files: `ralph supervise --elsewhere`.
//!
//! It has one thread, without which no user namespace can be entered, waits for the command in the same
//! process group, and ends as the command ends. It reports through a file that it opened before it
//! changed the root.

use super::opened::Watches;
use super::overlay::NewRoot;
use crate::process::elsewhere::private::{
    CONTENTS, OrderedForm, OverlayOrder, OverlayReport, REPORT,
};
use crate::process::elsewhere::{OtherForm, copy};
use anyhow::{Context, Result};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use signal_hook::consts::signal::{SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The exit code if the command was not started. The reason is in the report.
const NOT_STARTED: i32 = 126;

/// Signals that a command may send to its group and handle itself. They must not end the process that
/// tells how the command ended.
const OUTLIVED: [i32; 7] = [SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];

/// Runs a program as ordered. Returns its exit code, or does not return if a signal ended it.
///
/// # Errors
/// If there is no order, or nobody can be told.
pub fn run(order: &Path, program: &[OsString]) -> Result<i32> {
    let order = std::fs::read(order).context("could not read the order")?;
    let order: OverlayOrder = serde_json::from_slice(&order).context("could not read the order")?;
    let report = File::create(path(&order.place).join(REPORT)).context("could not report")?;
    match start(&order, program) {
        Ok((status, opened)) => {
            tell(report, &OverlayReport { opened, problem: None })?;
            Ok(end_like(status))
        }
        Err(error) => {
            let problem = Some(format!("{error:#}"));
            tell(report, &OverlayReport { problem, opened: None })?;
            Ok(NOT_STARTED)
        }
    }
}

fn start(order: &OverlayOrder, program: &[OsString]) -> Result<(ExitStatus, Option<Vec<usize>>)> {
    let (program, arguments) = program.split_first().context("no program is named")?;
    let folder = std::env::current_dir().context("could not find the working folder")?;
    let mut contents = BufReader::new(
        File::open(path(&order.place).join(CONTENTS)).context("could not read the files")?,
    );
    let needed: Vec<&Path> = order.needed.iter().map(|needed| path(needed)).collect();
    let root = NewRoot::lay(path(&order.place), path(&order.store), &needed)?;
    root.enter()?;
    replace(order, &mut contents)?;
    if order.is_trial {
        needed.iter().try_for_each(|needed| try_writing(needed))?;
    }
    std::env::set_current_dir(&folder)
        .with_context(|| format!("could not enter the folder `{}`", folder.display()))?;
    let to_watch: Vec<PathBuf> = order.to_watch.iter().map(|file| path(file).to_owned()).collect();
    let watches = Watches::begin(&to_watch);
    root.give_up_rights()?;
    // From here on, the command can neither inspect this process nor take its files.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).context("could not shield a process")?;
    for signal in OUTLIVED {
        let caught = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(signal, caught).context("could not catch signals")?;
    }
    let mut command = Command::new(program);
    let mut child = command
        .args(arguments)
        .spawn()
        .with_context(|| format!("could not start `{}`", Path::new(program).display()))?;
    let status = child.wait().context("could not wait for the command")?;
    Ok((status, watches.and_then(Watches::opened)))
}

fn tell(mut report: File, what: &OverlayReport) -> Result<()> {
    let json = serde_json::to_vec(what).context("could not report")?;
    report.write_all(&json).context("could not report")
}

/// Puts the files into their other forms.
fn replace(order: &OverlayOrder, contents: &mut impl Read) -> Result<()> {
    let mut form = |form: &OrderedForm| -> Result<OtherForm> {
        Ok(match form {
            OrderedForm::Absent => OtherForm::Absent,
            OrderedForm::Link(target) => OtherForm::Link(path(target).to_owned()),
            OrderedForm::File { bytes, is_executable } => {
                let mut content = Vec::new();
                let read = contents.take(*bytes).read_to_end(&mut content);
                read.context("could not read the files")?;
                OtherForm::File { content, is_executable: *is_executable }
            }
        })
    };
    let mut files: Vec<(&Path, OtherForm)> = order
        .files
        .iter()
        .map(|file| Ok((path(&file.path), form(&file.form)?)))
        .collect::<Result<_>>()?;
    copy::in_order(&mut files, |file| file.1 == OtherForm::Absent);
    files.iter().try_for_each(|(path, form)| copy::place(path, form, None, order.at_once))
}

/// Makes a file in a folder, and opens one that is there for writing: the kernel copies it, and cannot
/// if it belongs to another user or group.
fn try_writing(folder: &Path) -> Result<()> {
    let what = || format!("could not write in an overlay over `{}`", folder.display());
    tempfile::tempfile_in(folder).with_context(what)?;
    for entry in std::fs::read_dir(folder).with_context(what)?.flatten() {
        let is_small = |about: std::fs::Metadata| about.is_file() && about.len() < 1 << 20;
        if !entry.metadata().is_ok_and(is_small) {
            continue;
        }
        match File::options().append(true).open(entry.path()) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {}
            opened => return opened.map(drop).with_context(what),
        }
    }
    Ok(())
}

/// Ends this process by the signal that ended the command, or returns the command's exit code.
fn end_like(status: ExitStatus) -> i32 {
    if let Some(signal) = status.signal() {
        let _ = signal_hook::low_level::emulate_default_handler(signal);
    }
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

fn path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}
