//! Where Ralph keeps what it knows: `$RALPH_HOME`, and what is in it.

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
    /// `$RALPH_MANIFEST`: one manifest file in place of the folder.
    manifest: Option<PathBuf>,
}

impl Home {
    /// `$RALPH_HOME`, else `$XDG_STATE_HOME/ralph`, else `~/.local/state/ralph`.
    ///
    /// # Errors
    /// When none of the three variables is set.
    pub fn from_env() -> Result<Home> {
        let root = root_from_env().context("none of RALPH_HOME, XDG_STATE_HOME and HOME is set")?;
        // A relative folder would mean another one after every `cd`.
        let root =
            std::path::absolute(root.whole()).context("could not make RALPH_HOME absolute")?;
        Ok(Home { root, manifest: set("RALPH_MANIFEST").map(PathBuf::from) })
    }

    /// A home at a given place.
    pub fn at(root: impl Into<PathBuf>) -> Home {
        Home { root: root.into(), manifest: None }
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of manifest entries.
    pub fn manifest_folder(&self) -> PathBuf {
        self.root.join("manifest")
    }

    /// The folder of second names of session entries, for one whose first name is lost.
    pub fn spare_entries(&self) -> PathBuf {
        self.root.join("bound")
    }

    /// The single manifest file that the person asked for instead of the folder.
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

    /// The folder of what is known of orchestrated sessions beside their files.
    pub fn sessions(&self) -> PathBuf {
        self.root.join("sessions")
    }

    /// Makes the folders, private to their owner.
    ///
    /// # Errors
    /// When they cannot be made, or exist and belong to someone else or can be written by others.
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
                // A file that is synced in a folder that is not goes with its folder.
                .and_then(|()| atomic::sync_folder(&folder))
                .with_context(|| format!("could not make the folder `{}`", folder.display()))?;
        }
        self.check()
    }

    /// # Errors
    /// When the folder belongs to someone else or can be written by others.
    pub fn check(&self) -> Result<()> {
        let root = self.root.display();
        let about = self.root.metadata().with_context(|| format!("could not look at `{root}`"))?;
        if about.uid() != trusted_read::user() {
            bail!("`{root}` belongs to another user; set RALPH_HOME to a folder of your own");
        }
        if about.mode() & 0o022 != 0 {
            bail!("`{root}` can be written by others; run `chmod 700 {root}`");
        }
        Ok(())
    }
}

/// A folder that a variable names, and what follows it. Kept apart, so that an idle hook can put
/// its one path together without asking for memory.
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

/// The folder that the environment names; it may be relative, if `RALPH_HOME` is.
pub(crate) fn root_from_env() -> Option<Named> {
    locate(set)
}

/// True when one manifest file stands in for the folder.
pub(crate) fn has_single_manifest() -> bool {
    set("RALPH_MANIFEST").is_some()
}

fn set(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Asks for no more variables than it needs: each costs a walk through the environment.
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
