//! Checks which executables `PATH` leads to. The model types `ralph verify`, and the client finds
//! hooks registered by bare name there as well.
//!
//! A client started from a desktop may have another `PATH` than this terminal.

use super::check::{Check, warn, well};
use super::settings::hooks;
use super::{executables, versions};
use crate::setup::places::InstallPaths;
use ralph_io::client::client_settings::ClientSettings;
use ralph_io::{process::programs, project::user_files};
use std::path::{Path, PathBuf};

const NAME: &str = "path";

/// One line if all is fine, else one for each name that leads elsewhere.
pub(super) fn check(settings: &ClientSettings, places: &InstallPaths) -> Vec<Check> {
    let mut names: Vec<String> = vec!["ralph".to_owned()];
    names.extend(hooks(settings).iter().filter_map(|hook| bare_name(&hook.command)));
    names.sort_unstable();
    names.dedup();
    let wrong = wrong(&names, places.typed(), found(places));
    if wrong.is_empty() {
        let shown = places.typed().display();
        return vec![well(NAME, format!("`ralph` on PATH is the one in `{shown}`"))];
    }
    wrong
}

/// A note for the user if `ralph` is not found on `PATH`.
pub(crate) fn advice(places: &InstallPaths) -> Option<String> {
    let names = ["ralph".to_owned()];
    let check = wrong(&names, places.typed(), found(places)).into_iter().next()?;
    Some(format!("{}; {}", check.detail, check.cure.unwrap_or_default()))
}

/// The executable of a name that `PATH` leads to. npm links a launcher into `PATH`, which stands for the
/// executable that it starts.
fn found(places: &InstallPaths) -> impl Fn(&str) -> Option<PathBuf> {
    move |name| {
        let path = programs::find_on_path(name)?;
        let starts_ours = places.are_copied()
            && executables::version_of(&path, name).ok().flatten().as_deref()
                == Some(versions::OURS);
        Some(if starts_ours { places.typed().join(name) } else { path })
    }
}

/// The program that a registration looks for on `PATH`; `None` if it names a path.
fn bare_name(command: &str) -> Option<String> {
    let program = command.split_whitespace().next()?.trim_matches(['"', '\'']);
    (!program.contains('/')).then(|| program.to_owned())
}

fn wrong(
    names: &[String],
    executables: &Path,
    found: impl Fn(&str) -> Option<PathBuf>,
) -> Vec<Check> {
    let folder = executables.display();
    let mut wrong = Vec::new();
    for name in names {
        let beside = user_files::real(&executables.join(name));
        match found(name) {
            Some(path) if user_files::real(&path) == beside => {}
            Some(path) => wrong.push(warn(
                NAME,
                format!("`{name}` on PATH is `{}`, not the one in `{folder}`", path.display()),
                "remove the older one, or put the other folder first on PATH",
            )),
            None => wrong.push(warn(
                NAME,
                format!("`{name}` is not on PATH, so the shell does not find it"),
                format!("add to your shell's profile: export PATH=\"{folder}:$PATH\""),
            )),
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_leads_elsewhere_or_nowhere_is_told() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["ours/ralph", "ours/ralph-stop-hook", "older/ralph"] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let ours = folder.path().join("ours");
        let names = ["ralph".to_owned(), "ralph-stop-hook".to_owned()];
        let said = |first: &str| {
            let first = folder.path().join(first);
            let found = |name: &str| Some(first.join(name)).filter(|path| path.exists());
            let lines = wrong(&names, &ours, found).into_iter().map(|check| check.detail);
            lines.collect::<Vec<_>>()
        };
        assert_eq!(said("ours"), [""; 0]);
        let older = said("older");
        assert!(older[0].contains("older/ralph`, not the one in `"), "{older:?}");
        assert!(older[1].starts_with("`ralph-stop-hook` is not on PATH"), "{older:?}");
        assert_eq!(said("nowhere").len(), 2);
    }

    #[test]
    fn a_registration_by_path_is_not_looked_for() {
        assert_eq!(bare_name("/opt/ralph-stop-hook"), None);
        assert_eq!(bare_name("ralph-stop-hook settings").as_deref(), Some("ralph-stop-hook"));
        assert_eq!(bare_name("\"$HOME/.local/bin/ralph-stop-hook\" settings"), None);
    }
}
