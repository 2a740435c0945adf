//! `docs/report.md`: the report of a loop that is finished.

use super::{Sample, Screen, check};

pub(super) const SAMPLES: &[Sample] = &[("report-markdown", markdown)];

fn markdown() -> String {
    let mut screen = Screen::new();
    screen.world.write("greet.sh", "echo Hello\n");
    screen
        .world
        .type_command("ralph", "\"greet by name\" --ac \"by name=sh greet.sh Ann | grep -q Ann\"");
    screen.world.write("greet.sh", "echo Hello $1\n");
    screen.world.stop("RALPH_COMPLETE");
    screen.runs("ralph report | head -13");
    screen.text()
}

#[test]
fn the_guide_to_reports_shows_what_appears() {
    check("docs/report.md");
}
