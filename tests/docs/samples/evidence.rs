//! `docs/evidence.md`: a loop with two criteria, from its start to its end.

use super::{Sample, Screen, check};

pub(super) const SAMPLES: &[Sample] = &[("evidence-refused", refused)];

fn greeting() -> Screen {
    let screen = Screen::new();
    screen.world.write("greet.sh", "echo Hello\n");
    screen
}

fn refused() -> String {
    let mut screen = greeting();
    screen.types(
        "/ralph \"greet by name\" --ac \"it greets=sh greet.sh\" --ac \"by name=sh greet.sh Ann | grep -q Ann\"",
    );
    screen.stops("RALPH_COMPLETE");
    screen.text()
}

#[test]
fn the_guide_to_evidence_shows_what_appears() {
    check("docs/evidence.md");
}
