//! Checks the settings of the client and of Ralph, and what else decides what a loop may do here: a sandbox,
//! code of plugins, the wall, where criteria run without the change.

use super::{Check, fail, warn, well};
use crate::setup::install::settings::{BLOCK_CAP, is_ours, sandbox_cure};
use crate::setup::places::InstallPaths;
use anyhow::Result;
use ralph_core::protocol::registration::Origin;
use ralph_core::text::plural::noun;
use ralph_hooks::wall;
use ralph_io::client::client_settings::{ClientSettings, SettingsFile, SettingsRank};
use ralph_io::client::plugins::{self, Plugin};
use ralph_io::client::{self, sandbox as sandbox_of_client};
use ralph_io::git::tree;
use ralph_io::process::elsewhere::{self, Way};
use ralph_io::process::{programs, wall as kernel};
use ralph_io::project::{self, settings as own, user_files};
use serde_json::Value;
use std::collections::HashSet;
use std::path::Path;

/// One of Ralph's hooks as a settings file registers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RegisteredHook {
    pub(crate) event: String,
    /// The program in exec form, or the whole line in shell form.
    pub(super) command: String,
    /// The arguments in exec form; `None` in shell form.
    pub(super) args: Option<Vec<String>>,
    /// The timeout; `None` means the client's default.
    pub(crate) timeout_ms: Option<u64>,
}

/// The settings that apply to this user in the current folder.
pub(super) fn gather(places: &InstallPaths) -> ClientSettings {
    ClientSettings::for_project(project_root(&places.current))
}

/// The managed file, if it exists and can be read.
fn managed(settings: &ClientSettings) -> Option<(&SettingsFile, &Value)> {
    settings.readable().find(|(file, _)| file.rank == SettingsRank::Managed)
}

/// True for a hook that only the project's own file registers, which others may have written.
pub(super) fn is_the_projects(settings: &ClientSettings, hook: &RegisteredHook) -> bool {
    let others = settings.readable().filter(|(file, _)| file.rank != SettingsRank::Project);
    !others.flat_map(|(_, value)| hooks_in(value, Origin::Settings)).any(|one| one == *hook)
}

/// Ralph's hooks in all files, each distinct one once, as the client counts them.
pub(super) fn hooks(settings: &ClientSettings) -> Vec<RegisteredHook> {
    let mut hooks: Vec<RegisteredHook> =
        settings.readable().flat_map(|(_, value)| hooks_in(value, Origin::Settings)).collect();
    let mut seen = HashSet::new();
    hooks.retain(|hook| seen.insert((hook.event.clone(), hook.command.clone(), hook.args.clone())));
    hooks
}

/// Ralph's hooks in one file, registered with this origin.
pub(crate) fn hooks_in(settings: &Value, origin: Origin) -> Vec<RegisteredHook> {
    let Some(events) = settings["hooks"].as_object() else { return Vec::new() };
    let mut hooks = Vec::new();
    for (event, groups) in events {
        for group in groups.as_array().into_iter().flatten() {
            let entries = group["hooks"].as_array().into_iter().flatten();
            hooks.extend(
                entries
                    .filter(|entry| is_ours(entry, origin))
                    .map(|entry| registered_hook(event, entry)),
            );
        }
    }
    hooks
}

fn registered_hook(event: &str, entry: &Value) -> RegisteredHook {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    RegisteredHook {
        event: event.to_owned(),
        command: word(&entry["command"]),
        args: entry["args"].as_array().map(|args| args.iter().map(word).collect()),
        timeout_ms: entry["timeout"].as_f64().map(|seconds| (seconds * 1e3) as u64),
    }
}

/// If the client cannot read a settings file, everything in it is off.
pub(super) fn check_readable(settings: &ClientSettings) -> Vec<Check> {
    let cure = "fix the file; `ralph install` leaves it alone until then";
    settings.problems().map(|problem| fail("settings", problem, cure)).collect()
}

/// Checks the switches that turn off all hooks, or all but an administrator's.
pub(super) fn check_hooks_enabled(settings: &ClientSettings) -> Check {
    const NAME: &str = "hooks enabled";
    let managed_only =
        |(_, value): &(&SettingsFile, &Value)| value["allowManagedHooksOnly"] == true;
    if let Some((file, value)) = managed(settings).filter(managed_only) {
        return match hooks_in(value, Origin::Settings).is_empty() {
            true => fail(
                NAME,
                format!("`allowManagedHooksOnly` is true in `{}`", file.path.display()),
                "an administrator must register the hooks there: no loop is enforced until then",
            ),
            false => well(NAME, "only managed hooks run, Ralph's among them"),
        };
    }
    match settings.strongest(|value| value["disableAllHooks"].as_bool()) {
        Some((file, true)) => fail(
            NAME,
            format!(
                "`disableAllHooks` is true in the {} settings `{}`",
                file.rank,
                file.path.display()
            ),
            "remove it: no loop is enforced until then",
        ),
        Some((file, false)) => {
            well(NAME, format!("`disableAllHooks` is false in the {} settings", file.rank))
        }
        None => well(NAME, "no settings file switches hooks off"),
    }
}

/// Checks how many stops in a row a hook may block without a tool call in between.
pub(super) fn check_block_cap(settings: &ClientSettings) -> Check {
    let cap = settings.strongest(|value| match &value["env"][BLOCK_CAP] {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    });
    // Settings override the environment that the client was started in.
    let cap = match cap {
        Some((file, cap)) => Some((cap, format!("in the {} settings", file.rank))),
        None => std::env::var(BLOCK_CAP).ok().map(|cap| (cap, "in the environment".to_owned())),
    };
    judge_block_cap(cap)
}

fn judge_block_cap(cap: Option<(String, String)>) -> Check {
    const NAME: &str = "block cap";
    let Some((cap, place)) = cap else {
        return well(
            NAME,
            format!("{BLOCK_CAP} is not set: the client gives in after 8 text-only turns"),
        );
    };
    let number = cap.trim().parse::<i64>();
    let (detail, cure) = match number {
        Ok(number) if number <= 0 => {
            return well(NAME, format!("{BLOCK_CAP} is {number} {place}: never"));
        }
        Ok(number) if number >= 3 => return well(NAME, format!("{BLOCK_CAP} is {number} {place}")),
        // The loop's own stall limit is 3. A smaller cap ends a loop before it can report the
        // reason.
        Ok(number) => (
            format!(
                "{BLOCK_CAP} is {number} {place}: the client ends a loop after {number} text-only {}",
                noun(number, "turn", "turns")
            ),
            "use 3 or more, or remove it",
        ),
        Err(_) => (
            format!("{BLOCK_CAP} is `{cap}` {place}, which is not a whole number"),
            "use a whole number, or remove it",
        ),
    };
    warn(NAME, detail, cure)
}

/// Checks the user's and the project's `ralph.toml`.
pub(super) fn check_own(places: &InstallPaths) -> Vec<Check> {
    const NAME: &str = "ralph.toml";
    let checked =
        own::problems(project_root(&places.current)).into_iter().flat_map(|(path, all)| {
            let unusable = "correct the file: no loop starts until then";
            let told = all.into_iter().map(|one| match one.stops {
                true => fail(NAME, one.what, unusable),
                false => warn(NAME, one.what, "correct or remove the key; Ralph ignores it"),
            });
            let told: Vec<Check> = told.collect();
            let is_well =
                told.is_empty().then(|| well(NAME, format!("`{}` can be used", path.display())));
            told.into_iter().chain(is_well)
        });
    checked.collect()
}

/// Checks that a sandboxed run could start here. In a sandbox nobody can tell.
pub(super) fn check_bounds() -> Option<Check> {
    const NAME: &str = "bounds";
    (!sandbox_of_client::is_inside()).then(|| match sandbox_of_client::check() {
        Ok(()) => well(NAME, "a sandboxed run can start"),
        Err(why) => warn(NAME, why.to_string(), "until then, no sandboxed run starts"),
    })
}

/// Checks that Ralph's commands work in the user's sandbox; `None` without one.
pub(super) fn check_sandbox(settings: &ClientSettings, places: &InstallPaths) -> Option<Check> {
    const NAME: &str = "sandbox";
    Some(match settings.sandbox_lets_ralph_out()? {
        true => well(NAME, "a plain `ralph` command runs outside of the client's sandbox"),
        false => warn(
            NAME,
            "the client's sandbox is on, and the model's `ralph` commands fail in it",
            sandbox_cure(places),
        ),
    })
}

/// The nearest ancestor that is a repository, else the folder itself.
pub(super) fn project_root(current: &Path) -> &Path {
    current
        .ancestors()
        .find(|folder| user_files::access(&folder.join(".git")).is_some())
        .unwrap_or(current)
}

// Checks for mods: code of plugins that runs inside of the client, where it can answer before a hook does.

const MODS: &str = "mods";

/// Names each mod that is loaded or lies ready, and what its code answers.
pub(super) fn check_mods(current: &Path) -> Check {
    let root = project::root(None, current);
    let mods: Vec<Plugin> = plugins::all(&root).into_iter().filter(Plugin::is_mod).collect();
    let claude = client::program_name();
    let told = |one: &Plugin| match one.answers(&claude) {
        Some(events) => {
            format!("`{}` in `{}` answers {}", one.id, one.root.display(), events.join(", "))
        }
        None => {
            format!("`{}` in `{}`, which `{claude}` could not read", one.id, one.root.display())
        }
    };
    match mods.as_slice() {
        [] => well(MODS, "no foreign code runs inside of the client".to_owned()),
        mods => warn(
            MODS,
            mods.iter().map(told).collect::<Vec<_>>().join("; "),
            "it can answer before Ralph's hooks and speak as you: remove what you do not know; `ralph run` starts without mods",
        ),
    }
}

// Tells how a request for completion can run a criterion on other files of this project.

const COMPARISON: &str = "comparison";

/// Makes an overlay, or measures a copy, of the project at `current`; leaves nothing.
pub(super) fn check_elsewhere(current: &Path) -> Check {
    let Some(root) = tree::repository_root(current) else {
        let detail =
            "this folder is in no git repository, so a loop here has no start to compare with";
        return well(COMPARISON, detail);
    };
    let way = match way(&root) {
        Ok(way) => way,
        Err(error) => Way::Nowhere { why: format!("{error:#}") },
    };
    let remedy =
        way.remedy().map(|remedy| format!("; for an overlay, {remedy}")).unwrap_or_default();
    match way {
        Way::Overlay => {
            well(COMPARISON, "criteria run without the change in an overlay of this machine")
        }
        Way::Copy { why } => well(
            COMPARISON,
            format!("criteria run without the change in a copy of the project: {why}{remedy}"),
        ),
        Way::Nowhere { why } => {
            let cure = "a loop here can complete, but nothing is called proven";
            warn(
                COMPARISON,
                format!("no criterion can be compared with the start: {why}{remedy}"),
                cure,
            )
        }
    }
}

fn way(root: &Path) -> Result<Way> {
    let store = tempfile::tempdir()?;
    Ok(elsewhere::way(&programs::running()?, root, store.path()))
}

// Tells whether a planning can run commands: whether the wall around them can stand.

const WALL: &str = "wall";

/// In a session of the client, the check is about that session.
pub(super) fn check_wall(places: &InstallPaths) -> Check {
    let obstacle = match client::session_id() {
        Some(session_id) => wall::obstacle(&places.ralph, &session_id),
        None => kernel::cannot_stand(),
    };
    match obstacle {
        None => {
            well(WALL, "while a plan is made, the kernel keeps commands from changing anything")
        }
        Some(why) => warn(
            WALL,
            why,
            "without it, a planning has only programs such as `cat`, `grep` and `ls`",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::CheckVerdict;
    use super::*;
    use ralph_io::client::client_settings::SettingsPaths;
    use serde_json::json;

    /// Settings with these texts, lowest rank first; null stands for a missing file.
    fn settings(texts: [Value; 4]) -> ClientSettings {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(".claude")).unwrap();
        let [user, project] = ["", ".claude"].map(|name| folder.path().join(name));
        let paths = [
            user.join("settings.json"),
            project.join("settings.json"),
            project.join("settings.local.json"),
            user.join("managed.json"),
        ];
        for (path, text) in paths.iter().zip(texts) {
            if !text.is_null() {
                std::fs::write(path, text.to_string()).unwrap();
            }
        }
        ClientSettings::read(SettingsPaths {
            managed: user.join("managed.json"),
            memory: user.join(".claude.json"),
            project_root: user.clone(),
            config: user,
        })
    }

    #[track_caller]
    fn hooks(texts: [Value; 4], verdict: CheckVerdict, expected: &str) {
        let check = check_hooks_enabled(&settings(texts));
        assert_eq!(check.verdict, verdict, "{check:?}");
        assert!(check.detail.contains(expected), "{check:?}");
    }

    #[test]
    fn of_a_switch_the_strongest_file_that_has_it_counts() {
        let off = || json!({"disableAllHooks": true});
        let on = || json!({"disableAllHooks": false});
        let none = || Value::Null;
        hooks([none(), none(), none(), none()], CheckVerdict::Well, "no settings file");
        hooks([off(), none(), none(), none()], CheckVerdict::Fail, "in the user settings");
        hooks([off(), on(), none(), none()], CheckVerdict::Well, "false in the project settings");
        hooks([on(), off(), none(), none()], CheckVerdict::Fail, "in the project settings");
        hooks([off(), off(), on(), none()], CheckVerdict::Well, "false in the local settings");
        hooks([on(), on(), on(), off()], CheckVerdict::Fail, "in the managed settings");
        hooks(
            [off(), json!({}), json!({"disableAllHooks": "no"}), none()],
            CheckVerdict::Fail,
            "user",
        );
    }

    #[test]
    fn where_only_managed_hooks_run_ours_have_to_be_there() {
        let none = || Value::Null;
        let only = json!({"allowManagedHooksOnly": true});
        hooks(
            [none(), none(), none(), only.clone()],
            CheckVerdict::Fail,
            "`allowManagedHooksOnly`",
        );
        // Only the managed file may set it.
        hooks([only.clone(), only.clone(), only, none()], CheckVerdict::Well, "no settings file");
        let ours = ralph_core::protocol::registration::settings_hooks(
            ralph_core::protocol::registration::Location::Folder("/opt/ralph"),
        );
        let managed = json!({"allowManagedHooksOnly": true, "hooks": ours});
        hooks([none(), none(), none(), managed], CheckVerdict::Well, "Ralph's among them");
    }

    #[test]
    fn the_cap_of_the_strongest_file_counts() {
        let cap = |value: Value| json!({"env": {BLOCK_CAP: value}});
        let said = |texts| check_block_cap(&settings(texts)).detail;
        let none = || Value::Null;
        let both = [cap(json!("5")), none(), cap(json!("7")), none()];
        assert!(said(both).ends_with("is 7 in the local settings"));
        let managed = [cap(json!("5")), cap(json!("6")), cap(json!("7")), cap(json!(12))];
        assert!(said(managed).ends_with("is 12 in the managed settings"));
    }

    #[test]
    fn a_cap_is_a_whole_number() {
        let check = |cap: &str, verdict, expected: &str| {
            let check = judge_block_cap(Some((cap.to_owned(), "here".to_owned())));
            assert_eq!(check.verdict, verdict, "{check:?}");
            assert!(check.detail.contains(expected), "{check:?}");
        };
        check("30", CheckVerdict::Well, "is 30 here");
        check("0", CheckVerdict::Well, "is 0 here: never");
        check("-1", CheckVerdict::Well, "is -1 here: never");
        check("2", CheckVerdict::Warn, "after 2 text-only turns");
        for other in ["3.7", "12abc", "lots", ""] {
            check(other, CheckVerdict::Warn, "which is not a whole number");
        }
    }
}
