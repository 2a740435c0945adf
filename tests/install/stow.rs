//! The dotfiles package, linked by the real `stow`.

use crate::world::{CommandResult, World, said};
use serde_json::Value;
use std::fs;

fn packaged(world: &World) -> CommandResult {
    let package = world.path("dotfiles");
    world.ralph(&["install", "--stow", package.to_str().unwrap()]).exit(0)
}

/// Runs the real program, or says loudly that it is not there.
fn stow(world: &World, options: &[&str]) -> Option<CommandResult> {
    let mut command = world.command("stow");
    command.args(options).arg("-d").arg(world.path("dotfiles"));
    command.arg("-t").arg(world.path("home")).arg("claude");
    match command.output() {
        Ok(output) => Some(said(&output)),
        Err(error) => {
            eprintln!("SKIPPED: could not start `stow`: {error}");
            None
        }
    }
}

#[test]
fn a_package_names_the_executables_bare_and_touches_no_home() {
    let world = World::new();
    let before = world.snapshot("home");
    packaged(&world).says("stow --no-folding -d ").says("must be on the client's PATH");
    let settings: Value =
        serde_json::from_str(&world.read("dotfiles/claude/.claude/settings.json")).unwrap();
    let entry = &settings["hooks"]["Stop"][0]["hooks"][0];
    assert_eq!(entry["command"], "ralph-stop-hook");
    assert_eq!(entry["args"], serde_json::json!(["settings"]));
    assert!(world.exists("dotfiles/claude/.claude/skills/ralph/SKILL.md"));
    assert_eq!(world.snapshot("home"), before);
}

#[test]
fn real_stow_links_the_package_and_the_doctor_finds_the_hooks() {
    for options in [&["--no-folding"][..], &[]] {
        let world = World::new();
        packaged(&world);
        let Some(linked) = stow(&world, options) else { return };
        linked.exit(0);
        let settings = fs::symlink_metadata(world.settings()).unwrap();
        assert!(settings.is_symlink());
        assert!(world.read("home/.claude/skills/ralph/SKILL.md").starts_with("---\n"));
        world.ralph(&["doctor"]).exit(0).says("14 of 14 registered hooks answered");
    }
}

#[test]
fn installing_into_a_stowed_home_writes_through_the_link() {
    let world = World::new();
    world.write("dotfiles/claude/.claude/settings.json", "{\n  \"model\": \"opus\"\n}\n");
    let Some(linked) = stow(&world, &[]) else { return };
    linked.exit(0);
    world.ralph(&["install"]).exit(0);
    assert!(fs::symlink_metadata(world.settings()).unwrap().is_symlink());
    assert!(world.read("dotfiles/claude/.claude/settings.json").contains("ralph-stop-hook"));
    // A copy beside the real file would be linked into the home by the next `stow`.
    assert!(world.backups("dotfiles/claude/.claude").is_empty());
    world.ralph(&["uninstall"]).exit(0);
    let text = world.read("dotfiles/claude/.claude/settings.json");
    assert_eq!(text, "{\n  \"model\": \"opus\"\n}\n");
}

#[test]
fn a_stowed_skill_is_the_packages_and_an_uninstallation_of_the_user_leaves_it() {
    let world = World::new();
    packaged(&world);
    let Some(linked) = stow(&world, &[]) else { return };
    linked.exit(0);
    world.ralph(&["install"]).exit(0);
    world.ralph(&["uninstall"]).exit(0);
    assert!(world.exists("dotfiles/claude/.claude/skills/ralph/SKILL.md"));
}

#[test]
fn a_package_is_taken_back_too() {
    let world = World::new();
    world.write("dotfiles/claude/.claude/settings.json", "{ \"model\": \"opus\" }");
    let before = world.snapshot("dotfiles");
    packaged(&world);
    packaged(&world).says("nothing to change");
    assert_eq!(world.backups("state/backups").len(), 1);
    let package = world.path("dotfiles");
    world.ralph(&["uninstall", "--stow", package.to_str().unwrap()]).exit(0);
    assert_eq!(world.snapshot("dotfiles"), before);
}
