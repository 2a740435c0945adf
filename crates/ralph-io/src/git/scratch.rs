//! A folder for a moment: private, and gone when it is let go of.
//!
//! It stands where the system keeps such things. Others may write there too, so it is made by a
//! call that fails when the name is taken, whatever has taken it.

use anyhow::{Context, Result, bail};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read, Seek};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The folder; dropping it removes it and what is in it.
#[derive(Debug)]
pub(crate) struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    /// Makes a folder.
    pub(crate) fn new() -> Result<Scratch> {
        for _ in 0..100 {
            let folder = std::env::temp_dir().join(name());
            match DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => return Ok(Scratch { folder }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(error)
                        .with_context(|| format!("could not make `{}`", folder.display()));
                }
            }
        }
        bail!("could not find a free name in `{}`", std::env::temp_dir().display())
    }

    /// The place of a file in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The folder itself.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Best effort: what is left is private, and the system clears the place.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A file that has no name any more, for what a child says while we do something else.
pub(crate) fn nameless_file() -> Result<File> {
    let path = std::env::temp_dir().join(name());
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create_new(true).mode(0o600).open(&path);
    let file = file.with_context(|| format!("could not make `{}`", path.display()))?;
    std::fs::remove_file(&path)
        .with_context(|| format!("could not remove `{}`", path.display()))?;
    Ok(file)
}

/// What a child wrote to such a file, up to so many bytes.
pub(crate) fn words_in(file: &mut File, most: u64) -> String {
    let mut words = Vec::new();
    // Without its words the failure is still told.
    let _ = file.rewind().and_then(|()| file.take(most).read_to_end(&mut words));
    String::from_utf8_lossy(&words).trim().to_owned()
}

fn name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("ralph-{}-{count}-{:x}", std::process::id(), now.as_nanos())
}
