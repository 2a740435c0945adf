//! Ralph's home, `$RALPH_HOME`, and the folders in it.

use crate::{project::trusted_read, store::atomic};
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The folder of everything that outlives a process.
#[derive(Debug, Clone)]
pub struct Home {
    root: PathBuf,
    /// `$RALPH_MANIFEST`: a single manifest file that replaces the folder.
    manifest: Option<PathBuf>,
}

impl Home {
    /// `$RALPH_HOME`, else `$XDG_STATE_HOME/ralph`, else `~/.local/state/ralph`.
    ///
    /// # Errors
    /// If none of the three variables is set.
    pub fn from_env() -> Result<Home> {
        let root = root_from_env().context("none of RALPH_HOME, XDG_STATE_HOME and HOME is set")?;
        // A relative folder would be another one after every `cd`.
        let root =
            std::path::absolute(root.whole()).context("could not make RALPH_HOME absolute")?;
        Ok(Home { root, manifest: set("RALPH_MANIFEST").map(PathBuf::from) })
    }

    /// A home at the given path.
    pub fn at(root: impl Into<PathBuf>) -> Home {
        Home { root: root.into(), manifest: None }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn manifest_folder(&self) -> PathBuf {
        self.root.join("manifest")
    }

    /// The folder of spare names of session entries, used when an entry's first name is lost.
    pub fn spare_entries(&self) -> PathBuf {
        self.root.join("bound")
    }

    /// The single manifest file, if the user asked for one instead of the folder.
    pub fn single_manifest(&self) -> Option<&Path> {
        self.manifest.as_deref()
    }

    /// The folder of live and planned loops.
    pub fn loops(&self) -> PathBuf {
        self.root.join("loops")
    }

    /// The folder of ended loops.
    pub fn archive(&self) -> PathBuf {
        self.root.join("archive")
    }

    /// The folder of what Ralph knows about orchestrations beyond their own files.
    pub fn sessions(&self) -> PathBuf {
        self.root.join("sessions")
    }

    /// The folder of the flags of sessions that may only read, each named after its session.
    pub fn walls(&self) -> PathBuf {
        self.root.join("walls")
    }

    /// Creates the folders, private to their owner.
    ///
    /// # Errors
    /// If they cannot be created, belong to another user, or can be written by others.
    pub fn prepare(&self) -> Result<()> {
        let below = [self.manifest_folder(), self.spare_entries(), self.loops(), self.archive()];
        for folder in std::iter::once(self.root.clone()).chain(below) {
            if folder.is_dir() {
                continue;
            }
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&folder)
                // Sync the parent: a synced file in an unsynced folder is lost with its folder.
                .and_then(|()| atomic::sync_folder(&folder))
                .with_context(|| format!("could not make the folder `{}`", folder.display()))?;
        }
        self.check()
    }

    /// Checks that the home is ours alone.
    ///
    /// # Errors
    /// If the folder belongs to another user or can be written by others.
    pub fn check(&self) -> Result<()> {
        let root = self.root.display();
        let about = self.root.metadata().with_context(|| format!("could not inspect `{root}`"))?;
        if about.uid() != trusted_read::user() {
            bail!("`{root}` belongs to another user; set RALPH_HOME to a folder of your own");
        }
        if about.mode() & 0o022 != 0 {
            bail!("`{root}` can be written by others; run `chmod 700 {root}`");
        }
        Ok(())
    }
}

/// A folder from a variable, and the path below it. Kept as two parts, so that an idle hook can
/// build its single path without allocating memory.
#[derive(Debug, PartialEq)]
pub(crate) struct Named {
    pub(crate) folder: OsString,
    pub(crate) below: &'static str,
}

impl Named {
    fn whole(mut self) -> PathBuf {
        self.folder.push(self.below);
        self.folder.into()
    }
}

/// The home that the environment names. It is relative if `RALPH_HOME` is.
pub(crate) fn root_from_env() -> Option<Named> {
    locate(set)
}

/// True if a single manifest file replaces the folder.
pub(crate) fn has_single_manifest() -> bool {
    set("RALPH_MANIFEST").is_some()
}

fn set(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Reads no more variables than needed: each read walks through the environment.
fn locate(set: impl Fn(&str) -> Option<OsString>) -> Option<Named> {
    let named = |name: &str, below| Some(Named { folder: set(name)?, below });
    let absolute = |named: &Named| named.folder.as_bytes().first() == Some(&b'/');
    named("RALPH_HOME", "")
        .or_else(|| named("XDG_STATE_HOME", "/ralph").filter(absolute))
        .or_else(|| named("HOME", "/.local/state/ralph").filter(absolute))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[track_caller]
    fn check(ralph: &str, xdg: &str, home: &str, expected: &str) {
        let set = |name: &str| match name {
            "RALPH_HOME" => Some(ralph),
            "XDG_STATE_HOME" => Some(xdg),
            _ => Some(home),
        };
        let set = |name: &str| set(name).filter(|value| !value.is_empty()).map(OsString::from);
        assert_eq!(locate(set).map(Named::whole), Some(PathBuf::from(expected)));
    }

    #[test]
    fn the_most_particular_variable_wins() {
        check("/r", "/x", "/h", "/r");
        check("", "/x", "/h", "/x/ralph");
        check("", "", "/h", "/h/.local/state/ralph");
        check("", "relative", "/h", "/h/.local/state/ralph");
        assert_eq!(locate(|_| None), None);
    }

    #[test]
    fn a_home_that_others_can_write_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("ralph"));
        home.prepare().unwrap();
        let mode = home.root().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        std::fs::set_permissions(home.root(), std::fs::Permissions::from_mode(0o770)).unwrap();
        assert!(home.check().unwrap_err().to_string().contains("chmod 700"));
    }
}
