//! Names that would leave their folder, or are no names at all, wherever one can be given.

use crate::attack::{command, events, hook, looping, said};
use crate::world::World;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::PathBuf;

fn bad_names(world: &World) -> Vec<String> {
    let absolute = world.root().join("evil").display().to_string();
    [".", "..", "../x", "../../evil", "/etc/passwd", "a/b", "a/../b", "~", "$HOME"]
        .into_iter()
        .chain(["new\nline", "a b", "\u{1b}]0;x\u{7}", "\u{202e}", "é", "😀", "a\\b", "project-1"])
        .map(str::to_owned)
        .chain([absolute, "x".repeat(300), "x".repeat(5_000)])
        .collect()
}

/// A loop beside the home, which a name that leaves it would find.
fn with_a_loop_beside_the_home() -> World {
    let world = looping();
    let evil = world.root().join("evil");
    std::fs::create_dir(&evil).unwrap();
    std::fs::copy(world.state_path(), evil.join("state.json")).unwrap();
    std::fs::write(evil.join("entry"), evil.join("state.json").display().to_string()).unwrap();
    world
}

fn paths(world: &World) -> BTreeSet<PathBuf> {
    let mut paths: BTreeSet<PathBuf> = world.listing(&world.root()).into_keys().collect();
    // Which come and stay whenever a command looks at its loop.
    paths.retain(|path| path.extension().is_none_or(|extension| extension != "lock"));
    paths
}

#[test]
fn a_session_id_that_is_no_name_has_no_loop_and_gets_none() {
    let names = bad_names(&World::new());
    let mut world = with_a_loop_beside_the_home();
    let before = paths(&world);
    for name in names.iter().map(String::as_str).chain(["", "a\0b"]) {
        world.session = name.to_owned();
        world.set("CLAUDE_CODE_SESSION_ID", if name.contains('\0') { "session-1" } else { name });
        for (executable, event, members) in events() {
            let ran = hook(&world, executable, event, members);
            assert!(ran.json().is_null(), "{name:?}: {ran:?}");
        }
        let reason = world.expansion("ralph", "\"Fix it\"").out();
        assert!(!reason.contains(" started\\n"), "{name:?}: {reason}");
        let new: Vec<_> = paths(&world).difference(&before).cloned().collect();
        assert_eq!(new, Vec::<PathBuf>::new(), "{name:?}");
    }
}

#[test]
fn a_name_on_the_command_line_stays_in_its_folder() {
    let world = with_a_loop_beside_the_home();
    let before = paths(&world);
    let state = std::fs::read(world.state_path()).unwrap();
    for (number, name) in bad_names(&world).into_iter().enumerate() {
        let all = [
            vec!["status", "--session"],
            vec!["status", "--loop"],
            vec!["explain", "--loop"],
            vec!["replay", "--session"],
            vec!["replay"],
            vec!["verify", "--loop"],
            vec!["verify"],
            vec!["cancel", "--session"],
            vec!["cancel", "--loop"],
            vec!["pause", "--loop"],
            vec!["resume", "--session"],
            vec!["adopt", "--session"],
            vec!["adopt", "--force", "--loop"],
            vec!["start", "x", "--session"],
            vec!["checkpoint", "list", "--loop"],
            vec!["checkpoint", "show", "1", "--loop"],
            vec!["checkpoint", "show"],
            vec!["checkpoint", "restore"],
            vec!["task", "show"],
            vec!["task", "claim"],
            vec!["task", "done", "--result", "r"],
        ];
        // Each name with some of the commands, and each command with some of the names.
        let is_tried = |at: &usize| crate::is_proof() || at % 5 == number % 5;
        let some = (0..all.len()).filter(is_tried).map(|at| &all[at]);
        for words in some {
            let arguments: Vec<&str> = words.iter().copied().chain([name.as_str()]).collect();
            let output = command(&world, &arguments);
            assert_ne!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
        }
        let new: Vec<_> = paths(&world).difference(&before).cloned().collect();
        assert_eq!(new, Vec::<PathBuf>::new(), "{name:?}");
        assert_eq!(std::fs::read(world.state_path()).unwrap(), state, "{name:?}");
    }
}

#[test]
fn a_loop_id_in_a_state_that_is_no_name_leads_nowhere() {
    for name in ["../../../evil", "/evil", "a/b", "..", "", "x\ny"] {
        let world = looping();
        world.write("done", "yes\n");
        world.edit_state(|state| state["loop_id"] = json!(name));
        let before = paths(&world);
        let inside = world.ralph_home();
        for (executable, event, members) in events() {
            hook(&world, executable, event, members);
        }
        command(&world, &["cancel"]);
        let project = world.project().join(".git");
        let strays: Vec<PathBuf> = paths(&world)
            .difference(&before)
            .filter(|path| !path.starts_with(&inside) && !path.starts_with(&project))
            .filter(|path| !path.starts_with(world.root().join(".ralph-kept")))
            .cloned()
            .collect();
        assert_eq!(strays, Vec::<PathBuf>::new(), "{name:?}");
        let archive = inside.join("archive");
        let depth =
            |path: &PathBuf| path.strip_prefix(&archive).map_or(0, |p| p.components().count());
        assert!(paths(&world).iter().all(|path| depth(path) <= 4), "{name:?}");
        assert!(!inside.join("archive/../evil").exists());
    }
}

#[test]
fn a_task_id_is_text_and_no_path() {
    let world = looping();
    for name in ["../x", "/etc/passwd", "$(touch x)", "--all", "\u{1b}[2J"] {
        let output = command(&world, &["task", "add", name]);
        assert!(!said(&output).contains('\u{1b}'), "{output:?}");
    }
    assert!(!world.project().join("x").exists());
}

#[test]
fn a_relative_home_is_taken_from_where_the_process_stands() {
    let mut world = World::new();
    world.set("RALPH_HOME", "state");
    let before = paths(&world);
    world.start("");
    let inside = world.project().join("state");
    // Besides, the repository keeps the contents that the loop starts from, on a ref of the loop.
    let kept = ["objects", "refs/ralph"].map(|name| world.project().join(".git").join(name));
    let is_ours = |path: &PathBuf| {
        path.starts_with(&inside)
            || path.starts_with(world.project().join(".ralph-kept"))
            || kept.iter().any(|folder| path.starts_with(folder))
    };
    assert!(paths(&world).difference(&before).all(is_ours));
    world.stop("x").goes_on();
    // After `cd` it is another folder, and there is no loop in it: that session is let go.
    world.cwd = world.root().join("home");
    world.stop("x").silent();
    assert!(!world.cwd.join("state").exists());
}
