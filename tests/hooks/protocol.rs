//! The loop as it should go: start, go on, end.

use crate::world::World;
use serde_json::{Value, json};

#[test]
fn a_typed_command_starts_the_loop_and_gives_the_model_the_contract() {
    let world = World::new();
    let ran = world.start("--max-iterations 5");
    let id = world.state()["loop_id"].as_str().unwrap().to_owned();
    let context = ran.context();
    assert!(context.starts_with(&format!("Ralph loop {id} started\n")), "{context}");
    for part in ["Goal: Fix it", "at most 5 times", "RALPH_COMPLETE alone on its last line"] {
        assert!(context.contains(part), "{part} in {context}");
    }
    let message = ran.message();
    assert!(message.contains(&format!("Ralph: loop {id} started: continues at most 5 times")));
    ran.stdout(json!({
        "hookSpecificOutput": {"hookEventName": "UserPromptExpansion", "additionalContext": context},
        "systemMessage": message,
    }))
    .exit(0);
    assert_eq!(world.standing(), "implementation 0/5");
}

#[test]
fn a_plugins_name_of_the_command_starts_it_too() {
    let world = World::new();
    assert!(world.type_command("ralph:ralph", "Fix it").context().contains(" started\n"));
}

#[test]
fn a_wrong_flag_is_explained_and_starts_nothing() {
    let world = World::new();
    for args in ["Fix --max-iterations many", "--max-iteration 5 Fix", "Fix --max-iterations -1"] {
        let reason = world.type_command("ralph", args).kept_from_model();
        assert!(reason.contains("--max-iteration"), "{reason}");
    }
    assert!(!world.ralph_home().join("loops").exists());
}

#[test]
fn a_criterion_whose_program_does_not_exist_is_explained_and_starts_nothing() {
    let world = World::new();
    let args = "Fix it --ac 'it works=sh check' --ac 'tests pass=no-such-runner -q'";
    let reason = world.type_command("ralph", args).kept_from_model();
    assert!(reason.contains("AC-2: `no-such-runner` was not found on PATH; "), "{reason}");
    assert!(reason.ends_with("; nothing was started"), "{reason}");
    assert!(!world.ralph_home().join("loops").exists());
}

#[test]
fn the_loop_goes_on_exactly_five_times_and_then_ends() {
    let world = World::looping("--max-iterations 5");
    for n in 1..=5 {
        let text = world.step(&world.working_stop("Still going."));
        assert!(text.starts_with(&format!("Ralph {n}/5: next: ")), "{text}");
    }
    world.working_stop("Still going.").ends("Ralph: stopped after 6 turns, ");
    assert_eq!(world.ending(), "max_iterations");
    assert!(!world.has_entry());
    world.stop("And on.").silent();
}

#[test]
fn the_token_alone_on_the_last_line_ends_the_loop() {
    let world = World::looping("");
    world.stop("All done.\n\nRALPH_COMPLETE").ends("Ralph: done, without proof, after 1 turn");
    assert_eq!(world.ending(), "complete_unverified");
    assert!(!world.has_entry());
}

#[test]
fn the_token_in_any_other_place_does_not() {
    let world = World::looping("");
    for message in
        ["I will say RALPH_COMPLETE soon.", "```\nRALPH_COMPLETE\n```", "> RALPH_COMPLETE"]
    {
        let text = world.step(&world.working_stop(message));
        assert!(text.contains("\nRALPH_COMPLETE was in your message"), "{text}");
    }
    assert_eq!(world.standing(), "implementation 3/25");
}

#[test]
fn work_finished_on_the_last_iteration_is_complete_and_not_capped() {
    let world = World::looping("--max-iterations 1");
    world.working_stop("x").goes_on();
    world.working_stop("RALPH_COMPLETE").ends("Ralph: done, without proof, after 2 turns");
}

#[test]
fn a_client_that_is_old_or_unknown_is_answered_by_a_block() {
    for agent in ["", "claude-code_2-1-100_x", "claude-code_2-1-162_x", "another"] {
        let mut world = World::looping("");
        world.set("AI_AGENT", agent);
        let ran = world.stop("x");
        let reason = ran.blocked();
        assert!(reason.starts_with("Ralph 1/25: next: "), "{reason}");
        ran.stdout(json!({"decision": "block", "reason": reason})).exit(0);
    }
}

#[test]
fn background_subagents_are_waited_for_and_not_counted() {
    let world = World::looping("--stall-limit 2");
    let worker = json!({"id": "a", "type": "subagent", "status": "running",
        "description": "w", "agent_type": "ralph-worker"});
    for _ in 0..6 {
        world
            .stop_with(json!({"last_assistant_message": "RALPH_COMPLETE",
                "background_tasks": [worker]}))
            .silent();
    }
    assert_eq!(world.standing(), "implementation 0/25");
    assert_eq!(world.state()["stall_hashes"], json!([]));
}

#[test]
fn a_background_shell_alone_does_not_hold_the_loop() {
    let world = World::looping("");
    let shell = json!({"id": "b", "type": "shell", "status": "running",
        "description": "x", "command": "sleep 3"});
    world.stop_with(json!({"last_assistant_message": "x", "background_tasks": [shell]})).goes_on();
    assert_eq!(world.standing(), "implementation 1/25");
}

#[test]
fn a_turn_that_ended_without_text_goes_on() {
    let world = World::looping("");
    world.stop_with(json!({})).goes_on();
    world.stop_with(json!({"last_assistant_message": null})).goes_on();
    assert_eq!(world.standing(), "implementation 2/25");
}

#[test]
fn whether_a_stop_hook_was_active_makes_no_difference() {
    for active in [json!(true), json!(false), Value::Null] {
        let world = World::looping("--max-iterations 2");
        for _ in 0..2 {
            world.write("x", &world.standing());
            world.stop_with(json!({"stop_hook_active": active})).goes_on();
        }
        world.stop_with(json!({"stop_hook_active": active})).ends("Ralph: stopped after ");
    }
}

#[test]
fn a_subagents_end_is_not_the_loops() {
    let world = World::looping("");
    let before = world.state();
    for agent_type in ["ralph-worker", ""] {
        for message in ["x", "RALPH_COMPLETE"] {
            let members = json!({"agent_id": "a1", "agent_type": agent_type,
                "stop_hook_active": false, "last_assistant_message": message,
                "background_tasks": []});
            world.event("ralph-stop-hook", "SubagentStop", members).silent();
        }
    }
    assert_eq!(world.state(), before);
}

#[test]
fn a_waiting_command_of_ours_lets_the_turn_end_uncounted() {
    let world = World::looping("");
    let row = |operation: &str, content: &str| {
        json!({"type": "queue-operation", "operation": operation,
            "timestamp": "2026-01-01T00:00:00Z", "content": content})
    };
    world.transcribe(&[row("enqueue", "/ralph-cancel")]);
    world.stop("x").silent();
    world.transcribe(&[row("enqueue", "/ralph-cancel"), row("dequeue", "")]);
    world.stop("x").goes_on();
    world.transcribe(&[row("enqueue", "/help")]);
    world.stop("x").goes_on();
    assert_eq!(world.standing(), "implementation 2/25");
}

#[test]
fn a_second_task_is_refused_once_the_loop_has_begun() {
    let mut world = World::looping("");
    let first = world.state()["loop_id"].clone();
    world.working_stop("x").goes_on();
    world.prompt = "prompt-2".to_owned();
    let reason = world.type_command("ralph", "Another").kept_from_model();
    assert!(reason.contains("a loop is paused in this session at 1/25"), "{reason}");
    assert_eq!(world.state()["loop_id"], first);
}

#[test]
fn a_second_task_replaces_a_loop_that_never_began() {
    let mut world = World::looping("");
    let first = world.state()["loop_id"].clone();
    world.prompt = "prompt-2".to_owned();
    let text = world.type_command("ralph", "Another").context();
    assert!(text.contains("Goal: Another"), "{text}");
    assert_ne!(world.state()["loop_id"], first);
    assert_eq!(world.archived()[0]["ending"]["kind"], "cancelled");
}

#[test]
fn the_command_alone_says_what_to_do_where_nothing_is_planned() {
    let reason = World::new().type_command("ralph", "").kept_from_model();
    assert!(reason.contains("nothing is planned here"), "{reason}");
}

#[test]
fn settings_that_could_not_be_used_are_told_to_the_person_who_starts() {
    let world = World::new();
    world.write(".claude/ralph.toml", "max_iteration = 3\n");
    let message = world.start("").message();
    assert!(message.contains("max_iteration") && message.contains("Ralph ignored it"), "{message}");
    // A loop that runs has its settings; only the next start is refused.
    world.write(".claude/ralph.toml", "[sandbox]\nread_denny = []\n");
    world.forget_what_is_kept_apart();
    world.tool("Bash", json!({"command": "ls"})).silent();
    world.working_stop("x").goes_on();
    world.type_command("ralph", "cancel").kept_from_model();
    let told = world.type_command("ralph", "another").kept_from_model();
    assert!(told.contains("line 2: unknown key `sandbox.read_denny`"), "{told}");
}
