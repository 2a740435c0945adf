//! A person at the keyboard: what the typed commands do in a real session, and what is shown for them.
//!
//! Every world here was set up by `ralph install` itself, so that the registration is tested with the rest.

pub(crate) mod interrupts;
pub(crate) mod plans;

use ralph_test_support::fake_api::{Gate, Script, ScriptedTurn, StandIn};
use serde_json::{Value, json};

use crate::Test;
use crate::support::{PATIENCE, Terminal, World, wait_until};

pub(crate) const TESTS: &[Test] = tests![
    a_typed_loop_is_announced_goes_on_and_says_how_it_ended,
    a_start_names_the_permission_mode_that_does_not_ask,
    cancel_in_plain_words_in_mid_turn_cuts_the_next_tool_call,
    pause_in_plain_words_in_mid_turn_rests_at_the_next_stop_and_continues,
    a_queued_cancel_command_runs_at_the_next_stop_without_the_model,
    a_queued_cancel_command_cuts_a_turn_of_many_tool_calls,
    a_queued_pause_command_is_confirmed_at_the_next_tool_call_and_cuts_nothing,
    a_command_word_is_answered_without_the_model,
    a_queued_ralph_command_continues_the_loop,
    what_cannot_start_is_told_to_the_person_and_reaches_no_model,
    a_second_loop_is_refused_while_one_is_live,
];

const START: &str = "/ralph \"Write the two files\" --max-iterations 5";

/// A world in which Ralph is installed for the user.
fn installed() -> World {
    let world = World::new();
    world.ralph(&["install"]).exits(0);
    world
}

/// The newest of this world's loops, live or ended.
fn newest_loop(world: &World) -> Option<Value> {
    let status = world.ralph(&["status", "--all", "--json"]).exits(0).json();
    let mut loops = status["loops"].as_array().cloned().unwrap_or_default();
    loops.sort_by_key(|row| row["loop_id"].to_string());
    loops.pop()
}

/// Waits until the loop is in this phase, and gives it back.
#[track_caller]
fn wait_for_phase(world: &World, phase: &str) -> Value {
    let is_there = || newest_loop(world).is_some_and(|row| row["phase"] == phase);
    assert!(wait_until(PATIENCE, is_there), "no loop is {phase}: {:#?}", newest_loop(world));
    newest_loop(world).unwrap()
}

/// Waits until the client has put a typed line into its queue.
#[track_caller]
pub(crate) fn wait_until_queued(world: &World, line: &str) {
    let queued = || {
        world.transcript().iter().any(|row| row["operation"] == "enqueue" && row["content"] == line)
    };
    assert!(wait_until(PATIENCE, queued), "`{line}` was not queued: {:#?}", world.transcript());
}

/// Asks an ordinary question: what the session does after all else, so nothing later can have been missed.
#[track_caller]
fn ask(terminal: &Terminal, answer: &str) {
    terminal.submit("An ordinary question?").wait_for(answer);
}

/// Presses Enter on the option of a dialog until it is gone: the client ignores it for a moment after a dialog
/// appears. The question itself stays on the screen, beside its answer.
#[track_caller]
fn confirm(terminal: &Terminal, option: &str) {
    let marked = format!("❯ {option}");
    terminal.wait_for(&marked);
    let moment = std::time::Duration::from_secs(2);
    let confirmed = wait_until(PATIENCE, || {
        terminal.key("Enter");
        wait_until(moment, || !terminal.screen().contains(&marked))
    });
    assert!(confirmed, "`{option}` did not go away:\n{}", terminal.screen());
}

#[track_caller]
fn assert_said_once(terminal: &Terminal, text: &str) {
    let shown = terminal.history();
    assert_eq!(shown.matches(text).count(), 1, "`{text}` was not said once:\n{shown}");
}

/// One iteration: a file that was not there before, and a report.
fn iteration(file: &str) -> [ScriptedTurn; 2] {
    [
        ScriptedTurn::bash(&format!("echo work > {file}")),
        ScriptedTurn::text(&format!("Wrote {file}.")),
    ]
}

fn a_typed_loop_is_announced_goes_on_and_says_how_it_ended() {
    let world = installed();
    let done = ScriptedTurn::text("Both files are there.\n\nRALPH_COMPLETE");
    let script = Script::new().turns(iteration("one")).turns(iteration("two")).turn(done);
    let stand_in = StandIn::start(script).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit(START).wait_for("Ralph: done, without proof");
    let shown = terminal.history();
    for part in ["Ralph: loop", "started: continues at most 5 times", "Ralph 2/5: "] {
        assert!(shown.contains(part), "`{part}` was not shown:\n{shown}");
    }
    // The second is what 2.1.200 shows.
    let headings = ["Stop hook says", "Stop hook feedback"];
    assert!(headings.iter().any(|heading| shown.contains(heading)), "no stop is shown:\n{shown}");
    assert!(stand_in.requests()[0].news().contains("Goal: Write the two files"));
    assert!(stand_in.requests()[2].news().contains("Ralph 1/5: "));
    assert_eq!(newest_loop(&world).unwrap()["ending"]["kind"], "complete_unverified");
    assert_eq!((stand_in.requests().len(), stand_in.unscripted()), (5, 0));
}

fn a_start_names_the_permission_mode_that_does_not_ask() {
    let world = installed();
    let stand_in =
        StandIn::start(Script::new().turn(ScriptedTurn::text("RALPH_COMPLETE"))).unwrap();
    let terminal = world.terminal_in(&stand_in, "acceptEdits", "accept edits on");
    terminal.submit(START);
    terminal.wait_for("Permission mode `acceptEdits` will ask you");
    let world = installed();
    let stand_in =
        StandIn::start(Script::new().turn(ScriptedTurn::text("RALPH_COMPLETE"))).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit(START).wait_for("Ralph: done");
    assert!(!terminal.history().contains("does not ask"), "{}", terminal.history());
}

fn cancel_in_plain_words_in_mid_turn_cuts_the_next_tool_call() {
    let world = installed();
    let gate = Gate::new();
    let held = ScriptedTurn::held(&gate).then_tool(
        "Bash",
        serde_json::json!({"command": "touch never", "description": "Too late"}),
    );
    let script =
        Script::new().turns(iteration("one")).turn(held).turn(ScriptedTurn::text("Served."));
    let stand_in = StandIn::start(script).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit(START);
    gate.wait_until_reached(PATIENCE).unwrap();
    terminal.submit("ralph cancel");
    let ended = wait_for_phase(&world, "ended");
    assert_eq!(ended["ending"]["kind"], "cancelled");
    gate.open();
    terminal.wait_for("loop cancelled at 1/5");
    terminal.wait_for("Ralph: cancelled after ");
    ask(&terminal, "Served.");
    assert!(!world.project().join("never").exists());
    assert!(stand_in.requests()[3].news().contains("An ordinary question?"));
    assert_eq!((stand_in.requests().len(), stand_in.unscripted()), (4, 0));
}

fn pause_in_plain_words_in_mid_turn_rests_at_the_next_stop_and_continues() {
    let world = installed();
    let gate = Gate::new();
    let script = Script::new()
        .turns(iteration("one"))
        .turn(ScriptedTurn::held(&gate).then_text("Wrote nothing yet."))
        .turn(ScriptedTurn::text("On with it.\n\nRALPH_COMPLETE"));
    let stand_in = StandIn::start(script).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit(START);
    gate.wait_until_reached(PATIENCE).unwrap();
    terminal.submit("ralph pause");
    let paused = wait_for_phase(&world, "paused");
    assert_eq!(paused["pause"]["cause"], "person");
    gate.open();
    terminal.wait_for("paused at 1/5; /ralph continues");
    terminal.submit("/ralph").wait_for("Ralph: done, without proof");
    assert_said_once(&terminal, "continues at 1/5");
    assert_said_once(&terminal, "done, without proof");
    assert_eq!((stand_in.requests().len(), stand_in.unscripted()), (4, 0));
    let contract = stand_in.requests()[3].news();
    assert!(contract.contains("continues at 1/5"), "{contract}");
    assert!(contract.contains("Goal: Write the two files"), "{contract}");
}

fn a_queued_cancel_command_runs_at_the_next_stop_without_the_model() {
    let world = installed();
    let gate = Gate::new();
    let script = Script::new()
        .turns(iteration("one"))
        .turn(ScriptedTurn::held(&gate).then_text("Wrote nothing yet."))
        .turn(ScriptedTurn::text("Served."));
    let stand_in = StandIn::start(script).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit(START);
    gate.wait_until_reached(PATIENCE).unwrap();
    terminal.submit("/ralph-cancel");
    wait_until_queued(&world, "/ralph-cancel");
    gate.open();
    terminal.wait_for("Ralph: cancelled after ");
    ask(&terminal, "Served.");
    assert_eq!(newest_loop(&world).unwrap()["ending"]["kind"], "cancelled");
    assert_eq!((stand_in.requests().len(), stand_in.unscripted()), (4, 0));
}

/// Seven more tool calls, of which each leaves a file.
fn more_calls() -> Vec<ScriptedTurn> {
    (2..=8).map(|n| ScriptedTurn::bash(&format!("touch call-{n}"))).collect()
}

/// How many of the tool calls after the first ran.
fn calls_that_ran(world: &World) -> usize {
    (2..=8).filter(|n| world.project().join(format!("call-{n}")).exists()).count()
}

fn a_queued_cancel_command_cuts_a_turn_of_many_tool_calls() {
    let world = installed();
    let gate = Gate::new();
    let second = json!({"command": "touch call-2", "description": "Second"});
    let script = Script::new()
        .turn(ScriptedTurn::bash("touch call-1"))
        .turn(ScriptedTurn::held(&gate).then_tool("Bash", second))
        .turns(more_calls())
        .turn(ScriptedTurn::text("Served."));
    let stand_in = StandIn::start(script).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit(START);
    gate.wait_until_reached(PATIENCE).unwrap();
    terminal.submit("/ralph-cancel");
    wait_until_queued(&world, "/ralph-cancel");
    gate.open();
    terminal.wait_for("Operation stopped by hook: Ralph: cancelled after 1 turn");
    let shown = terminal.history();
    assert!(!shown.contains("operation blocked by hook"), "{shown}");
    let ended = wait_for_phase(&world, "ended");
    assert_eq!(ended["ending"]["kind"], "cancelled");
    assert!(world.project().join("call-1").exists());
    assert!(calls_that_ran(&world) <= 1, "{shown}");
    assert!(stand_in.requests().len() <= 3, "{}", stand_in.requests().len());
}

fn a_queued_pause_command_is_confirmed_at_the_next_tool_call_and_cuts_nothing() {
    let world = installed();
    let gate = Gate::new();
    let second = json!({"command": "touch call-2", "description": "Second"});
    let script = Script::new()
        .turn(ScriptedTurn::bash("touch call-1"))
        .turn(ScriptedTurn::held(&gate).then_tool("Bash", second))
        .turns(more_calls())
        .turn(ScriptedTurn::text("Wrote them."));
    let stand_in = StandIn::start(script).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit(START);
    gate.wait_until_reached(PATIENCE).unwrap();
    terminal.submit("/ralph-pause");
    wait_until_queued(&world, "/ralph-pause");
    gate.open();
    terminal.wait_for("pausing when this turn ends; /ralph continues");
    terminal.wait_for("paused at 0/5; /ralph continues");
    assert_said_once(&terminal, "pausing when this turn ends");
    assert_eq!(calls_that_ran(&world), 7);
    assert_eq!(wait_for_phase(&world, "paused")["pause"]["cause"], "person");
}

fn a_command_word_is_answered_without_the_model() {
    let world = installed();
    let stand_in = StandIn::start(Script::new()).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit("/ralph help").wait_for("/ralph cancel");
    terminal.submit("/ralph status").wait_for("no loop is live in this session");
    assert!(!terminal.history().contains("operation blocked by hook"), "{}", terminal.history());
    assert_eq!(newest_loop(&world), None);
    assert!(stand_in.requests().is_empty());
}

fn a_queued_ralph_command_continues_the_loop() {
    let world = installed();
    let gate = Gate::new();
    let script = Script::new()
        .turns(iteration("one"))
        .turn(ScriptedTurn::held(&gate).then_text("Wrote nothing yet."))
        .turns(iteration("two"))
        .turn(ScriptedTurn::text("Both are there.\n\nRALPH_COMPLETE"));
    let stand_in = StandIn::start(script).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit(START);
    gate.wait_until_reached(PATIENCE).unwrap();
    terminal.submit("/ralph");
    wait_until_queued(&world, "/ralph");
    gate.open();
    terminal.wait_for("Ralph: done, without proof");
    let contract = stand_in.requests()[3].news();
    assert!(contract.contains("continues at 1/5"), "{contract}");
    assert_eq!((stand_in.requests().len(), stand_in.unscripted()), (6, 0));
}

fn what_cannot_start_is_told_to_the_person_and_reaches_no_model() {
    let world = installed();
    let stand_in = StandIn::start(Script::new()).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit("/ralph \"x\" --max-iterations 08");
    terminal.wait_for("needs a whole number from 1 to");
    terminal.submit("/ralph").wait_for("nothing is planned here");
    terminal.submit("/ralph-cancel").wait_for("no loop is live in this session");
    assert_eq!(newest_loop(&world), None);
    assert!(stand_in.requests().is_empty());
}

fn a_second_loop_is_refused_while_one_is_live() {
    let world = installed();
    let gate = Gate::new();
    let script = Script::new()
        .turns(iteration("one"))
        .turn(ScriptedTurn::held(&gate).then_text("Wrote nothing yet."))
        .turn(ScriptedTurn::text("The first one goes on.\n\nRALPH_COMPLETE"));
    let stand_in = StandIn::start(script).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit(START);
    gate.wait_until_reached(PATIENCE).unwrap();
    terminal.submit("/ralph \"other\"");
    wait_until_queued(&world, "/ralph \"other\"");
    gate.open();
    terminal.wait_for("a loop is running in this session at 1/5");
    let shown = terminal.history();
    assert!(
        shown.contains("type /ralph to continue it") && shown.contains("/ralph-cancel"),
        "{shown}"
    );
    terminal.submit("/ralph").wait_for("Ralph: done, without proof");
    assert!(stand_in.requests()[3].news().contains("Goal: Write the two files"));
    assert_eq!((stand_in.requests().len(), stand_in.unscripted()), (4, 0));
}
