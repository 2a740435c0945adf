//! Carries out what workers side by side need: their work is merged, and what they leave is cleared away.

pub(crate) mod clean;
mod criteria;
pub(crate) mod merge;

use ralph_core::modes::parallel::merge::ref_part;
use ralph_core::state::LoopState;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Long enough for the merge of another loop of the same repository, criteria and all.
pub(crate) const OTHERS_TURN: Duration = Duration::from_secs(900);

/// Where the merges of a loop are made. Its name tells whose it is.
fn bench(state: &LoopState) -> PathBuf {
    let root = Path::new(&state.project_root);
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    root.join(".claude/worktrees").join(format!("ralph-merge-{}", ref_part(&state.loop_id)))
}
