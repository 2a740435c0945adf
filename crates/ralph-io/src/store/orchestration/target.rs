//! Resolves the paths that the program writes to in an orchestration's folder, and refuses links.

use crate::store::atomic;
use anyhow::{Context, Result, bail};
use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Creates a folder, named relative to the top of the project, and returns its path. Refuses a link
/// on the way: the file would be written elsewhere.
pub(super) fn folder(top: &Path, name: &str) -> Result<PathBuf> {
    let mut path = top.to_owned();
    for part in name.split('/').filter(|part| !part.is_empty()) {
        path.push(part);
        let made = match DirBuilder::new().mode(0o755).create(&path) {
            Ok(()) => atomic::sync_folder(&path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        };
        made.with_context(|| format!("could not make the folder `{}`", path.display()))?;
        if !path.symlink_metadata().is_ok_and(|about| about.is_dir()) {
            bail!("`{}` is no folder; put one in its place", path.display());
        }
    }
    Ok(path)
}

/// Writes a file, named relative to the top of the project. An existing file keeps its mode.
pub(super) fn write(top: &Path, name: &str, text: &str) -> Result<()> {
    let path = place(top, name)?;
    match path.symlink_metadata() {
        Ok(about) if about.is_file() => {
            atomic::write_with_mode(&path, text.as_bytes(), about.permissions().mode())
        }
        Ok(_) => bail!("`{}` is not a file; replace it with one", path.display()),
        Err(_) => atomic::write(&path, text.as_bytes()),
    }
}

/// The path of a file, in a folder that is created if missing.
pub(super) fn place(top: &Path, name: &str) -> Result<PathBuf> {
    let (above, file) = name.rsplit_once('/').unwrap_or(("", name));
    Ok(folder(top, above)?.join(file))
}
