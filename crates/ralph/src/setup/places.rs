//! The paths on this machine, read from the environment once.

use anyhow::{Context, Result};
use ralph_io::process::programs;
use ralph_io::store::home::Home;
use std::env;
use std::path::{Path, PathBuf};

/// The folders that an installation touches.
#[derive(Debug, Clone)]
pub(crate) struct InstallPaths {
    pub(crate) home: PathBuf,
    /// Where the client keeps the user's own settings, skills and agents.
    pub(crate) config: PathBuf,
    /// Ralph's own folder: loops, archive, the record of installations.
    pub(crate) ralph: Home,
    /// The folder of the running `ralph` and the hooks beside it.
    pub(crate) executables: PathBuf,
    pub(crate) current: PathBuf,
}

impl InstallPaths {
    pub(crate) fn from_environment() -> Result<InstallPaths> {
        let home = folder("HOME").context("could not find the home folder: `HOME` is not set")?;
        let running = programs::running()?;
        Ok(InstallPaths {
            config: folder("CLAUDE_CONFIG_DIR").unwrap_or_else(|| home.join(".claude")),
            ralph: Home::from_env()?,
            executables: running.parent().unwrap_or(Path::new("/")).to_owned(),
            current: env::current_dir().context("could not find the current folder")?,
            home,
        })
    }
}

/// An absolute folder named by a variable; an empty or relative value is ignored.
fn folder(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}
