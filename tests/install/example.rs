//! `settings.example.json`, `hooks/hooks.json` and the front matter of skills are what the table of hooks says.

use crate::world::repository;
use ralph_core::protocol::registration::{
    HOOKS, Location, Origin, Runs, matcher_text, plugin_hooks_json, settings_hooks,
};
use std::path::Path;

/// What `ralph install` registers, with bare names.
fn settings_example() -> String {
    let hooks = settings_hooks(Location::Path);
    format!("{:#}\n", serde_json::json!({ "hooks": hooks }))
}

/// Compares a file with the table; `RALPH_UPDATE=1 cargo test -p ralph --test install example` brings it up to date.
fn compare(file: &str, table: &str) {
    let path = repository().join(file);
    if std::env::var_os("RALPH_UPDATE").is_some() {
        std::fs::write(&path, table).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), table);
}

#[test]
fn the_example_settings_are_those_of_the_table() {
    compare("settings.example.json", &settings_example());
}

#[test]
fn the_plugins_hooks_are_those_of_the_table() {
    compare("hooks/hooks.json", &plugin_hooks_json());
}

/// Events that are useful in the front matter of a skill. The others fire before a skill is loaded, or never fire
/// for a skill.
const EVENTS_OF_A_SKILL: [&str; 7] = [
    "UserPromptSubmit",
    "UserPromptExpansion",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
];

/// The `hooks:` block of a skill's front matter.
pub(crate) fn skill_front_matter() -> String {
    let mut yaml = "hooks:\n".to_owned();
    let mut event = "";
    for hook in HOOKS.iter().filter(|hook| EVENTS_OF_A_SKILL.contains(&hook.event)) {
        if hook.event != event {
            event = hook.event;
            yaml += &format!("  {event}:\n");
        }
        yaml += &match matcher_text(hook.matcher) {
            Some(matcher) => format!("    - matcher: \"{matcher}\"\n      hooks:\n"),
            None => "    - hooks:\n".to_owned(),
        };
        let args: Vec<&str> = hook.args.iter().copied().chain([Origin::Skill.word()]).collect();
        yaml += &format!(
            "        - type: command\n          command: {}\n          args: [{}]\n          timeout: {}\n",
            hook.executable,
            args.join(", "),
            f64::from(hook.timeout_ms) / 1000.0
        );
        if hook.runs == Runs::Beside {
            yaml += "          asyncRewake: true\n";
        }
    }
    yaml
}

#[test]
fn a_shipped_skill_with_hooks_has_exactly_those_of_the_table() {
    let front_matter = skill_front_matter();
    let skills = std::fs::read_dir(repository().join("skills")).unwrap();
    let texts = skills.map(|skill| skill.unwrap().path().join("SKILL.md"));
    let with_hooks = |path: &Path| std::fs::read_to_string(path).unwrap();
    let texts: Vec<String> = texts.map(|path| with_hooks(&path)).collect();
    let with_hooks: Vec<&String> = texts.iter().filter(|text| text.contains("\nhooks:")).collect();
    assert!(!with_hooks.is_empty());
    for text in with_hooks {
        assert!(text.contains(&front_matter), "{text}\ndiffers from\n{front_matter}");
    }
}
