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

#[test]
fn cancel_project_ends_the_loops_of_this_project_alone() {
    let world = World::new().live_loop("S");
    let other = world.path("other").display().to_string();
    world.change_state(|state| state["project_root"] = other.into());
    let world = world.live_loop("T").live_loop("U");
    world.ralph(&["cancel", "--project"]).done();
    let document = world.ralph(&["status", "--all", "--json"]).done().json();
    let all = document["loops"].as_array().unwrap();
    let left: Vec<_> = all.iter().filter(|one| one["ending"].is_null()).collect();
    assert!(left.len() == 1 && left[0]["session_id"] == "S", "{left:?}");
}

#[test]
fn without_a_loop_the_only_orchestration_is_meant() {
    const ID: &str = "260131-120000";
    let world = World::new();
    assert_eq!(world.ralph(&["next"]).exit, 1);
    world.ralph(&["team", "new", "--id", ID, "Build"]).done();
    let by_alias = world.ralph(&["session", "next", "--json"]).done().json();
    assert_eq!(world.ralph(&["next", "--json"]).done().json(), by_alias);
    assert_eq!(world.ralph(&["status", "--id", ID, "--json"]).done().json(), by_alias);
    assert_eq!(by_alias["status"], "in_progress");
    // The commands for tasks are about a loop, under each name.
    for alias in [&["task", "done", "task-1"][..], &["mark", "--as=done", "task-1"]] {
        let printed = world.ralph(alias);
        assert!(printed.exit == 1 && printed.stderr.contains("no loop is live"), "{printed:?}");
    }
    assert_eq!(world.ralph(&["task", "done", "task-1", "--id", ID]).exit, 2);
    world.ralph(&["cancel", "--id", ID]).done();
    assert_eq!(world.ralph(&["next", "--json"]).json()["status"], "blocked");
}

#[test]
fn next_among_several_loops_asks_for_one_and_takes_no_orchestration() {
    let world = World::new();
    world.ralph(&["team", "new", "--id", "260131-120000", "Build"]).done();
    let world = world.live_loop("S").live_loop("T");
    let printed = world.ralph(&["next"]);
    assert_eq!(printed.exit, 1, "{printed:?}");
    assert!(printed.stderr.contains("2 loops could be meant; name one"), "{printed:?}");
}

#[test]
fn mark_changes_a_task_of_a_loop_as_the_commands_for_tasks_do() {
    let world = World::new().live_loop("S");
    world.ralph(&["task", "add", "one"]).done();
    for (given, exit, status) in [
        (&["started"][..], 0, "in_progress"),
        (&["open"], 0, "pending"),
        (&["failed"], 2, "pending"),
        (&["failed", "--note", "no key"], 0, "failed"),
        (&["open"], 0, "pending"),
        (&["review"], 2, "pending"),
        (&[], 2, "pending"),
        (&["blocked", "--note", "no key"], 0, "blocked"),
        (&["open"], 0, "pending"),
        (&["done", "--note", "tests pass"], 0, "done"),
    ] {
        let printed = world.ralph(&[&["mark", "T-1"], given].concat());
        assert_eq!(printed.exit, exit, "{given:?}: {printed:?}");
        assert_eq!(world.state()["task_graph"][0]["status"], status, "{given:?}");
    }
}

#[test]
fn the_diff_of_a_live_loop_begins_at_its_last_checkpoint_unless_the_start_is_named() {
    let world = World::new().under_git();
    world.write("project/file", "one\n");
    world.ralph(&["start", "--session", "S", "--ac", "it is there=test -f file", "x"]).done();
    assert_eq!(world.ralph(&["diff", "--since"]).exit, 1);
    assert_eq!(world.ralph(&["diff", "--since", "0"]).exit, 2);
    assert_eq!(world.ralph(&["diff", "1"]).exit, 2);
    world.write("project/file", "two\n");
    let since_start = world.ralph(&["diff"]).done().stdout;
    assert!(since_start.contains("+two"), "{since_start}");
    assert_eq!(world.ralph(&["diff", "--since", "start"]).done().stdout, since_start);
}
