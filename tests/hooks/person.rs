//! A person can always stop it, at once and without the model.

use crate::timeless::without_time;
use crate::world::World;
use serde_json::json;

#[test]
fn the_cancel_command_ends_and_archives_the_loop_without_the_model() {
    let mut world = World::looping("");
    world.working_stop("x").goes_on();
    world.prompt = "prompt-2".to_owned();
    let ran = world.type_command("ralph-cancel", "");
    let reason = ran.blocked();
    let told = without_time(&reason);
    assert!(told.contains("ended cancelled at 1/25: by a person in this session"), "{reason}");
    ran.stdout(json!({"decision": "block", "reason": reason})).exit(0);
    assert_eq!(world.ending(), "cancelled");
    let archived = world.state_path();
    assert!(archived.starts_with(world.ralph_home().join("archive")), "a tombstone is left");
    assert!(reason.contains(&archived.parent().unwrap().display().to_string()), "{reason}");
    assert!(archived.with_file_name("journal.jsonl").exists());

    world.prompt("prompt-3", "hello").silent();
    assert!(!world.has_entry(), "the next event removes it");
    world.stop("x").silent();
}

#[test]
fn the_cancel_command_says_so_when_nothing_is_live() {
    let reason = World::new().type_command("ralph-cancel", "").blocked();
    assert!(reason.contains("no loop is live in this session"), "{reason}");
}

#[test]
fn cancel_typed_in_mid_turn_is_answered_without_the_model_and_the_turn_is_cut() {
    let mut world = World::looping("");
    world.working_stop("x").goes_on();
    let ran = world.prompt("prompt-1", " ralph cancel\n");
    let message = ran.kept_from_model();
    assert!(message.contains("ended cancelled at 1/25"), "{message}");
    ran.stdout(json!({"continue": false, "stopReason": message})).exit(0);
    let cut = world.tool("Bash", json!({"command": "ls"})).json();
    assert_eq!(cut["continue"], false);
    assert_eq!(cut["hookSpecificOutput"]["permissionDecision"], "deny");
    assert!(!world.has_entry());
    world.tool("Bash", json!({"command": "ls"})).silent();
    world.stop("x").silent();
}

#[test]
fn cancel_typed_while_idle_is_answered_without_the_model() {
    let mut world = World::looping("");
    let worker = json!({"type": "subagent", "status": "running"});
    world.stop_with(json!({"background_tasks": [worker]})).silent();
    let reason = world.prompt("prompt-2", "ralph cancel").blocked();
    assert!(reason.contains("ended cancelled at 0/25"), "{reason}");
    assert_eq!(world.ending(), "cancelled");
}

#[test]
fn pause_typed_in_mid_turn_rests_the_loop_and_does_not_cut_the_turn() {
    let mut world = World::looping("");
    world.working_stop("x").goes_on();
    let ran = world.prompt("prompt-1", "ralph pause");
    let message = "Ralph: paused at 1/25; /ralph continues";
    ran.stdout(json!({"continue": false, "stopReason": message})).exit(0);
    assert_eq!(world.standing(), "paused 1/25 person");
    world.tool("Bash", json!({"command": "ls"})).silent();
    world.stop("x").silent();
    world.stop("RALPH_COMPLETE").silent();
    world.prompt = "prompt-2".to_owned();
    let text = world.type_command("ralph", "").context();
    assert!(text.contains(" continues at 1/25\n") && text.contains("Goal: Fix it"), "{text}");
    assert_eq!(world.standing(), "implementation 1/25");
    world.working_stop("x").goes_on();
}

#[test]
fn pause_typed_while_idle_is_answered_without_the_model() {
    let mut world = World::looping("");
    let worker = json!({"type": "subagent", "status": "running"});
    world.stop_with(json!({"background_tasks": [worker]})).silent();
    let reason = world.prompt("prompt-2", "ralph pause").blocked();
    assert_eq!(reason, "Ralph: paused at 0/25; /ralph continues");
}

#[test]
fn cancel_typed_after_pause_in_the_same_turn_is_told_and_cuts_it() {
    let mut world = World::looping("");
    world.working_stop("x").goes_on();
    world.prompt("prompt-1", "ralph pause").kept_from_model();
    let ran = world.prompt("prompt-1", "ralph cancel");
    let message = ran.kept_from_model();
    assert!(message.contains("ended cancelled at 1/25"), "{message}");
    ran.stdout(json!({"continue": false, "stopReason": message}));
    assert_eq!(world.tool("Bash", json!({"command": "ls"})).json()["continue"], false);
}

#[test]
fn a_person_who_cancelled_in_the_session_is_told_once() {
    let mut world = World::looping("");
    world.prompt("prompt-1", "ralph cancel").kept_from_model();
    world.stop("x").silent();
    assert!(!world.has_entry());
}

#[test]
fn words_around_cancel_are_a_prompt_like_any_other() {
    let mut world = World::looping("");
    world.prompt("prompt-1", "please ralph cancel").silent();
    world.prompt("prompt-1", "Ralph Cancel").silent();
    assert_eq!(world.standing(), "implementation 0/25");
}

#[test]
fn a_paused_loop_can_be_cancelled() {
    let mut world = World::looping("");
    world.prompt("prompt-1", "ralph pause").exit(0);
    world.prompt("prompt-2", "ralph cancel").blocked();
    assert_eq!(world.ending(), "cancelled");
}

/// As after a stop that let a queued command run: no turn is the loop's, and the command comes as two events.
#[test]
fn a_running_loop_without_a_turn_is_continued_by_a_typed_command() {
    let mut world = World::looping("");
    let worker = json!([{"id": "w", "type": "subagent", "status": "running"}]);
    world.event("ralph-stop-hook", "Stop", json!({"background_tasks": worker})).silent();
    world.prompt = "prompt-2".to_owned();
    world.event("ralph-user-prompt", "UserPromptSubmit", json!({"prompt": "/ralph"})).silent();
    assert!(world.expansion("ralph", "").context().contains("continues at 0/25"));
}

#[test]
fn planning_is_refused_while_a_loop_is_live() {
    let world = World::looping("");
    let reason = world.type_command("ralph-plan", "x").blocked();
    assert!(reason.contains("/ralph-cancel before you plan another"), "{reason}");
    World::new().type_command("ralph-plan", "x").silent();
}
