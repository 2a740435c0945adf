//! `docs/watch.md`: the status line of a loop at work, and the page of `ralph watch`.

use super::{Sample, Screen, check, read, root};

pub(super) const SAMPLES: &[Sample] = &[("watch-status-line", status_line), ("watch-page", page)];

fn status_line() -> String {
    let mut screen = Screen::new();
    let criteria = "--ac \"there=test -f tracked\" --ac \"dates=test -f dates.rs\"";
    screen.world.type_command("ralph", &format!("\"understand dates\" {criteria}"));
    for name in ["Read the dates", "Parse the dates", "Name the line"] {
        screen.printed(&format!("ralph task add '{name}'"));
    }
    for command in ["claim T-1", "done T-1 --note 'read'", "claim T-2"] {
        let words: Vec<&str> = ["task"].into_iter().chain(command.split(' ')).collect();
        assert!(screen.world.ralph(&words).success, "{command}");
    }
    screen.world.stop("RALPH_COMPLETE");
    let line =
        screen.printed("echo '{\"session_id\": \"session-1\"}' | NO_COLOR=1 ralph statusline");
    screen.show(&line);
    screen.text()
}

/// A test of the page draws it in a terminal of this size, and keeps it.
fn page() -> String {
    read(&root().join("crates/ralph/src/cli/watch/view/kept/80x24.txt"))
}

#[test]
fn the_guide_to_watching_shows_what_appears() {
    check("docs/watch.md");
}
