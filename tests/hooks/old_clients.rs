//! Clients that are too old for a loop, or that lack something a newer one has.

use crate::world::World;
use ralph_core::protocol::client_version::{ClientFeature, ClientVersion};
use serde_json::{Value, json};
use std::fs;

/// `AI_AGENT` of the last version before the feature.
fn agent_before(feature: ClientFeature) -> String {
    let ClientVersion(major, minor, patch) = feature.row().since;
    format!("claude-code_{major}-{minor}-{}_harness", patch - 1)
}

/// `AI_AGENT` of the oldest client in which a conversation may have a loop.
fn agent_at_the_floor() -> String {
    let ClientVersion(major, minor, patch) = ClientFeature::Conversation.row().since;
    format!("claude-code_{major}-{minor}-{patch}_harness")
}

#[test]
fn a_client_below_the_floor_starts_no_loop_and_the_user_is_told_what_to_type() {
    let mut world = World::new();
    world.set("AI_AGENT", &agent_before(ClientFeature::Conversation));
    for name in ["ralph", "ralplan", "ralph-parallel"] {
        let reason = world.type_command(name, "\"Fix it\"").kept_from_model();
        assert!(reason.contains("is too old for a loop in a conversation"), "{reason}");
        assert!(reason.contains("`claude update`"), "{reason}");
    }
    let planned = world.elsewhere(&["start", "Fix it"]);
    assert!(planned.success, "{}", planned.text);
    let reason = world.type_command("ralph", "").kept_from_model();
    assert!(reason.contains("nothing was started"), "{reason}");
    assert!(!world.has_entry());
}

#[test]
fn a_client_at_the_floor_starts_one() {
    let mut world = World::new();
    world.set("AI_AGENT", &agent_at_the_floor());
    world.start("");
}

#[test]
fn a_client_that_does_not_tell_its_version_starts_a_loop_and_says_so_once() {
    for agent in ["", "something else"] {
        let mut world = World::new();
        world.set("AI_AGENT", agent);
        let message = world.start("").message();
        assert!(message.contains("did not report its version (AI_AGENT is not set)"), "{message}");
        assert!(message.contains("`ralph doctor`"), "{message}");
    }
    let message = World::new().start("").message();
    assert!(!message.contains("AI_AGENT"), "{message}");
}

#[test]
fn a_session_whose_transcript_names_an_old_client_is_not_bound_from_a_terminal() {
    let world = World::new();
    write_transcript(&world, "2.1.139");
    let said = world.elsewhere(&["start", "Fix it", "--session", "session-1"]);
    assert!(!said.success && said.text.contains("2.1.139 is too old"), "{}", said.text);
    write_transcript(&world, "2.1.328");
    let said = world.elsewhere(&["start", "Fix it", "--session", "session-1"]);
    assert!(said.success, "{}", said.text);
}

#[test]
fn status_names_an_old_client_of_a_live_loop() {
    let world = World::looping("");
    write_transcript(&world, "2.1.328");
    assert!(!world.elsewhere(&["status"]).text.contains("too old"));
    write_transcript(&world, "2.1.139");
    let text = world.elsewhere(&["status"]).text;
    assert!(text.contains("2.1.139 is too old") && text.contains("`claude update`"), "{text}");
    let listed: Value = serde_json::from_str(&world.elsewhere(&["status", "--json"]).text).unwrap();
    assert_eq!(listed["loops"][0]["client"], "2.1.139");
}

/// Writes a transcript of the session where the client keeps it.
fn write_transcript(world: &World, version: &str) {
    let project = world.project().display().to_string();
    let name: String =
        project.chars().map(|one| if one.is_ascii_alphanumeric() { one } else { '-' }).collect();
    let folder = world.root().join("home/.claude/projects").join(name);
    fs::create_dir_all(&folder).unwrap();
    let row = json!({"type": "user", "version": version, "message": {"content": "x"}});
    fs::write(folder.join("session-1.jsonl"), format!("{row}\n")).unwrap();
}

/// The rows of a prompt that was typed now, and of what became of it.
fn typed(operations: &[(&str, Option<&str>)]) -> Vec<Value> {
    let now = jiff::Timestamp::now().to_string();
    let row = |(operation, content): &(&str, Option<&str>)| {
        json!({"type": "queue-operation", "operation": operation, "content": content,
            "timestamp": now, "sessionId": "session-1"})
    };
    operations.iter().map(row).collect()
}

const CANCEL: (&str, Option<&str>) = ("enqueue", Some("ralph cancel"));

/// Such a client refuses the call and goes on with the turn, and gives the words to the model.
#[test]
fn a_cancel_typed_in_mid_turn_pauses_the_loop_of_a_client_that_cannot_cut_its_turn() {
    let mut world = World::looping("");
    world.set("AI_AGENT", &agent_before(ClientFeature::CutsTurn));
    world.transcribe(&typed(&[CANCEL]));
    let reply = world.tool("Bash", json!({"command": "ls"})).stderr("").exit(0).json();
    let output = &reply["hookSpecificOutput"];
    assert_eq!(output["permissionDecision"], "deny", "{reply}");
    assert!(output["permissionDecisionReason"].as_str().unwrap().contains("end your turn now"));
    assert_eq!(reply["continue"], Value::Null, "{reply}");
    assert!(reply["systemMessage"].as_str().unwrap().contains("`ralph cancel` ends the loop"));
    assert_eq!(world.standing(), "paused 0/25 person");
    world.transcribe(&typed(&[CANCEL, ("remove", None)]));
    world.stop("The turn is over.").silent();
    let message = world.prompt("prompt-2", "ralph cancel").kept_from_model();
    assert!(message.contains("cancelled"), "{message}");
    assert_eq!(world.archived()[0]["ending"]["kind"], "cancelled");
}

#[test]
fn a_cancel_typed_while_a_tool_ran_pauses_the_loop_at_the_stop() {
    for (feature, pauses) in [(Some(ClientFeature::PromptInTurn), true), (None, false)] {
        let mut world = World::looping("");
        if let Some(feature) = feature {
            world.set("AI_AGENT", &agent_before(feature));
        }
        world.transcribe(&typed(&[CANCEL, ("remove", None)]));
        let stopped = world.stop("Step.");
        match pauses {
            true => assert!(stopped.message().contains("/ralph continues"), "{stopped:?}"),
            // A newer client has asked the prompt hook.
            false => drop(stopped.goes_on()),
        }
        assert_eq!(world.standing().starts_with("paused"), pauses);
    }
}
