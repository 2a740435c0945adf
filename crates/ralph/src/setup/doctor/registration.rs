//! Checks that each registration is complete and that registrations do not conflict.

use super::check::{Check, fail, warn, well};
use super::fix::Fix;
use super::plugin::{self, Plugin};
use super::settings::{hooks_in, project_root};
use crate::command::screen::visible;
use crate::setup::install::merge;
use crate::setup::places::InstallPaths;
use ralph_core::protocol::registration::{Location, Origin, settings_hooks};
use ralph_core::text::plural::counted;
use ralph_io::client::client_settings::{ClientSettings, SettingsFile};
use ralph_io::project::user_files;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const NAME: &str = "registration";
const INSTALL: &str = "run `ralph install`";

/// Before the names of events.
pub(super) const INCOMPLETE: &str =
    "these hooks are missing or not as this version registers them:";

/// One line per registration found, and one for each problem with them.
pub(super) fn check(
    settings: &ClientSettings,
    plugin: Option<&Plugin>,
    places: &InstallPaths,
) -> Vec<Check> {
    let mut checks = Vec::new();
    let mut folders = BTreeSet::new();
    for (file, value) in settings.readable() {
        let hooks = hooks_in(value, Origin::Settings);
        let Some(first) = hooks.first() else { continue };
        let (location, folder) = match first.command.rsplit_once('/') {
            Some((folder, _)) => (Location::Folder(folder), folder),
            None => (Location::Path, "PATH"),
        };
        folders.insert(folder.to_owned());
        checks.push(check_file(file, &value["hooks"], location, hooks.len(), places));
    }
    let in_settings = !checks.is_empty();
    let names = skills_with_hooks(places);
    if let Some(plugin) = plugin {
        checks.push(plugin::check(plugin));
        if in_settings {
            let id = &plugin.id;
            checks.push(warn(
                NAME,
                format!(
                    "plugin `{id}` and settings both: each hook is started twice, one copy counts"
                ),
                format!("to start it once: `ralph uninstall`, or `claude plugin disable {id}`"),
            ));
        }
    }
    if !names.is_empty() {
        let names = visible(&names.join(", "));
        let detail = match checks.is_empty() {
            true => format!(
                "only in the front matter of skills ({names}): lost on --resume, absent in workers"
            ),
            false => format!(
                "also in the front matter of skills ({names}): each hook starts twice, one copy counts"
            ),
        };
        checks.push(warn(NAME, detail, INSTALL));
    }
    if checks.is_empty() {
        checks.push(fail(NAME, "no hook is registered: no loop would be enforced", INSTALL));
    }
    // The client starts identical entries once. Those of another folder run too, with the same rank.
    if folders.len() > 1 {
        let folders = folders.into_iter().collect::<Vec<_>>().join("`, `");
        let detail =
            format!("hooks of several folders (`{folders}`): each stop would count more than once");
        let cure =
            "keep one: run `ralph install` or `ralph uninstall` for the user and for the project";
        checks.push(fail(NAME, detail, cure));
    }
    checks
}

/// The user's and the project's skills whose front matter names one of Ralph's hooks.
fn skills_with_hooks(places: &InstallPaths) -> Vec<String> {
    let project = project_root(&places.current).join(".claude/skills");
    let has_hook = |file: &Path| {
        let text = user_files::find(file).ok().and_then(|found| found.text).unwrap_or_default();
        text.split("\n---").next().is_some_and(|head| head.contains("ralph-stop-hook"))
    };
    let mut found: Vec<String> = Vec::new();
    for folder in [places.config.join("skills"), project] {
        let names = user_files::names(&folder);
        found
            .extend(names.into_iter().filter(|name| has_hook(&folder.join(name).join("SKILL.md"))));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Compares the hooks of a file with those that an installation of this version registers in their folder.
fn check_file(
    file: &SettingsFile,
    registered: &Value,
    location: Location<'_>,
    n_hooks: usize,
    places: &InstallPaths,
) -> Check {
    let SettingsFile { rank, path, .. } = file;
    let shown = path.display();
    let wanted = serde_json::to_value(settings_hooks(location)).unwrap_or_default();
    let differing = merge::differing(registered, &wanted, Origin::Settings);
    if differing.is_empty() {
        let linked = match link(path) {
            Some(real) => format!(", a link to `{}`", real.display()),
            None => String::new(),
        };
        let hooks = counted(n_hooks, "hook", "hooks");
        return well(NAME, format!("{hooks} in the {rank} settings `{shown}`{linked}"));
    }
    let events = differing.join(", ");
    let detail = format!("in the {rank} settings `{shown}`, {INCOMPLETE} {events}");
    Check { fix: Fix::install_again(path, places), ..fail(NAME, detail, INSTALL) }
}

/// The real path of a settings file that is a symlink, as `stow` makes them.
fn link(path: &Path) -> Option<PathBuf> {
    let real = user_files::real(path)?;
    let straight = user_files::real(path.parent()?)?.join(path.file_name()?);
    (real != straight).then_some(real)
}
