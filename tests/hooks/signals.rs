//! What a person sends while the model works: who hears it, when, and how often.

use crate::world::{Ran, World};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

fn looping() -> World {
    let world = World::looping("");
    world.working_stop("x").goes_on();
    world
}

fn send(world: &World, kind: &str, text: &str) {
    let said = world.elsewhere(&["signal", kind, text]);
    assert!(said.success, "{said:?}");
}

fn ran_tool(world: &World, event: &str, members: Value) -> Ran {
    let mut all =
        json!({"tool_name": "Bash", "tool_input": {"command": "true"}, "tool_use_id": "t"});
    all.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    world.event("ralph-backpressure", event, all)
}

fn after_a_call(world: &World) -> Ran {
    ran_tool(world, "PostToolUse", json!({}))
}

fn of_worker(world: &World, id: &str) -> Ran {
    ran_tool(world, "PostToolUse", json!({"agent_id": id, "agent_type": "ralph-worker"}))
}

/// Files in a folder of the mailbox.
fn box_of(world: &World, folder: &str) -> Vec<PathBuf> {
    let folder = world.state_path().with_file_name("signals").join(folder);
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// What the journal says was delivered, and to which agent.
fn delivered(world: &World) -> Vec<(String, String)> {
    let journal = fs::read_to_string(world.state_path().with_file_name("journal.jsonl")).unwrap();
    let lines = journal
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    lines
        .filter(|line| line["decision"] == "delivered")
        .map(|line| (text(&line["why"]), text(&line["seen"]["agent"])))
        .collect()
}

const STEER: &str = "STEER (sent ";

#[test]
fn a_steer_is_heard_after_the_next_tool_call_and_only_once() {
    let world = looping();
    send(&world, "steer", "use tabs");
    send(&world, "info", "CI is down");
    assert_eq!(box_of(&world, "inputs").len(), 2);
    let heard = after_a_call(&world).context();
    assert!(heard.starts_with("The person who started the loop says:\nSTEER (sent "), "{heard}");
    assert!(heard.contains(" UTC): use tabs\nINFO (sent "), "{heard}");
    assert_eq!((box_of(&world, "inputs").len(), box_of(&world, "processed").len()), (0, 2));
    after_a_call(&world).silent();
    let told = "STEER: use tabs; INFO: CI is down".to_owned();
    assert_eq!(delivered(&world), [(told, String::new())]);
    assert!(!world.step(&world.working_stop("x")).contains("use tabs"));
}

#[test]
fn a_call_that_failed_and_one_that_was_denied_deliver_as_well() {
    let world = looping();
    send(&world, "steer", "one");
    let failed = ran_tool(&world, "PostToolUseFailure", json!({"error": "Exit code 1"}));
    assert_eq!(failed.json()["hookSpecificOutput"]["hookEventName"], "PostToolUseFailure");
    assert!(failed.context().contains("): one\n"), "{failed:?}");
    send(&world, "steer", "two");
    let denied = world.tool("AskUserQuestion", json!({}));
    assert_eq!(denied.json()["hookSpecificOutput"]["permissionDecision"], "deny");
    assert!(denied.context().contains("): two\n"), "{denied:?}");
    after_a_call(&world).silent();
}

#[test]
fn an_allowed_call_is_not_held_up() {
    let world = looping();
    send(&world, "steer", "use tabs");
    let ran = world.tool("Bash", json!({"command": "ls"}));
    assert!(!ran.context().contains("use tabs"), "{ran:?}");
    assert_eq!(box_of(&world, "inputs").len(), 1);
}

#[test]
fn at_a_stop_it_leads_the_reason_to_go_on_and_a_steer_comes_before_completion() {
    let world = looping();
    send(&world, "steer", "also mend the roof");
    let reason = world.step(&world.stop("All done.\nRALPH_COMPLETE"));
    assert!(reason.contains("also mend the roof"), "{reason}");
    assert!(reason.contains("Ralph 2/25: "), "{reason}");
    world.working_stop("RALPH_COMPLETE").ends("Ralph: done, without proof");
}

#[test]
fn an_info_does_not_hold_up_the_end_and_the_person_hears_that_it_was_not_delivered() {
    let world = looping();
    send(&world, "info", "CI is down");
    let message = world.stop("RALPH_COMPLETE").message();
    assert!(message.contains("One signal was not delivered"), "{message}");
}

#[test]
fn a_prompt_of_the_running_turn_and_a_session_that_was_compacted_deliver() {
    let mut world = looping();
    send(&world, "steer", "one");
    assert!(world.prompt("prompt-1", "how is it going?").context().contains("): one\n"));
    send(&world, "steer", "two");
    let contract = world.session_starts("compact").context();
    assert!(contract.contains("): two\n") && contract.contains("Goal: Fix it"), "{contract}");
    assert!(contract.contains("The user said: STEER: one\n"), "{contract}");
}

#[test]
fn a_loop_that_rests_hears_it_when_it_goes_on() {
    let mut world = looping();
    world.prompt("prompt-1", "ralph pause").exit(0);
    let said = world.elsewhere(&["signal", "steer", "use tabs"]);
    assert!(said.text.contains("the loop is paused"), "{said:?}");
    after_a_call(&world).silent();
    world.stop("x").exit(0);
    world.prompt = "prompt-2".to_owned();
    world.type_command("ralph", "").context();
    assert!(after_a_call(&world).context().contains("use tabs"));
}

#[test]
fn every_worker_hears_it_once_and_so_does_the_conversation() {
    let world = looping();
    send(&world, "steer", "use tabs");
    for who in ["a1", "a2"] {
        assert!(of_worker(&world, who).context().contains(STEER));
        of_worker(&world, who).silent();
    }
    assert!(after_a_call(&world).context().contains(STEER));
    let heard: Vec<String> = delivered(&world).into_iter().map(|(_, who)| who).collect();
    assert_eq!(heard, ["a1", "a2", ""]);
}

#[test]
fn hooks_that_race_deliver_it_once() {
    let world = looping();
    for n in 0..5 {
        send(&world, "steer", &format!("number {n}"));
    }
    let heard: Vec<String> = std::thread::scope(|scope| {
        let hooks: Vec<_> = (0..8).map(|_| scope.spawn(|| after_a_call(&world).out())).collect();
        hooks.into_iter().map(|hook| hook.join().unwrap()).collect()
    });
    let all = heard.concat();
    for n in 0..5 {
        assert_eq!(all.matches(&format!("number {n}")).count(), 1, "{heard:#?}");
    }
}

#[test]
fn of_two_registrations_the_one_that_counts_delivers() {
    let mut world = looping();
    send(&world, "steer", "use tabs");
    world.via = Some("plugin");
    after_a_call(&world).silent();
    world.tool("AskUserQuestion", json!({})).denied();
    world.via = Some("settings");
    assert!(after_a_call(&world).context().contains(STEER));
}

#[test]
fn a_hook_that_nobody_listens_to_has_delivered_nothing() {
    let world = looping();
    send(&world, "steer", "use tabs");
    let (reads, writes) = std::io::pipe().unwrap();
    drop(reads);
    let mut command = world.command("ralph-backpressure");
    command.stdin(std::process::Stdio::piped()).stdout(writes);
    let mut hook = command.spawn().unwrap();
    let payload = world.payload("PostToolUse", json!({"tool_name": "Bash", "tool_input": {}}));
    std::io::Write::write_all(&mut hook.stdin.take().unwrap(), payload.to_string().as_bytes())
        .unwrap();
    hook.wait().unwrap();
    assert!(after_a_call(&world).context().contains(STEER));
}

#[test]
fn another_session_hears_nothing() {
    let mut world = looping();
    send(&world, "steer", "use tabs");
    world.become_session("session-2", "prompt-9");
    after_a_call(&world).silent();
    world.stop("x").silent();
}

#[test]
fn what_acts_on_a_terminal_is_written_out() {
    let world = looping();
    send(&world, "info", "red \u{1b}[31m and \u{202e} turned");
    let heard = after_a_call(&world).context();
    assert!(heard.contains(r"red \u{1b}[31m and \u{202e} turned"), "{heard}");
}
