//! Where things are on this machine, read from the environment once.

use anyhow::{Context, Result};
use ralph_io::process::programs;
use ralph_io::store::home::Home;
use std::env;
use std::path::{Path, PathBuf};

/// The folders that an installation touches.
#[derive(Debug, Clone)]
pub(crate) struct InstallPaths {
    /// The person's home folder.
    pub(crate) home: PathBuf,
    /// Where the client keeps the person's own settings, skills and agents.
    pub(crate) config: PathBuf,
    /// Ralph's own folder: loops, archive, the record of installations.
    pub(crate) ralph: Home,
    /// Where the running `ralph` and the hooks beside it are.
    pub(crate) executables: PathBuf,
    /// Where the person stands.
    pub(crate) current: PathBuf,
}

impl InstallPaths {
    /// Reads the environment.
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

/// An absolute folder named by a variable; an empty or relative value names none.
fn folder(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}
