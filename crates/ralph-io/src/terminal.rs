//! The user's terminal and desktop: the full-screen page, notifications, tmux.

pub mod alt_screen;
pub mod tmux;

use crate::process::{self, programs};
use std::process::Command;
use std::time::Duration;

// Notifies a user who looks elsewhere that something long has finished.
//
// Uses a desktop notification program if one is installed; otherwise the caller rings the terminal
// bell.

/// Do not wait longer for a desktop that does not answer.
const DEADLINE: Duration = Duration::from_secs(5);

/// Title and text are passed as arguments, so neither can inject script.
const SCRIPT: &str =
    "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run";

/// Shows a desktop notification; false if no program could.
pub fn desktop(title: &str, text: &str) -> bool {
    let by = |name: &str, arguments: &[&str]| {
        let Some(program) = programs::find_on_path(name) else { return false };
        let done = process::output(Command::new(program).args(arguments), DEADLINE, 4096);
        done.is_ok_and(|finished| finished.status.success())
    };
    // `--` keeps the title and the text from being read as options.
    by("notify-send", &["--app-name=ralph", "--", title, text])
        || by("osascript", &["-e", SCRIPT, "--", title, text])
}
