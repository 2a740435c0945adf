//! A mod of the client speaks in the user's name, and the client records who it was after the hooks have answered.

use crate::planning::planning;
use crate::world::World;
use serde_json::{Value, json};

/// The client's record of a prompt that a mod gave.
fn by_mod(prompt: &str) -> Value {
    json!({"type": "user", "promptId": prompt, "origin": {"kind": "plugin", "name": "talker"},
        "message": {"role": "user", "content": "x"}})
}

fn by_user(prompt: &str) -> Value {
    json!({"type": "user", "promptId": prompt, "origin": {"kind": "human"},
        "message": {"role": "user", "content": "x"}})
}

const SAID: &str = "by the mod `talker`, not by you; /ralph continues";

#[test]
fn a_cancel_of_a_mod_is_taken_back_at_the_next_event_whichever_it_is() {
    type Event = fn(&mut World) -> String;
    let events: [(&str, Event); 3] = [
        ("prompt", |world| world.prompt("prompt-3", "hello").message()),
        ("stop", |world| world.stop("x").message()),
        ("command", |world| {
            world
                .event("ralph-session-context", "SessionStart", json!({"source": "resume"}))
                .message()
        }),
    ];
    for (name, event) in events {
        let mut world = World::looping("");
        world.working_stop("x").goes_on();
        world.prompt = "prompt-2".to_owned();
        world.type_command("ralph-cancel", "");
        assert_eq!(world.ending(), "cancelled");
        world.transcribe(&[by_mod("prompt-2")]);
        let told = event(&mut world);
        assert!(told.contains(&format!("ended {SAID}")), "{name}: {told}");
        assert_eq!(world.standing(), "paused 1/25 mod", "{name}");
        assert!(world.state_path().starts_with(world.ralph_home().join("loops")), "{name}");
        world.prompt = "prompt-4".to_owned();
        assert!(
            world.type_command("ralph", "").context().contains(" continues at 1/25\n"),
            "{name}"
        );
        world.transcribe(&[by_mod("prompt-2"), by_user("prompt-4")]);
        world.working_stop("x").goes_on();
        assert_eq!(world.standing(), "implementation 2/25", "{name}");
    }
}

#[test]
fn a_session_that_a_mods_cancel_has_left_without_an_event_is_told_when_it_comes_back() {
    let mut world = World::looping("");
    world.prompt = "prompt-2".to_owned();
    world.type_command("ralph-cancel", "");
    world.transcribe(&[by_mod("prompt-2")]);
    // The client shows nothing of what this event answers.
    world.event("ralph-stop-hook", "SessionEnd", json!({"reason": "other"}));
    assert_eq!(world.standing(), "paused 0/25 mod");
    let told = world.prompt("prompt-3", "hello").message();
    assert!(told.contains(&format!("ended {SAID}")), "{told}");
}

#[test]
fn a_planning_that_a_mod_has_ended_goes_on_where_it_was() {
    let mut world = planning();
    world.prompt = "prompt-2".to_owned();
    world.type_command("ralph-cancel", "");
    assert_eq!(world.ending(), "cancelled");
    world.transcribe(&[by_mod("prompt-2")]);
    let told = world.prompt("prompt-3", "hello").message();
    assert!(told.contains("ended by the mod `talker`, not by you; /ralplan continues"), "{told}");
    world.prompt = "prompt-4".to_owned();
    let context = world.type_command("ralplan", "").context();
    assert!(context.contains("Phase: planner_planning"), "{context}");
}

#[test]
fn a_pause_and_a_command_of_a_mod_pause_the_loop_in_its_name() {
    let mut world = World::looping("");
    world.working_stop("x").goes_on();
    world.prompt("prompt-2", "ralph pause");
    world.transcribe(&[by_mod("prompt-2")]);
    let told = world.prompt("prompt-3", "hello").message();
    assert!(told.contains(&format!("paused {SAID}")), "{told}");
    assert_eq!(world.standing(), "paused 1/25 mod");

    world.prompt = "prompt-4".to_owned();
    world.type_command("ralph", "");
    world.transcribe(&[by_mod("prompt-4")]);
    let told = world.tool("Bash", json!({"command": "ls"})).message();
    assert!(told.contains(&format!("`/ralph` was given {SAID}")), "{told}");
    assert_eq!(world.standing(), "paused 1/25 mod");
    world.stop("x").silent();
}

#[test]
fn a_prompt_of_a_mod_is_not_the_user_at_the_keyboard() {
    let ask = |world: &mut World| {
        let questions = json!({"questions": [{"question": "Which?"}]});
        world.tool("AskUserQuestion", questions).denied()
    };
    for (row, expected) in [
        (by_user("prompt-2"), "no dialog opens"),
        (by_mod("prompt-2"), "nobody is there to answer"),
    ] {
        let mut world = World::looping("");
        let worker = json!({"type": "subagent", "status": "running"});
        world.stop_with(json!({"background_tasks": [worker]})).silent();
        world.prompt = "prompt-2".to_owned();
        world.prompt("prompt-2", "I am here");
        world.transcribe(&[row]);
        let why = ask(&mut world);
        assert!(why.contains(expected), "{why}");
        assert_eq!(world.standing(), "implementation 0/25");
    }
}

#[test]
fn what_the_user_typed_beside_a_mod_stands() {
    let mut world = World::looping("");
    world.working_stop("x").goes_on();
    world.prompt("prompt-2", "ralph pause");
    // The row of the mod is of another prompt.
    world.transcribe(&[by_mod("prompt-1"), by_user("prompt-2")]);
    world.prompt("prompt-3", "hello");
    assert_eq!(world.standing(), "paused 1/25 person");
    world.prompt = "prompt-4".to_owned();
    world.type_command("ralph-cancel", "");
    world.prompt("prompt-5", "hello");
    assert_eq!(world.ending(), "cancelled");
    assert!(!world.has_entry());
    // Nothing that only shows something is the mod's to answer for.
    let mut world = World::looping("");
    let worker = json!({"type": "subagent", "status": "running"});
    world.stop_with(json!({"background_tasks": [worker]})).silent();
    world.prompt = "prompt-2".to_owned();
    world.type_command("ralph", "status");
    world.transcribe(&[by_mod("prompt-2")]);
    world.tool("Bash", json!({"command": "ls"})).silent();
    assert_eq!(world.standing(), "implementation 0/25");
}

#[test]
fn a_state_that_is_gone_before_the_client_has_recorded_the_prompt_is_missed_all_the_same() {
    let world = World::looping("");
    let prompt = world.state()["obeyed"]["prompt_id"].as_str().unwrap().to_owned();
    std::fs::remove_dir_all(world.state_path().parent().unwrap()).unwrap();
    world.transcribe(&[by_user(&prompt)]);
    let told = world.working_stop("x").message();
    assert!(told.contains("/state.json` was removed"), "{told}");
    assert_eq!(world.state()["pause"]["cause"], "tampered");
}
