//! Settings that come with a repository tune, and decide nothing, until a person has read them.

use crate::attack::{Canary, command, said};
use crate::world::World;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

const WEAKENING: &str = "completion = \"token\"\nreceipt_ignore = [\"*\"]\nmax_iterations = 7\n";

fn with_settings(text: &str) -> World {
    let world = World::new();
    world.write(".claude/ralph.toml", text);
    world
}

/// What a loop that starts now takes from the project: its rule, its ignored files, its bound.
fn taken(world: &World) -> (Value, Value, Value) {
    world.start("--ac 'it=grep -q yes done'");
    let state = world.state();
    command(world, &["cancel"]);
    world.stop("x");
    (
        state["completion"].clone(),
        state["settings"]["receipt_ignore"].clone(),
        state["max_iterations"].clone(),
    )
}

#[test]
fn a_cloned_file_tunes_and_weakens_nothing() {
    assert_eq!(taken(&with_settings(WEAKENING)), (json!("verified"), Value::Null, json!(7)));
}

#[test]
fn trust_is_for_one_content_and_a_changed_file_loses_it() {
    let world = with_settings(WEAKENING);
    assert!(said(&command(&world, &["trust", "--yes"])).contains("It is trusted"));
    assert_eq!(taken(&world), (json!("token"), json!(["*"]), json!(7)));
    world.write(".claude/ralph.toml", &format!("{WEAKENING}# pulled\n"));
    assert_eq!(taken(&world), (json!("verified"), Value::Null, json!(7)));
    world.write(".claude/ralph.toml", WEAKENING);
    assert_eq!(taken(&world).0, json!("token"));
}

#[test]
fn trust_is_for_one_project_and_a_link_does_not_carry_it_over() {
    let world = with_settings(WEAKENING);
    command(&world, &["trust", "--yes"]);
    let trusted = world.project().join(".claude");
    for link_the_folder in [true, false] {
        let mut cloned = World::new();
        // The same person's home, another project.
        cloned.set("RALPH_HOME", world.ralph_home().to_str().unwrap());
        let folder = cloned.project().join(".claude");
        if link_the_folder {
            symlink(&trusted, folder).unwrap();
        } else {
            fs::create_dir(&folder).unwrap();
            symlink(trusted.join("ralph.toml"), folder.join("ralph.toml")).unwrap();
        }
        let ran = cloned.expansion("ralph", "\"Fix it\" --ac 'it=grep -q yes done'");
        assert!(ran.context().contains(" started"), "{ran:?}");
        let loops = fs::read_dir(world.ralph_home().join("loops")).unwrap();
        let state = loops.map(|it| it.unwrap().path().join("state.json")).next().unwrap();
        let state: Value = serde_json::from_str(&fs::read_to_string(state).unwrap()).unwrap();
        assert_eq!(state["completion"], "verified", "by a link of the folder: {link_the_folder}");
        command(&cloned, &["cancel"]);
        cloned.stop("x");
    }
}

/// The file is one thing when it is asked about and another when it is read: a program flips it all
/// the while, and no loop may ever mix the two.
#[test]
fn what_is_trusted_and_what_is_used_are_the_same_bytes() {
    let trusted = "max_iterations = 3\n";
    let world = with_settings(trusted);
    command(&world, &["trust", "--yes"]);
    let [path, one, two] =
        ["ralph.toml", "one", "two"].map(|name| world.project().join(".claude").join(name));
    fs::write(&one, trusted).unwrap();
    fs::write(&two, WEAKENING).unwrap();
    let script = "while [ ! -e \"$0/end\" ]; do ln \"$2\" \"$0/n\"; mv -f \"$0/n\" \"$1\"; \
                  ln \"$3\" \"$0/n\"; mv -f \"$0/n\" \"$1\"; done";
    let mut flips = std::process::Command::new("sh")
        .args(["-c", script])
        .arg(world.project().join(".claude"))
        .args([&path, &one, &two])
        .spawn()
        .unwrap();
    let seen: Vec<_> = (0..20).map(|_| taken(&world)).collect();
    fs::write(world.project().join(".claude/end"), "").unwrap();
    flips.wait().unwrap();
    for (completion, ignored, _) in seen {
        assert_eq!((completion, ignored), (json!("verified"), Value::Null));
    }
}

#[test]
fn a_hook_of_the_project_or_its_files_start_nothing_before_a_person_asked() {
    let world = World::new();
    let canary = Canary::in_world(&world);
    let package =
        json!({"scripts": {"test": canary.trap("test"), "prepare": canary.trap("prepare")}});
    world.write("package.json", &package.to_string());
    world.write(
        "Makefile",
        &format!("X := $(shell {})\ntest:\n\t{}\n", canary.trap("make"), canary.trap("target")),
    );
    world.write("build.rs", "fn main() { panic!() }");
    world.write("Cargo.toml", "[package]\nname = \"x\"\n");
    let ran = world.expansion("ralph", "\"Fix it\"");
    // The commands that were found are shown before any of them runs.
    assert!(
        ran.out().contains("npm") || ran.out().contains("make") || ran.out().contains("cargo"),
        "{ran:?}"
    );
    world.stop("on it");
    command(&world, &["status"]);
    canary.lives();
}

/// The client's event after it wrote this file.
fn edited(world: &World, path: &str) {
    let path = world.project().join(path);
    let input = json!({"tool_name": "Write", "tool_input": {"file_path": path}});
    world.event("ralph-backpressure", "PostToolUse", input).exit(0);
}

/// A linter that a repository brings along, and that says that it ran.
fn with_a_linter() -> World {
    let world = World::new();
    world.write("eslint.config.js", "");
    world.write("package.json", "{}");
    world.write("a.js", "");
    let linter = "#!/bin/sh\necho ran >>\"$HOME/ran\"\necho '[]'\n";
    world.write("node_modules/.bin/eslint", linter);
    let path = world.project().join("node_modules/.bin/eslint");
    fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    world
}

#[test]
fn a_projects_tools_run_after_an_edit_in_a_live_loop_and_at_no_other_time() {
    let world = with_a_linter();
    let ran = || world.root().join("home/ran").exists();
    edited(&world, "a.js");
    assert!(!ran(), "no loop is live");
    world.start("");
    assert!(!ran(), "nothing was edited");
    assert!(world.elsewhere(&["pause", "--session", &world.session]).success);
    edited(&world, "a.js");
    assert!(!ran(), "the loop rests");
    assert!(world.elsewhere(&["resume", "--session", &world.session]).success);
    edited(&world, "a.js");
    assert!(ran(), "the test cannot tell");
}

#[test]
fn a_cloned_file_adds_no_check() {
    let world = World::new();
    let adds = "[backpressure]\nalways = true\n[[backpressure.check]]\nname = \"x\"\n\
                files = [\"*\"]\ncommand = 'echo ran >>\"$HOME/ran\"'\n";
    world.write(".claude/ralph.toml", adds);
    world.write("a.js", "");
    edited(&world, "a.js");
    world.start("");
    edited(&world, "a.js");
    assert!(!world.root().join("home/ran").exists());
}
