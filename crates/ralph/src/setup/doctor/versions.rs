//! Checks that the executables, the installed skills and the plugin have one version.
//!
//! They are upgraded by different commands. An older skill tells the model what a newer hook no
//! longer does, and an older hook leaves the state of a newer `ralph` alone, so the loop stops being
//! enforced.

use super::check::{Check, warn, well};
use super::plugin::Plugin;
use crate::setup::install::plugin::DESCRIPTION;
use crate::setup::install::record::{Copied, Install, InstallRecord};
use crate::setup::install::shipped::SHIPPED;
use crate::setup::places::InstallPaths;
use ralph_core::protocol::registration::HOOK_EXECUTABLES;
use ralph_core::shell::quoted;
use ralph_core::text::hex;
use ralph_hooks::hook_runner::VERSION;
use ralph_io::process::run_once::{self, Program, ProgramEnd};
use ralph_io::project::user_files;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

const NAME: &str = "versions";
pub(super) const OURS: &str = env!("CARGO_PKG_VERSION");
const DEADLINE: Duration = Duration::from_secs(5);

/// One line if all have the version of this `ralph`, else one for each part that differs.
pub(super) fn check(plugin: Option<&Plugin>, places: &InstallPaths) -> Vec<Check> {
    let record = InstallRecord::read(places.ralph.root()).ok();
    let installs: Vec<&Install> = record.iter().flat_map(|record| record.all()).collect();
    let with_skills: Vec<&Install> =
        installs.into_iter().filter(|install| has_skills(install)).collect();
    let mut wrong = executables(places);
    wrong.extend(with_skills.iter().filter_map(|install| skills(install, places)));
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
fn executables(places: &InstallPaths) -> Vec<Check> {
    let mut others: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for name in HOOK_EXECUTABLES {
        match printed(&places.executables.join(name), name) {
            Some(version) if version != OURS => others.entry(version).or_default().push(name),
            _ => {}
        }
    }
    let folder = places.executables.display();
    let line = |(version, names): (String, Vec<&str>)| {
        let names = names.join(", ");
        let detail = format!("{names} in `{folder}`: {version}, and this `ralph` is {OURS}");
        let cure = match places.are_copied() && !is_newer(&version) {
            true => "run `ralph install`".to_owned(),
            false => upgrade(places),
        };
        warn(NAME, detail, cure)
    };
    others.into_iter().map(line).collect()
}

/// The version that an executable prints; `None` if it does not start or prints none, which another
/// check reports.
pub(super) fn printed(path: &Path, name: &str) -> Option<String> {
    let command = path.to_str()?;
    let program = Program {
        command,
        args: vec![VERSION],
        folder: Path::new("/"),
        stdin: "",
        // A hook of a named session answers for that session.
        env: vec![("CLAUDE_CODE_SESSION_ID", OsStr::new(""))],
        deadline: DEADLINE,
    };
    let outcome = run_once::run(&program).ok()?;
    let printed = outcome.stdout.strip_prefix(name)?.trim();
    (outcome.ended == ProgramEnd::Exited(0) && !printed.is_empty()).then(|| printed.to_owned())
}

/// Whether this installation still has its settings file. A plugin's version is in its own file.
fn has_skills(install: &Install) -> bool {
    !install.settings.ends_with(DESCRIPTION) && user_files::access(&install.settings).is_some()
}

fn skills(install: &Install, places: &InstallPaths) -> Option<Check> {
    let is_same = match &install.version {
        Some(version) => version == OURS,
        None => !has_older_text(install),
    };
    if is_same {
        return None;
    }
    let version = install.version.as_deref().unwrap_or("older");
    let folder = install.settings.parent().unwrap_or(&install.settings).display();
    let detail =
        format!("skills, agents and hooks in `{folder}`: {version}, and this `ralph` is {OURS}");
    let cure = match is_newer(version) {
        true => upgrade(places),
        false => format!("run `{}`", install_again(&install.settings, places)),
    };
    Some(warn(NAME, detail, cure))
}

/// Whether a file of an installation without a recorded version differs from that of this version.
fn has_older_text(install: &Install) -> bool {
    let is_other = |copied: &Copied| {
        let shipped = SHIPPED.iter().find(|file| copied.path.ends_with(file.path));
        shipped.is_none_or(|file| hex::sha256(file.without_hooks()) != copied.digest)
    };
    install.files.iter().any(is_other)
}

/// The command that repeats the installation into this settings file.
fn install_again(settings: &Path, places: &InstallPaths) -> String {
    if settings == places.config.join("settings.json") {
        return "ralph install".to_owned();
    }
    let above = settings.parent().and_then(Path::parent).unwrap_or(Path::new("."));
    let text = user_files::find(settings).ok().and_then(|found| found.text).unwrap_or_default();
    // A stow package names the hooks without a folder.
    let is_package = above.ends_with("claude") && !text.contains("/ralph-stop-hook");
    let (option, folder) = match above.parent().filter(|_| is_package) {
        Some(package) => ("--stow", package),
        None => ("--project", above),
    };
    format!("ralph install {option} {}", quoted(&folder.to_string_lossy()))
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
