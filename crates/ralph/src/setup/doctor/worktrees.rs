//! Checks worktrees: those shared by several live loops, those left over by workers, and the commit
//! that new ones start from.

use super::check::{Check, warn, well};
use super::fix::Fix;
use super::states::Loops;
use crate::parallel::clean;
use crate::setup::places::InstallPaths;
use ralph_core::shell::quoted;
use ralph_core::text::plural::noun;
use ralph_io::client::client_settings::{ClientSettings, WorktreeBase};
use ralph_io::git::{worker_base, worktrees};
use ralph_io::project;
use std::collections::BTreeMap;
use std::path::Path;

const NAME: &str = "work trees";
const WORKER_BASE: &str = "worker base";

/// A longer list of names does not help the user.
const MOST_NAMED: usize = 5;

/// Checks that no two live loops share a worktree.
pub(super) fn check(loops: &Loops) -> Check {
    let mut by_root: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for state in loops.states.iter().filter(|state| state.is_live()) {
        by_root.entry(&state.project_root).or_default().push(&state.loop_id);
    }
    match by_root.iter().find(|(_, ids)| ids.len() > 1) {
        None => well(NAME, "no two live loops share a work tree"),
        Some((root, ids)) => warn(
            NAME,
            format!(
                "loops {} share `{root}`: the edits of one make the receipts of the others stale",
                ids.join(", ")
            ),
            "give each its own: `git worktree add ../NAME`",
        ),
    }
}

/// Reports worktrees left over by workers.
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
        let detail = format!("workers left {} in `{folder}`: {shown}{more}", names.len());
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

/// Whether `ralph parallel clean` would remove one, because all work in it is merged.
fn some_may_go(places: &InstallPaths, root: &Path) -> bool {
    let items = clean::clean(&places.ralph, root, true).unwrap_or_default();
    items.iter().any(|item| item.stays.is_none())
}

/// Checks projects with a remote: there, workers see local commits only if the client's settings
/// say so.
pub(super) fn check_base(current: &Path) -> Option<Check> {
    match worker_base::has_origin(current) {
        Ok(false) => None,
        Err(error) => Some(warn(WORKER_BASE, format!("{error:#}"), "fix the repository")),
        Ok(true) => Some(judge_base(&project::root(None, current))),
    }
}

fn judge_base(root: &Path) -> Check {
    let set = ClientSettings::of(root).worktree_base();
    if let Some(set) = set.as_ref().filter(|set| set.is_head()) {
        let place = set.file.display();
        let detail = format!("`worktree.baseRef` is `head` in `{place}`: workers see every commit");
        return well(WORKER_BASE, detail);
    }
    let lacking = match worker_base::look(root) {
        Ok(Ok(base)) => base.behind.map(|behind| {
            format!(
                "; `{}` lacks {} {} of yours",
                behind.reference,
                behind.commits,
                noun(behind.commits, "commit", "commits")
            )
        }),
        _ => None,
    };
    let detail = format!(
        "workers of /ralph-parallel begin from the branch of `origin` and do not see unpushed commits{}",
        lacking.unwrap_or_default()
    );
    let cure = match set {
        Some(WorktreeBase { value, file }) => {
            let place = file.display();
            format!("`worktree.baseRef` is `{value}` in `{place}`: write `head` there")
        }
        None => "run `ralph install --with worker-base`".to_owned(),
    };
    warn(WORKER_BASE, detail, cure)
}
