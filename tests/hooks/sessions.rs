//! Sessions end, resume, are cleared and forked; the loop stays with its own.

use crate::world::World;
use serde_json::json;
use std::process::Command;

fn ended(world: &World, reason: &str) {
    world.event("ralph-stop-hook", "SessionEnd", json!({"reason": reason})).silent();
}

fn at_one() -> World {
    let world = World::looping("");
    world.working_stop("x").goes_on();
    world
}

#[test]
fn a_session_that_ends_in_mid_turn_has_crashed_and_resumes_by_itself() {
    let mut world = at_one();
    ended(&world, "other");
    assert_eq!(world.standing(), "paused 1/25 crashed");
    world.another_client();
    let ran = world.session_starts("resume");
    assert!(ran.context().contains(" continues at 1/25\n"), "{ran:?}");
    assert!(ran.message().contains("continues at 1/25"), "{ran:?}");
    assert_eq!(world.standing(), "implementation 1/25");
    world.prompt("prompt-2", "continue").silent();
    world.working_stop("x").goes_on();
}

#[test]
fn a_client_that_was_killed_fires_no_event_and_its_session_resumes_with_the_loop() {
    let mut world = at_one();
    world.clients_end();
    let message = world.session_starts("resume").message();
    let id = world.state()["loop_id"].clone();
    assert_eq!(message, format!("Ralph: loop {} continues at 1/25", id.as_str().unwrap()));
    world.prompt("prompt-2", "go on").silent();
    world.working_stop("x").goes_on();
}

#[test]
fn a_conversation_that_is_continued_beside_a_crashed_loop_names_it_and_how_it_continues() {
    let mut world = at_one();
    let id = world.state()["loop_id"].as_str().unwrap().to_owned();
    world.become_session("session-2", "");
    world.another_client();
    world.session_starts("resume").silent();
    world.clients_end();
    let before = world.listing(&world.ralph_home());
    let line = format!(
        "loop {id} is running in another session, at 1/25: if that is gone, `claude --resume session-1` \
         continues it there; `ralph adopt --loop {id}`, then /ralph, continues it here"
    );
    assert_eq!(world.session_starts("resume").message(), format!("Ralph: {line}"));
    let refused = world.type_command("ralph", "").kept_from_model();
    assert!(refused.contains(&line), "{refused}");
    for source in ["startup", "fork"] {
        world.session_starts(source).silent();
    }
    assert!(world.listing(&world.ralph_home()) == before && !world.has_entry());
}

#[test]
fn a_second_loop_in_the_same_folder_starts_with_a_warning() {
    let mut world = at_one();
    let id = world.state()["loop_id"].as_str().unwrap().to_owned();
    let warning = format!("Loop {id} is live in this folder, too: ");
    let planned = world.elsewhere(&["start", "Another"]);
    assert!(planned.success && planned.text.contains(&warning), "{planned:?}");
    world.become_session("session-2", "prompt-2");
    let message = world.type_command("ralph", "").message();
    assert!(message.contains(&warning), "{message}");
    assert_eq!(world.state()["prompt"], "Another");
    world.become_session("session-3", "prompt-3");
    let message = world.start("").message();
    assert!(message.contains(" is live in this folder, too: "), "{message}");
}

#[test]
fn a_session_that_is_left_at_its_prompt_resumes_running() {
    let mut world = at_one();
    let worker = json!({"type": "subagent", "status": "running"});
    world.stop_with(json!({"background_tasks": [worker]})).silent();
    ended(&world, "prompt_input_exit");
    world.another_client();
    assert!(world.session_starts("resume").context().contains(" continues at 1/25\n"));
}

#[test]
fn what_a_person_cut_before_the_client_vanished_does_not_resume_by_itself() {
    let mut world = at_one();
    world.transcribe(&world.interruption("[Request interrupted by user]"));
    world.another_client();
    let message = world.session_starts("resume").message();
    assert!(message.contains("paused at 1/25 (interrupted)"), "{message}");
    assert_eq!(world.standing(), "paused 1/25 interrupted");
}

#[test]
fn a_loop_that_a_person_paused_stays_paused_on_resume() {
    let mut world = at_one();
    world.prompt("prompt-1", "ralph pause").exit(0);
    ended(&world, "other");
    assert_eq!(world.standing(), "paused 1/25 person");
    world.another_client();
    world
        .session_starts("resume")
        .stdout(json!({"systemMessage": "Ralph: paused at 1/25; /ralph continues"}))
        .stderr("")
        .exit(0);
}

#[test]
fn a_cleared_conversation_takes_its_loop_along_paused() {
    let mut world = at_one();
    ended(&world, "clear");
    assert_eq!(world.standing(), "paused 1/25 cleared");
    let old = world.entry();
    world.become_session("session-2", "");
    let message = world.session_starts("clear").message();
    assert_eq!(message, "Ralph: paused at 1/25 (cleared); /ralph continues");
    assert!(world.has_entry() && !old.exists(), "the entry was renamed");
    assert_eq!(world.state()["lineage"][0]["session_id"], "session-1");
    world.prompt("prompt-2", "hello").silent();
    world.stop("x").silent();
    world.prompt = "prompt-3".to_owned();
    assert!(world.type_command("ralph", "").context().contains("Goal: Fix it"));
    assert!(world.step(&world.working_stop("x")).contains("Ralph 2/25: "));
}

#[test]
fn a_cleared_conversation_of_another_process_takes_nothing() {
    let mut world = at_one();
    ended(&world, "clear");
    let mut other = Command::new("sleep").arg("60").spawn().unwrap();
    world.become_session("session-2", "");
    world.set("CLAUDE_PID", &other.id().to_string());
    world.session_starts("clear").silent();
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(!world.has_entry());
}

#[test]
fn a_process_that_only_reuses_the_number_is_another_process() {
    let mut world = at_one();
    ended(&world, "clear");
    world.edit_state(|state| state["client"]["started"] = json!("1"));
    world.become_session("session-2", "");
    world.session_starts("clear").silent();
    assert!(!world.has_entry());
}

#[test]
fn a_loop_that_was_not_cleared_is_not_taken_by_a_cleared_session_of_its_process() {
    let mut world = at_one();
    world.become_session("session-2", "");
    world.session_starts("clear").silent();
    assert!(!world.has_entry());
}

#[test]
fn esc_and_then_clear_is_cleared() {
    let mut world = at_one();
    world.prompt("prompt-2", "hello").message();
    ended(&world, "clear");
    assert_eq!(world.standing(), "paused 1/25 cleared");
    assert_eq!(world.state()["resume_phase"], "implementation");
    world.become_session("session-2", "");
    assert!(world.session_starts("clear").message().contains("paused at 1/25"));
}

#[test]
fn a_fork_and_a_fresh_start_never_take_the_loop() {
    let mut world = at_one();
    world.become_session("session-2", "");
    for source in ["fork", "startup", "resume", "compact"] {
        world.session_starts(source).silent();
    }
    world.stop("x").silent();
    assert!(!world.has_entry());
}

#[test]
fn after_compaction_the_running_loops_contract_comes_back() {
    let mut world = at_one();
    let ran = world.session_starts("compact");
    let context = ran.context();
    assert!(context.contains(" continues at 1/25\n") && context.contains("Goal: Fix it"));
    ran.stdout(json!({"hookSpecificOutput":
        {"hookEventName": "SessionStart", "additionalContext": context}}));
    world.prompt("prompt-1", "ralph pause").exit(0);
    world.session_starts("compact").silent();
}

#[test]
fn a_compaction_makes_the_next_reason_repeat_the_contract() {
    let mut world = at_one();
    let compacts = |world: &World| {
        let members = json!({"trigger": "auto", "custom_instructions": null});
        world.event("ralph-session-context", "PreCompact", members).silent()
    };
    compacts(&world);
    assert_eq!(world.state()["context_lost"], true);
    let reason = world.step(&world.working_stop("x"));
    assert!(reason.contains(" continues at 2/25\nGoal: Fix it\n"), "{reason}");
    assert!(reason.contains("Rules: "), "{reason}");
    let read = json!({"tool_name": "Read", "tool_use_id": "t", "tool_input": {"file_path": "a"}});
    let told = world.event("ralph-pre-tool-use", "PreToolUse", read).context();
    assert!(reason.ends_with(&told) && told.contains("Goal: Fix it"), "{told}");
    assert!(!world.step(&world.working_stop("x")).contains("Goal: Fix it"));
    world.prompt("prompt-1", "ralph pause").exit(0);
    compacts(&world);
    assert_eq!(world.state().get("context_lost"), None, "it is given when the loop goes on");
}

#[test]
fn a_workers_compaction_is_none_of_the_loops_business() {
    let world = at_one();
    let members = json!({"trigger": "auto", "agent_id": "a1", "agent_type": "ralph-worker"});
    world.event("ralph-session-context", "PreCompact", members).silent();
    assert_eq!(world.state().get("context_lost"), None);
}

#[test]
fn a_loop_that_was_cleared_longer_ago_is_nobodys_to_take() {
    let mut world = at_one();
    ended(&world, "clear");
    world.edit_state(|state| state["pause"]["at"] = json!("2026-01-01T00:00:00Z"));
    world.become_session("session-2", "");
    world.session_starts("clear").silent();
    assert!(!world.has_entry());
}

#[test]
fn a_loop_of_another_project_is_not_taken() {
    let mut world = at_one();
    ended(&world, "clear");
    world.edit_state(|state| state["project_root"] = json!("/elsewhere"));
    world.become_session("session-2", "");
    world.session_starts("clear").silent();
    assert!(!world.has_entry());
}

#[test]
fn a_second_loop_in_the_folder_starts_with_a_warning() {
    let mut world = at_one();
    let first = world.state()["loop_id"].as_str().unwrap().to_owned();
    world.become_session("session-2", "prompt-2");
    let message = world.type_command("ralph", "fix it").message();
    assert!(message.contains(&format!("Loop {first} is live in this folder, too")), "{message}");
    assert_ne!(world.state()["loop_id"], json!(first));
}

#[test]
fn of_two_loops_that_could_be_meant_none_is_taken() {
    let mut world = at_one();
    ended(&world, "clear");
    world.become_session("session-2", "prompt-2");
    world.start("");
    ended(&world, "clear");
    world.become_session("session-3", "");
    world.session_starts("clear").silent();
    assert!(!world.has_entry());
}
