//! What a person says while the model works, and what a compaction takes from it: what reaches the
//! next request of the real client.

use std::fs;

use ralph_test_support::fake_api::{ApiRequest, Gate, Script, ScriptedTurn, StandIn, Usage};
use serde_json::json;

use crate::Test;
use crate::kept::{TOKEN, installed, the_ended};
use crate::support::{PATIENCE, Run, World, wait_until};

pub(crate) const TESTS: &[Test] = tests![
    a_steer_in_mid_loop_reaches_the_next_request_and_no_later_one,
    a_steer_is_heard_after_a_call_that_failed_or_was_denied,
    a_steer_at_the_end_is_heard_before_the_loop_may_end,
    a_worker_hears_a_steer_as_the_conversation_does,
    a_stop_while_a_tool_runs_ends_the_loop_at_the_next_call,
    a_compaction_is_followed_by_the_whole_contract,
];

const START: &str = "/ralph \"Tidy the attic\"";

/// Has the person say something as soon as the model is at the gate, and then lets it go on.
fn steered(world: &World, stand_in: &StandIn, gate: &Gate, act: impl FnOnce() -> Run) -> Run {
    std::thread::scope(|scope| {
        let run = scope.spawn(|| world.client(stand_in).prompt(START));
        gate.wait_until_reached(PATIENCE).unwrap();
        let said = act();
        gate.open();
        run.join().unwrap().result();
        said
    })
}

fn steer(world: &World) -> Run {
    world.ralph(&["signal", "steer", "use tabs"]).exits(0)
}

/// The requests whose news hold the words, by their place.
fn heard(requests: &[ApiRequest], words: &str) -> Vec<usize> {
    let news = requests.iter().map(ApiRequest::news).enumerate();
    news.filter(|(_, news)| news.contains(words)).map(|(at, _)| at).collect()
}

fn a_steer_in_mid_loop_reaches_the_next_request_and_no_later_one() {
    let world = installed();
    let gate = Gate::new();
    let script = Script::new()
        .turn(ScriptedTurn::bash("touch begun"))
        .turn(ScriptedTurn::held(&gate).then_tool("Bash", json!({"command": "touch more"})))
        .turn(ScriptedTurn::bash("touch last"))
        .turn(ScriptedTurn::text("Done so far."))
        .turn(ScriptedTurn::text(TOKEN));
    let stand_in = StandIn::start(script).unwrap();
    steered(&world, &stand_in, &gate, || steer(&world));
    let requests = stand_in.requests();
    assert_eq!(heard(&requests, "): use tabs\n"), [2]);
    assert_eq!(requests[2].news().matches("use tabs").count(), 1, "{}", requests[2].news());
    assert_eq!(the_ended(&world).n_decisions("PostToolUse", "delivered"), 1);
}

fn a_steer_is_heard_after_a_call_that_failed_or_was_denied() {
    for (command, event) in [("exit 3", "PostToolUseFailure"), ("ralph cancel", "PreToolUse")] {
        let world = installed();
        let gate = Gate::new();
        let script = Script::new()
            .turn(ScriptedTurn::held(&gate).then_tool("Bash", json!({"command": command})))
            .turn(ScriptedTurn::text(TOKEN));
        let stand_in = StandIn::start(script).unwrap();
        steered(&world, &stand_in, &gate, || steer(&world));
        assert_eq!(heard(&stand_in.requests(), "): use tabs\n"), [1], "{command}");
        assert_eq!(the_ended(&world).n_decisions(event, "delivered"), 1, "{command}");
    }
}

fn a_steer_at_the_end_is_heard_before_the_loop_may_end() {
    let world = installed();
    let gate = Gate::new();
    let script = Script::new()
        .turn(ScriptedTurn::held(&gate).then_text(TOKEN))
        .turn(ScriptedTurn::bash("touch more"))
        .turn(ScriptedTurn::text(TOKEN));
    let stand_in = StandIn::start(script).unwrap();
    steered(&world, &stand_in, &gate, || steer(&world));
    assert_eq!(heard(&stand_in.requests(), "): use tabs\n"), [1]);
    assert_eq!(the_ended(&world).ending(), "complete_unverified at 1/25");
}

fn a_worker_hears_a_steer_as_the_conversation_does() {
    let world = installed();
    let gate = Gate::new();
    let call = json!({"description": "dig", "prompt": "DIGGER: dig", "subagent_type": "general-purpose", "run_in_background": false});
    let digger = Script::new()
        .turn(ScriptedTurn::held(&gate).then_tool("Bash", json!({"command": "touch dug"})))
        .turn(ScriptedTurn::bash("touch deeper"))
        .turn(ScriptedTurn::text("I have dug."));
    let script = Script::new()
        .turn(ScriptedTurn::tool("Agent", call))
        .turn(ScriptedTurn::text(TOKEN))
        .subagent("DIGGER", digger);
    let stand_in = StandIn::start(script).unwrap();
    steered(&world, &stand_in, &gate, || steer(&world));
    assert_eq!(heard(&stand_in.subagent_requests(), "): use tabs\n"), [1]);
    assert_eq!(heard(&stand_in.requests(), "): use tabs\n"), [1]);
    assert_eq!(the_ended(&world).n_decisions("PostToolUse", "delivered"), 2);
}

fn a_stop_while_a_tool_runs_ends_the_loop_at_the_next_call() {
    let world = installed();
    let running = world.project().join("running");
    let go = world.project().join("go");
    let script = Script::new()
        .turn(ScriptedTurn::bash("touch running; until [ -e go ]; do sleep 0.05; done"))
        .turn(ScriptedTurn::bash("touch too-late"))
        .turn(ScriptedTurn::text("never asked"));
    let stand_in = StandIn::start(script).unwrap();
    std::thread::scope(|scope| {
        let run = scope.spawn(|| world.client(&stand_in).prompt(START));
        assert!(wait_until(PATIENCE, || running.exists()), "the tool did not run");
        world.ralph(&["cancel"]).exits(0);
        fs::write(&go, "").unwrap();
        run.join().unwrap();
    });
    assert!(!world.project().join("too-late").exists());
    assert_eq!(stand_in.requests().len(), 2);
    assert_eq!(the_ended(&world).ending(), "cancelled at 0/25");
}

fn a_compaction_is_followed_by_the_whole_contract() {
    let world = installed();
    let full = Usage { input_tokens: 990_000, ..Usage::default() };
    let script = Script::new()
        .turn(ScriptedTurn::bash("touch begun").with_usage(full))
        .turn(ScriptedTurn::bash("touch more"))
        .turn(ScriptedTurn::text("Done so far."))
        .turn(ScriptedTurn::bash("touch the-rest"))
        .turn(ScriptedTurn::text(TOKEN));
    let stand_in = StandIn::start(script).unwrap();
    world.client(&stand_in).prompt(START).result();
    let kept = the_ended(&world);
    assert_eq!(kept.n_decisions("PreCompact", "context lost"), 1);
    assert_eq!(kept.n_decisions("SessionStart", "reminded"), 1);
    let requests = stand_in.requests();
    let told = |words: &str| requests.iter().filter(|one| one.all_text().contains(words)).count();
    assert!(told(" continues at 0/25\nGoal: Tidy the attic") > 0, "after the compaction");
    assert!(told(" continues at 1/25\nGoal: Tidy the attic") > 0, "with the call after a stop");
}
