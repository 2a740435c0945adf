//! The first tool call of each turn of the main conversation says that the turn is at work.

use crate::world::{Ran, World};
use serde_json::{Value, json};

fn used(world: &World, members: Value) -> Ran {
    let mut all = json!({"tool_name": "Bash", "tool_input": {"command": "true"},
        "tool_response": {}, "tool_use_id": "t"});
    all.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    world.event("ralph-backpressure", "PostToolUse", all).silent()
}

fn worked(world: &World) -> Value {
    world.state()["turn"]["worked"].clone()
}

#[test]
fn the_first_call_after_each_stop_is_noted_and_the_others_write_nothing() {
    let world = World::looping("");
    assert_eq!(worked(&world), Value::Null);
    for _ in 0..2 {
        used(&world, json!({}));
        assert_eq!(worked(&world), true);
        let before = world.listing(&world.ralph_home());
        used(&world, json!({}));
        used(&world, json!({"tool_name": "Read"}));
        assert_eq!(world.listing(&world.ralph_home()), before);
        world.working_stop("x").goes_on();
        assert_eq!(worked(&world), Value::Null);
    }
}

#[test]
fn a_subagents_call_is_not_the_conversations() {
    let world = World::looping("");
    let before = world.listing(&world.ralph_home());
    used(&world, json!({"agent_id": "a1", "agent_type": "ralph-worker"}));
    assert_eq!(world.listing(&world.ralph_home()), before);
}

#[test]
fn a_loop_that_does_not_run_is_not_at_work() {
    let mut world = World::looping("");
    world.prompt("prompt-1", "ralph pause").kept_from_model();
    let before = world.listing(&world.ralph_home());
    used(&world, json!({}));
    assert_eq!(world.listing(&world.ralph_home()), before);
}

#[test]
fn a_session_that_was_woken_without_a_prompt_drives_a_turn_again() {
    let world = World::looping("");
    let worker = json!({"id": "a", "type": "subagent", "status": "running",
        "description": "w", "agent_type": "ralph-worker"});
    world.stop_with(json!({"background_tasks": [worker]})).silent();
    assert_eq!(world.state()["turn"], Value::Null);
    used(&world, json!({}));
    assert_eq!(world.state()["turn"]["prompt_id"], "prompt-1");
    assert_eq!(worked(&world), true);
}
