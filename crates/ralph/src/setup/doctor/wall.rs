//! Tells whether a planning can run commands: whether the wall around them can stand.

use super::check::{Check, warn, well};
use crate::setup::places::InstallPaths;
use ralph_hooks::wall;
use ralph_io::{client, process::wall as kernel};

const NAME: &str = "wall";

/// In a session of the client, the check is about that session.
pub(super) fn check(places: &InstallPaths) -> Check {
    let obstacle = match client::session_id() {
        Some(session_id) => wall::obstacle(&places.ralph, &session_id),
        None => kernel::cannot_stand(),
    };
    match obstacle {
        None => {
            well(NAME, "while a plan is made, the kernel keeps commands from changing anything")
        }
        Some(why) => warn(
            NAME,
            why,
            "without it, a planning has only programs such as `cat`, `grep` and `ls`",
        ),
    }
}
