//! Tells a person who looks elsewhere that something long is over.
//!
//! By the desktop where it has a program for that; else whoever calls rings the terminal.

use crate::{process, process::programs};
use std::process::Command;
use std::time::Duration;

/// A desktop that does not answer is no reason to wait.
const DEADLINE: Duration = Duration::from_secs(5);

/// Both texts are arguments of the script and no part of it.
const SCRIPT: &str =
    "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run";

/// True if a program of the desktop has shown it.
pub fn desktop(title: &str, text: &str) -> bool {
    let by = |name: &str, arguments: &[&str]| {
        let Some(program) = programs::find_on_path(name) else { return false };
        let done = process::output(Command::new(program).args(arguments), DEADLINE, 4096);
        done.is_ok_and(|finished| finished.status.success())
    };
    // Neither may be read as an option.
    by("notify-send", &["--app-name=ralph", "--", title, text])
        || by("osascript", &["-e", SCRIPT, "--", title, text])
}
