//! A plan of many tasks: a stop reads none of them that it has seen before.

use crate::world::World;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

const TASKS: usize = 400;

fn planned() -> World {
    let world = World::looping("");
    world.edit_state(|state| {
        let task = |n: usize| json!({"id": format!("T-{n}"), "name": "n".repeat(100), "deps": []});
        state["task_graph"] = (1..=TASKS).map(task).collect::<Value>();
    });
    // From now on the state is written as Ralph writes it.
    says(&world, &format!("0 of {TASKS} tasks done; next: T-1 "));
    world
}

#[track_caller]
fn says(world: &World, expected: &str) {
    let said = world.working_stop("x").goes_on();
    assert!(said.contains(expected), "{said}");
}

fn known(world: &World) -> PathBuf {
    world.state_path().with_extension("json.tasks")
}

#[test]
fn how_the_tasks_stand_is_kept_for_the_next_stop_and_only_for_the_same_tasks() {
    let world = planned();
    says(&world, &format!("0 of {TASKS} tasks done; next: T-1 "));
    let about = fs::metadata(known(&world)).unwrap();
    assert_eq!(about.permissions().mode() & 0o777, 0o600);
    // What stands there is believed, so a stop that has read the tasks again would say otherwise.
    let text = fs::read_to_string(known(&world)).unwrap();
    fs::write(known(&world), text.replace("\"done\":0", "\"done\":7")).unwrap();
    says(&world, &format!("7 of {TASKS} tasks done; next: T-1 "));
    assert!(world.ralph(&["task", "claim", "T-1"]).success);
    assert!(world.ralph(&["task", "done", "T-1"]).success);
    says(&world, &format!("1 of {TASKS} tasks done; next: T-2 "));
    says(&world, &format!("1 of {TASKS} tasks done; next: T-2 "));
    assert_eq!(world.state()["task_graph"].as_array().unwrap().len(), TASKS);
    assert_eq!(world.state()["task_graph"][0]["status"], "done");
}

#[test]
fn whatever_is_wrong_with_what_is_known_the_tasks_are_read() {
    let world = planned();
    says(&world, "next: T-1 ");
    let text = fs::read_to_string(known(&world)).unwrap();
    for wrong in
        ["", "{", "null", &text[..text.len() / 2], &text.replace("\"hash\":\"", "\"hash\":\"0")]
    {
        fs::write(known(&world), wrong.replace("\"done\":0", "\"done\":7")).unwrap();
        says(&world, &format!("0 of {TASKS} tasks done; next: T-1 "));
        says(&world, &format!("0 of {TASKS} tasks done; next: T-1 "));
    }
    // Others could have written it.
    fs::write(known(&world), text.replace("\"done\":0", "\"done\":7")).unwrap();
    fs::set_permissions(known(&world), fs::Permissions::from_mode(0o666)).unwrap();
    says(&world, &format!("0 of {TASKS} tasks done; next: T-1 "));
    world.edit_state(|state| state["task_graph"][0]["status"] = json!("done"));
    says(&world, &format!("1 of {TASKS} tasks done; next: T-2 "));
}
