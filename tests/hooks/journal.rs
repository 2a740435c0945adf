//! Every decision leaves a line that says which event and which input, what, why, and how long.

use crate::world::World;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

fn lines(folder: &Path) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("journal.jsonl")).unwrap_or_default();
    let lines = text.lines().filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// `event: decision` of every line, each of which is looked at on the way.
#[track_caller]
fn told(folder: &Path) -> Vec<String> {
    let told = |line: &Value| {
        let word = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        for name in ["at", "event", "decision", "why", "position"] {
            assert!(!word(name).is_empty(), "{name} in {line}");
        }
        assert!(word("input").starts_with("xxh3:"), "{line}");
        assert!(line["took_us"].as_u64().is_some(), "{line}");
        format!("{}: {}", word("event"), word("decision"))
    };
    lines(folder).iter().map(told).collect()
}

fn folder(world: &World) -> PathBuf {
    world.state_path().parent().unwrap().to_owned()
}

/// The folders of the loops that were put away, in their order.
fn archived(world: &World) -> Vec<PathBuf> {
    let folders = fs::read_dir(world.ralph_home().join("archive")).unwrap();
    let mut folders: Vec<PathBuf> = folders.map(|folder| folder.unwrap().path()).collect();
    folders.sort();
    folders
}

#[test]
fn a_loop_with_a_person_leaves_a_line_for_every_decision() {
    let mut world = World::looping("");
    world.tool("AskUserQuestion", json!({})).denied();
    world.tool("Bash", json!({"command": "ls"})).silent();
    world.working_stop("x").goes_on();
    world.prompt = "prompt-2".to_owned();
    world.type_command("ralph", "another task").kept_from_model();
    world.prompt = "prompt-3".to_owned();
    world.type_command("ralph", "").context();
    world.session_starts("compact").context();
    world.expansion("ralph-plan", "something else").kept_from_model();
    world.prompt("prompt-3", "ralph pause").kept_from_model();
    world.stop("x").exit(0);
    // Another process each time, or the session would not have been resumed.
    world.another_client();
    world.session_starts("resume").message();
    assert!(world.elsewhere(&["resume"]).success);
    world.event("ralph-stop-hook", "StopFailure", json!({"error": "rate_limit"})).exit(0);
    world.another_client();
    world.session_starts("resume").context();
    world.edit_state(|state| {
        state["acceptance_criteria"] = json!([{"id": "AC-1", "verification_command": "false"}]);
    });
    assert!(world.ralph(&["blocked", "give me a key"]).success);
    world.stop("x").exit(0);
    assert!(world.elsewhere(&["cancel"]).success);
    let archived = archived(&world);
    assert_eq!(
        told(&archived[0]),
        [
            "UserPromptExpansion: started",
            "PreToolUse: denied",
            "Stop: go on",
            "UserPromptSubmit: paused",
            "UserPromptExpansion: refused",
            "UserPromptExpansion: continued",
            "SessionStart: reminded",
            "UserPromptExpansion: refused",
            "UserPromptSubmit: paused",
            "Stop: let go",
            "SessionStart: let rest",
            "ralph resume: resumed",
            "StopFailure: paused",
            "SessionStart: continued",
            "ralph blocked: blocked",
            "Stop: let go",
            "ralph cancel: ended",
        ]
    );
}

#[test]
fn a_loop_that_is_replaced_says_so_itself() {
    let mut world = World::looping("");
    world.prompt = "prompt-2".to_owned();
    world.type_command("ralph", "other").context();
    let archived = archived(&world);
    let expected =
        ["UserPromptExpansion: started", "UserPromptSubmit: paused", "UserPromptExpansion: ended"];
    assert_eq!(told(&archived[0]), expected);
    assert_eq!(lines(&archived[0])[2]["why"], "cancelled: replaced before it had begun");
    assert_eq!(told(&folder(&world)), ["UserPromptExpansion: started"]);
}

#[test]
fn a_denial_keeps_what_it_was_made_from_and_stays_small() {
    let world = World::looping("");
    let long = format!("rm {} {}", world.state_path().display(), "x".repeat(40 << 10));
    world.tool("Bash", json!({"command": long})).denied();
    world.tool("Write", json!({"file_path": world.state_path(), "content": long})).denied();
    let lines = lines(&folder(&world));
    let (bash, write) = (&lines[1], &lines[2]);
    assert!(bash.to_string().len() < 8 << 10, "{} bytes", bash.to_string().len());
    assert_eq!(
        (&bash["record"]["shortened"], &bash["record"]["cut"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(write["record"]["path"], world.state_path().to_str().unwrap());
    assert_eq!(write["record"]["places"]["ralph_home"], world.ralph_home().to_str().unwrap());
    assert!(!write.to_string().contains("xxx"), "what was to be written is not kept");
}

#[test]
fn a_short_message_is_kept_letter_for_letter_and_a_long_one_is_cut() {
    let world = World::looping("");
    world.working_stop("one\n\n  two RALPH_COMPLETE\n> RALPH_COMPLETE").goes_on();
    world.working_stop(&"long ".repeat(100)).goes_on();
    let lines = lines(&folder(&world));
    let short = json!({"message": "one\n\n  two RALPH_COMPLETE\n> RALPH_COMPLETE"});
    assert_eq!(lines[1]["seen"], short);
    assert_eq!(lines[2]["seen"]["cut"], true);
    assert!(lines[2]["seen"]["message"].as_str().unwrap().chars().count() <= 401);
}

#[test]
fn a_replay_asks_the_executables_themselves_and_finds_no_difference() {
    let world = World::looping("--stall-limit 2 --ac 'it is=test -e src/door.c'");
    world.tool("EnterPlanMode", json!({})).denied();
    world.stop("RALPH_COMPLETE").goes_on();
    world.write("src/door.c", "x");
    world.stop("**RALPH_COMPLETE**").ends("Ralph: done in 2 turns");
    let said = world.elsewhere(&["replay", "--all"]);
    assert!(said.success, "{said:?}");
    assert!(said.text.contains("\n3 decisions made again, 0 differ; 1 line is not"), "{said:?}");
}
