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
        sessions: Vec::new(),
    }
}

/// Links that lead to links that lead nowhere yet; a person makes none that are longer.
const LONGEST_CHAIN: usize = 16;

/// The path with its links followed as far as it exists: a link into a protected folder must not
/// hide where it leads, also where what it leads to is yet to be made.
pub fn resolve(path: &str) -> Option<String> {
    resolve_at(Path::new(path), LONGEST_CHAIN).map(|path| path.to_string_lossy().into_owned())
}

fn resolve_at(path: &Path, links: usize) -> Option<PathBuf> {
    let existing = path.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)))?;
    let rest = path.strip_prefix(existing.0).ok()?;
    let mut names = rest.components();
    let Some(first) = names.next() else { return Some(existing.1) };
    let next = existing.1.join(first);
    let Ok(target) = next.read_link() else { return Some(existing.1.join(rest)) };
    // A link whose target is not there: whoever writes to it makes that.
    let led = existing.1.join(target).join(names.as_path());
    resolve_at(&led, links.checked_sub(1)?)
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

    #[test]
    fn a_link_to_what_is_yet_to_be_made_is_followed_and_a_circle_leads_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let link = |target: &str, name: &str| {
            std::os::unix::fs::symlink(target, top.join(name)).unwrap();
        };
        link("none/x", "a");
        link("a", "b");
        link("c", "c");
        let resolved = |name: &str| resolve(top.join(name).to_str().unwrap());
        let expected = |name: &str| Some(top.join(name).display().to_string());
        assert_eq!(resolved("a"), expected("none/x"));
        assert_eq!(resolved("b/deep"), expected("none/x/deep"));
        assert_eq!(resolved("c"), None);
    }
}
