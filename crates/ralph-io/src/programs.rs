//! Finds programs: beside the one that runs, then on `PATH`.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The executable of this name; none if there is none.
pub fn find(name: &str) -> Option<PathBuf> {
    let running = std::env::current_exe().ok();
    let beside = running.as_deref().and_then(Path::parent).map(Path::to_owned);
    beside
        .map(|folder| folder.join(name))
        .filter(|path| path.is_absolute() && is_executable(path))
        .or_else(|| find_on_path(name))
}

/// The executable of this name in a folder of `PATH`. A relative folder does not count: what it
/// holds depends on where the process is.
pub fn find_on_path(name: &str) -> Option<PathBuf> {
    let on_path = std::env::var_os("PATH")?;
    std::env::split_paths(&on_path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}
