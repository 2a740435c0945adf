//! `ralph doctor` where the executables, the skills and the plugin are of different versions, and a
//! folder of executables that moves with each version.

use crate::executables::executables;
use crate::world::{HOOKS, World, fixture};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;

const OURS: &str = env!("CARGO_PKG_VERSION");

fn installed() -> World {
    let world = World::new();
    world.ralph(&["install"]).exit(0);
    world
}

/// Gives the record's only installation this version, or none.
fn record(world: &World, version: Option<&str>) {
    let mut record: Value = serde_json::from_str(&world.read("state/install.json")).unwrap();
    let install = record["installs"][0].as_object_mut().unwrap();
    assert_eq!(install["version"], OURS);
    install.remove("version");
    install.extend(version.map(|version| ("version".to_owned(), json!(version))));
    world.write("state/install.json", &record.to_string());
}

#[test]
fn one_version_is_well() {
    let line = format!("ok    versions: {OURS} (executables, skills)\n");
    installed().ralph(&["doctor"]).exit(0).says(&line).says("all is well");
}

#[test]
fn skills_of_an_older_version_are_reported_with_the_command_that_writes_them() {
    let world = installed();
    record(&world, Some("0.0.9"));
    let folder = world.path("home/.claude").display().to_string();
    let line = format!(
        "warn  versions: skills, agents and hooks in `{folder}`: 0.0.9, and this `ralph` is {OURS}; run `ralph install` (or"
    );
    world.ralph(&["doctor"]).exit(0).says(&line).says("with 1 warning");
    let said = world.ralph(&["doctor", "--fix"]).exit(0);
    said.says("fixed versions: repeated `ralph install`").says("all is well\n");
}

#[test]
fn skills_of_a_newer_version_need_newer_executables() {
    let world = installed();
    record(&world, Some("99.0.0"));
    let said = world.ralph(&["doctor"]).exit(0);
    said.says(": 99.0.0, and this `ralph` is").says("; run Ralph's `install.sh` again");
}

#[test]
fn a_record_without_a_version_is_of_an_older_one() {
    let world = installed();
    record(&world, None);
    world.ralph(&["doctor"]).exit(0).says("warn  versions: skills").says(": older, and this");
}

#[test]
fn the_command_names_the_project_or_the_stow_package() {
    for (args, command) in [
        (["install", "--project", "."], "ralph install --project "),
        (["install", "--stow", "dotfiles"], "ralph install --stow "),
    ] {
        let world = World::new();
        world.ralph(&args).exit(0);
        record(&world, Some("0.0.9"));
        world.ralph(&["doctor"]).says("warn  versions: ").says(command);
    }
}

#[test]
fn an_installation_whose_settings_are_gone_is_not_reported() {
    let world = World::new();
    world.ralph(&["install", "--project", "."]).exit(0);
    record(&world, Some("0.0.9"));
    fs::remove_dir_all(world.path("project/.claude")).unwrap();
    world.ralph(&["doctor"]).says(&format!("ok    versions: {OURS} (executables)\n"));
}

/// Also where the doctor is started in a session, whose hooks end before they look at their arguments.
#[test]
fn a_hook_of_another_version_is_named() {
    let world = installed().env("CLAUDE_CODE_SESSION_ID", "session-1");
    fs::remove_file(world.path("bin/ralph-stop-hook")).unwrap();
    world.write(
        "bin/ralph-stop-hook.body",
        "[ -n \"$CLAUDE_CODE_SESSION_ID\" ] || [ \"${1-}\" != --version ] || echo \"ralph-stop-hook 0.0.9\"\n",
    );
    symlink(fixture("scripted-hook"), world.path("bin/ralph-stop-hook")).unwrap();
    let said = world.ralph(&["doctor"]).exit(0);
    let said = said.says("warn  versions: ralph-stop-hook in `");
    said.says(&format!(": 0.0.9, and this `ralph` is {OURS}; run Ralph's `install.sh` again"));
}

#[test]
fn each_hook_prints_its_version() {
    let world = World::new();
    for name in HOOKS {
        let mut command = world.command(executables().join(name));
        let run = crate::world::said(&command.arg("--version").output().unwrap()).exit(0);
        assert_eq!(run.stdout, format!("{name} {OURS}\n"));
    }
}

/// An enabled plugin in the form in which a client keeps it: in place, or as its copy.
fn plugin(world: &World, version: &str, is_in_place: bool) {
    let folder = world.path("plugin");
    world.ralph(&["install", "--plugin", folder.to_str().unwrap()]).exit(0);
    let description = world.read("plugin/.claude-plugin/plugin.json");
    let own = format!("\"version\": \"{OURS}\"");
    assert!(description.contains(&own));
    let other = description.replace(&own, &format!("\"version\": \"{version}\""));
    world.write("plugin/.claude-plugin/plugin.json", &other);
    let source = match is_in_place {
        true => json!({"source": "directory", "path": folder}),
        false => json!({"source": "github", "repo": "ralph-loop/ralph"}),
    };
    let known = json!({"ralph": {"source": source, "installLocation": folder}});
    world.write("home/.claude/plugins/known_marketplaces.json", &known.to_string());
    let copies = json!({"plugins": {"ralph@ralph": [{"installPath": folder}]}});
    world.write("home/.claude/plugins/installed_plugins.json", &copies.to_string());
    world.write("home/.claude/settings.json", r#"{"enabledPlugins": {"ralph@ralph": true}}"#);
}

#[test]
fn a_plugin_of_another_version_is_reported_with_the_command_for_its_kind() {
    for (version, is_in_place, cure) in [
        ("0.0.9", true, "ralph install --plugin "),
        (
            "0.0.9",
            false,
            "`claude plugin marketplace update ralph`, then `claude plugin update ralph@ralph`",
        ),
        ("99.0.0", true, "run Ralph's `install.sh` again"),
    ] {
        let world = World::new();
        plugin(&world, version, is_in_place);
        let said = world.ralph(&["doctor"]).exit(0);
        let line = format!(": {version}, and this `ralph` is {OURS}; ");
        said.says("warn  versions: plugin `ralph@ralph` in `").says(&line).says(cure);
    }
}

#[test]
fn a_plugin_of_this_version_is_named_with_the_rest() {
    let world = World::new();
    plugin(&world, OURS, true);
    world.ralph(&["doctor"]).exit(0).says(&format!("ok    versions: {OURS} (executables, plugin)"));
}

#[test]
fn the_cure_is_the_command_of_the_installer_that_owns_the_folder() {
    for (folder, cure) in [
        (
            "npm/lib/node_modules/@ralph-loop/ralph-linux-x64/bin",
            "npm install -g @ralph-loop/ralph",
        ),
        ("brew/Cellar/ralph/0.1.0/bin", "brew upgrade ralph"),
        ("home/.cargo/bin", "cargo binstall --git https://github.com/ralph-loop/ralph"),
    ] {
        let world = World::new();
        world.put_ralph(folder);
        for hook in HOOKS {
            symlink(fixture("quiet-hook"), world.path(folder).join(hook)).unwrap();
        }
        world.run_in(folder, &["install"]).exit(0);
        record(&world, Some("99.0.0"));
        world.run_in(folder, &["doctor"]).says(cure);
    }
}

/// npm removes the folder of the old version before it has the new one: for seconds, or for as long as the
/// network takes.
#[test]
fn hooks_from_npm_are_copied_where_no_upgrade_takes_them_away() {
    let package = "npm/lib/node_modules/@ralph-loop/ralph-linux-x64/bin";
    let world = World::new();
    let npm = |version: &str| {
        world.put_ralph(package);
        for hook in HOOKS {
            world.write(
                &format!("{package}/{hook}"),
                &format!("#!/bin/sh\n[ \"${{1-}}\" != --version ] || echo {hook} {version}\n"),
            );
            world.chmod(&format!("{package}/{hook}"), 0o755);
        }
    };
    npm("0.0.9");
    // What npm links into PATH is a launcher.
    let launcher = format!("#!/bin/sh\nexec '{}/ralph' \"$@\"\n", world.path(package).display());
    fs::remove_file(world.path("bin/ralph")).unwrap();
    world.write("bin/ralph", &launcher);
    world.chmod("bin/ralph", 0o755);

    world.ralph(&["install", "--dry-run"]).exit(0).says("would copy ralph-user-prompt, ");
    assert!(!world.exists("state"));
    world.ralph(&["install"]).exit(0).says("copied 6 of 6 executables").does_not_say("PATH");
    assert_eq!(world.mode("state/bin"), 0o700);
    let settings = world.read("home/.claude/settings.json");
    let hook = world.path("state/bin/ralph-stop-hook").display().to_string();
    assert!(settings.contains(&hook) && !settings.contains("node_modules"), "{settings}");

    fs::remove_dir_all(world.path("npm/lib")).unwrap();
    world.run_in("state/bin", &["doctor"]).says("14 of 14 registered hooks answered");
    npm(OURS);
    let older = world.ralph(&["doctor"]).exit(0).says("14 of 14 registered hooks answered");
    older.says(&format!(": 0.0.9, and this `ralph` is {OURS}; run `ralph install`\n"));
    world.ralph(&["install"]).exit(0).says("copied 5 of 6 executables");
    world.ralph(&["doctor"]).exit(0).says("all is well\n");

    let gone = world.ralph(&["uninstall", "--all"]).exit(0);
    gone.says("(remove it by `npm uninstall -g @ralph-loop/ralph`)");
    assert!(!world.exists("state/bin") && world.exists(&format!("{package}/ralph-stop-hook")));
}

/// Homebrew removes the folder of the old version after an upgrade.
#[test]
fn homebrew_hooks_are_registered_by_the_name_that_an_upgrade_keeps() {
    let world = World::new();
    let keg = |version: &str| {
        let folder = format!("brew/Cellar/ralph/{version}/bin");
        world.put_ralph(&folder);
        for hook in HOOKS {
            symlink(fixture("quiet-hook"), world.path(&folder).join(hook)).unwrap();
        }
        fs::create_dir_all(world.path("brew/opt")).unwrap();
        let _ = fs::remove_file(world.path("brew/opt/ralph"));
        symlink(format!("../Cellar/ralph/{version}"), world.path("brew/opt/ralph")).unwrap();
    };
    keg("0.1.0");
    world.run_in("brew/opt/ralph/bin", &["install"]).exit(0);
    let settings = world.read("home/.claude/settings.json");
    let hook = world.path("brew/opt/ralph/bin/ralph-stop-hook").display().to_string();
    assert!(settings.contains(&hook) && !settings.contains("Cellar"), "{settings}");
    keg("0.2.0");
    fs::remove_dir_all(world.path("brew/Cellar/ralph/0.1.0")).unwrap();
    let said = world.run_in("brew/opt/ralph/bin", &["doctor"]).exit(0);
    said.says("14 of 14 registered hooks answered").says("all is well");
}
