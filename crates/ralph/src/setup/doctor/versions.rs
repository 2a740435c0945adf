//! Checks that the executables, the installed skills and the plugin have one version.
//!
//! They are upgraded by different commands. An older skill tells the model what a newer hook no
//! longer does, and an older hook leaves the state of a newer `ralph` alone, so the loop stops being
//! enforced.

use super::check::{Check, grouped, warn, well};
use super::executables::Executable;
use super::fix::Fix;
use super::plugin::Plugin;
use crate::setup::install::record::{Install, InstallRecord};
use crate::setup::install::scope::ScopeArgs;
use crate::setup::places::InstallPaths;
use ralph_core::shell::quoted;
use ralph_io::project::user_files;

const NAME: &str = "versions";
pub(super) const OURS: &str = env!("CARGO_PKG_VERSION");

/// One line if all have the version of this `ralph`, else one for each part that differs.
pub(super) fn check(
    hooks: &[Executable],
    plugin: Option<&Plugin>,
    places: &InstallPaths,
) -> Vec<Check> {
    let record = InstallRecord::read(places.ralph.root()).unwrap_or_default();
    let with_skills: Vec<(&Install, ScopeArgs)> = record
        .all()
        .iter()
        .filter(|install| user_files::access(&install.settings).is_some())
        .filter_map(|install| Some((install, ScopeArgs::of_settings(&install.settings, places)?)))
        .collect();
    let mut wrong = executables(hooks, places);
    wrong.extend(with_skills.iter().filter_map(|(install, args)| skills(install, args, places)));
    wrong.extend(plugin.and_then(|plugin| of_plugin(plugin, places)));
    if !wrong.is_empty() {
        return wrong;
    }
    let mut parts = vec!["executables"];
    parts.extend((!with_skills.is_empty()).then_some("skills"));
    parts.extend(plugin.and_then(Plugin::version).map(|_| "plugin"));
    vec![well(NAME, format!("{OURS} ({})", parts.join(", ")))]
}

/// The hooks of another version than this `ralph`, in one line for each version.
fn executables(hooks: &[Executable], places: &InstallPaths) -> Vec<Check> {
    let versions = hooks.iter().filter_map(|hook| {
        Some((hook.version.as_ref().ok()?.as_deref().filter(|it| *it != OURS)?, hook.name))
    });
    let line = |(version, names): (&str, Vec<&str>)| {
        let (names, folder) = (names.join(", "), places.executables.display());
        let detail = format!("{names} in `{folder}`: {version}, and this `ralph` is {OURS}");
        let cure = match places.are_copied() && !is_newer(version) {
            true => "run `ralph install`".to_owned(),
            false => upgrade(places),
        };
        warn(NAME, detail, cure)
    };
    grouped(versions).into_iter().map(line).collect()
}

fn skills(install: &Install, args: &ScopeArgs, places: &InstallPaths) -> Option<Check> {
    let version = install.version.as_deref().unwrap_or("older");
    if version == OURS {
        return None;
    }
    let folder = install.settings.parent().unwrap_or(&install.settings).display();
    let detail =
        format!("skills, agents and hooks in `{folder}`: {version}, and this `ralph` is {OURS}");
    Some(match is_newer(version) {
        true => warn(NAME, detail, upgrade(places)),
        false => warn(NAME, detail, format!("run `{}`", args.command(None)))
            .with_fix(Fix::Install(args.clone())),
    })
}

fn of_plugin(plugin: &Plugin, places: &InstallPaths) -> Option<Check> {
    let root = plugin.root.as_ref()?;
    let version = plugin.version().unwrap_or_else(|| "unknown".to_owned());
    if version == OURS {
        return None;
    }
    let id = &plugin.id;
    let detail =
        format!("plugin `{id}` in `{}`: {version}, and this `ralph` is {OURS}", root.display());
    let cure = match (is_newer(&version), plugin.is_in_place) {
        (true, _) => upgrade(places),
        (false, true) => {
            format!("run `ralph install --plugin {}`", quoted(&root.to_string_lossy()))
        }
        (false, false) => {
            let marketplace = id.split_once('@').map_or("ralph", |(_, marketplace)| marketplace);
            format!(
                "run `claude plugin marketplace update {marketplace}`, then `claude plugin update {id}`"
            )
        }
    };
    Some(warn(NAME, detail, cure))
}

/// Whether a version is newer than this `ralph`; false if it is unknown.
fn is_newer(version: &str) -> bool {
    numbers(version).zip(numbers(OURS)).is_some_and(|(theirs, ours)| theirs > ours)
}

fn numbers(version: &str) -> Option<Vec<u32>> {
    let release = version.split(['-', '+']).next()?;
    release.split('.').map(|number| number.parse().ok()).collect()
}

/// The command that brings all executables in their folder to the newest version.
fn upgrade(places: &InstallPaths) -> String {
    let folder = &places.executables;
    let has = |name: &str| folder.components().any(|part| part.as_os_str() == name);
    let command = if places.are_copied() {
        "npm install -g @ralph-loop/ralph && ralph install"
    } else if has("Cellar") || folder.ends_with("opt/ralph/bin") {
        "brew upgrade ralph && ralph install"
    } else if folder.ends_with(".cargo/bin") {
        "for crate in ralph ralph-hooks; do cargo binstall --git https://github.com/ralph-loop/ralph $crate; done && ralph install"
    } else {
        return "run Ralph's `install.sh` again, which replaces them all".to_owned();
    };
    format!("run `{command}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        assert!(is_newer("0.10.0") && is_newer("1.0.0-rc.1"));
        assert!(!is_newer(OURS) && !is_newer("0.0.9") && !is_newer("older"));
    }
}
