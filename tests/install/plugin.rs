//! `ralph install --plugin DIR`, the scripts in `bin/` of the repository, and the doctor on a plugin.

use crate::world::{CommandResult, HOOKS, World, repository, said};
use ralph_core::protocol::registration::plugin_hooks_json;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::process::Stdio;

fn make(world: &World) -> CommandResult {
    world.ralph(&["install", "--plugin", world.path("plugin").to_str().unwrap()])
}

fn unmake(world: &World) -> CommandResult {
    world.ralph(&["uninstall", "--plugin", world.path("plugin").to_str().unwrap()])
}

/// What the client writes when it is given the folder as a marketplace and installs from it.
fn taken_by_the_client(world: &World, folder: &str) {
    let folder = world.path(folder);
    let source = json!({"source": "directory", "path": folder});
    let known = json!({"ralph": {"source": source, "installLocation": folder}});
    world.write("home/.claude/plugins/known_marketplaces.json", &known.to_string());
    let on = json!({"enabledPlugins": {"ralph@ralph": true}});
    fs::write(world.settings(), on.to_string()).unwrap();
}

#[test]
fn the_folder_has_the_executables_the_hooks_and_skills_without_hooks() {
    let world = World::new();
    make(&world)
        .exit(0)
        .says("copied 6 of 6 executables")
        .says("claude plugin install ralph@ralph");
    for name in HOOKS.iter().chain(&["ralph"]) {
        assert_eq!(world.mode(&format!("plugin/bin/{name}")), 0o755, "{name}");
    }
    assert_eq!(world.read("plugin/hooks/hooks.json"), plugin_hooks_json());
    let skill = world.read("plugin/skills/ralph/SKILL.md");
    assert!(skill.starts_with("---\nname: ralph\n") && !skill.contains("\nhooks:"), "{skill}");
    assert!(world.exists("plugin/agents/ralph-worker.md"));
    assert!(!world.settings().exists(), "a plugin is no matter of the settings");
}

#[test]
fn a_second_time_nothing_is_written_and_an_upgrade_writes_what_changed() {
    let world = World::new();
    make(&world).exit(0);
    let before = world.snapshot("plugin");
    make(&world).exit(0).says("wrote 0 of").says("copied 0 of 6");
    assert_eq!(world.snapshot("plugin"), before);
    fs::remove_file(world.path("bin/ralph-stop-hook")).unwrap();
    world.write("bin/ralph-stop-hook", "#!/bin/sh\nexit 0 # newer\n");
    world.chmod("bin/ralph-stop-hook", 0o755);
    make(&world).exit(0).says("copied 1 of 6");
    assert!(world.read("plugin/bin/ralph-stop-hook").contains("newer"));
}

#[test]
fn what_is_someone_elses_is_refused_and_not_touched() {
    let world = World::new();
    world.write("plugin/notes.txt", "mine");
    make(&world).exit(1).says("is not empty and is no plugin of ours: name a new folder");
    assert_eq!(fs::read_dir(world.path("plugin")).unwrap().count(), 1);
    fs::remove_file(world.path("plugin/notes.txt")).unwrap();
    make(&world).exit(0);
    world.write("plugin/skills/ralph/SKILL.md", "mine");
    make(&world).exit(1).says("`skills/ralph/SKILL.md` that is not ours, or was edited");
    unmake(&world).exit(0).says("SKILL.md` (edited)");
    let left: Vec<_> = world.snapshot("plugin").into_keys().collect();
    let names = ["plugin", "plugin/skills", "plugin/skills/ralph", "plugin/skills/ralph/SKILL.md"];
    assert_eq!(left, names.map(|name| world.path(name)));
}

#[test]
fn the_repository_itself_is_not_made_a_plugin_of() {
    let world = World::new();
    let before = world.snapshot("home");
    let repository = repository();
    world.ralph(&["install", "--plugin", repository.to_str().unwrap()]).exit(1).says("not ours");
    assert_eq!(world.snapshot("home"), before);
    assert!(
        fs::read_to_string(repository.join("skills/ralph/SKILL.md")).unwrap().contains("\nhooks:")
    );
}

#[test]
fn a_dry_run_says_it_all_and_writes_nothing() {
    let world = World::new();
    let folder = world.path("plugin");
    world
        .ralph(&["install", "--dry-run", "--plugin", folder.to_str().unwrap()])
        .exit(0)
        .says("texts: hooks, skills, agents")
        .says("would copy ralph-user-prompt");
    assert!(!world.exists("plugin") && !world.exists("state"));
    world.ralph(&["install", "--plugin", "x", "--block-cap", "3"]).exit(2);
    world.ralph(&["install", "--plugin", "x", "--user"]).exit(2);
}

#[test]
fn it_is_taken_back_whole() {
    let world = World::new();
    make(&world).exit(0);
    let folder = world.path("plugin");
    let dry = ["uninstall", "--dry-run", "--plugin", folder.to_str().unwrap()];
    world.ralph(&dry).exit(0).says("would remove");
    unmake(&world).exit(0).says("claude plugin uninstall ralph@ralph");
    assert!(!world.exists("plugin"));
    assert!(!world.read("state/install.json").contains("plugin"));
    unmake(&world).exit(0).says("nothing to change");
}

#[test]
fn the_doctor_fires_the_hooks_of_the_plugin() {
    let world = World::new();
    make(&world).exit(0);
    taken_by_the_client(&world, "plugin");
    world
        .ralph(&["doctor"])
        .exit(0)
        .says("ok    registration: 14 hooks in the plugin `ralph@ralph` in `")
        .says("ok    firing: 14 of 14 registered hooks answered")
        .says("all is well");
    world.chmod("plugin/bin/ralph-stop-hook", 0o644);
    world.ralph(&["doctor"]).exit(1).says("FAIL  firing: Stop hook `").says("--plugin DIR");
}

#[test]
fn the_doctor_warns_of_settings_and_plugin_together() {
    let world = World::new();
    make(&world).exit(0);
    taken_by_the_client(&world, "plugin");
    world.ralph(&["install"]).exit(0);
    let told = world.ralph(&["doctor"]).exit(0);
    let told = told.says("14 hooks in the user settings").says("14 hooks in the plugin");
    let told = told.says("warn  registration: plugin `ralph@ralph` and settings both");
    told.says("claude plugin disable ralph@ralph").says("28 of 28 registered hooks answered");
    world.write(
        "project/.claude/settings.local.json",
        "{\"enabledPlugins\":{\"ralph@ralph\":false}}",
    );
    world.ralph(&["doctor"]).exit(0).does_not_say("plugin").says("all is well");
}

#[test]
fn the_doctor_names_a_plugin_that_is_not_whole() {
    let world = World::new();
    make(&world).exit(0);
    taken_by_the_client(&world, "plugin");
    let hooks = world.read("plugin/hooks/hooks.json");
    let mut less: Value = serde_json::from_str(&hooks).unwrap();
    less["hooks"].as_object_mut().unwrap().remove("Stop");
    world.write("plugin/hooks/hooks.json", &less.to_string());
    world
        .ralph(&["doctor"])
        .exit(1)
        .says("in the plugin `ralph@ralph` in `")
        .says("not as this version registers them: Stop; run");
    world.write("plugin/hooks/hooks.json", &hooks);
    let description = world.read("plugin/.claude-plugin/plugin.json");
    let version = format!("\"version\": \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(description.contains(&version), "{description}");
    let older = description.replace(&version, "\"version\": \"0.0.1\"");
    world.write("plugin/.claude-plugin/plugin.json", &older);
    world.ralph(&["doctor"]).exit(0).says(": 0.0.1, and this `ralph` is");
    unmake(&world);
    fs::remove_dir_all(world.path("plugin")).unwrap();
    world.ralph(&["doctor"]).says("is enabled, but the client has no folder for it");
}

/// One of the scripts in `bin/`, with an event, in a home with or without executables.
fn script(world: &World, name: &str, event: &str) -> CommandResult {
    let mut command = world.command(repository().join("bin").join(name));
    command.arg("plugin").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = command.spawn().unwrap();
    let event = json!({"session_id": "s", "hook_event_name": event, "prompt": "\"hook_event_name\":\"SessionStart\""});
    // One that hands over to a program that reads nothing may have ended by now.
    let _ = running.stdin.take().unwrap().write_all(event.to_string().as_bytes());
    said(&running.wait_with_output().unwrap())
}

/// Without any executable: what `PATH` names is only the system's.
fn empty() -> World {
    let world = World::new();
    fs::remove_dir_all(world.path("bin")).unwrap();
    world
}

#[test]
fn the_scripts_of_the_repository_are_one_and_are_executable() {
    use std::os::unix::fs::PermissionsExt;
    let folder = repository().join("bin");
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    for name in HOOKS {
        assert_eq!(text(name), text(HOOKS[0]), "{name}");
        let mode = fs::metadata(folder.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o111, 0o111, "{name}");
    }
    let names = fs::read_dir(folder).unwrap();
    // A `ralph` there would hide the real one from the model's commands.
    assert_eq!(names.count(), HOOKS.len());
}

#[test]
fn without_executables_a_script_tells_a_person_and_lets_every_session_go_on() {
    let world = empty();
    for event in ["Stop", "PreToolUse", "UserPromptSubmit", "SessionEnd"] {
        let told = script(&world, "ralph-stop-hook", event).exit(0).says("has no executables");
        assert_eq!(told.stdout, "", "{event}");
    }
    let told = script(&world, "ralph-session-context", "SessionStart").exit(0);
    let reply: Value = serde_json::from_str(&told.stdout).unwrap();
    assert!(reply["systemMessage"].as_str().unwrap().contains("has no executables"), "{reply}");
    let told = script(&world, "ralph-user-prompt", "UserPromptExpansion").exit(0);
    let reply: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(reply["decision"], "block");
    assert!(reply["reason"].as_str().unwrap().contains("./install.sh"), "{reply}");
}

#[test]
fn a_script_hands_over_to_an_executable_wherever_it_is_installed() {
    for place in ["on-path", "home/.local/bin", "home/.cargo/bin"] {
        let world = empty().env("HOME", "");
        let home = world.path("home").display().to_string();
        let path = format!("relative:{}:/usr/bin:/bin", world.path("on-path").display());
        let world = world.env("HOME", &home).env("PATH", &path);
        world.write(&format!("{place}/ralph-stop-hook"), "#!/bin/sh\necho \"$* $(cat)\"\n");
        world.chmod(&format!("{place}/ralph-stop-hook"), 0o755);
        // Alone it is no installation: what it would ask is not beside it.
        script(&world, "ralph-stop-hook", "Stop").exit(0).says("has no executables");
        world.write(&format!("{place}/ralph"), "#!/bin/sh\n");
        world.chmod(&format!("{place}/ralph"), 0o755);
        script(&world, "ralph-stop-hook", "Stop").exit(0).says("plugin {").says("\"Stop\"");
    }
}

#[test]
fn the_doctor_names_a_plugin_whose_scripts_stand_alone() {
    let world = World::new();
    for part in [".claude-plugin", "hooks", "bin"] {
        let from = repository().join(part);
        let copied = world.command("cp").arg("-r").arg(from).arg(world.path("project")).status();
        assert!(copied.unwrap().success());
    }
    taken_by_the_client(&world, "project");
    // The executables that the doctor itself stands among are on nobody's `PATH`.
    let world = world.env("PATH", "/usr/bin:/bin");
    let told = world.ralph(&["doctor"]).exit(1);
    told.says("FAIL  firing: Stop hook `")
        .says("finds no executables: ralph-stop-hook: Ralph's plugin has");
    let path = format!("{}:/usr/bin:/bin", world.path("bin").display());
    let world = world.env("PATH", &path);
    world.ralph(&["doctor"]).exit(0).says("14 of 14 registered hooks answered");
}
