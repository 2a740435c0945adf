//! Planning in a dialogue, and the loop that comes of it.

use ralph_test_support::fake_api::{Gate, Script, ScriptedTurn, StandIn};
use serde_json::json;

use super::{confirm, installed, newest_loop, wait_for_phase};
use crate::Test;
use crate::support::PATIENCE;

pub(crate) const TESTS: &[Test] =
    tests![a_plan_made_in_a_dialogue_becomes_a_loop_that_runs_to_its_end];

const PLAN: &str = r#"{
  "prompt": "Write the greeting and the farewell",
  "acceptance_criteria": [
    {"id": "AC-1", "description": "The greeting is there", "verification_command": "test -s greeting"},
    {"id": "AC-2", "description": "The farewell is there", "verification_command": "test -s farewell"}
  ],
  "task_graph": [
    {"id": "T-1", "name": "Write the greeting", "deps": [], "completion_condition": "test -s greeting", "files": ["greeting"]},
    {"id": "T-2", "name": "Write the farewell", "deps": ["T-1"], "completion_condition": "test -s farewell", "files": ["farewell"]}
  ],
  "context_report": "An empty project: it's new, and {nothing} is there."
}"#;

fn a_plan_made_in_a_dialogue_becomes_a_loop_that_runs_to_its_end() {
    let world = installed();
    let option = |label| json!({"label": label, "description": "As it says"});
    let question = json!({"questions": [{
        "question": "Shall this plan be stored?", "header": "Plan", "multiSelect": false,
        "options": [option("Store it"), option("Change it")],
    }]});
    let look = json!({"command": "ralph task list", "description": "Look"});
    let import = format!("ralph task import - <<'RALPH_PLAN'\n{PLAN}\nRALPH_PLAN");
    let gate = Gate::new();
    let task = |id: &str, file: &str| {
        [
            ScriptedTurn::bash("ralph task claim"),
            ScriptedTurn::bash(&format!("echo words > {file}")),
            ScriptedTurn::bash(&format!("ralph task done {id} --result 'wrote {file}'")),
            ScriptedTurn::text(&format!("{id} is done.")),
        ]
    };
    let script = Script::new()
        .turn(ScriptedTurn::tool("AskUserQuestion", question))
        .turn(ScriptedTurn::bash(&import))
        .turn(ScriptedTurn::text("The plan is stored. Type /ralph."))
        .turn(ScriptedTurn::held(&gate).then_text("Now to work.").then_tool("Bash", look))
        .turns(task("T-1", "greeting"))
        .turns(task("T-2", "farewell"))
        .turn(ScriptedTurn::text("All is done and seen.\n\nRALPH_COMPLETE"));
    let stand_in = StandIn::start(script).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit("/ralph-plan \"greet people\"").wait_for("Shall this plan be stored?");
    confirm(&terminal, "1. Store it");
    terminal.wait_for("The plan is stored.");
    let planned = wait_for_phase(&world, "planned");
    assert_eq!(planned["tasks"]["total"], 2);
    terminal.submit("/ralph --max-iterations 3");
    gate.wait_until_reached(PATIENCE).unwrap();
    for part in
        ["started: continues at most 3 times", "AC-1: test -s greeting", "AC-2: test -s farewell"]
    {
        terminal.wait_for(part);
    }
    gate.open();
    terminal.wait_for("Ralph: done in ");
    terminal.wait_for("it fails without the change");
    let ended = newest_loop(&world).unwrap();
    assert_eq!(
        (&ended["tasks"]["done"], &ended["ending"]["kind"]),
        (&json!(2), &json!("complete"))
    );
    assert_eq!((stand_in.requests().len(), stand_in.unscripted()), (13, 0));
}
