//! Which loop a command means.

use crate::world::World;
use serde_json::json;

fn two_loops() -> World {
    World::new().live_loop("S").live_loop("T")
}

/// The sessions of the loops that are paused.
fn paused(world: &World) -> Vec<String> {
    let document = world.ralph(&["status", "--json"]).done().json();
    let loops = document["loops"].as_array().unwrap().clone();
    let paused = loops.iter().filter(|state| state["phase"] == "paused");
    paused.map(|state| state["session_id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_only_live_loop_of_the_project_is_meant() {
    let world = World::new().live_loop("S");
    world.ralph(&["start", "a plan that waits"]).done();
    world.ralph(&["pause"]).done();
    assert_eq!(paused(&world), ["S"]);
}

#[test]
fn with_several_they_are_listed_and_nothing_changes() {
    let world = two_loops();
    let printed = world.ralph(&["pause"]);
    assert_eq!((printed.exit, printed.stdout.as_str()), (1, ""), "{printed:?}");
    let stderr: Vec<&str> = printed.stderr.lines().collect();
    assert_eq!(stderr.len(), 3, "{stderr:?}");
    assert!(stderr[0].starts_with("  1  [LOOP]  implementation 0/25  session "), "{stderr:?}");
    assert_eq!(stderr[2], "ralph: 2 loops could be meant; name one: `--loop ID`");
    assert_eq!(paused(&world), [""; 0]);
}

#[test]
fn a_name_decides() {
    let world = two_loops();
    world.ralph(&["pause", "--session", "T"]).done();
    assert_eq!(paused(&world), ["T"]);
    for id in world.loop_ids() {
        world.ralph(&["pause", "--loop", &id]).done();
    }
    assert_eq!(paused(&world).len(), 2);
    let both = ["pause", "--loop", "x", "--session", "S"];
    assert_eq!(world.ralph(&both).exit, 2);
}

#[test]
fn a_name_that_nothing_has_is_a_no() {
    let world = two_loops();
    for arguments in [
        ["pause", "--loop", "20200101-000000-0000"],
        ["pause", "--loop", "../../project"],
        ["pause", "--session", "nobody"],
        ["pause", "--session", "../loops"],
    ] {
        let printed = world.ralph(&arguments);
        assert_eq!((printed.exit, printed.stdout.as_str()), (1, ""), "{printed:?}");
    }
}

#[test]
fn the_sessions_own_loop_comes_before_the_projects() {
    let world = two_loops();
    world.in_session("T", &["task", "add", "mine"], "").done();
    let tasks = |session| world.ralph(&["task", "list", "--session", session]).done().stdout;
    assert!(tasks("T").contains("mine"));
    assert!(!tasks("S").contains("mine"));
}

#[test]
fn the_planned_loop_counts_for_tasks_when_nothing_is_live() {
    let world = World::new();
    assert_eq!(world.ralph(&["task", "add", "a"]).exit, 1);
    world.ralph(&["start", "first"]).done();
    world.ralph(&["start", "second"]).done();
    world.ralph(&["task", "add", "a"]).done();
    let document = world.ralph(&["status", "--json"]).done().json();
    let loops = document["loops"].as_array().unwrap();
    let with_task = loops.iter().find(|state| state["tasks"]["total"] == 1).unwrap();
    assert_eq!(with_task["prompt"], "second", "the one that /ralph would start");
}

#[test]
fn another_projects_loop_is_not_meant() {
    let world = World::new().live_loop("S");
    world.change_state(|state| state["project_root"] = json!("/elsewhere"));
    assert_eq!(world.ralph(&["pause"]).exit, 1);
    world.ralph(&["pause", "--session", "S"]).done();
}
