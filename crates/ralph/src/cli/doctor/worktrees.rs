//! Do several live loops share a work tree? Then the edits of one count as progress of the other.

use super::check::{Check, warn, well};
use super::states::Loops;
use std::collections::BTreeMap;

const NAME: &str = "work trees";

/// One line.
pub(super) fn check(loops: &Loops) -> Check {
    let mut by_root: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for state in loops.states.iter().filter(|state| state.is_live()) {
        by_root.entry(&state.project_root).or_default().push(&state.loop_id);
    }
    match by_root.iter().find(|(_, ids)| ids.len() > 1) {
        None => well(NAME, "no two live loops share one"),
        Some((root, ids)) => warn(
            NAME,
            format!(
                "loops {} all work in `{root}`: edits of one make receipts of the other stale",
                ids.join(", ")
            ),
            "give each its own: `git worktree add ../NAME`",
        ),
    }
}
