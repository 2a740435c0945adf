//! The paths on this machine, read from the environment once.

use anyhow::{Context, Result};
use ralph_io::process::programs;
use ralph_io::project::user_files;
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
    /// The folder whose executables are registered.
    pub(crate) executables: PathBuf,
    /// The folder of the running `ralph`.
    pub(crate) running: PathBuf,
    pub(crate) current: PathBuf,
}

impl InstallPaths {
    pub(crate) fn from_environment() -> Result<InstallPaths> {
        let home = folder("HOME").context("could not find the home folder: `HOME` is not set")?;
        let running = programs::running()?.parent().unwrap_or(Path::new("/")).to_owned();
        let ralph = Home::from_env()?;
        let is_npms = running.components().any(|part| part.as_os_str() == "node_modules");
        Ok(InstallPaths {
            config: folder("CLAUDE_CONFIG_DIR").unwrap_or_else(|| home.join(".claude")),
            executables: if is_npms { copies(&ralph) } else { lasting(&running) },
            ralph,
            running,
            current: env::current_dir().context("could not find the current folder")?,
            home,
        })
    }

    /// Whether `ralph install` copies the executables to where they are registered.
    pub(crate) fn are_copied(&self) -> bool {
        self.executables == copies(&self.ralph)
    }

    /// The folder whose `ralph` the user types.
    pub(crate) fn typed(&self) -> &Path {
        if self.are_copied() { &self.running } else { &self.executables }
    }
}

/// The copies of what npm installs. An upgrade with npm removes the old package before it fetches the
/// new one, and would leave every session without hooks meanwhile.
fn copies(ralph: &Home) -> PathBuf {
    ralph.root().join("bin")
}

/// The folder's name that an upgrade keeps. Homebrew has a folder for each version and removes the old
/// one, which would take the registered hooks with it; its `opt/NAME` leads to the present version.
fn lasting(folder: &Path) -> PathBuf {
    let kept = || {
        let version = folder.parent()?;
        let formula = version.parent()?;
        let cellar = formula.parent().filter(|cellar| cellar.ends_with("Cellar"))?;
        let linked = cellar.parent()?.join("opt").join(formula.file_name()?);
        let same = user_files::real(&linked)? == user_files::real(version)?;
        same.then(|| linked.join(folder.file_name().unwrap_or_default()))
    };
    kept().unwrap_or_else(|| folder.to_owned())
}

/// An absolute folder named by a variable; an empty or relative value is ignored.
fn folder(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}
