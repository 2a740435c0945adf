//! Where the things stand that a loop's model must not edit.

use crate::home::Home;
use crate::{client, settings};
use ralph_core::guard::Places;
use std::path::{Path, PathBuf};

/// Gathers the places from the environment and from where this executable stands.
pub fn gather(home: &Home) -> Places {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    let home_folder = variable("HOME").unwrap_or_default();
    let mut config_dirs: Vec<String> = client::config_dir().into_iter().map(text).collect();
    config_dirs.push(format!("{home_folder}/.claude"));
    let executable = std::env::current_exe().ok();
    Places {
        ralph_home: home.root().to_string_lossy().into_owned(),
        config_dirs,
        user_config: settings::user_folder().map(text).unwrap_or_default(),
        executables: executable
            .iter()
            .filter_map(|path| path.parent())
            .map(|path| text(path.to_owned()))
            .collect(),
        plugin_root: variable("CLAUDE_PLUGIN_ROOT"),
        home: home_folder,
    }
}

/// The path with its links followed as far as it exists: a link into a protected folder must not
/// hide where it leads.
pub fn resolve(path: &str) -> Option<String> {
    let path = Path::new(path);
    let existing = path.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)))?;
    let rest = path.strip_prefix(existing.0).ok()?;
    let resolved = if rest.as_os_str().is_empty() { existing.1 } else { existing.1.join(rest) };
    Some(resolved.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_followed_even_when_the_file_is_yet_to_be_made() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap().join("real");
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, folder.path().join("link")).unwrap();
        let through = folder.path().join("link/deep/new.json");
        assert_eq!(
            resolve(through.to_str().unwrap()),
            Some(real.join("deep/new.json").display().to_string())
        );
        assert_eq!(resolve(real.to_str().unwrap()), Some(real.display().to_string()));
    }
}
