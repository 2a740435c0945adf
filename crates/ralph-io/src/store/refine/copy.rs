//! The copy that a round edits instead of the plan.
//!
//! With a separate file, the round's changes and the user's own changes during the round can be
//! told apart. The copy is in the project, where the client may write, and in a folder that no
//! receipt covers.

use super::{LARGEST_PLAN, make_inside};
use crate::{project::safe_read, project::user_files, store::atomic};
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The copy and its folder.
#[derive(Debug, Clone)]
pub struct Copy {
    root: PathBuf,
    folder: PathBuf,
    name: OsString,
}

impl Copy {
    pub(super) fn at(root: PathBuf, folder: PathBuf, name: OsString) -> Copy {
        Copy { root, folder, name }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// The path from the top of the project.
    pub fn name(&self) -> String {
        let path = self.path();
        path.strip_prefix(&self.root).unwrap_or(&path).to_string_lossy().into_owned()
    }

    /// Writes the copy, and replaces a leftover one.
    ///
    /// # Errors
    /// If it cannot be written, or its folder leads out of the project.
    pub fn make(&self, text: &str) -> Result<()> {
        make_inside(&self.root, &self.folder)?;
        atomic::write(&self.path(), text.as_bytes())
    }

    /// The text of the copy; `None` if it is gone, or not text.
    pub fn text(&self) -> Option<String> {
        safe_read::text(&self.path(), LARGEST_PLAN).ok().flatten()
    }

    /// Removes the copy, and the folders that are empty then. Other files of a round stay.
    ///
    /// # Errors
    /// If it exists and cannot be removed.
    pub fn remove(&self) -> Result<()> {
        let path = self.path();
        if path.symlink_metadata().is_ok() {
            std::fs::remove_file(&path)
                .with_context(|| format!("could not remove `{}`", path.display()))?;
        }
        let below = |folder: &&Path| folder.starts_with(&self.root) && **folder != *self.root;
        for folder in self.folder.ancestors().take_while(below) {
            if !user_files::remove_empty_folder(folder) {
                break;
            }
        }
        Ok(())
    }
}
