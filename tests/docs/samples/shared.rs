//! `docs/shared.md`: a planned loop is put on a remote.

use super::{Sample, Screen, check};

pub(super) const SAMPLES: &[Sample] = &[("share", share)];

fn share() -> String {
    let mut screen = Screen::new();
    let remote = screen.world.root().join("remote.git");
    screen.world.git(&format!("init -q --bare {}", remote.display()));
    screen.world.git(&format!("remote add origin {}", remote.display()));
    for line in [
        "ralph start 'Accept ISO weeks' --ac 'they are accepted=git diff --check'",
        "ralph task add 'Write the parser'",
        "ralph task add 'Write the printer' --dep T-1",
    ] {
        screen.printed(line);
    }
    screen.runs("ralph share");
    screen.text()
}

#[test]
fn the_guide_to_shared_loops_shows_what_appears() {
    check("docs/shared.md");
}
