//! The settings files that hold for this person in this place, and what they say about hooks.

use super::super::install::extras::BLOCK_CAP;
use super::super::install::merge;
use super::super::places::Places;
use super::check::{Check, fail, warn, well};
use ralph_io::outside;
use serde_json::Value;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// All settings files, lowest rank first: a later one wins.
pub(super) struct Settings {
    /// The ones that exist.
    pub(super) files: Vec<SettingsFile>,
}

/// One settings file.
pub(super) struct SettingsFile {
    /// For messages: `user`, `project` or `local`.
    pub(super) name: &'static str,
    /// Where.
    pub(super) path: PathBuf,
    /// What is in it, or why it cannot be read.
    pub(super) value: Result<Value, String>,
}

/// A hook of ours as it stands in a settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RegisteredHook {
    /// For which event.
    pub(super) event: String,
    /// For which of its occasions; `*` where nothing is said.
    pub(super) matcher: String,
    /// The words that are started; a shell line is one word without arguments.
    pub(super) command: String,
    /// The arguments in exec form; nothing in shell form.
    pub(super) args: Option<Vec<String>>,
    /// Whether the client goes on beside it and can be woken by it.
    pub(super) is_async_rewake: bool,
}

impl Settings {
    /// Reads them.
    pub(super) fn gather(places: &Places) -> Settings {
        let project = project_root(&places.current).join(".claude");
        let named = [
            ("user", places.config.join("settings.json")),
            ("project", project.join("settings.json")),
            ("local", project.join("settings.local.json")),
        ];
        let mut files: Vec<SettingsFile> = Vec::new();
        for (name, path) in named {
            // Standing in the home folder, the project's file is the person's own.
            if files.iter().all(|file| file.path != path)
                && let Some(value) = read(&path)
            {
                files.push(SettingsFile { name, path, value });
            }
        }
        Settings { files }
    }

    /// The readable ones, with their content.
    pub(super) fn readable(&self) -> impl Iterator<Item = (&SettingsFile, &Value)> {
        self.files.iter().filter_map(|file| Some((file, file.value.as_ref().ok()?)))
    }

    /// Our hooks in all files, each distinct one once, as the client does.
    pub(super) fn hooks(&self) -> Vec<RegisteredHook> {
        let mut hooks: Vec<RegisteredHook> =
            self.readable().flat_map(|(_, value)| hooks_in(value)).collect();
        let mut seen = HashSet::new();
        hooks.retain(|hook| {
            seen.insert((hook.event.clone(), hook.command.clone(), hook.args.clone()))
        });
        hooks
    }
}

/// Our hooks in one file.
pub(super) fn hooks_in(settings: &Value) -> Vec<RegisteredHook> {
    let Some(events) = settings["hooks"].as_object() else { return Vec::new() };
    let mut hooks = Vec::new();
    for (event, groups) in events {
        for group in groups.as_array().into_iter().flatten() {
            let entries = group["hooks"].as_array().into_iter().flatten();
            hooks.extend(
                entries
                    .filter(|entry| merge::is_ours(entry))
                    .map(|entry| registered_hook(event, group, entry)),
            );
        }
    }
    hooks
}

fn registered_hook(event: &str, group: &Value, entry: &Value) -> RegisteredHook {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let matcher = group["matcher"].as_str().filter(|matcher| !matcher.is_empty());
    RegisteredHook {
        event: event.to_owned(),
        matcher: matcher.unwrap_or("*").to_owned(),
        command: word(&entry["command"]),
        args: entry["args"].as_array().map(|args| args.iter().map(word).collect()),
        is_async_rewake: entry["asyncRewake"] == true,
    }
}

/// A settings file that the client cannot read switches everything in it off.
pub(super) fn check_readable(settings: &Settings) -> Vec<Check> {
    let unreadable = |file: &SettingsFile| {
        let error = file.value.as_ref().err()?;
        let detail = format!("the {} settings `{}` {error}", file.name, file.path.display());
        Some(fail("settings", detail, "mend the file; `ralph install` will not touch it before"))
    };
    settings.files.iter().filter_map(unreadable).collect()
}

/// One switch turns all hooks off.
pub(super) fn check_hooks_enabled(settings: &Settings) -> Check {
    let off = settings.readable().find(|(_, value)| value["disableAllHooks"] == true);
    match off {
        None => well("hooks enabled", "no settings file switches hooks off"),
        Some((file, _)) => fail(
            "hooks enabled",
            format!("`disableAllHooks` is true in `{}`", file.path.display()),
            "take it out: no loop is enforced while it is there",
        ),
    }
}

/// How many stops in a row the client lets a hook refuse when no tool was called in between.
pub(super) fn check_block_cap(settings: &Settings) -> Check {
    const NAME: &str = "block cap";
    let in_settings = settings.readable().filter_map(|(_, value)| value["env"][BLOCK_CAP].as_str());
    let cap = in_settings.last().map(str::to_owned).or_else(|| std::env::var(BLOCK_CAP).ok());
    let Some(cap) = cap else {
        return well(
            NAME,
            format!("{BLOCK_CAP} is not set: the client gives in after 8 text-only turns"),
        );
    };
    match cap.parse::<i64>() {
        Ok(number) if number <= 0 => well(NAME, format!("{BLOCK_CAP} is {number}: never")),
        // The loop's own stall limit is 3; a smaller cap ends a loop before it can say why.
        Ok(number) if number < 3 => warn(
            NAME,
            format!(
                "{BLOCK_CAP} is {number}: the client ends a loop after {number} text-only turns"
            ),
            "use 3 or more, or take it out",
        ),
        Ok(number) => well(NAME, format!("{BLOCK_CAP} is {number}")),
        Err(_) => {
            warn(NAME, format!("{BLOCK_CAP} is `{cap}`, not a number"), "the client may use 8")
        }
    }
}

fn read(path: &Path) -> Option<Result<Value, String>> {
    match outside::find(path) {
        Err(error) => Some(Err(format!("cannot be read: {error:#}"))),
        Ok(found) => {
            let text = found.text?;
            Some(serde_json::from_str(&text).map_err(|error| format!("is not valid JSON: {error}")))
        }
    }
}

/// The nearest folder above that is a repository, else the folder itself.
fn project_root(current: &Path) -> &Path {
    current
        .ancestors()
        .find(|folder| outside::access(&folder.join(".git")).is_some())
        .unwrap_or(current)
}
