//! `docs/loop.md` and `docs/signals.md`: a loop at work, and a signal to it.

use super::{Sample, Screen, check};
use serde_json::json;

pub(super) const LOOP: &[Sample] = &[("status", status)];
pub(super) const SIGNALS: &[Sample] = &[("signal", sent), ("signal-delivered", delivered)];

fn at_work() -> Screen {
    let screen = Screen::new();
    screen.world.write("Cargo.toml", "[package]\nname = \"dates\"\n");
    screen
        .world
        .type_command("ralph", "\"make the date parser accept ISO weeks\" --max-iterations 5");
    screen.world.write("src/parse.rs", "// weeks\n");
    screen.world.stop("The parser knows weeks.");
    screen
}

fn status() -> String {
    let mut screen = at_work();
    screen.runs("ralph status");
    screen.text()
}

fn sent() -> String {
    let mut screen = at_work();
    screen.runs("ralph signal steer 'use tabs'");
    screen.text()
}

fn delivered() -> String {
    let mut screen = at_work();
    screen.printed("ralph signal steer 'use tabs'");
    let members =
        json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": {}});
    let answer = screen.world.event("ralph-backpressure", "PostToolUse", members).out();
    screen.answer(&answer);
    screen.text()
}

#[test]
fn the_guide_to_the_loop_shows_what_appears() {
    check("docs/loop.md");
}

#[test]
fn the_guide_to_signals_shows_what_appears() {
    check("docs/signals.md");
}
