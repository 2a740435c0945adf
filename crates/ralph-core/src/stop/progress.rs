//! Detects whether a loop makes progress, and how it stalls if it does not.
//!
//! Any change counts as progress: tree content, `HEAD`, task states, the results of checks that the
//! model ran. Text in a message does not. Without a fingerprint (no repository, or git failed),
//! progress is unknown, and unknown is never a stall.

use crate::evidence::receipt;
use crate::state::{LoopState, Progress, Signal};
use crate::tasks::graph;
use jiff::Timestamp;
use xxhash_rust::xxh3::Xxh3Default;

/// Fingerprints kept in the state: enough to detect any cycle of useful length.
const KEPT: usize = 32;

/// The longest cycle to detect.
const LONGEST_CYCLE: usize = 8;

/// The measurements of one stop.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ProgressSample<'a> {
    /// Hash of the work outside the tree, from [`print_of_work`], when the turn was about to end.
    pub work: &'a str,
    /// The same after the checks that Ralph ran at this stop.
    pub work_after_checks: &'a str,
    /// Fingerprint of the tree when the turn was about to end; `None` if unavailable.
    pub tree: Option<&'a str>,
    /// The same after the checks that Ralph ran at this stop; `None` if it ran none.
    pub tree_after_checks: Option<&'a str>,
    /// Whether the turn called a tool; `None` if unknown.
    pub worked: Option<bool>,
    /// True if completion was requested and refused.
    pub refused: bool,
}

/// A stalled loop, and the sign of the stall.
#[derive(Debug, Clone, PartialEq)]
pub struct Stall {
    pub cause: Signal,
    /// The explanation for people.
    pub detail: String,
}

/// Records this stop, and returns the stall if the loop has stalled.
///
/// A stop counts towards a stall if nothing has changed since the previous stop; the first stop has
/// no predecessor. Without a fingerprint, a stop counts if the turn called no tool.
pub fn stalled(state: &mut LoopState, shown: &ProgressSample<'_>) -> Option<Stall> {
    let arrival = shown.tree.map(|tree| fingerprint(shown.work, tree));
    let left_at = shown.tree_after_checks.or(shown.tree);
    let left_at = left_at.map(|tree| fingerprint(shown.work_after_checks, tree));
    let limit = state.stall_limit;
    let mut progress = std::mem::take(&mut state.progress);
    note_standing(&mut progress, arrival.as_deref(), shown.worked);
    if shown.refused {
        note_failure(&mut progress, &failure(state));
    }
    if let Some(arrival) = arrival {
        state.stall_hashes.push(arrival);
        let excess = state.stall_hashes.len().saturating_sub(KEPT.max(limit as usize + 1));
        state.stall_hashes.drain(..excess);
    }
    progress.left_at = left_at.unwrap_or_default();
    let period = cycle(&state.stall_hashes, limit as usize);
    progress.signal = signal(&progress, period.is_some());
    let stall = judge(&progress, period, limit);
    state.progress = progress;
    stall
}

/// True for paths that Ralph and its client write themselves: changes there are never progress.
pub fn is_ours(path: &str) -> bool {
    const FOLDERS: [&str; 3] = [".omc/", ".ralph-sessions/", ".claude/worktrees/"];
    const FILE: &str = ".claude/refine-sessions.json";
    // Each begins with a dot at the start of a name.
    path.match_indices('.').any(|(at, _)| {
        let (before, from) = path.split_at(at);
        (before.is_empty() || before.ends_with('/'))
            && (from == FILE || FOLDERS.iter().any(|folder| from.starts_with(folder)))
    })
}

/// Hashes all work outside the tree: task states and check results.
pub fn print_of_work(state: &LoopState, now: Timestamp) -> String {
    let mut hash = Xxh3Default::new();
    let mut add = |part: &str| {
        hash.update(part.as_bytes());
        hash.update(&[0]);
    };
    add(&graph::digest(&state.task_graph, now).work);
    for criterion in &state.acceptance_criteria {
        add(receipt::criterion_status(criterion, None).as_str());
        add(receipt::failure_signature(criterion).unwrap_or_default());
    }
    format!("{:032x}", hash.digest128())
}

fn fingerprint(work: &str, tree: &str) -> String {
    let mut hash = Xxh3Default::new();
    hash.update(tree.as_bytes());
    hash.update(work.as_bytes());
    format!("{:032x}", hash.digest128())
}

fn note_standing(progress: &mut Progress, arrival: Option<&str>, worked: Option<bool>) {
    let unchanged = match arrival {
        // At the first stop, `left_at` is empty and never equal.
        Some(arrival) => progress.left_at == arrival,
        // Nothing to compare with: only a turn that is known to have called no tool counts.
        None => worked == Some(false),
    };
    let idle = unchanged && worked == Some(false);
    progress.standing = if unchanged { progress.standing + 1 } else { 0 };
    progress.idle = if idle { progress.idle + 1 } else { 0 };
}

/// One value for all failures in the last run of the checks; empty if none failed.
fn failure(state: &LoopState) -> String {
    let signatures = state.acceptance_criteria.iter().filter_map(receipt::failure_signature);
    signatures.collect::<Vec<_>>().join(" ")
}

fn note_failure(progress: &mut Progress, failure: &str) {
    progress.same_failure = match failure {
        "" => 0,
        same if same == progress.failure => progress.same_failure + 1,
        _ => 1,
    };
    failure.clone_into(&mut progress.failure);
}

/// The length of the cycle in the last fingerprints, if there is one: at least two different
/// values, each repeated at least once, over as many stops as the limit requires.
fn cycle(hashes: &[String], limit: usize) -> Option<usize> {
    (2..=LONGEST_CYCLE).find(|period| {
        let back =
            (*period..hashes.len()).rev().take_while(|at| hashes[*at] == hashes[*at - period]);
        let n_back = back.count();
        let last = &hashes[hashes.len().saturating_sub(*period)..];
        n_back >= *period && n_back + 1 >= limit && last.iter().any(|value| *value != last[0])
    })
}

fn signal(progress: &Progress, in_cycle: bool) -> Signal {
    match progress {
        Progress { standing: 1.., idle: 1.., .. } => Signal::Idle,
        Progress { standing: 1.., .. } => Signal::NoChange,
        _ if in_cycle => Signal::Cycle,
        Progress { same_failure: 2.., .. } => Signal::SameFailure,
        _ => Signal::Working,
    }
}

fn judge(progress: &Progress, period: Option<usize>, limit: u32) -> Option<Stall> {
    let Progress { standing, idle, same_failure, .. } = *progress;
    let (cause, detail) = if standing >= limit && idle >= limit {
        (
            Signal::Idle,
            match idle {
                1 => "1 turn was text only and changed nothing".to_owned(),
                idle => format!("{idle} turns in a row were text only and changed nothing"),
            },
        )
    } else if standing >= limit {
        (Signal::NoChange, format!("nothing had changed at {}", stops(standing)))
    } else if let Some(period) = period {
        let detail = format!("the work goes round in a circle of the same {period} states");
        (Signal::Cycle, detail)
    } else if same_failure >= limit {
        let detail = format!(
            "completion was requested {} with the same failing check",
            in_a_row(same_failure)
        );
        (Signal::SameFailure, detail)
    } else {
        return None;
    };
    Some(Stall { cause, detail })
}

/// `1 time`, `3 times in a row`.
pub fn in_a_row(n: u32) -> String {
    if n == 1 { "1 time".to_owned() } else { format!("{n} times in a row") }
}

/// `1 stop`, `3 stops in a row`.
pub fn stops(n: u32) -> String {
    if n == 1 { "1 stop".to_owned() } else { format!("{n} stops in a row") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{Criterion, Receipt, Task, TaskStatus};

    fn stop<'a>(tree: &'a str, work: &'a str) -> ProgressSample<'a> {
        let tree = Some(tree).filter(|tree| *tree != "-");
        ProgressSample { work, work_after_checks: work, tree, ..ProgressSample::default() }
    }

    /// Feeds the trees in turn; returns the stop at which the loop stalled, and the cause.
    #[track_caller]
    fn check(trees: &str, expected: Option<(usize, Signal)>) {
        let mut state = LoopState::default();
        let stalled_at = trees
            .split(' ')
            .enumerate()
            .find_map(|(at, tree)| Some((at + 1, stalled(&mut state, &stop(tree, ""))?.cause)));
        assert_eq!(stalled_at, expected, "{trees}");
    }

    #[test]
    fn three_stops_without_change_after_the_first_are_a_stall() {
        check("a a a a", Some((4, Signal::NoChange)));
        check("a a a", None);
        check("a b b b b", Some((5, Signal::NoChange)));
    }

    #[test]
    fn any_change_begins_the_count_anew() {
        check("a a a b b b c c c d", None);
        check("a b c d e f g h", None);
    }

    #[test]
    fn going_back_and_forth_is_a_cycle() {
        check("a b a b", Some((4, Signal::Cycle)));
        check("a b c a b c", Some((6, Signal::Cycle)));
        check("x a b c d a b c d", Some((9, Signal::Cycle)));
        check("a b a c a b", None);
        check("a b a", None);
    }

    #[test]
    fn a_patient_limit_makes_a_cycle_longer() {
        let mut state = LoopState { stall_limit: 6, ..LoopState::default() };
        let trees = ["a", "b", "a", "b", "a", "b", "a", "b"];
        let at = trees.iter().position(|tree| stalled(&mut state, &stop(tree, "")).is_some());
        assert_eq!(at, Some(6), "five times back");
    }

    #[test]
    fn without_a_fingerprint_nothing_is_called_a_stall() {
        let mut state = LoopState::default();
        assert!((0..20).all(|_| stalled(&mut state, &stop("-", "")).is_none()));
        assert!(state.stall_hashes.is_empty());
    }

    #[test]
    fn turns_that_are_text_only_are_a_stall_even_without_a_fingerprint() {
        for (tree, at) in [("-", 2), ("a", 3)] {
            let mut state = LoopState::default();
            let idle = ProgressSample { worked: Some(false), ..stop(tree, "") };
            let found = (0..5).find_map(|n| Some((n, stalled(&mut state, &idle)?.cause)));
            assert_eq!(found, Some((at, Signal::Idle)), "{tree}");
        }
    }

    #[test]
    fn a_turn_with_tools_breaks_the_run_of_idle_ones_and_a_changed_tree_is_work() {
        let mut state = LoopState::default();
        let mut feed = |tree, worked| {
            let shown = ProgressSample { worked: Some(worked), ..stop(tree, "") };
            stalled(&mut state, &shown).map(|stall| stall.cause)
        };
        assert_eq!([feed("-", false), feed("-", false), feed("-", true)], [None, None, None]);
        assert_eq!([feed("a", false), feed("b", false), feed("c", false)], [None, None, None]);
        assert_eq!([feed("c", true), feed("c", false)], [None, None]);
        assert_eq!(feed("c", false), Some(Signal::NoChange), "one of the three was no idle turn");
    }

    #[test]
    fn a_check_that_rewrites_files_is_no_progress() {
        let mut state = LoopState::default();
        let mut causes = Vec::new();
        for n in 0..4 {
            // The check that Ralph ran at the previous stop left this tree.
            let (before, after) = (format!("tree {n}"), format!("tree {}", n + 1));
            let shown = ProgressSample { tree_after_checks: Some(&after), ..stop(&before, "") };
            causes.push(stalled(&mut state, &shown).map(|stall| stall.cause));
        }
        assert_eq!(causes, [None, None, None, Some(Signal::NoChange)]);
    }

    #[test]
    fn a_task_that_moves_is_progress() {
        let mut state =
            LoopState { task_graph: vec![Task::default(); 8].into(), ..LoopState::default() };
        for n in 0..8 {
            state.task_graph[n].status = TaskStatus::Done;
            let work = print_of_work(&state, Timestamp::UNIX_EPOCH);
            assert_eq!(stalled(&mut state, &stop("same tree", &work)), None);
        }
    }

    fn failing(tail: &str) -> Criterion {
        let mut criterion = Criterion::default();
        receipt::record(&mut criterion, Receipt { tail: tail.to_owned(), ..Receipt::default() });
        criterion
    }

    #[test]
    fn a_check_that_says_something_new_is_progress_and_one_that_repeats_itself_is_not() {
        let print = |tail: &str| {
            let acceptance_criteria = vec![failing(tail)];
            let state = LoopState { acceptance_criteria, ..LoopState::default() };
            print_of_work(&state, Timestamp::UNIX_EPOCH)
        };
        assert_ne!(print("test a FAILED"), print("test b FAILED"));
        assert_eq!(print("FAILED in 1.2s"), print("FAILED in 3.4s"));
    }

    #[test]
    fn three_requests_refused_for_the_same_failure_are_a_stall_though_the_tree_changes() {
        let mut state =
            LoopState { acceptance_criteria: vec![failing("test a")], ..LoopState::default() };
        let request = |state: &mut LoopState, tree| {
            stalled(state, &ProgressSample { refused: true, ..stop(tree, "") })
                .map(|stall| stall.cause)
        };
        assert_eq!(request(&mut state, "a"), None);
        assert_eq!(request(&mut state, "b"), None);
        state.acceptance_criteria = vec![failing("test b")];
        assert_eq!(request(&mut state, "c"), None, "another failure is another matter");
        assert_eq!(request(&mut state, "d"), None);
        assert_eq!(stalled(&mut state, &stop("e", "")), None, "not asked, not counted");
        assert_eq!(state.progress.same_failure, 2);
        assert_eq!(request(&mut state, "f"), Some(Signal::SameFailure));
        let mut state = LoopState::default();
        for tree in ["a", "b", "c", "d"] {
            assert_eq!(request(&mut state, tree), None, "no check failed");
        }
    }

    #[test]
    fn each_stop_has_its_signal() {
        let signals = |shown: &[ProgressSample<'_>]| {
            let mut state = LoopState { stall_limit: 9, ..LoopState::default() };
            state.acceptance_criteria = vec![failing("test a")];
            let mut signal = |shown| {
                stalled(&mut state, shown);
                state.progress.signal.clone()
            };
            shown.iter().map(&mut signal).collect::<Vec<_>>()
        };
        use Signal::{Cycle, Idle, NoChange, SameFailure, Working};
        let idle = ProgressSample { worked: Some(false), ..stop("a", "") };
        let (a, b, c) = (stop("a", ""), stop("b", ""), stop("c", ""));
        let refused = |shown| ProgressSample { refused: true, ..shown };
        assert_eq!(signals(&[idle, idle, a]), [Working, Idle, NoChange]);
        assert_eq!(signals(&[refused(a), refused(b), c]), [Working, SameFailure, SameFailure]);
        let back_and_forth = [a, b, a, b, a, b, a, b, a, b];
        assert_eq!(signals(&back_and_forth)[8..], [Working, Cycle]);
    }

    #[test]
    fn one_state_to_which_the_work_always_comes_back_is_no_circle() {
        let mut state = LoopState::default();
        let shown = ProgressSample { tree_after_checks: Some("b"), ..stop("a", "") };
        assert!((0..9).all(|_| stalled(&mut state, &shown).is_none()));
    }

    #[test]
    fn what_ralph_and_its_client_write_is_no_work() {
        for (path, ours) in [
            (".omc/state/x.json", true),
            ("sub/.ralph-sessions/a", true),
            (".claude/worktrees/w/a.rs", true),
            (".claude/refine-sessions.json", true),
            ("sub/.claude/refine-sessions.json", true),
            (".claude/settings.json", false),
            ("x.omc/a", false),
            ("src/a.rs", false),
        ] {
            assert_eq!(is_ours(path), ours, "{path}");
        }
        assert_eq!((stops(1), stops(3)), ("1 stop".to_owned(), "3 stops in a row".to_owned()));
    }

    #[test]
    fn the_record_is_bounded() {
        let mut state = LoopState { stall_limit: 1000, ..LoopState::default() };
        for _ in 0..1010 {
            stalled(&mut state, &stop("a", ""));
        }
        assert_eq!(state.stall_hashes.len(), 1001);
        let mut state = LoopState::default();
        for n in 0..990 {
            stalled(&mut state, &stop(&n.to_string(), ""));
        }
        assert_eq!(state.stall_hashes.len(), KEPT);
    }
}
