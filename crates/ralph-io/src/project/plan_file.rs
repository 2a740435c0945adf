//! The plan of another tool from which a loop was made: Ralph ticks the boxes of the tasks that are
//! done.
//!
//! The file belongs to the user and lies in the project. A link that leads out of it is not
//! followed, and a file that changed between reading and writing is left for the next time.

use crate::project::confined;
use crate::project::user_files::{self, TextFile};
use anyhow::{Context, Result};
use ralph_core::state::{LoopState, Task, TaskStatus, Worker};
use ralph_core::tasks::foreign;
use std::path::{Component, Path};

/// Brings the boxes of the plan's file up to date with the state, and returns the ids of the done
/// tasks that could not be found in it. A worker's task is done once it is merged. Does nothing for a loop without such a file; doing it twice
/// changes nothing, so a process that was killed in between is made up for by the next one.
///
/// # Errors
/// If the file is not a regular text file of the project, or cannot be written.
pub fn tick(root: &Path, state: &LoopState) -> Result<Vec<String>> {
    let Some(plan) = &state.plan_file else { return Ok(Vec::new()) };
    let is_done = |id: &str| {
        let is_done = |task: &Task| task.id == id && task.status == TaskStatus::Done;
        let is_apart = |worker: &Worker| worker.task == id && worker.awaits_merge();
        state.task_graph.iter().any(is_done) && !state.workers.iter().any(is_apart)
    };
    if !plan.tasks.iter().any(|planned| is_done(&planned.task)) {
        return Ok(Vec::new());
    }
    let could_not = || format!("could not tick the tasks in `{}`", plan.path);
    let top = root.canonicalize().with_context(could_not)?;
    let is_inside =
        Path::new(&plan.path).components().all(|part| matches!(part, Component::Normal(_)));
    let real = confined::real(&top, &top.join(&plan.path)).filter(|_| is_inside);
    let real = real.with_context(|| {
        format!("could not tick the tasks in `{}`: it is no file of this project", plan.path)
    })?;
    let text = confined::text(&top, &real).with_context(|| {
        format!("could not tick the tasks in `{}`: it is no text file of at most 1 MB", plan.path)
    })?;
    let ticks = foreign::tick(&text, plan, is_done);
    if let Some(new) = ticks.text {
        user_files::replace(&TextFile { real, text: Some(text) }, &new).with_context(could_not)?;
    }
    Ok(ticks.lost)
}

/// The path of a file relative to the project; `None` for a file outside of it, reached by whatever
/// way, and for one of git's own.
pub fn path_in_project(root: &Path, file: &Path) -> Option<String> {
    let top = root.canonicalize().ok()?;
    confined::real(&top, file)?;
    // The name that the user gave, so that a link inside the project keeps its meaning.
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.canonicalize().ok()?,
        _ => Path::new(".").canonicalize().ok()?,
    };
    let path = folder.join(file.file_name()?);
    path.strip_prefix(&top).ok()?.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::sandbox::Sandbox;
    use ralph_core::state::{PlanFile, PlannedTask, WorkerStanding};
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn state(path: &str) -> LoopState {
        let planned = PlannedTask {
            task: "T-1".to_owned(),
            title: "a".to_owned(),
            boxes: vec!["a".to_owned()],
            ..PlannedTask::default()
        };
        LoopState {
            plan_file: Some(PlanFile {
                path: path.to_owned(),
                tasks: vec![planned],
                ..PlanFile::default()
            }),
            task_graph: vec![Task {
                id: "T-1".to_owned(),
                status: TaskStatus::Done,
                ..Task::default()
            }]
            .into(),
            ..LoopState::default()
        }
    }

    #[test]
    fn a_done_task_is_ticked_once_and_the_file_keeps_its_mode() {
        let at = Sandbox::folder();
        at.write("top/plan.md", "\u{feff}- [ ] a\r\n- [ ] b  ");
        let plan = at.path("top/plan.md");
        std::fs::set_permissions(&plan, std::fs::Permissions::from_mode(0o640)).unwrap();
        let mut state = state("plan.md");
        state.task_graph[0].status = TaskStatus::Pending;
        tick(&at.path("top"), &state).unwrap();
        assert!(std::fs::read_to_string(&plan).unwrap().contains("[ ] a"));
        state.task_graph[0].status = TaskStatus::Done;
        for _ in 0..2 {
            assert_eq!(tick(&at.path("top"), &state).unwrap(), Vec::<String>::new());
            assert_eq!(std::fs::read_to_string(&plan).unwrap(), "\u{feff}- [x] a\r\n- [ ] b  ");
        }
        assert_eq!(std::fs::metadata(&plan).unwrap().permissions().mode() & 0o777, 0o640);
        std::fs::write(&plan, "- [ ] another\n").unwrap();
        assert_eq!(tick(&at.path("top"), &state).unwrap(), ["T-1"]);
        std::fs::remove_file(&plan).unwrap();
        assert!(tick(&at.path("top"), &state).is_err());
    }

    #[test]
    fn the_task_of_a_worker_is_ticked_once_it_is_merged() {
        let at = Sandbox::folder();
        at.write("top/plan.md", "- [ ] a");
        let mut state = state("plan.md");
        state.workers.push(Worker {
            task: "T-1".to_owned(),
            standing: WorkerStanding::Done,
            files: vec!["x".to_owned()],
            ..Worker::default()
        });
        let ticked = |state: &LoopState| {
            tick(&at.path("top"), state).unwrap();
            std::fs::read_to_string(at.path("top/plan.md")).unwrap()
        };
        assert_eq!(ticked(&state), "- [ ] a");
        state.workers[0].merged = "commit".to_owned();
        assert_eq!(ticked(&state), "- [x] a");
    }

    #[test]
    fn no_way_out_of_the_project_is_taken() {
        let at = Sandbox::folder();
        at.write("out/plan.md", "- [ ] a\n");
        at.write("top/.git/plan.md", "- [ ] a\n");
        symlink("../out/plan.md", at.path("top/link.md")).unwrap();
        symlink("../out", at.path("top/folder")).unwrap();
        for path in ["link.md", "folder/plan.md", "../out/plan.md", ".git/plan.md"] {
            let error = tick(&at.path("top"), &state(path)).unwrap_err();
            assert!(error.to_string().contains("no file of this project"), "{error}");
            assert_eq!(path_in_project(&at.path("top"), &at.path("top").join(path)), None);
        }
        let out = at.path("out/plan.md");
        assert!(tick(&at.path("top"), &state(out.to_str().unwrap())).is_err());
        assert_eq!(std::fs::read_to_string(out).unwrap(), "- [ ] a\n");
        at.write("top/docs/plan.md", "- [ ] a\n");
        symlink("docs/plan.md", at.path("top/in.md")).unwrap();
        assert_eq!(
            path_in_project(&at.path("top"), &at.path("top/in.md")).as_deref(),
            Some("in.md")
        );
        tick(&at.path("top"), &state("in.md")).unwrap();
        assert_eq!(std::fs::read_to_string(at.path("top/docs/plan.md")).unwrap(), "- [x] a\n");
        assert!(at.path("top/in.md").is_symlink());
    }
}
