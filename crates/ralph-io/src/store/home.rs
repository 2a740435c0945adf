//! Ralph's home, `$RALPH_HOME`, and the folders in it.

use crate::project::{trusted_read, user_files};
use anyhow::{Context, Result, bail};
use std::os::unix::fs::MetadataExt;
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
    pub fn from_env() -> Result<Home> {
        let root = root_from_env().context("none of RALPH_HOME, XDG_STATE_HOME and HOME is set")?;
        // A relative folder would be another one after every `cd`.
        let root = std::path::absolute(root).context("could not make RALPH_HOME absolute")?;
        Ok(Home { root, manifest: single_manifest_from_env() })
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
        for folder in [self.root.clone(), self.manifest_folder(), self.loops(), self.archive()] {
            // With a sync: a synced file in an unsynced folder is lost with its folder.
            user_files::make_folders(&folder, 0o700)?;
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

/// The home that the environment names. It is relative if `RALPH_HOME` is.
pub(crate) fn root_from_env() -> Option<PathBuf> {
    locate(set)
}

/// The single manifest file that replaces the folder.
pub(crate) fn single_manifest_from_env() -> Option<PathBuf> {
    set("RALPH_MANIFEST")
}

fn set(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Reads no more variables than needed: each read walks through the environment.
fn locate(set: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let absolute = |name: &str| set(name).filter(|folder| folder.is_absolute());
    set("RALPH_HOME")
        .or_else(|| Some(absolute("XDG_STATE_HOME")?.join("ralph")))
        .or_else(|| Some(absolute("HOME")?.join(".local/state/ralph")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    impl Home {
        /// The same home with a single manifest file.
        pub(crate) fn with_manifest(self, file: &Path) -> Home {
            Home { manifest: Some(file.to_owned()), ..self }
        }
    }

    #[track_caller]
    fn check(ralph: &str, xdg: &str, home: &str, expected: &str) {
        let set = |name: &str| match name {
            "RALPH_HOME" => Some(ralph),
            "XDG_STATE_HOME" => Some(xdg),
            _ => Some(home),
        };
        let set = |name: &str| set(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        assert_eq!(locate(set), Some(PathBuf::from(expected)));
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
