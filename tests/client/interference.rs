//! What comes between a loop and its work: a person who cancels, a model that meddles, a hook that is gone.

use std::fs;

use ralph_core::protocol::registration::USER_PROMPT;
use ralph_test_support::fake_api::{Gate, Script, ScriptedTurn, StandIn};
use serde_json::{Value, json};

use crate::Test;
use crate::kept::{
    TOKEN, continuations, has_none, installed, installed_from, positions, the_ended, token_after,
    what_hooks_said, works,
};
use crate::support::{ClientRun, PATIENCE, World};
use crate::versions::assert_refused;

pub(crate) const TESTS: &[Test] = tests![
    a_cancel_from_another_terminal_cuts_the_turn_at_its_next_tool_call,
    without_the_prompt_hook_a_typed_command_reaches_no_model_and_starts_nothing,
    the_model_cannot_cancel_and_the_loop_goes_on,
    the_model_cannot_edit_the_state_or_the_settings,
    five_megabytes_pass_hooks_that_have_nothing_to_do,
    five_megabytes_pass_the_guard_of_a_loop,
];

fn a_cancel_from_another_terminal_cuts_the_turn_at_its_next_tool_call() {
    let world = installed();
    let gate = Gate::new();
    let never = world.project().join("never-written");
    let write = json!({"file_path": never, "content": "too late"});
    let script = Script::new()
        .turn(ScriptedTurn::bash("touch begun"))
        .turn(ScriptedTurn::held(&gate).then_tool("Write", write));
    let stand_in = StandIn::start(script).unwrap();
    let (run, cancel) = std::thread::scope(|scope| {
        let run = scope.spawn(|| world.client(&stand_in).prompt("/ralph \"Tidy the attic\""));
        gate.wait_until_reached(PATIENCE).unwrap();
        let cancel = world.ralph(&["cancel"]);
        gate.open();
        (run.join().unwrap(), cancel)
    });
    let said = cancel.exits(0).stdout;
    assert!(said.contains("Ralph: cancelled"), "{said}");
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(world.project().join("begun").exists());
    assert!(!never.exists());
    assert_eq!(stand_in.requests().len(), 2);
    assert_eq!(the_ended(&world).ending(), "cancelled at 0/25");
}

fn without_the_prompt_hook_a_typed_command_reaches_no_model_and_starts_nothing() {
    let world = World::new();
    let folder = installed_from(&world, "bin");
    fs::remove_file(folder.join(USER_PROMPT)).unwrap();
    let stand_in = StandIn::start(Script::new().repeat(ScriptedTurn::text("Answer."))).unwrap();
    let run = world.client(&stand_in).prompt("/ralph \"Tidy the attic\"");
    let said = run.result()["result"].as_str().unwrap().to_owned();
    assert!(said.contains("onFailure"), "{said}");
    assert!(stand_in.requests().is_empty());
    assert!(has_none(&world));
    let run = world.client(&stand_in).prompt("An ordinary question?");
    assert_eq!(run.result()["result"], "Answer.");
}

fn the_model_cannot_cancel_and_the_loop_goes_on() {
    let world = installed();
    let stand_in =
        StandIn::start(works(|_| ScriptedTurn::bash("ralph cancel"), token_after(2))).unwrap();
    world.client(&stand_in).prompt("/ralph \"Tidy the attic\"").result();
    let kept = the_ended(&world);
    assert_eq!(kept.ending(), "complete_unverified at 2/25");
    let requests = stand_in.requests();
    assert_eq!(continuations(&requests), positions(2, 25));
    for result in requests.last().unwrap().tool_results() {
        assert_refused(&result, "ralph cancel");
        assert!(result.text.contains("ralph-cancel"), "{}", result.text);
        assert!(result.text.matches("hook error").count() <= 1, "{}", result.text);
    }
    // Denied before it ran, not refused by the command itself; and written down once, though two copies denied.
    assert_eq!(kept.n_decisions("PreToolUse", "denied"), 3);
}

fn the_model_cannot_edit_the_state_or_the_settings() {
    let world = installed();
    let settings = world.settings_file();
    let before = fs::read_to_string(&settings).unwrap();
    let edit = json!({
        "file_path": settings, "old_string": "ralph-stop-hook", "new_string": "true", "replace_all": true,
    });
    let forged = world.ralph_home().join("loops/forged/state.json");
    let script = Script::new()
        .turn(ScriptedTurn::tool("Read", json!({"file_path": settings})))
        .turn(ScriptedTurn::tool("Edit", edit))
        .turn(ScriptedTurn::tool("Write", json!({"file_path": forged, "content": "{}"})))
        .turn(ScriptedTurn::text("I could not."))
        .turn(ScriptedTurn::text(TOKEN));
    let stand_in = StandIn::start(script).unwrap();
    world.client(&stand_in).prompt("/ralph \"Tidy the attic\"").result();
    assert_eq!(fs::read_to_string(&settings).unwrap(), before);
    assert!(!forged.exists());
    let kept = the_ended(&world);
    assert_eq!(kept.ending(), "complete_unverified at 1/25");
    assert_eq!(kept.n_decisions("PreToolUse", "denied"), 2);
    let results = stand_in.requests().last().unwrap().tool_results();
    assert!(!results[0].is_error, "{}", results[0].text);
    for denied in &results[1..] {
        assert_refused(denied, "denied");
    }
}

fn five_megabytes_pass_hooks_that_have_nothing_to_do() {
    let world = installed();
    let run = write_five_megabytes(&world, "Write it.", vec![ScriptedTurn::text("Written.")]);
    assert_eq!(run.result()["result"], "Written.");
    assert_eq!(what_hooks_said(&world, run.session_id()), <[Value; 0]>::default());
    assert!(has_none(&world));
}

fn five_megabytes_pass_the_guard_of_a_loop() {
    let world = installed();
    let rest = vec![ScriptedTurn::text("Written."), ScriptedTurn::text(TOKEN)];
    write_five_megabytes(&world, "/ralph \"Write it\"", rest);
    assert_eq!(the_ended(&world).ending(), "complete_unverified at 1/25");
}

#[track_caller]
fn write_five_megabytes(world: &World, prompt: &str, rest: Vec<ScriptedTurn>) -> ClientRun {
    let content = "0123456789abcdef".repeat(5 << 16);
    let file = world.project().join("large");
    let input = json!({"file_path": file, "content": content});
    let script = Script::new().turn(ScriptedTurn::tool("Write", input)).turns(rest);
    let stand_in = StandIn::start(script).unwrap();
    let run = world.client(&stand_in).prompt(prompt);
    assert_eq!(run.code, Some(0), "{:?}", run.stderr);
    assert_eq!(fs::metadata(&file).unwrap().len(), 5 << 20);
    run
}
