//! Where the project keeps its tasks in `bd`: is it there, and new enough?

use super::check::{Check, warn, well};
use ralph_core::tasks::beads::OLDEST;
use ralph_io::project;
use ralph_io::store::beads::{self, Bd};
use std::path::Path;

const NAME: &str = "beads";

/// One line; none where nothing of bd is.
pub(super) fn check(current: &Path) -> Option<Check> {
    let root = project::root(None, current);
    let used = beads::has_store(current) || beads::has_store(&root);
    used.then(|| match Bd::find() {
        Ok(bd) => well(NAME, format!("`bd` {}, and {OLDEST} or newer is needed", bd.version())),
        // No loop needs it.
        Err(error) => warn(
            NAME,
            format!("{error:#}"),
            "the project has `.beads/`, and until then its beads cannot be refined",
        ),
    })
}
