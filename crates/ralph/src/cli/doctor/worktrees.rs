//! Do several live loops share a work tree? Then the edits of one count as progress of the other. And
//! which work trees of workers are left?

use super::super::places::InstallPaths;
use super::check::{Check, warn, well};
use super::fix::Fix;
use super::states::Loops;
use crate::parallel::clean;
use ralph_core::project::check::choice::quoted;
use ralph_io::{git::worktrees, project};
use std::collections::BTreeMap;
use std::path::Path;

const NAME: &str = "work trees";

/// More names than this say no more.
const MOST_NAMED: usize = 5;

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

/// One line where work trees of workers are left.
pub(super) fn check_left(places: &InstallPaths) -> Option<Check> {
    let (folder, names) = worktrees::left(&places.current)?;
    let place = quoted(&format!("{}/NAME", folder.display()));
    let folder = folder.display();
    let shown = names.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = match names.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    (!names.is_empty()).then(|| {
        let detail = format!("workers have left {} in `{folder}`: {shown}{more}", names.len());
        let look = if names.len() == 1 { "look at it" } else { "look at each" };
        let cure = format!("{look}, then `git worktree remove {place}` and its branch");
        let check = warn(NAME, detail, cure);
        let root = project::root(None, &places.current);
        match some_may_go(places, &root) {
            true => check.with_fix(Fix::CleanWorktrees(root)),
            false => check,
        }
    })
}

/// Whether `ralph parallel clean` would remove one: all that a worker of a loop did is merged.
fn some_may_go(places: &InstallPaths, root: &Path) -> bool {
    let items = clean::clean(&places.ralph, root, true).unwrap_or_default();
    items.iter().any(|item| item.stays.is_none())
}
