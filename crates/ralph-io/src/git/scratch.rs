//! Temporary folders and files: private, and deleted when dropped.

use anyhow::{Context, Result};
use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A temporary folder; dropping this removes it with its content.
#[derive(Debug)]
pub(crate) struct Scratch(TempDir);

impl Scratch {
    pub(crate) fn new() -> Result<Scratch> {
        let folder = tempfile::Builder::new().prefix("ralph-").tempdir();
        folder.map(Scratch).context("could not make a temporary folder")
    }

    /// The path of a file in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.0.path()
    }
}

/// A file without a name, for what a child prints while we do something else.
pub(crate) fn nameless_file() -> Result<File> {
    tempfile::tempfile().context("could not make a temporary file")
}

/// Reads what a child wrote to such a file, up to `most` bytes.
pub(crate) fn words_in(file: &mut File, most: u64) -> String {
    let mut words = Vec::new();
    // On a read error the caller still reports the failure, without the message.
    let _ = file.rewind().and_then(|()| file.take(most).read_to_end(&mut words));
    String::from_utf8_lossy(&words).trim().to_owned()
}
