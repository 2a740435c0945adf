//! The waves in which the open tasks could run in parallel.
//!
//! The tasks of a wave depend only on earlier waves and, as far as they declare their files, change
//! no file twice. If two tasks would change the same file, the later one in the list waits for
//! another wave, and the clash is reported.

use crate::state::{LoopState, Task, TaskStatus};
use crate::tasks::graph::ClaimedFiles;
use serde::Serialize;
use std::collections::HashSet;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct WavePlan {
    /// Task ids, wave by wave.
    pub waves: Vec<Vec<String>>,
    /// Tasks that wait only because of a file.
    pub clashes: Vec<Clash>,
    /// Tasks that do not declare their files, so that clashes are unknown.
    pub undeclared: Vec<String>,
    /// Tasks that depend on a failed, blocked or unknown task, or that are on a cycle.
    pub out_of_reach: Vec<String>,
}

/// Two tasks that could run in parallel if they did not change the same file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Clash {
    /// The task that waits.
    pub task: String,
    /// The task that it waits for.
    pub after: String,
    /// The file or folder that both tasks change.
    pub file: String,
}

/// Plans the tasks that are not closed. Tasks in progress are in the first wave.
pub fn plan(state: &LoopState) -> WavePlan {
    let is_open =
        |task: &&Task| matches!(task.status, TaskStatus::Pending | TaskStatus::InProgress);
    let mut open: Vec<&Task> = state.task_graph.iter().filter(is_open).collect();
    let done = state.task_graph.iter().filter(|task| task.status == TaskStatus::Done);
    let mut there: HashSet<&str> = done.map(|task| task.id.as_str()).collect();
    let undeclared = open.iter().filter(|task| task.files.is_empty());
    let mut plan = WavePlan {
        undeclared: undeclared.map(|task| task.id.clone()).collect(),
        ..WavePlan::default()
    };
    let mut named = HashSet::new();
    loop {
        let mut taken = ClaimedFiles::default();
        let mut wave = Vec::new();
        // A task in progress already has its files.
        open.sort_by_key(|task| task.status != TaskStatus::InProgress);
        open.retain(|task| {
            if !task.deps.iter().all(|id| there.contains(id.as_str())) {
                return true;
            }
            if let Some(clash) = taken.clash(&task.files) {
                if named.insert(task.id.as_str()) {
                    let task = task.id.clone();
                    plan.clashes.push(Clash { task, after: clash.with, file: clash.file });
                }
                return true;
            }
            taken.take(&task.files, &task.id);
            wave.push(task.id.as_str());
            false
        });
        if wave.is_empty() {
            break;
        }
        there.extend(&wave);
        plan.waves.push(wave.into_iter().map(str::to_owned).collect());
    }
    plan.out_of_reach = open.into_iter().map(|task| task.id.clone()).collect();
    plan
}

#[cfg(test)]
mod tests {
    use super::super::tests::loop_of;
    use super::*;

    #[track_caller]
    fn check(tasks: &[(&str, &[&str], &[&str])], waves: &[&[&str]]) -> WavePlan {
        let plan = plan(&loop_of(tasks));
        assert_eq!(plan.waves, waves);
        plan
    }

    #[test]
    fn tasks_that_need_nothing_of_each_other_are_in_one_wave() {
        let plan = check(
            &[("T-1", &[], &["a"]), ("T-2", &[], &["b"]), ("T-3", &["T-1", "T-2"], &[])],
            &[&["T-1", "T-2"], &["T-3"]],
        );
        assert_eq!((plan.undeclared, plan.clashes), (vec!["T-3".to_owned()], vec![]));
    }

    #[test]
    fn of_two_that_change_one_file_the_later_waits_and_it_is_said_once() {
        let plan = check(
            &[("T-1", &[], &["src/a"]), ("T-2", &[], &["src/"]), ("T-3", &[], &["src/a"])],
            &[&["T-1"], &["T-2"], &["T-3"]],
        );
        let said: Vec<_> =
            plan.clashes.iter().map(|clash| (clash.task.as_str(), clash.after.as_str())).collect();
        assert_eq!(said, [("T-2", "T-1"), ("T-3", "T-1")]);
    }

    #[test]
    fn what_is_behind_a_failed_one_or_on_a_circle_is_out_of_reach() {
        let mut state = loop_of(&[
            ("T-1", &[], &[]),
            ("T-2", &["T-1"], &[]),
            ("T-3", &["T-4"], &[]),
            ("T-4", &["T-3"], &[]),
            ("T-5", &["T-9"], &[]),
        ]);
        state.task_graph[0].status = TaskStatus::Failed;
        let plan = plan(&state);
        assert_eq!(plan.waves, Vec::<Vec<String>>::new());
        assert_eq!(plan.out_of_reach, ["T-2", "T-3", "T-4", "T-5"]);
    }

    #[test]
    fn what_is_at_work_keeps_its_files() {
        let mut state = loop_of(&[("T-1", &[], &["a"]), ("T-2", &[], &["a"])]);
        state.task_graph[1].status = TaskStatus::InProgress;
        assert_eq!(plan(&state).waves, [["T-2"], ["T-1"]]);
    }

    #[test]
    fn ten_thousand_tasks_are_planned() {
        let mut state = loop_of(&[]);
        for n in 0..10_000 {
            let deps = if n < 100 { vec![] } else { vec![format!("T-{}", n - 100)] };
            let files = vec![format!("src/{n}.rs")];
            state.task_graph.push(Task { id: format!("T-{n}"), deps, files, ..Task::default() });
        }
        assert_eq!(plan(&state).waves.len(), 100);
    }
}
