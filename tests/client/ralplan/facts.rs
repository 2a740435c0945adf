//! What consensus planning relies on in the client, asked of the client itself.
//!
//! How a subagent comes to write a plan, by permission mode (2.1.328):
//!
//! | mode | without a hook's word | PreToolUse says allow | PermissionRequest says allow |
//! |---|---|---|---|
//! | default | asks; `-p` refuses | writes | not tried |
//! | acceptEdits, bypassPermissions | writes | writes | is not asked |
//! | dontAsk | refuses | writes | is not asked |
//! | plan | asks; `-p` refuses | asks; `-p` refuses | writes |
//! | auto | writes | writes | is not asked |
//!
//! An agent's own `permissionMode` changes nothing about plan mode. In plan mode and in auto mode the call of the
//! Agent tool itself is looked at by auto mode's check; where that is not to be had, `-p` refuses the call
//! and a terminal asks. PreToolUse with allow is enough there.

use std::time::Duration;

use ralph_test_support::fake_api::{Script, ScriptedTurn, StandIn};
use serde_json::{Value, json};

use crate::Test;
use crate::support::{PATIENCE, World, wait_until};

pub(crate) const TESTS: &[Test] = tests![
    in_plan_mode_a_subagent_writes_only_by_a_request_for_permission,
    where_a_person_is_asked_the_word_of_a_hook_before_the_tool_is_enough,
    in_plan_mode_and_in_auto_mode_an_agent_is_called_by_the_word_of_a_hook,
    a_question_is_answered_by_a_response_and_a_dismissed_one_by_no_event,
    in_a_terminal_agents_are_in_the_background_and_have_no_plan_mode_of_their_own,
];

/// An agent that writes two plans, whatever comes of the first.
fn with_scribe(world: &World, script: Script) -> Script {
    let agent =
        "---\nname: scribe\ndescription: Writes\npermissionMode: bypassPermissions\n---\nWrite.\n";
    world.agent("scribe", agent);
    let write = |name: &str| {
        let path = world.project().join(".omc/plans").join(name);
        ScriptedTurn::tool("Write", json!({"file_path": path, "content": "x"}))
    };
    let scribe = [write("first.md"), write("second.md"), ScriptedTurn::text("I have written.")];
    script.subagent("SCRIBE", Script::new().turns(scribe))
}

fn call_of_scribe() -> ScriptedTurn {
    let call = json!({"description": "write", "prompt": "SCRIBE: write", "subagent_type": "scribe",
        "run_in_background": false});
    ScriptedTurn::tool("Agent", call)
}

fn allow() -> Value {
    let output = json!({"hookEventName": "PreToolUse", "permissionDecision": "allow",
        "permissionDecisionReason": "it may"});
    json!({"hookSpecificOutput": output})
}

fn written(world: &World) -> [bool; 2] {
    ["first.md", "second.md"].map(|name| world.project().join(".omc/plans").join(name).exists())
}

fn in_plan_mode_a_subagent_writes_only_by_a_request_for_permission() {
    let world = World::new();
    world.probe("PreToolUse", "").answer_rest(&allow());
    let asked = world.probe("PermissionRequest", "");
    let permit = json!({"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}});
    asked.answer(&[json!({})]).answer_rest(&json!({"hookSpecificOutput": permit}));
    let script = Script::new().turn(call_of_scribe()).turn(ScriptedTurn::text("Done."));
    let stand_in = StandIn::start(with_scribe(&world, script)).unwrap();
    world
        .client(&stand_in)
        .args(&["--permission-mode", "plan"])
        .prompt("Have it written.")
        .result();
    assert_eq!(written(&world), [false, true]);
    let results = stand_in.subagent_requests().last().unwrap().tool_results();
    assert!(results[0].text.contains("while in plan mode"), "{}", results[0].text);
    let calls = asked.calls();
    let by: Vec<_> = calls.iter().map(|call| (&call["tool_name"], &call["agent_type"])).collect();
    assert_eq!(by, [(&json!("Write"), &json!("scribe")), (&json!("Write"), &json!("scribe"))]);
}

fn where_a_person_is_asked_the_word_of_a_hook_before_the_tool_is_enough() {
    for mode in ["default", "dontAsk"] {
        let world = World::new();
        world.probe("PreToolUse", "Write").answer(&[json!({})]).answer_rest(&allow());
        let script = Script::new().turn(call_of_scribe()).turn(ScriptedTurn::text("Done."));
        let stand_in = StandIn::start(with_scribe(&world, script)).unwrap();
        // Its own mode would let the agent write in both.
        world.agent("scribe", "---\nname: scribe\ndescription: Writes\n---\nWrite.\n");
        world
            .client(&stand_in)
            .args(&["--permission-mode", mode])
            .prompt("Have it written.")
            .result();
        assert_eq!(written(&world), [false, true], "{mode}");
    }
}

fn in_plan_mode_and_in_auto_mode_an_agent_is_called_by_the_word_of_a_hook() {
    for mode in ["plan", "auto"] {
        let world = World::new();
        world.probe("PreToolUse", "Agent").answer(&[json!({})]).answer_rest(&allow());
        let calls = [call_of_scribe(), call_of_scribe(), ScriptedTurn::text("Done.")];
        let script = with_scribe(&world, Script::new().turns(calls));
        let stand_in = StandIn::start(script).unwrap();
        world
            .client(&stand_in)
            .args(&["--permission-mode", mode])
            .prompt("Have it written.")
            .result();
        let results = stand_in.requests().last().unwrap().tool_results();
        assert!(results[0].text.contains("so Agent was not run"), "{mode}: {}", results[0].text);
        assert!(!results[1].is_error, "{mode}: {}", results[1].text);
    }
}

fn question(words: &str) -> ScriptedTurn {
    let option = |label: &str| json!({"label": label, "description": "As it says"});
    let question = json!({"questions": [{"question": words, "header": "Q", "multiSelect": false,
        "options": [option("One"), option("Two"), option("Three")]}]});
    ScriptedTurn::tool("AskUserQuestion", question)
}

/// Words of one's own stand in `answers` like any option. "Chat about this" fires nothing, and the model goes on
/// with words of the client's. After Esc nothing is fired at all and the turn is over: no PostToolUse, no
/// PostToolUseFailure, no Stop. A denied ExitPlanMode lets the model go on.
fn a_question_is_answered_by_a_response_and_a_dismissed_one_by_no_event() {
    let world = World::new();
    let deny = json!({"hookEventName": "PreToolUse", "permissionDecision": "deny",
        "permissionDecisionReason": "not now"});
    let before = world.probe("PreToolUse", "ExitPlanMode");
    before.answer_rest(&json!({"hookSpecificOutput": deny}));
    let after = world.probe("PostToolUse", "");
    let others = ["PostToolUseFailure", "Stop"].map(|event| world.probe(event, ""));
    let script = Script::new()
        .turn(ScriptedTurn::tool("ExitPlanMode", json!({"plan": "Write it"})))
        .turn(question("Which one?"))
        .turn(question("Which of these?"))
        .turn(question("And which now?"));
    let stand_in = StandIn::start(script).unwrap();
    let terminal = world.terminal_in(&stand_in, "plan", "plan mode on");
    terminal.submit("Ask me.").wait_for("Which one?");
    // The client ignores keys for a moment after a dialog appears, so each is pressed again. What is waited for is drawn
    // by the client itself, without a request: under load a second press would meet the next dialog.
    let moment = Duration::from_secs(3);
    let is_there = |words: &'static str| {
        let terminal = &terminal;
        move || terminal.screen().contains(words)
    };
    let pressed = wait_until(PATIENCE, || {
        terminal.key("4");
        wait_until(moment, is_there("❯ 4."))
    });
    assert!(pressed, "{}", terminal.screen());
    let typed = wait_until(PATIENCE, || {
        terminal.type_text("none of them");
        wait_until(moment, is_there("none of them"))
    });
    assert!(typed, "{}", terminal.screen());
    terminal.key("Enter").wait_for("Which of these?");
    let chats = wait_until(PATIENCE, || {
        terminal.key("5");
        wait_until(moment, is_there("Declined to answer"))
    });
    assert!(chats, "{}", terminal.screen());
    terminal.wait_for("And which now?").wait_for("Esc to cancel");
    let calls = after.calls();
    assert_eq!(calls.len(), 1, "{calls:#?}");
    assert_eq!(calls[0]["tool_response"]["answers"], json!({"Which one?": "none of them"}));
    let gone = wait_until(PATIENCE, || {
        terminal.key("Escape");
        wait_until(moment, || !terminal.screen().contains("Esc to cancel"))
    });
    assert!(gone, "{}", terminal.screen());
    let requests = stand_in.requests();
    assert!(requests[1].tool_results()[0].text.contains("not now"));
    assert!(requests[3].news().contains("The user wants to clarify these questions"));
    assert_eq!((requests.len(), after.calls().len()), (4, 1));
    assert!(others.iter().all(|probe| probe.calls().is_empty()));
}

fn in_a_terminal_agents_are_in_the_background_and_have_no_plan_mode_of_their_own() {
    let world = World::new();
    world.agent("scribe", "---\nname: scribe\ndescription: Writes\n---\nWrite.\n");
    let after = world.probe("PostToolUse", "Agent");
    let turns = ["EnterPlanMode", "ExitPlanMode", "AskUserQuestion"];
    let scribe = Script::new()
        .turns(turns.map(|tool| ScriptedTurn::tool(tool, json!({}))))
        .turn(ScriptedTurn::text("I have tried."));
    let script = Script::new().turn(call_of_scribe()).repeat(ScriptedTurn::text("Waited."));
    let stand_in = StandIn::start(script.subagent("SCRIBE", scribe)).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit("Have it written.").wait_for("Agent \"write\" finished");
    assert_eq!(after.calls()[0]["tool_response"]["status"], "async_launched");
    let results = stand_in.subagent_requests().last().unwrap().tool_results();
    assert_eq!(results.len(), 3);
    for result in results {
        assert!(result.text.contains("No such tool available"), "{}", result.text);
    }
}
