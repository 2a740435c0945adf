//! Replaces this process by a program that can read everything and change nothing.
//!
//! The kernel keeps the wall: Landlock refuses every write to a file, and a filter refuses the system calls
//! that change something else. Both hold for all that the program starts, and no one can lift them.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;

#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(target_os = "macos")]
use macos as platform;

use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a program may do inside.
#[derive(Debug, Clone, Copy)]
pub struct Wall<'a> {
    /// A folder of the program's own: `$TMPDIR`, and its caches.
    pub private: &'a Path,
    /// The one file besides that it may write, which exists.
    pub writable: Option<&'a Path>,
    /// True if it may open connections.
    pub network: bool,
}

/// Variables that name a cache, with their folders below the private one.
const CACHES: [(&str, &str); 5] = [
    ("XDG_CACHE_HOME", "cache"),
    ("GOCACHE", "go-build"),
    ("npm_config_cache", "npm"),
    ("PYTHONPYCACHEPREFIX", "pycache"),
    ("CARGO_TARGET_DIR", "target"),
];

/// Why no wall can stand here; `None` if it can.
pub fn cannot_stand() -> Option<String> {
    platform::cannot_stand()
}

/// Replaces this process by a program inside the wall.
///
/// # Errors
/// If the wall does not stand or the program cannot be started. Nothing has run then.
pub fn enter(wall: &Wall<'_>, program: &OsStr, arguments: &[&OsStr]) -> Result<()> {
    let mut command = platform::command(wall, program, arguments)?;
    for (name, folder) in CACHES {
        command.env(name, wall.private.join(folder));
    }
    // The second for the line of shell that runs again inside.
    command.env("TMPDIR", wall.private).env("RALPH_TMPDIR", wall.private);
    // zsh keeps the texts of its redirections there, and git would note what it has seen.
    command.env("TMPPREFIX", wall.private.join("zsh")).env("GIT_OPTIONAL_LOCKS", "0");
    Err(command.exec()).with_context(|| format!("could not start `{}`", program.display()))
}

/// Replaces this process by a program without a wall.
///
/// # Errors
/// If the program cannot be started.
pub fn pass(program: &OsStr, arguments: &[&OsStr]) -> Result<()> {
    let error = Command::new(program).args(arguments).exec();
    Err(error).with_context(|| format!("could not start `{}`", program.display()))
}

/// The private folder with this name; makes it if it is not there.
///
/// # Errors
/// If it cannot be made, or is not a folder that only this user can enter.
pub fn private_folder(name: &str) -> Result<PathBuf> {
    let folder = place_of(name);
    match std::fs::DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            return Err(error).with_context(|| format!("could not make `{}`", folder.display()));
        }
        _ => {}
    }
    let found = folder.symlink_metadata()?;
    if !found.is_dir()
        || found.uid() != rustix::process::getuid().as_raw()
        || found.mode() & 0o77 != 0
    {
        bail!("`{}` is not a private folder", folder.display());
    }
    Ok(folder.canonicalize()?)
}

/// Removes the private folder with this name, if it is there and can be removed.
pub fn remove_private_folder(name: &str) {
    // No link is followed. What is left is in the folder for temporary files.
    let _ = std::fs::remove_dir_all(place_of(name));
}

fn place_of(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("ralph-wall-{name}"))
}
