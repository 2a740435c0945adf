//! Reads `ralph.toml`: the person's own, the project's, and whether the project's is trusted.

use crate::home::Home;
use crate::{atomic, owned};
use anyhow::{Context, Result};
use ralph_core::settings::Settings;
use sha2::{Digest, Sha256};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The person's own file: `$XDG_CONFIG_HOME/ralph/config.toml`.
pub fn user_file() -> Option<PathBuf> {
    user_folder().map(|folder| folder.join("config.toml"))
}

/// The folder of the person's own file.
pub fn user_folder() -> Option<PathBuf> {
    let set =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    set("XDG_CONFIG_HOME")
        .or_else(|| Some(set("HOME")?.join(".config")))
        .map(|folder| folder.join("ralph"))
}

/// The project's file.
pub fn project_file(project_root: &Path) -> PathBuf {
    project_root.join(".claude").join("ralph.toml")
}

/// The settings for a loop of this project, and what could not be used of them.
pub fn read(home: &Home, project_root: &Path) -> (Settings, Vec<String>) {
    let mut problems = Vec::new();
    let mut take = |path: &Path| match parse_file(path) {
        Ok(settings) => settings.unwrap_or_default(),
        Err(error) => {
            problems.push(format!("{error:#}; it was not used"));
            Settings::default()
        }
    };
    let user = user_file().map(|path| take(&path)).unwrap_or_default();
    let path = project_file(project_root);
    let project = take(&path);
    let project = match is_trusted(home, &path) {
        true => project,
        false => project.of_untrusted_project(),
    };
    (project.over(user), problems)
}

fn parse_file(path: &Path) -> Result<Option<Settings>> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(error).with_context(|| format!("could not read `{}`", path.display()));
        }
    };
    toml::from_str(&text).map(Some).with_context(|| format!("could not use `{}`", path.display()))
}

/// Records that the person has read this content of the project's file: what they were shown, and
/// not what the file holds by now. A changed file must be trusted anew.
pub fn trust(home: &Home, path: &Path, shown: &str) -> Result<()> {
    home.prepare()?;
    let record = record(home, path);
    let folder = record.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder)
        .and_then(|()| atomic::sync_folder(folder))
        .with_context(|| format!("could not make `{}`", folder.display()))?;
    atomic::write(&record, hex(shown.as_bytes()).as_bytes())
}

/// True if the person has trusted exactly this content of the file.
pub fn is_trusted(home: &Home, path: &Path) -> bool {
    let Ok(content) = std::fs::read(path) else { return false };
    owned::read(&record(home, path))
        .ok()
        .flatten()
        .is_some_and(|seen| seen == hex(&content).as_bytes())
}

fn record(home: &Home, path: &Path) -> PathBuf {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    home.root().join("trust").join(hex(path.as_os_str().as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_holds_for_one_content_of_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("home"));
        let path = project_file(folder.path());
        std::fs::create_dir(folder.path().join(".claude")).unwrap();
        std::fs::write(&path, "completion = \"token\"\n").unwrap();
        assert!(!is_trusted(&home, &path));
        trust(&home, &path, "completion = \"token\"\n").unwrap();
        assert!(is_trusted(&home, &path));
        std::fs::write(&path, "completion = \"token\"\nmax_minutes = 3\n").unwrap();
        assert!(!is_trusted(&home, &path));
    }

    #[test]
    fn a_file_with_an_unknown_key_is_named_and_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ralph.toml");
        std::fs::write(&path, "max_iteration = 3\n").unwrap();
        let error = format!("{:#}", parse_file(&path).unwrap_err());
        assert!(error.contains("max_iteration"), "{error}");
    }
}
