//! Cancelled from another terminal: the turn that the loop drove is cut, and no other.

use crate::world::World;
use ralph_hooks::cancel;
use ralph_io::store::home::Home;
use ralph_io::store::lifecycle;
use serde_json::json;

fn cancelled(let_finish: bool) -> World {
    let world = World::looping("");
    world.working_stop("x").goes_on();
    let home = Home::at(world.ralph_home());
    let file = lifecycle::of_session(&home, &world.session).unwrap().unwrap();
    cancel::end_loop(&home, &file, "in a terminal", let_finish).unwrap().unwrap();
    assert_eq!(world.ending(), "cancelled");
    world
}

#[test]
fn the_turn_is_cut_at_its_next_tool_call_and_hears_why_once() {
    let world = cancelled(false);
    let ran = world.tool("Read", json!({"file_path": "/x"}));
    let reason = ran.json()["stopReason"].as_str().unwrap().to_owned();
    assert!(reason.contains("loop cancelled at 1/25"), "{reason}");
    ran.stdout(json!({
        "continue": false,
        "stopReason": reason,
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        },
    }))
    .stderr("")
    .exit(0);
    assert!(!world.has_entry());
    world.tool("Read", json!({"file_path": "/x"})).silent();
}

#[test]
fn a_turn_of_another_prompt_is_not_cut() {
    let mut world = cancelled(false);
    world.prompt = "prompt-2".to_owned();
    world.tool("Read", json!({"file_path": "/x"})).silent();
    assert!(!world.has_entry());
}

#[test]
fn a_turn_that_may_finish_is_not_cut() {
    let world = cancelled(true);
    world.tool("Read", json!({"file_path": "/x"})).silent();
    world.stop("x").exit(0);
    assert!(!world.has_entry());
}

#[test]
fn a_turn_without_tool_calls_ends_at_its_stop() {
    let world = cancelled(false);
    world.stop("x").ends("Ralph: cancelled after 2 turns, ");
    assert!(!world.has_entry());
    world.stop("x").silent();
}

#[test]
fn each_subagent_is_cut_for_itself_and_leaves_the_main_turn_to_be_cut() {
    let world = cancelled(false);
    let of_worker = |id: &str| {
        let members = json!({"tool_name": "Bash", "tool_input": {"command": "ls"},
            "agent_id": id, "agent_type": "ralph-worker"});
        world.event("ralph-pre-tool-use", "PreToolUse", members).json()
    };
    assert_eq!(of_worker("a")["continue"], false);
    assert_eq!(of_worker("b")["continue"], false);
    assert_eq!(world.tool("Bash", json!({"command": "ls"})).json()["continue"], false);
}
