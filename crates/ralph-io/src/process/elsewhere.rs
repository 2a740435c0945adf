//! Runs a command on other files in the same place; nothing that it writes reaches the machine.
//!
//! On Linux, `ralph supervise --elsewhere` stands before the command, and before its bounds: it covers
//! every folder that the user may write by an overlay, puts the other files there, and waits for the
//! command in a mount namespace of their own (`overlay.rs`). Where that is impossible, the project is
//! copied to another path (`copy.rs`), and what the command writes elsewhere stays on the machine.

mod copy;
#[cfg(target_os = "linux")]
mod inside;
mod opened;
#[cfg(target_os = "linux")]
mod overlay;
mod private;

#[cfg(target_os = "linux")]
pub use inside::run as run_inside;
pub(crate) use private::in_front;

use crate::process::command::{self, CommandEnd, CommandOrder, CommandRequest, CommandRun};
use crate::process::portable;
use crate::process::waits::TRIAL;
use anyhow::{Result, bail};
use opened::Watches;
use private::OverlayOrder;
use private::PrivateFolder;
use std::path::{Path, PathBuf};

/// A file that a command sees in another form than the machine has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherFile {
    /// An absolute path.
    pub path: PathBuf,
    pub form: OtherForm,
}

/// The form in which a command sees a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OtherForm {
    Absent,
    File { content: Vec<u8>, is_executable: bool },
    Link(PathBuf),
}

/// The files on which a command runs, where they differ from the machine's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OtherFiles {
    pub replaced: Vec<OtherFile>,
    /// Absolute paths of unchanged files of which the caller wants to know whether the command opened
    /// them.
    pub watched: Vec<PathBuf>,
}

/// How commands can run on other files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    Overlay,
    /// On a copy of the project at another path, because no overlay can be made.
    Copy {
        why: String,
    },
    Nowhere {
        why: String,
    },
}

/// The result of a command that ran on other files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElsewhereRun {
    pub run: CommandRun,
    /// Which of the replaced and watched files the command opened; `None` if that is unknown. An
    /// absent file cannot be opened, and is never among them.
    pub opened: Option<Vec<PathBuf>>,
    /// Whether a process outside, such as a daemon, may have opened one of them in the machine's form meanwhile.
    pub is_read_outside: bool,
}

/// Finds out how commands can run on other files of the project at `root`, by making an overlay. Runs
/// nothing of the project.
pub fn way(ralph: &Path, root: &Path, store: &Path) -> Way {
    let why = match portable::no_overlay() {
        Some(why) => why.to_owned(),
        None => match try_overlay(ralph, root, store) {
            Ok(()) => return Way::Overlay,
            Err(error) => format!("{error:#}"),
        },
    };
    match copy::obstacle(root, store) {
        None => Way::Copy { why },
        Some(obstacle) => Way::Nowhere { why: format!("{why}; {obstacle}") },
    }
}

/// Removes what killed runs left in `store`.
pub fn forget_killed(store: &Path) {
    private::remove_abandoned(store);
}

impl Way {
    /// What to type so that an overlay becomes possible, if a setting of the system forbids it.
    pub fn remedy(&self) -> Option<&'static str> {
        let (Way::Copy { .. } | Way::Nowhere { .. }) = self else { return None };
        let is = |name: &str, value: &str| {
            let set = std::fs::read_to_string(Path::new("/proc").join(name));
            set.is_ok_and(|text| text.lines().any(|line| line == value))
        };
        if is("sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
            Some("type `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`")
        } else if is("sys/kernel/unprivileged_userns_clone", "0") {
            Some("type `sudo sysctl -w kernel.unprivileged_userns_clone=1`")
        } else if is("sys/user/max_user_namespaces", "0") {
            Some("type `sudo sysctl -w user.max_user_namespaces=10000`")
        } else if is("self/status", "Seccomp:\t2") {
            Some("start the container with `--security-opt seccomp=unconfined`")
        } else {
            None
        }
    }
}

/// Runs a command on other files, to its end.
///
/// `store` is a folder for our use, in which each run has a private one; what a killed run left there
/// is removed first. `root` is the top of the project, of which a copy is made if no overlay can be.
///
/// # Errors
/// If there is no way, the copy cannot be made, or the supervisor cannot be started.
pub fn run(
    order: &CommandOrder<'_>,
    files: &OtherFiles,
    way: &Way,
    store: &Path,
    root: &Path,
) -> Result<ElsewhereRun> {
    match way {
        Way::Overlay => run_in_overlay(order, files, store, &OverlayOrder::new(order.folder, root)),
        Way::Copy { .. } => copy::run(order, files, store, root),
        Way::Nowhere { why } => bail!("could not run a command on other files: {why}"),
    }
}

/// Runs a command in an overlay alone, and without the wait for a second in which no replaced file was written: a file
/// may have a time that is less than a second ahead, which disturbs builds and nothing that checks.
///
/// # Errors
/// As for [`run`].
pub fn run_at_once(
    order: &CommandOrder<'_>,
    files: &OtherFiles,
    store: &Path,
    root: &Path,
) -> Result<CommandRun> {
    if let Some(why) = portable::no_overlay() {
        bail!("could not run a command on other files: {why}");
    }
    let overlay = OverlayOrder { at_once: true, ..OverlayOrder::new(order.folder, root) };
    run_in_overlay(order, files, store, &overlay).map(|ended| ended.run)
}

fn run_in_overlay(
    order: &CommandOrder<'_>,
    files: &OtherFiles,
    store: &Path,
    overlay: &OverlayOrder,
) -> Result<ElsewhereRun> {
    let folder = PrivateFolder::make(store)?;
    let mut request = CommandRequest::from_order(order);
    request.elsewhere = Some(private::bytes(&overlay.write(&folder, files)?));
    let outside = Watches::begin(&files.to_watch());
    let mut run = command::run_request(order, &request)?;
    let outside = outside.and_then(Watches::opened);
    let report = private::read_report(folder.path());
    if let Some(problem) = report.problem {
        run.ended = CommandEnd::NotStarted(problem);
    }
    let opened = report.opened.map(|which| files.named(&which));
    let is_read_outside = outside.is_none_or(|opened| !opened.is_empty());
    Ok(ElsewhereRun { run, opened, is_read_outside })
}

fn try_overlay(ralph: &Path, root: &Path, store: &Path) -> Result<()> {
    let output = tempfile::NamedTempFile::new()?;
    let order = CommandOrder {
        ralph,
        command: ":",
        folder: root,
        output: output.path(),
        deadline: TRIAL,
        bounds: None,
    };
    let overlay = OverlayOrder { is_trial: true, ..OverlayOrder::new(root, root) };
    match run_in_overlay(&order, &OtherFiles::default(), store, &overlay)?.run.ended {
        CommandEnd::Exited(0) => Ok(()),
        CommandEnd::NotStarted(problem) => bail!(problem),
        CommandEnd::Deadline => bail!("an overlay took longer than {} s", TRIAL.as_secs()),
        ended => bail!("a command in an overlay ended unexpectedly ({ended:?})"),
    }
}

impl OtherFiles {
    /// All files of which the caller wants to know whether they are opened: the replaced ones first.
    fn to_watch(&self) -> Vec<PathBuf> {
        let replaced = self.replaced.iter().map(|file| &file.path);
        replaced.chain(&self.watched).cloned().collect()
    }

    /// The files at these places of [`OtherFiles::to_watch`].
    fn named(&self, which: &[usize]) -> Vec<PathBuf> {
        let all = self.to_watch();
        which.iter().filter_map(|at| all.get(*at).cloned()).collect()
    }
}

/// Only Linux has overlays.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn run_inside(_order: &Path, _program: &[std::ffi::OsString]) -> Result<i32> {
    bail!("only Linux has overlays")
}
