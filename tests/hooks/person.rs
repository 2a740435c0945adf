//! A person can always stop it, at once and without the model.

use crate::world::World;
use jiff::Timestamp;
use serde_json::{Value, json};

#[test]
fn the_cancel_command_ends_and_archives_the_loop_without_the_model() {
    let mut world = World::looping("");
    world.working_stop("x").goes_on();
    world.prompt = "prompt-2".to_owned();
    let ran = world.type_command("ralph-cancel", "");
    let reason = ran.kept_from_model();
    assert!(reason.starts_with("Ralph: cancelled after 2 turns, "), "{reason}");
    ran.stdout(json!({"continue": false, "stopReason": reason})).exit(0);
    assert_eq!(world.ending(), "cancelled");
    let archived = world.state_path();
    assert!(archived.starts_with(world.ralph_home().join("archive")), "a tombstone is left");
    assert!(archived.with_file_name("journal.jsonl").exists());

    world.prompt("prompt-3", "hello").silent();
    assert!(!world.has_entry(), "the next event removes it");
    world.stop("x").silent();
}

#[test]
fn the_cancel_command_says_so_when_nothing_is_live() {
    let reason = World::new().type_command("ralph-cancel", "").kept_from_model();
    assert!(reason.contains("no loop is live in this session"), "{reason}");
}

#[test]
fn cancel_typed_in_mid_turn_is_answered_without_the_model_and_the_turn_is_cut() {
    let mut world = World::looping("");
    world.working_stop("x").goes_on();
    let ran = world.prompt("prompt-1", " ralph cancel\n");
    let message = ran.kept_from_model();
    assert!(message.starts_with("Ralph: cancelled after 2 turns, "), "{message}");
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
    let reason = world.prompt("prompt-2", "ralph cancel").kept_from_model();
    assert!(reason.starts_with("Ralph: cancelled after 1 turn, "), "{reason}");
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
    let confirmed =
        json!({"systemMessage": "Ralph: pausing when this turn ends; /ralph continues"});
    world.tool("Bash", json!({"command": "ls"})).stdout(confirmed).exit(0);
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
    let reason = world.prompt("prompt-2", "ralph pause").kept_from_model();
    assert_eq!(reason, "Ralph: paused at 0/25; /ralph continues");
}

#[test]
fn cancel_typed_after_pause_in_the_same_turn_is_told_and_cuts_it() {
    let mut world = World::looping("");
    world.working_stop("x").goes_on();
    world.prompt("prompt-1", "ralph pause").kept_from_model();
    let ran = world.prompt("prompt-1", "ralph cancel");
    let message = ran.kept_from_model();
    assert!(message.starts_with("Ralph: cancelled after 2 turns, "), "{message}");
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
    world.prompt("prompt-2", "ralph cancel").kept_from_model();
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
    let reason = world.type_command("ralph-plan", "x").kept_from_model();
    assert!(reason.contains("/ralph-cancel before you plan another"), "{reason}");
    World::new().type_command("ralph-plan", "x").silent();
}

/// The client's row for a line typed now, which it holds back until the turn ends.
fn queued(line: &str) -> Value {
    queue_row("enqueue", line, Timestamp::now())
}

fn queue_row(operation: &str, content: &str, at: Timestamp) -> Value {
    json!({"type": "queue-operation", "operation": operation, "timestamp": at.to_string(),
        "sessionId": "session-1", "content": content})
}

#[test]
fn a_queued_cancel_cuts_the_turn_before_the_next_tool_call() {
    for line in
        ["/ralph-cancel", "/ralph:ralph-cancel now", "/ralph cancel", "/ralph stop", "ralph cancel"]
    {
        let mut world = World::looping("");
        let long = "x".repeat(9_000);
        world.transcribe(&[queued("/ralph-cancel"), queue_row("remove", &long, Timestamp::now())]);
        world.working_stop("x").goes_on();
        let from = world.state()["turn"]["transcript_from"].as_u64().unwrap();
        assert!(from > 4_000, "the turn begins behind what was typed before: {from}");
        world.transcribe(&[queued("hello"), queued(line)]);
        let cut = world.tool("Bash", json!({"command": "ls"})).json();
        let why = "Ralph: the turn ends here for the cancel that you typed";
        assert_eq!((&cut["continue"], cut["stopReason"].as_str()), (&json!(false), Some(why)));
        assert_eq!(cut["hookSpecificOutput"]["permissionDecision"], "deny");
        // The line itself ends the loop, when the client delivers it.
        assert_eq!(world.standing(), "implementation 1/25", "{line}");
        world.prompt = "prompt-2".to_owned();
        let answer = match line.strip_prefix('/') {
            None => world.prompt("prompt-2", line),
            Some(command) => {
                let (name, args) = command.split_once(' ').unwrap_or((command, ""));
                world.type_command(name, args)
            }
        };
        let told = answer.kept_from_model();
        assert!(told.starts_with("Ralph: cancelled after 2 turns, "), "{told}");
        assert_eq!(world.ending(), "cancelled", "{line}");
        world.prompt("prompt-3", "hello").silent();
        assert!(!world.has_entry());
    }
}

#[test]
fn a_queued_cancel_cuts_a_subagent_too() {
    let mut world = World::looping("");
    world.transcribe(&[queued("/ralph-cancel")]);
    let members = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t",
        "agent_id": "a", "agent_type": "general-purpose"});
    for paused in [false, true] {
        let cut = world.event("ralph-pre-tool-use", "PreToolUse", members.clone()).json();
        assert_eq!(cut["continue"], false, "{cut}");
        assert_eq!(world.tool("Bash", json!({"command": "ls"})).json()["continue"], false);
        if !paused {
            world.prompt("prompt-1", "ralph pause").kept_from_model();
        }
    }
}

#[test]
fn a_row_that_is_no_waiting_request_of_the_user_cuts_nothing() {
    let now = Timestamp::now;
    let before = now() - jiff::SignedDuration::from_mins(1);
    let quoted = queued("/ralph-cancel").to_string();
    let fires = json!({"type": "system", "subtype": "scheduled_task_fire",
        "timestamp": now().to_string(), "prompt": "/ralph-cancel"});
    for rows in [
        vec![],
        vec![queue_row("enqueue", "/ralph-cancel", before)],
        vec![queued("/ralph-cancel"), queue_row("dequeue", "", now())],
        vec![queued("/ralph-cancel"), queue_row("remove", "/ralph-cancel", now())],
        vec![queued("/ralph-cancel"), queue_row("popAll", "", now())],
        vec![queued("/ralph \"cancel\""), queued("please ralph cancel"), queued("/other-cancel")],
        vec![queued("/ralph status"), queued("/ralph help")],
        vec![
            json!({"type": "assistant", "message": {"content": [{"type": "text", "text": quoted}]}}),
        ],
        vec![
            json!({"type": "user", "message": {"content": [{"type": "tool_result", "content": quoted}]}}),
        ],
        vec![fires, queued("/ralph-cancel")],
    ] {
        let world = World::looping("");
        world.transcribe(&rows);
        let before = world.state();
        world.tool("Bash", json!({"command": "ls"})).silent();
        assert_eq!(world.state(), before, "{rows:#?}");
    }
    let world = World::looping("");
    world.tool("CronCreate", json!({"prompt": "/ralph-cancel"})).denied();
    world.transcribe(&[queued("/ralph-cancel")]);
    world.tool("Bash", json!({"command": "ls"})).silent();
}

#[test]
fn a_queued_pause_is_confirmed_once_and_cuts_nothing() {
    for line in ["/ralph pause", "/ralph-pause", "ralph pause"] {
        let mut world = World::looping("");
        world.transcribe(&[queued(line)]);
        let confirmed =
            json!({"systemMessage": "Ralph: pausing when this turn ends; /ralph continues"});
        world.tool("Bash", json!({"command": "ls"})).stdout(confirmed).exit(0);
        world.tool("Bash", json!({"command": "ls"})).silent();
        assert_eq!(world.standing(), "implementation 0/25");
        world.stop("x").silent();
        world.prompt = "prompt-2".to_owned();
        let paused = world.type_command("ralph", "pause").kept_from_model();
        assert_eq!(paused, "Ralph: paused at 0/25; /ralph continues");
        assert_eq!(world.standing(), "paused 0/25 person");
    }
}

#[test]
fn a_command_word_starts_nothing() {
    let world = World::new();
    for word in ["status", "cancel", "stop", "pause"] {
        let told = world.type_command("ralph", word).kept_from_model();
        assert!(told.contains("no loop is live in this session"), "{word}: {told}");
    }
    let told = world.type_command("ralph", "resume").kept_from_model();
    assert!(told.contains("nothing is planned here"), "{told}");
    let help = world.type_command("ralph", " help ").kept_from_model();
    assert!(help.contains("/ralph cancel") && help.lines().count() < 10, "{help}");
    assert!(!world.has_entry());
    let text = world.type_command("ralph", "\"help\"").context();
    assert!(text.contains("Goal: help\n"), "{text}");
}

#[test]
fn a_command_word_acts_on_the_loop() {
    let mut world = World::looping("--ac \"it works=test -e works\"");
    world.prompt = "prompt-2".to_owned();
    let status = world.expansion("ralph", "status").kept_from_model();
    assert!(status.starts_with("Ralph: loop running at 0/25, "), "{status}");
    assert!(status.contains("\n  Goal: Fix it\n  The criterion does not hold: AC-1"), "{status}");
    assert_eq!(world.standing(), "implementation 0/25");
    let paused = world.expansion("ralph", "pause").kept_from_model();
    assert_eq!(paused, "Ralph: paused at 0/25; /ralph continues");
    let status = world.expansion("ralph", "status").kept_from_model();
    assert!(status.starts_with(&paused), "{status}");
    assert_eq!(world.expansion("ralph", "pause").kept_from_model(), paused);
    world.prompt = "prompt-3".to_owned();
    assert!(world.type_command("ralph", "resume").context().contains(" continues at 0/25\n"));
    world.prompt = "prompt-4".to_owned();
    let told = world.expansion("ralph", "stop").kept_from_model();
    assert!(told.starts_with("Ralph: cancelled after 1 turn, "), "{told}");
    assert_eq!(world.ending(), "cancelled");
}

#[test]
fn what_lets_more_happen_can_be_typed_in_the_loops_session_which_then_continues() {
    let mut world = World::looping("");
    for (n, (words, told)) in [
        ("steer use tabs", "Ralph: sent to loop"),
        ("accept", "Ralph: nothing had changed"),
        ("trust", "Ralph: "),
    ]
    .into_iter()
    .enumerate()
    {
        world.transcribe(&[queued(&format!("/ralph {words}"))]);
        world.stop("x").silent();
        world.prompt = format!("typed-{n}");
        let ran = world.type_command("ralph", words);
        assert!(ran.context().contains(" continues at 0/25\n"), "{words}: {ran:?}");
        assert!(ran.message().contains(told), "{words}: {ran:?}");
    }
}

#[test]
fn what_lets_more_happen_can_be_typed_in_another_session_of_the_project() {
    let mut world = World::looping("");
    world.expansion("ralph", "pause").kept_from_model();
    world.become_session("session-2", "prompt-2");
    let typed = |words: &str| world.type_command("ralph", words).kept_from_model();
    for (words, told) in [
        ("steer use tabs", "sent to loop"),
        ("accept", "nothing had changed"),
        ("trust", "nothing needs to be trusted"),
        ("share", "no loop is planned"),
        ("resume", "resumed at 0/25"),
    ] {
        let said = typed(words);
        assert!(said.starts_with("Ralph: ") && said.contains(told), "{words}: {said}");
    }
    world.become_session("session-1", "prompt-3");
    assert_eq!(world.standing(), "implementation 0/25");
}

#[test]
fn a_start_names_the_permission_mode_that_asks_and_the_one_that_does_not() {
    for (mode, asks) in [
        ("default", true),
        ("manual", true),
        ("plan", true),
        ("acceptEdits", true),
        ("bypassPermissions", false),
        ("auto", false),
        ("dontAsk", false),
        ("later", false),
    ] {
        let world = World::new();
        let members = json!({"command_name": "ralph", "command_args": "Fix it",
            "permission_mode": mode});
        let told = world.event("ralph-user-prompt", "UserPromptExpansion", members).json();
        let told = told["systemMessage"].as_str().unwrap();
        let line = format!("Permission mode `{mode}` will ask you");
        assert_eq!(told.contains(&line), asks, "{told}");
        assert_eq!(
            told.contains("`--permission-mode bypassPermissions` lets everything pass"),
            asks,
            "{told}"
        );
    }
}

#[test]
fn a_question_in_a_turn_in_which_the_user_typed_is_denied_with_how_to_answer() {
    let mut world = World::looping("");
    let asks = |world: &World| {
        let reply = world.tool("AskUserQuestion", json!({"questions": []})).json();
        let output = &reply["hookSpecificOutput"];
        let [line, rest] = ["permissionDecisionReason", "additionalContext"];
        let [line, rest] = [line, rest].map(|member| output[member].as_str().unwrap().to_owned());
        assert!(line.len() < 60 && !line.contains('.'), "one line for the user: {line}");
        (format!("{line}. {rest}"), reply["systemMessage"].as_str().map(str::to_owned))
    };
    let (why, told) = asks(&world);
    assert!(why.contains("ask in plain words") && why.contains("`ralph pause`"), "{why}");
    assert!(told.unwrap().contains("type your answer"));
    world.working_stop("x").goes_on();
    let (why, told) = asks(&world);
    assert!(why.contains("nobody is there to answer") && told.is_none(), "{why}");
    world.prompt("prompt-1", "<task-notification>\ndone").exit(0);
    assert!(asks(&world).1.is_none());
    world.prompt("prompt-1", "Use the other file.").silent();
    assert!(asks(&world).1.is_some());
}
