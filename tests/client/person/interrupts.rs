//! A person who presses Esc or clears the conversation is served, and the loop can be taken up again.
//!
//! Esc fires no hook: the next event has to find out, and to speak.

use ralph_test_support::fake_api::{Gate, Script, ScriptedTurn, StandIn};
use serde_json::{Value, json};

use super::{START, ask, confirm, installed, iteration, newest_loop, wait_for_phase};
use crate::Test;
use crate::support::{PATIENCE, World, wait_until};

pub(crate) const TESTS: &[Test] = tests![
    a_question_after_escape_is_answered_and_not_captured,
    escape_before_the_first_words_pauses_too,
    a_cleared_loop_follows_paused_and_continues_with_its_contract,
    questions_and_plan_mode_are_refused_until_the_loop_is_paused,
];

/// The decisions of the stop hook, from the loop's journal.
fn stops(world: &World) -> Vec<String> {
    let loop_id = newest_loop(world).unwrap()["loop_id"].as_str().unwrap().to_owned();
    let journal = world.ralph_home().join("loops").join(loop_id).join("journal.jsonl");
    let text = std::fs::read_to_string(journal).unwrap();
    let rows = text
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    rows.filter(|row| row["event"] == "Stop")
        .map(|row| row["decision"].as_str().unwrap().to_owned())
        .collect()
}

/// The answer is on the screen before the stop hook has run.
#[track_caller]
fn wait_for_stops(world: &World, expected: &[&str]) {
    assert!(wait_until(PATIENCE, || stops(world) == expected), "{:?}", stops(world));
}

fn a_question_after_escape_is_answered_and_not_captured() {
    let world = installed();
    let gate = Gate::new();
    let script = Script::new()
        .turns(iteration("one"))
        .turn(ScriptedTurn::held(&gate).then_text("never seen"))
        .turn(ScriptedTurn::text("Served."))
        .turn(ScriptedTurn::text("On with it.\n\nRALPH_COMPLETE"));
    let stand_in = StandIn::start(script).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit(START);
    gate.wait_until_reached(PATIENCE).unwrap();
    terminal.key("Escape").wait_for("Interrupted");
    // No hook has run, and still it can be seen from elsewhere.
    let rests = || world.ralph(&["status"]).stdout.contains("interrupted; /ralph in its session");
    assert!(wait_until(PATIENCE, rests), "{}", world.ralph(&["status"]).stdout);
    gate.open();
    ask(&terminal, "Served.");
    terminal.wait_for("paused at 1/5");
    assert!(!rests(), "it is a pause now: {}", world.ralph(&["status"]).stdout);
    let paused = wait_for_phase(&world, "paused");
    assert_eq!(paused["pause"]["cause"], "interrupted");
    wait_for_stops(&world, &["go on", "let go"]);
    terminal.submit("/ralph").wait_for("Ralph: done, without proof");
    let requests = stand_in.requests();
    assert_eq!((requests.len(), stand_in.unscripted()), (5, 0));
    assert!(requests[4].news().contains("continues at 1/5"), "{}", requests[4].news());
    assert!(requests[4].news().contains("Goal: Write the two files"));
}

fn escape_before_the_first_words_pauses_too() {
    let world = installed();
    let gate = Gate::new();
    let script = Script::new()
        .turn(ScriptedTurn::held(&gate).then_text("never seen"))
        .turn(ScriptedTurn::text("Served."));
    let stand_in = StandIn::start(script).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit(START);
    gate.wait_until_reached(PATIENCE).unwrap();
    terminal.key("Escape").wait_until_gone("esc to interrupt");
    gate.open();
    // The client puts the withdrawn prompt back to where it was typed.
    terminal.key("C-u");
    ask(&terminal, "Served.");
    terminal.wait_for("paused at 0/5");
    assert_eq!(wait_for_phase(&world, "paused")["pause"]["cause"], "interrupted");
    wait_for_stops(&world, &["let go"]);
    assert_eq!((stand_in.requests().len(), stand_in.unscripted()), (2, 0));
}

fn a_cleared_loop_follows_paused_and_continues_with_its_contract() {
    let world = installed();
    let gate = Gate::new();
    let script = Script::new()
        .turns(iteration("one"))
        .turn(ScriptedTurn::held(&gate).then_text("never seen"))
        .turn(ScriptedTurn::text("On with it.\n\nRALPH_COMPLETE"));
    let stand_in = StandIn::start(script).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit(START);
    gate.wait_until_reached(PATIENCE).unwrap();
    let before = newest_loop(&world).unwrap()["session_id"].clone();
    terminal.key("Escape").wait_for("Interrupted");
    gate.open();
    terminal.submit("/clear").wait_for("paused at 1/5 (cleared)");
    let after = wait_for_phase(&world, "paused");
    assert_eq!(after["pause"]["cause"], "cleared");
    assert_ne!(after["session_id"], before);
    terminal.submit("/ralph").wait_for("Ralph: done, without proof");
    let contract = stand_in.requests().last().unwrap().all_text();
    for part in
        ["continues at 1/5", "Goal: Write the two files", "RALPH_COMPLETE alone on its last line"]
    {
        assert!(contract.contains(part), "`{part}` is missing:\n{contract}");
    }
}

fn questions_and_plan_mode_are_refused_until_the_loop_is_paused() {
    let world = installed();
    let gate = Gate::new();
    let script = Script::new()
        .turn(ScriptedTurn::tool("AskUserQuestion", question()))
        .turn(ScriptedTurn::tool("EnterPlanMode", json!({})))
        .turn(ScriptedTurn::held(&gate).then_text("never seen"))
        .turn(ScriptedTurn::tool("AskUserQuestion", question()))
        .turn(ScriptedTurn::text("Blue it is."));
    let stand_in = StandIn::start(script).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit(START);
    gate.wait_until_reached(PATIENCE).unwrap();
    let request = &stand_in.requests()[2];
    let results = request.tool_results();
    assert!(results.iter().all(|result| result.is_error), "{results:#?}");
    // The user sees one sentence, and the model hears the rest beside it.
    let heard = request.all_text();
    assert!(heard.contains("ask in plain words"), "{heard}");
    assert!(heard.contains("Do not enter plan mode"), "{heard}");
    assert!(!terminal.history().contains("Which colour is it?"), "{}", terminal.history());
    terminal.key("Escape").wait_for("Interrupted");
    gate.open();
    terminal.submit("Ask me what you need.").wait_for("Which colour is it?");
    terminal.key("Down");
    confirm(&terminal, "2. Blue");
    terminal.wait_for("Blue it is.");
    let answer = stand_in.requests().last().unwrap().tool_results().pop().unwrap();
    assert!(answer.text.contains("Blue"), "{answer:?}");
}

fn question() -> Value {
    let option = |label| json!({"label": label, "description": "A colour"});
    json!({"questions": [{
        "question": "Which colour is it?", "header": "Colour", "multiSelect": false,
        "options": [option("Red"), option("Blue")],
    }]})
}
