//! The client's status line, as `ralph install --with statusline` registers it, in a real session.

use ralph_test_support::fake_api::{Gate, Script, ScriptedTurn, StandIn};
use serde_json::json;

use crate::Test;
use crate::person::wait_until_queued;
use crate::support::{PATIENCE, World};

pub(crate) const TESTS: &[Test] = tests![the_clients_status_line_says_where_the_loop_stands];

fn the_clients_status_line_says_where_the_loop_stands() {
    let world = World::new();
    // What a person had there shows the model's name, from the same input.
    let own = r#"sed 's/.*"display_name":"\([^"]*\)".*/<\1>/'"#;
    world.settings(json!({"statusLine": {"type": "command", "command": own}}));
    world.ralph(&["install", "--with", "statusline"]).exits(0);
    let gate = Gate::new();
    let script = Script::new()
        .turn(ScriptedTurn::bash("echo work > one"))
        .turn(ScriptedTurn::text("Wrote one."))
        .turn(ScriptedTurn::held(&gate).then_text("Wrote nothing yet."))
        .repeat(ScriptedTurn::text("An ordinary answer."));
    let stand_in = StandIn::start(script).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    // Before there is a loop, what was there is shown alone.
    terminal.wait_for(">").wait_for("<");
    let alone = |screen: &str| screen.lines().any(|line| line.trim_end().ends_with('>'));
    assert!(alone(&terminal.screen()), "{}", terminal.screen());
    terminal.submit("/ralph \"Write the two files\" --max-iterations 5");
    gate.wait_until_reached(PATIENCE).unwrap();
    terminal.wait_for("> | Ralph 1/5 | 0/480 min");
    terminal.submit("ralph pause");
    // The client writes its row late, and the stop looks for it.
    wait_until_queued(&world, "ralph pause");
    gate.open();
    terminal.wait_for("> | Ralph paused at 1/5");
    world.ralph(&["cancel"]).exits(0);
    terminal.submit("An ordinary question?").wait_for("An ordinary answer.");
    terminal.wait_until_gone("| Ralph paused");
}
