//! What a stop answers, which the user sees as well, and what follows with the next tool call.

use crate::world::{Ran, World};
use serde_json::{Value, json};
use std::fs;

const TOKEN: &str = "All done.\nRALPH_COMPLETE";

/// The script prints what `node --test` prints for a failing test.
const RUNNER: &str = "cat <<'X'\n✖ parses ISO weeks (1.06ms)\n  Error: x\n      at TestContext.<anonymous> \
    (/p/a.test.js:1:76)\n      at node:internal/test_runner/harness:255:12\nX\ntest -f done\n";

fn looping(options: &str) -> World {
    let world = World::new();
    world.write("check.sh", RUNNER);
    let options =
        format!("Fix it {options} --ac 'weeks=sh check.sh' --ac 'there=test -f check.sh'");
    world.type_command("ralph", &options).context();
    world
}

fn reads(world: &World, members: Value) -> Ran {
    let mut read =
        json!({"tool_name": "Read", "tool_use_id": "t", "tool_input": {"file_path": "a"}});
    read.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    world.event("ralph-pre-tool-use", "PreToolUse", read)
}

#[test]
fn a_stop_answers_one_line_and_the_details_follow_once_with_the_next_tool_call() {
    let world = looping("");
    let line = world.stop(TOKEN).goes_on();
    let fix =
        "completion refused, 1 of 2 criteria hold; next: fix `parses ISO weeks` (sh check.sh)";
    assert_eq!(line, format!("Ralph 1/25: {fix}"));
    // A subagent does not get them.
    reads(&world, json!({"agent_id": "a1", "agent_type": "Explore"})).silent();
    let details = reads(&world, json!({})).context();
    assert!(
        details.starts_with("AC-1 fails: `parses ISO weeks`\nCompletion was requested"),
        "{details}"
    );
    assert!(details.contains("alone on its last line"), "{details}");
    assert!(!details.contains("node:internal") && !details.contains("    at "), "{details}");
    reads(&world, json!({})).silent();
    let journal = fs::read_to_string(world.state_path().with_file_name("journal.jsonl")).unwrap();
    let told = journal.lines().filter(|row| row.contains("the details of the last stop")).count();
    assert_eq!(told, 1, "the journal shows that the model got them");
}

#[test]
fn a_turn_without_a_tool_call_leaves_them_due_and_the_next_stop_replaces_them() {
    let mut world = looping("");
    world.stop(TOKEN).goes_on();
    world.stop("Hm.").goes_on();
    let details = reads(&world, json!({})).context();
    assert!(details.contains("Ralph loop at 2/25") && !details.contains("refused"), "{details}");
    world.working_stop("x").goes_on();
    world.prompt("prompt-1", "ralph pause").exit(0);
    assert_eq!(
        world.state().get("details_due"),
        None,
        "a loop that continues gets its whole prompt"
    );
}

#[test]
fn an_ending_that_the_criteria_did_not_decide_states_which_of_them_hold() {
    let world = looping("--max-iterations 1");
    world.working_stop("x").goes_on();
    let said = world.working_stop("x").message();
    let expected = "Ralph: stopped after 2 turns, ";
    assert!(said.starts_with(expected), "{said}");
    let holding = ". 1 of 2 criteria hold: AC-1 fails: `parses ISO weeks`.\n";
    assert!(said.contains(holding), "{said}");
    assert_eq!(world.ending(), "max_iterations");
    let world = looping("--max-iterations 1");
    world.write("done", "");
    world.working_stop("x").goes_on();
    let said = world.working_stop("x").message();
    assert!(said.contains(" Both criteria hold."), "{said}");
    assert_eq!(world.ending(), "max_iterations", "it does not change the reason");
}

#[test]
fn a_cancel_runs_no_criteria() {
    let world = looping("");
    world.working_stop("x").goes_on();
    world.elsewhere(&["cancel"]);
    world.stop("x").message();
    assert_eq!(world.archived()[0]["acceptance_criteria"][0].get("receipt"), None);
}
