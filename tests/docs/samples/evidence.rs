//! `docs/evidence.md`: a loop with two criteria, from its start to its end.

use super::{Sample, Screen, check};

pub(super) const SAMPLES: &[Sample] = &[
    ("evidence-loop", whole),
    ("evidence-verify", verified),
    ("evidence-status", status),
    ("evidence-checkpoints", checkpoints),
    ("evidence-blocked", blocked),
];

const START: &str = "/ralph \"greet by name\" --ac \"it greets=sh greet.sh\" --ac \"by name=sh greet.sh Ann | grep -q Ann\"";

/// A project with a script that greets nobody by name, and a loop that shall change that.
fn started(shown: bool) -> Screen {
    let mut screen = Screen::new();
    screen.world.write("greet.sh", "echo Hello\n");
    match shown {
        true => screen.types(START),
        false => drop(screen.world.type_command("ralph", START.split_once(' ').unwrap().1)),
    }
    screen
}

fn whole() -> String {
    let mut screen = started(true);
    screen.stops("RALPH_COMPLETE");
    screen.world.write("greet.sh", "echo Hello $1\n");
    screen.stops("RALPH_COMPLETE");
    screen.text()
}

fn verified() -> String {
    let mut screen = started(false);
    screen.runs("ralph verify");
    screen.text()
}

fn checkpoints() -> String {
    let mut screen = started(false);
    screen.world.write("greet.sh", "echo Hello $1\n");
    screen.printed("ralph verify");
    screen.runs("ralph checkpoint list");
    screen.text()
}

fn blocked() -> String {
    let mut screen = started(false);
    let said = screen.world.ralph(&["blocked", "Create an API key and put it into .env"]);
    assert!(said.success, "{said:?}");
    screen.show("$ ralph blocked 'Create an API key and put it into .env'\n");
    screen.show(&said.text);
    screen.stops("A key is missing.");
    screen.text()
}

fn status() -> String {
    let mut screen = started(false);
    screen.world.stop("RALPH_COMPLETE");
    screen.runs("ralph status");
    screen.text()
}

#[test]
fn the_guide_to_evidence_shows_what_appears() {
    check("docs/evidence.md");
}
