//! Merges the work of parallel workers, and removes their leftovers.

pub(crate) mod clean;
pub(crate) mod criteria;
pub(crate) mod merge;

use ralph_core::modes::parallel::merge::ref_part;
use ralph_core::state::LoopState;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Long enough for a merge by another loop of the same repository, criteria included.
pub(crate) const OTHERS_TURN: Duration = Duration::from_secs(900);

/// The worktree in which a loop's merges are made; its name contains the loop's id.
pub(crate) fn bench(state: &LoopState) -> PathBuf {
    let root = Path::new(&state.project_root);
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    root.join(".claude/worktrees").join(format!("ralph-merge-{}", ref_part(&state.loop_id)))
}
