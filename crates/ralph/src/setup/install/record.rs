//! `$RALPH_HOME/install.json`: what each installation did, so that it can be reversed exactly.
//!
//! It holds the earlier settings text, so that settings that did not change since can be restored
//! to the byte, and the digest of each copied file, since a file that the user has edited belongs
//! to the user.

use super::extras::Extras;
use crate::command::exit::{Exit, refused};
use anyhow::{Context, Result};
use ralph_io::{project::user_files, store::atomic};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

const SCHEMA_VERSION: u32 = 1;

/// Every installation on this machine.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct InstallRecord {
    schema_version: u32,
    installs: Vec<Install>,
}

/// One installation, identified by its settings file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Install {
    /// The settings file, or the plugin's description, as it was named.
    pub(crate) settings: PathBuf,
    /// Its text without Ralph; `None` if there was no file.
    pub(crate) before: Option<String>,
    /// The digest of its text with Ralph.
    pub(crate) after: String,
    /// The version of the `ralph` that installed; `None` in a record of one that kept no version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    #[serde(flatten)]
    pub(crate) extras: Extras,
    /// The skills and agents that Ralph wrote.
    pub(crate) files: Vec<Copied>,
    /// The folders that Ralph created, outermost first.
    pub(crate) folders: Vec<PathBuf>,
}

/// A file that Ralph wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Copied {
    pub(crate) path: PathBuf,
    /// The SHA-256 of the text.
    pub(crate) digest: String,
}

impl InstallRecord {
    /// Reads the record; a missing file is an empty record.
    pub(crate) fn read(ralph_home: &Path) -> Result<InstallRecord> {
        let path = path(ralph_home);
        let Some(text) = user_files::find(&path)?.text else {
            return Ok(InstallRecord { schema_version: SCHEMA_VERSION, installs: Vec::new() });
        };
        let record: InstallRecord = serde_json::from_str(&text).map_err(|error| {
            let shown = path.display();
            refused(Exit::BadState, format!("could not read `{shown}` ({error}); move it away"))
        })?;
        if record.schema_version > SCHEMA_VERSION {
            let shown = path.display();
            let message = format!("`{shown}` was written by a newer ralph; use that one");
            return Err(refused(Exit::BadState, message));
        }
        Ok(record)
    }

    pub(crate) fn of(&self, settings: &Path) -> Option<&Install> {
        self.installs.iter().find(|install| install.settings == settings)
    }

    pub(crate) fn all(&self) -> &[Install] {
        &self.installs
    }

    pub(crate) fn settings(&self) -> impl Iterator<Item = &Path> {
        self.installs.iter().map(|install| install.settings.as_path())
    }

    /// Replaces or removes the installation for this settings file, and writes the record.
    pub(crate) fn write(
        mut self,
        ralph_home: &Path,
        settings: &Path,
        install: Option<Install>,
    ) -> Result<()> {
        self.installs.retain(|known| known.settings != settings);
        self.installs.extend(install);
        user_files::make_folders(ralph_home, 0o700)?;
        let mut text = serde_json::to_string_pretty(&self).context("could not write the record")?;
        text.push('\n');
        atomic::write(&path(ralph_home), text.as_bytes())
    }
}

fn path(ralph_home: &Path) -> PathBuf {
    ralph_home.join("install.json")
}
