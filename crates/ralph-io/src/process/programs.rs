//! Finds programs, first beside the running executable, then on `PATH`; and reports which program a
//! criterion lacks.

use crate::process::waits::UPGRADE;
use crate::process::{portable, table};
use crate::project::safe_read;
use anyhow::{Context, Result};
use ralph_core::project::lacks_script;
use ralph_core::shell::programs;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The largest `package.json` that is read.
const LARGEST_MANIFEST: u64 = 1 << 20;

/// The path of the running executable. During an upgrade, waits for the new one.
///
/// # Errors
/// If the system does not provide it.
pub fn running() -> Result<PathBuf> {
    let told = std::env::current_exe().context("could not find out where this executable is")?;
    Ok(once_there(told, UPGRADE))
}

fn once_there(told: PathBuf, patience: Duration) -> PathBuf {
    let began = Instant::now();
    loop {
        let path = in_its_place(told.clone());
        if path.exists() || began.elapsed() >= patience {
            return path;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// After an upgrade, Linux marks the path of the running executable as deleted, and no file has
/// that marked name. Use the new executable at the unmarked path.
fn in_its_place(told: PathBuf) -> PathBuf {
    const MARK: &str = " (deleted)";
    let unmarked = told.to_str().and_then(|path| path.strip_suffix(MARK)).map(PathBuf::from);
    match unmarked {
        Some(path) if !told.exists() && is_executable(&path) => path,
        _ => told,
    }
}

/// The executable of this name, beside the running one or on `PATH`.
pub fn find(name: &str) -> Option<PathBuf> {
    let beside =
        std::env::current_exe().ok().and_then(|running| find_on_path(running.with_file_name(name)));
    beside.or_else(|| find_on_path(name))
}

/// The executable of this name in a folder of `PATH`, or at this path. Relative folders are skipped:
/// their content depends on the working folder.
pub fn find_on_path(name: impl AsRef<OsStr>) -> Option<PathBuf> {
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let absolute = std::env::split_paths(&on_path).filter(|folder| folder.is_absolute());
    let folders = std::env::join_paths(absolute).ok()?;
    let mut found = which::which_in_global(name, Some(folders)).ok()?;
    found.find(|path| path.is_absolute())
}

/// As [`find_on_path`]; a name with a folder in it is a path from the working folder.
pub fn find_named(name: &Path) -> Option<PathBuf> {
    match name.parent().is_some_and(|folder| folder != Path::new("")) {
        true => find_on_path(std::path::absolute(name).ok()?),
        false => find_on_path(name),
    }
}

/// The git that Ralph starts: a bare name would also be looked for in relative folders of `PATH`. If
/// there is none, the path is one that does not exist.
pub fn git() -> &'static Path {
    static GIT: OnceLock<PathBuf> = OnceLock::new();
    GIT.get_or_init(|| find_on_path("git").unwrap_or_else(|| PathBuf::from("/no/git")))
}

/// The shell that runs criteria.
pub(crate) fn shell() -> PathBuf {
    let on_path = ["bash", "sh"].into_iter().find_map(find_on_path);
    on_path.unwrap_or_else(|| PathBuf::from("/bin/sh"))
}

/// Explains why a criterion's command cannot even start, and what to do; `None` if no program is
/// known to be missing.
///
/// Paths inside the project are not checked: the loop may exist to write that script.
pub fn cannot_start(command: &str, project_root: &Path) -> Option<String> {
    let on_path = std::env::var_os("PATH").filter(|path| !path.is_empty());
    let is_there = |name: &str| match Path::new(name) {
        path if path.is_absolute() => path.starts_with(project_root) || is_executable(path),
        // A relative folder is resolved where the command runs.
        name => {
            let found = |path| which::which_in(name, Some(path), project_root).is_ok();
            on_path.as_ref().is_none_or(found) || is_of_the_shell(name)
        }
    };
    let missing = programs::needed(command).into_iter().find(|name| !is_there(name));
    missing.map(|name| programs::not_found(&name)).or_else(|| {
        let manifest =
            safe_read::text(&project_root.join("package.json"), LARGEST_MANIFEST).ok()??;
        lacks_script(command, &manifest)
    })
}

/// True for a command that the shell has itself.
fn is_of_the_shell(name: &Path) -> bool {
    let mut asks = Command::new(shell());
    asks.args(["-c", "command -v -- \"$0\""]).arg(name);
    asks.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    asks.status().is_ok_and(|status| status.success())
}

/// True for a regular file that this user can execute.
pub fn is_executable(path: &Path) -> bool {
    path.is_absolute() && find_on_path(path).is_some()
}

/// The identity of an executable, independent of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Executable {
    device: u64,
    inode: u64,
}

impl Executable {
    /// True if this is the executable of this name beside the running one.
    pub fn is_beside_us(self, name: &str) -> bool {
        let beside = running().ok().map(|running| running.with_file_name(name));
        beside
            .and_then(|path| path.metadata().ok())
            .is_some_and(|about| self == executable_from_metadata(&about))
    }
}

fn executable_from_metadata(about: &Metadata) -> Executable {
    Executable { device: about.dev(), inode: about.ino() }
}

/// The executable of the parent process; `None` if it cannot be inspected.
pub fn parent() -> Option<Executable> {
    let pid = rustix::process::getppid()?.as_raw_nonzero().get();
    let path = match portable::is_used() {
        true => table::executable(u32::try_from(pid).ok()?)?,
        // The executable itself, even if another file has its path by now.
        false => PathBuf::from(format!("/proc/{pid}/exe")),
    };
    path.metadata().ok().map(|about| executable_from_metadata(&about))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_was_put_in_the_place_of_the_one_that_runs_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("ralph");
        let marked = folder.path().join("ralph (deleted)");
        assert_eq!(in_its_place(place.clone()), place);
        assert_eq!(in_its_place(marked.clone()), marked, "nothing is in its place");
        std::fs::write(&place, "").unwrap();
        std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(in_its_place(marked.clone()), place);
        std::fs::write(&marked, "").unwrap();
        assert_eq!(in_its_place(marked.clone()), marked, "some name their files so");
    }

    /// npm takes the folder of the old package away before it puts the new one there.
    #[test]
    fn an_executable_that_is_away_during_an_upgrade_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("bin/ralph");
        let marked = folder.path().join("bin/ralph (deleted)");
        assert_eq!(once_there(marked.clone(), Duration::ZERO), marked, "it never comes");
        let new = place.clone();
        let npm = std::thread::spawn(move || {
            std::fs::create_dir(new.parent().unwrap()).unwrap();
            let before = new.with_file_name("new");
            std::fs::write(&before, "").unwrap();
            std::fs::set_permissions(&before, std::fs::Permissions::from_mode(0o755)).unwrap();
            std::fs::rename(before, new).unwrap();
        });
        assert_eq!(once_there(marked, Duration::from_secs(60)), place);
        npm.join().unwrap();
    }

    #[track_caller]
    fn check(command: &str, expected: Option<&str>) {
        let found = cannot_start(command, Path::new("/project"));
        assert_eq!(found.as_deref().and_then(|text| text.split(';').next()), expected, "{command}");
    }

    #[test]
    fn a_program_that_is_nowhere_is_told_and_a_script_of_the_project_is_not() {
        check("sh -c true && cat x", None);
        check("cat x | pytset -q", Some("`pytset` was not found on PATH"));
        check("/bin/sh x", None);
        check("/no/such/check x", Some("`/no/such/check` does not exist or cannot be executed"));
        check("/project/check x", None);
        check("./check.sh && sub/check", None);
    }
}
