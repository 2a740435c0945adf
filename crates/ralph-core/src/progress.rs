//! Tells a loop that moves from one that stands still.
//!
//! Any change counts: the content of the tree, `HEAD`, the state of a task. What does not count is
//! a word in a message. Where there is no fingerprint (no repository, git failed) nothing is
//! known, and nothing known is never called a stall.

use crate::state::LoopState;
use xxhash_rust::xxh3::Xxh3Default;

/// Fingerprints kept in the state: enough to see a stall of any limit that makes sense.
const KEPT: usize = 64;

/// Notes the fingerprint of this stop, and says how the loop stalled if it did.
///
/// A stop counts towards the stall when its value equals that of the stop before. The first stop
/// has none before it and never counts.
pub fn stalled(state: &mut LoopState, tree: Option<&str>) -> Option<String> {
    let now = fingerprint(state, tree?);
    state.stall_hashes.push(now);
    let excess = state.stall_hashes.len().saturating_sub(KEPT.max(state.stall_limit as usize + 1));
    state.stall_hashes.drain(..excess);
    let standing = standing_still(&state.stall_hashes);
    (standing >= state.stall_limit as usize)
        .then(|| format!("nothing had changed at {standing} stops in a row"))
}

/// True for paths that Ralph and its client write themselves: they are never progress.
pub fn is_ours(path: &str) -> bool {
    const FOLDERS: [&str; 3] = [".omc/", ".ralph-sessions/", ".claude/worktrees/"];
    const FILE: &str = ".claude/refine-sessions.json";
    let below = |folder: &str| path.starts_with(folder) || path.contains(&format!("/{folder}"));
    FOLDERS.into_iter().any(below) || path == FILE || path.ends_with(&format!("/{FILE}"))
}

/// How many of the last stops found everything as the stop before had left it.
fn standing_still(hashes: &[String]) -> usize {
    hashes.windows(2).rev().take_while(|pair| pair[0] == pair[1]).count()
}

/// One value for all that counts as progress.
fn fingerprint(state: &LoopState, tree: &str) -> String {
    let mut hash = Xxh3Default::new();
    hash.update(tree.as_bytes());
    for task in &state.task_graph {
        for part in [&task.id, task.status.as_str(), task.result.as_deref().unwrap_or("")] {
            hash.update(part.as_bytes());
            hash.update(&[0]);
        }
    }
    format!("{:032x}", hash.digest128())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{Task, TaskStatus};

    /// Feeds the trees in turn; returns the number of the stop at which the loop stalled.
    #[track_caller]
    fn check(trees: &str, expected: Option<usize>) {
        let mut state = LoopState::default();
        let stalled_at =
            trees.split(' ').position(|tree| stalled(&mut state, Some(tree)).is_some());
        assert_eq!(stalled_at.map(|at| at + 1), expected, "{trees}");
    }

    #[test]
    fn three_stops_without_change_after_the_first_are_a_stall() {
        check("a a a a", Some(4));
        check("a a a", None);
        check("a b b b b", Some(5));
    }

    #[test]
    fn any_change_begins_the_count_anew() {
        check("a a a b b b a a a b", None);
        check("a b c d e f g h", None);
    }

    #[test]
    fn without_a_fingerprint_nothing_is_called_a_stall() {
        let mut state = LoopState::default();
        assert!((0..20).all(|_| stalled(&mut state, None).is_none()));
        assert!(state.stall_hashes.is_empty());
    }

    #[test]
    fn a_task_that_moves_is_progress() {
        let mut state = LoopState { task_graph: vec![Task::default(); 8], ..LoopState::default() };
        for n in 0..8 {
            state.task_graph[n].status = TaskStatus::Done;
            assert_eq!(stalled(&mut state, Some("same tree")), None);
        }
    }

    #[test]
    fn the_record_is_bounded() {
        let mut state = LoopState { stall_limit: 1000, ..LoopState::default() };
        for _ in 0..990 {
            stalled(&mut state, Some("a"));
        }
        assert!(state.stall_hashes.len() <= 1001);
        let mut state = LoopState::default();
        for n in 0..990 {
            stalled(&mut state, Some(&n.to_string()));
        }
        assert_eq!(state.stall_hashes.len(), KEPT);
    }
}
