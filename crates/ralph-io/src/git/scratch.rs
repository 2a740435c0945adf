//! Temporary folders and files: private, and deleted when dropped.

use anyhow::{Context, Result};
use std::fs::{File, Permissions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A temporary folder; dropping this removes it with its content.
#[derive(Debug)]
pub(crate) struct Scratch(TempDir);

impl Scratch {
    pub(crate) fn new() -> Result<Scratch> {
        // By default only the umask keeps others out.
        let private = Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().prefix("ralph-").permissions(private).tempdir();
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

/// Such a file with these bytes, for a child's standard input.
pub(crate) fn input(bytes: &[u8]) -> Result<File> {
    let mut file = nameless_file()?;
    file.write_all(bytes)
        .and_then(|()| file.rewind())
        .context("could not write a temporary file")?;
    Ok(file)
}

/// Reads what a child wrote to such a file, up to `most` bytes.
pub(crate) fn words_in(file: &mut File, most: u64) -> String {
    let mut words = Vec::new();
    // On a read error the caller still reports the failure, without the message.
    let _ = file.rewind().and_then(|()| file.take(most).read_to_end(&mut words));
    String::from_utf8_lossy(&words).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_else_can_enter_a_temporary_folder() {
        let scratch = Scratch::new().unwrap();
        let mode = scratch.folder().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
