//! Proves the rig itself: the client hears the script, hooks are asked, keys arrive.

use ralph_test_support::fake_api::{Gate, Script, ScriptedTurn, StandIn};
use serde_json::json;

use crate::Test;
use crate::support::{PATIENCE, World, wait_until};

pub(crate) const TESTS: &[Test] = tests![
    the_client_answers_a_scripted_text,
    a_blocking_stop_hook_makes_the_model_go_on_with_its_reason,
    a_subagent_plays_its_own_script,
    a_session_in_a_terminal_shows_the_reply,
    escape_interrupts_a_held_turn,
    a_slash_command_typed_in_mid_turn_is_queued_in_the_transcript,
];

fn the_client_answers_a_scripted_text() {
    let world = World::new();
    let stand_in =
        StandIn::start(Script::new().turn(ScriptedTurn::text("The scripted answer."))).unwrap();
    let run = world.client(&stand_in).prompt("Say something.");
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(run.result()["result"], "The scripted answer.");
    let requests = stand_in.requests();
    assert_eq!(requests.len(), 1);
    assert!(requests[0].last_user_text().contains("Say something."));
}

fn a_blocking_stop_hook_makes_the_model_go_on_with_its_reason() {
    let world = World::new();
    let probe = world.probe("Stop", "");
    let block = |reason| json!({"decision": "block", "reason": reason});
    probe.answer(&[block("REASON ONE"), block("REASON TWO")]);
    let work = [
        ScriptedTurn::text("one"),
        ScriptedTurn::bash("echo worked"),
        ScriptedTurn::text("two"),
        ScriptedTurn::text("three"),
    ];
    let stand_in = StandIn::start(Script::new().turns(work)).unwrap();
    let run = world.client(&stand_in).prompt("Work.");
    assert_eq!(run.result()["result"], "three");
    let requests = stand_in.requests();
    assert_eq!(requests.len(), 4);
    assert!(!requests[0].all_text().contains("REASON"));
    assert!(requests[1].news().contains("REASON ONE"));
    assert_eq!(requests[2].tool_results()[0].text, "worked");
    assert!(requests[3].news().contains("REASON TWO"));
    let calls = probe.calls();
    assert_eq!(calls.len(), 3);
    assert_eq!(calls[0]["session_id"], run.session_id());
    assert_eq!(stand_in.unscripted(), 0);
}

fn a_subagent_plays_its_own_script() {
    let world = World::new();
    let call = json!({"description": "dig", "prompt": "DIGGER: dig", "subagent_type": "general-purpose", "run_in_background": false});
    let digger =
        Script::new().turn(ScriptedTurn::bash("echo dug")).turn(ScriptedTurn::text("I have dug."));
    let script = Script::new()
        .turn(ScriptedTurn::tool("Agent", call))
        .turn(ScriptedTurn::text("Done."))
        .subagent("DIGGER", digger);
    let stand_in = StandIn::start(script).unwrap();
    let run = world.client(&stand_in).prompt("Have it dug.");
    assert_eq!(run.result()["result"], "Done.");
    assert_eq!(stand_in.subagent_requests().len(), 2);
    assert!(stand_in.requests()[1].tool_results()[0].text.contains("I have dug."));
    assert_eq!(stand_in.unscripted(), 0);
}

fn a_session_in_a_terminal_shows_the_reply() {
    let world = World::new();
    let stand_in =
        StandIn::start(Script::new().turn(ScriptedTurn::text("Seen on the screen."))).unwrap();
    world.terminal(&stand_in, &[]).submit("Say something.").wait_for("Seen on the screen.");
    assert_eq!(stand_in.requests().len(), 1);
}

fn escape_interrupts_a_held_turn() {
    let world = World::new();
    let gate = Gate::new();
    let script = Script::new()
        .turn(ScriptedTurn::bash("echo first"))
        .turn(ScriptedTurn::held(&gate).then_text("never seen"));
    let stand_in = StandIn::start(script.turn(ScriptedTurn::text("Served."))).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit("Work.");
    gate.wait_until_reached(PATIENCE).unwrap();
    terminal.key("Escape").wait_for("Interrupted");
    gate.open();
    terminal.submit("An ordinary question?").wait_for("Served.");
    assert!(!terminal.history().contains("never seen"));
    let rows = world.transcript();
    assert!(
        rows.iter().any(|row| row.to_string().contains("[Request interrupted by user")),
        "{rows:#?}"
    );
}

fn a_slash_command_typed_in_mid_turn_is_queued_in_the_transcript() {
    let world = World::new();
    world.skill(
        "hello",
        "---\nname: hello\ndescription: Says hello\n---\nSay hello to $ARGUMENTS.\n",
    );
    let gate = Gate::new();
    let script = Script::new()
        .turn(ScriptedTurn::held(&gate).then_text("Worked."))
        .turn(ScriptedTurn::text("Hello to you."));
    let stand_in = StandIn::start(script).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit("Work.");
    gate.wait_until_reached(PATIENCE).unwrap();
    terminal.submit("/hello world");
    let queued = || {
        world.transcript().iter().any(|row| {
            row["type"] == "queue-operation"
                && row["operation"] == "enqueue"
                && row["content"] == "/hello world"
        })
    };
    assert!(wait_until(PATIENCE, queued), "{:#?}", world.transcript());
    gate.open();
    terminal.wait_for("Hello to you.");
    assert!(stand_in.requests()[1].news().contains("Say hello to world."));
}
