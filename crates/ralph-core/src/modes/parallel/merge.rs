//! Which workers' work is merged, in which order, and with what result.
//!
//! Work is merged in the order of the tasks, so that dependencies come first. Work that conflicts
//! with earlier work, or breaks a criterion that held, is kept out, and its task starts again from
//! the merged state: Ralph does not resolve a conflict that a new worker would not have.

use super::reopen;
use crate::evidence::receipt::ReceiptStatus;
use crate::state::{LoopState, Task, TaskStatus, Worker, WorkerStanding};
use crate::tasks::graph;
use crate::text::truncate::bounded;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Maximum number of files named in one sentence.
const NAMED: usize = 10;

/// The result of merging the work of one worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum MergeOutcome {
    /// The work is now in the loop's branch.
    Merged { merge: String },
    /// The loop's branch already had the work.
    Nothing,
    /// The work conflicts with what was merged before it.
    Conflict { files: Vec<String> },
    /// With the work merged, criteria fail that held before.
    TurnedRed {
        /// The ids of those criteria.
        criteria: Vec<String>,
        /// The end of the output of the first of them.
        tail: String,
    },
    /// The work cannot be found, or git did not merge it.
    Unusable { why: String },
}

impl MergeOutcome {
    /// The word for documents and the journal.
    pub fn as_str(&self) -> &'static str {
        match self {
            MergeOutcome::Merged { .. } => "merged",
            MergeOutcome::Nothing => "nothing to merge",
            MergeOutcome::Conflict { .. } => "conflict",
            MergeOutcome::TurnedRed { .. } => "turned red",
            MergeOutcome::Unusable { .. } => "unusable",
        }
    }

    /// Why the work was kept out; `None` if it was not.
    pub fn kept_out(&self) -> Option<String> {
        match self {
            MergeOutcome::Merged { .. } | MergeOutcome::Nothing => None,
            MergeOutcome::Conflict { files } => {
                Some(format!("it conflicts with what was merged before, in {}", list(files)))
            }
            MergeOutcome::TurnedRed { criteria, .. } => Some(format!(
                "with it {} not hold any more",
                match criteria.as_slice() {
                    [one] => format!("{one} does"),
                    all => format!("{} do", all.join(", ")),
                }
            )),
            MergeOutcome::Unusable { why } => Some(why.clone()),
        }
    }
}

/// Formats names for a sentence; more than `NAMED` names are counted, not listed.
pub fn list(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
    match names.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// The workers whose work to merge, in merge order: all that await it, or those of the named tasks.
/// Work that a worker left unfinished is merged only if its task is named.
///
/// # Errors
/// A named task does not exist, or has no unmerged work.
pub fn due<'a>(state: &'a LoopState, named: &[String]) -> Result<Vec<&'a Worker>, String> {
    let may = |worker: &Worker| {
        let is_half = worker.standing == WorkerStanding::Partial
            && !worker.files.is_empty()
            && worker.merged.is_empty()
            && worker.kept_out.is_empty();
        worker.awaits_merge() || is_half && named.contains(&worker.task)
    };
    for id in named {
        if state.task_graph.iter().all(|task| task.id != *id) {
            return Err(format!("there is no task `{id}`; `ralph task list --all` lists them"));
        }
        if !state.workers.iter().any(|worker| worker.task == *id && may(worker)) {
            return Err(format!("no worker has left work on {id} that is not merged"));
        }
    }
    let rank = ranks(&state.task_graph);
    let is_meant = |worker: &&Worker| named.is_empty() || named.contains(&worker.task);
    let mut due: Vec<&Worker> =
        state.workers.iter().filter(is_meant).filter(|worker| may(worker)).collect();
    due.sort_by_key(|worker| rank.get(worker.task.as_str()).copied().unwrap_or(usize::MAX));
    Ok(due)
}

/// The position of each task in an order in which dependencies come first.
fn ranks(tasks: &[Task]) -> BTreeMap<&str, usize> {
    let ordered = graph::waves(tasks).into_iter().flatten();
    ordered.enumerate().map(|(at, task)| (task.id.as_str(), at)).collect()
}

/// The first line of the merge's message.
pub fn message(state: &LoopState, worker: &Worker) -> String {
    let name = state.task_graph.iter().find(|task| task.id == worker.task);
    let name = name.map_or(worker.about.as_str(), |task| task.name.as_str()).replace('\n', " ");
    match worker.task.as_str() {
        "" => format!("Merge the work of a worker: {}", bounded(&name, 100)),
        id => format!("Merge {id}: {}", bounded(&name, 100)),
    }
}

/// The message of the commit with the changes that a worker left uncommitted.
pub fn message_of_rest(worker: &Worker) -> String {
    let task = if worker.task.is_empty() { "Worker" } else { &worker.task };
    format!("{task}: what its worker did not commit")
}

/// Encodes a task's id so that it can be part of a ref name.
pub fn ref_part(task: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let part: String = task
        .chars()
        .flat_map(|letter| match plain(letter) {
            true => letter.to_string().chars().collect::<Vec<_>>(),
            false => format!("_{:x}_", u32::from(letter)).chars().collect(),
        })
        .take(100)
        .collect();
    if part.is_empty() { "none".to_owned() } else { part }
}

/// The criteria that held before and fail now, in the order given.
pub fn turned_red(
    before: &[(String, ReceiptStatus)],
    now: &[(String, ReceiptStatus)],
) -> Vec<String> {
    let held = |id: &str| before.iter().any(|(known, standing)| known == id && standing.is_met());
    let red = now.iter().filter(|(id, standing)| held(id) && standing.is_a_failure());
    red.map(|(id, _)| id.clone()).collect()
}

/// Records the result of merging a worker's work. `commit` is the commit with all of the work, and
/// `head` the loop's commit before the merge. Returns a description of what happened to the task,
/// or `None` if nothing did.
pub fn record(
    state: &mut LoopState,
    call: &str,
    commit: &str,
    head: &str,
    outcome: &MergeOutcome,
) -> Option<String> {
    let worker = state.workers.iter_mut().find(|worker| worker.call == call)?;
    if !worker.merged.is_empty() || !worker.kept_out.is_empty() || worker.is_running() {
        // Another merge has already recorded a result.
        return None;
    }
    commit.clone_into(&mut worker.commit);
    match outcome {
        MergeOutcome::Merged { merge } => merge.clone_into(&mut worker.merged),
        MergeOutcome::Nothing => head.clone_into(&mut worker.merged),
        _ => worker.kept_out = outcome.kept_out().unwrap_or_default(),
    }
    let (task, why) = (worker.task.clone(), outcome.kept_out()?);
    // A task that is open again is available or already belongs to another worker.
    let is_done = |one: &Task| one.id == task && one.status == TaskStatus::Done;
    state.task_graph.iter().any(is_done).then(|| {
        reopen(state, &task, &format!("a worker's work was not merged: {}", bounded(&why, 1_000)))
    })
}

/// Installed files that git ignores and commands need. They are found by name, because build output
/// lies beside them and must not be written from another worktree.
const NEEDED: [&str; 14] = [
    "node_modules",
    "bower_components",
    ".venv",
    "venv",
    "vendor",
    ".bundle",
    "Pods",
    "deps",
    ".yarn",
    ".pnp.cjs",
    ".pnp.loader.mjs",
    ".env",
    ".env.local",
    ".env.test",
];

/// True for an ignored path that acceptance commands need.
pub fn is_needed(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| NEEDED.contains(&name)) && !path.starts_with(".claude")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{loop_of, work};
    use super::*;

    fn done(tasks: &[(&str, &[&str], &[&str])], workers: &[&str]) -> LoopState {
        let mut state = loop_of(tasks);
        for worker in workers {
            let place = state.task_graph.iter().position(|task| task.id == *worker).unwrap();
            // Treat dependencies as merged while the task starts.
            let deps = std::mem::take(&mut state.task_graph[place].deps);
            state.limits.max_workers = 99;
            work(&mut state, worker, WorkerStanding::Done);
            state.task_graph[place].deps = deps;
        }
        state
    }

    #[track_caller]
    fn order(state: &LoopState, named: &[&str], expected: &[&str]) {
        let named: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
        let due: Vec<&str> =
            due(state, &named).unwrap().iter().map(|worker| worker.task.as_str()).collect();
        assert_eq!(due, expected);
    }

    #[test]
    fn what_another_task_needs_comes_first_whenever_it_was_done() {
        let tasks: [(&str, &[&str], &[&str]); 3] =
            [("T-1", &["T-3"], &[]), ("T-2", &[], &[]), ("T-3", &[], &[])];
        order(&done(&tasks, &["T-1", "T-2", "T-3"]), &[], &["T-2", "T-3", "T-1"]);
        order(&done(&tasks, &["T-3", "T-2"]), &[], &["T-2", "T-3"]);
        order(&done(&tasks, &["T-3", "T-2"]), &["T-3"], &["T-3"]);
    }

    #[test]
    fn half_done_work_is_merged_only_when_it_is_asked_for_by_name() {
        let mut state = done(&[("T-1", &[], &[]), ("T-2", &[], &[])], &["T-1", "T-2"]);
        state.workers[0].standing = WorkerStanding::Partial;
        order(&state, &[], &["T-2"]);
        order(&state, &["T-1"], &["T-1"]);
        for (id, words) in [("T-9", "there is no task `T-9`"), ("T-2", "no worker has left work")] {
            state.workers[1].merged = "abc".to_owned();
            let refused = due(&state, &[id.to_owned()]).unwrap_err();
            assert!(refused.contains(words), "{refused}");
        }
    }

    #[test]
    fn only_what_held_can_turn_red() {
        use ReceiptStatus::{Failed, FewerTests, Flaky, NotRun, Passes, Vacuous};
        let all = |standings: &[ReceiptStatus]| -> Vec<(String, ReceiptStatus)> {
            standings.iter().enumerate().map(|(at, it)| (format!("AC-{at}"), *it)).collect()
        };
        let before = all(&[Passes, Passes, Passes, Failed, Passes, Passes]);
        let now = all(&[Failed, Vacuous, FewerTests, Failed, Flaky, NotRun]);
        assert_eq!(turned_red(&before, &now), ["AC-0", "AC-1", "AC-2"]);
    }

    #[test]
    fn work_that_is_kept_out_leaves_its_task_to_the_next_worker() {
        let mut state = done(&[("T-1", &[], &[]), ("T-2", &[], &[])], &["T-1", "T-2"]);
        let conflict = MergeOutcome::Conflict { files: vec!["a.rs".to_owned()] };
        let said = record(&mut state, "call-T-1", "c1", "h", &conflict).unwrap();
        assert!(said.starts_with("T-1 is ready again") && said.contains("`a.rs`"), "{said}");
        assert_eq!(state.task_graph[0].status, TaskStatus::Pending);
        assert!(state.workers[0].kept_out.contains("`a.rs`"));
        let merged = MergeOutcome::Merged { merge: "m".to_owned() };
        assert_eq!(record(&mut state, "call-T-2", "c2", "h", &merged), None);
        assert_eq!(
            (state.workers[1].merged.as_str(), state.workers[1].commit.as_str()),
            ("m", "c2")
        );
        assert_eq!(state.task_graph[1].status, TaskStatus::Done);
        let before = state.clone();
        assert_eq!(record(&mut state, "call-T-2", "c2", "h", &conflict), None);
        assert_eq!(state, before, "what was said is not unsaid");
    }

    #[test]
    fn a_task_that_another_worker_has_taken_stays_with_it() {
        let mut state = done(&[("T-1", &[], &[])], &["T-1"]);
        state.task_graph[0].status = TaskStatus::InProgress;
        let unusable = MergeOutcome::Unusable { why: "gone".to_owned() };
        assert_eq!(record(&mut state, "call-T-1", "", "h", &unusable), None);
        assert_eq!(state.task_graph[0].status, TaskStatus::InProgress);
    }

    #[test]
    fn any_task_has_a_ref_of_its_own() {
        assert_eq!(ref_part("T-3"), "T-3");
        assert_eq!(ref_part(""), "none");
        let parts: Vec<String> = ["a/b", "a.b", "a b", "a..b", "é~^:"].map(ref_part).into();
        for (at, part) in parts.iter().enumerate() {
            let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
            assert!(part.bytes().all(fits), "{part}");
            assert!(!parts[..at].contains(part), "{part}");
        }
    }

    #[test]
    fn packages_are_needed_and_what_was_built_is_not() {
        for (path, expected) in [
            ("node_modules", true),
            ("web/node_modules", true),
            (".venv", true),
            ("target", false),
            ("dist", false),
            (".claude/worktrees/a/node_modules", false),
        ] {
            assert_eq!(is_needed(Path::new(path)), expected, "{path}");
        }
    }
}
