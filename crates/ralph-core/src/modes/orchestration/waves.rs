//! The tasks of an orchestration in waves, and the outlook of each.
//!
//! The tasks of a wave depend only on earlier waves. A task that must not run in parallel gets a
//! wave of its own. Only this module decides whether a task can be executed.

use super::attempts;
use super::progress::{Progress, TaskMark};
use super::recovery::Tries;
use super::snapshot::Picture;
use crate::state::{Task, TaskStatus};
use crate::tasks::graph;
use std::collections::BTreeMap;

/// The tasks as a graph, with their statuses.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskFiles {
    tasks: Vec<Task>,
    alone: Vec<String>,
    unsound: Vec<String>,
    statuses: BTreeMap<String, TaskMark>,
}

/// What can happen to a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outlook {
    /// `[x]` or `[C]`: nothing.
    Settled,
    /// `[P]`: it waits for a review.
    ToReview,
    /// `[/]`: it is in progress.
    UnderWay,
    /// It can be executed now.
    Ready,
    /// It depends on a task that is not done yet.
    Waiting,
    /// It has no attempts left in this iteration.
    Exhausted,
    /// It cannot be executed, for this reason.
    Skipped(String),
}

impl Outlook {
    /// True if the task can still make progress.
    pub fn moves(&self) -> bool {
        matches!(self, Outlook::ToReview | Outlook::UnderWay | Outlook::Ready | Outlook::Waiting)
    }
}

impl TaskFiles {
    /// Takes the tasks that have a file. A task without an entry in the progress is open.
    pub fn from_picture(picture: &Picture, progress: &Progress) -> TaskFiles {
        let mut statuses: BTreeMap<String, TaskMark> =
            picture.tasks.iter().map(|task| (task.id.clone(), TaskMark::Open)).collect();
        for entry in progress.tasks() {
            statuses.insert(entry.id.clone(), entry.status);
        }
        let names = |holds: fn(&super::task::TaskFile) -> bool| -> Vec<String> {
            picture.tasks.iter().filter(|task| holds(task)).map(|task| task.id.clone()).collect()
        };
        TaskFiles {
            tasks: picture
                .tasks
                .iter()
                .map(|task| Task {
                    id: task.id.clone(),
                    // The graph is not used for names.
                    name: task.id.clone(),
                    deps: task.depends_on.clone(),
                    ..Task::default()
                })
                .collect(),
            alone: names(|task| !task.parallel),
            unsound: names(|task| !task.is_sound),
            statuses,
        }
    }

    pub fn status(&self, id: &str) -> Option<TaskMark> {
        self.statuses.get(id).copied()
    }

    /// The tasks for a drawing. A task under review is shown as in progress, and a cancelled task
    /// as blocked.
    pub fn drawn(&self) -> Vec<Task> {
        let status = |id: &str| match self.status(id) {
            None | Some(TaskMark::Open) => TaskStatus::Pending,
            Some(TaskMark::InProgress | TaskMark::ReviewPending) => TaskStatus::InProgress,
            Some(TaskMark::Done) => TaskStatus::Done,
            Some(TaskMark::Failed) => TaskStatus::Failed,
            Some(TaskMark::Cancelled) => TaskStatus::Blocked,
        };
        let drawn = |task: &Task| Task { status: status(&task.id), ..task.clone() };
        self.tasks.iter().map(drawn).collect()
    }

    /// The waves, each with the ids of its tasks.
    pub fn waves(&self) -> Vec<Vec<&str>> {
        let mut waves = Vec::new();
        for level in graph::waves(&self.tasks) {
            let ids = level.into_iter().map(|task| task.id.as_str());
            let (alone, together): (Vec<&str>, Vec<&str>) =
                ids.partition(|id| self.alone.iter().any(|other| other == id));
            waves.extend((!together.is_empty()).then_some(together));
            waves.extend(alone.into_iter().map(|id| vec![id]));
        }
        waves
    }

    /// What is wrong with the dependencies, with the task's id.
    pub fn flaws(&self) -> Vec<(String, String)> {
        let mut found: Vec<(String, String)> = graph::lint_with_places(&self.tasks)
            .into_iter()
            .filter(|(_, flaw)| flaw.member != "name")
            .map(|(at, flaw)| (self.tasks[at].id.clone(), flaw.to_string()))
            .collect();
        for task in &self.tasks {
            let is_open = self.status(&task.id).is_some_and(|status| !status.is_settled());
            let cancelled = |id: &&String| is_open && self.status(id) == Some(TaskMark::Cancelled);
            found.extend(task.deps.iter().filter(cancelled).map(|on| {
                let id = &task.id;
                (
                    id.clone(),
                    format!("{id} depends on {on}, which is cancelled; remove that dependency"),
                )
            }));
        }
        found
    }

    /// The outlook of each task that has a file, in the order of the waves. Tasks that are in no
    /// wave come last.
    pub fn outlooks(
        &self,
        picture: &Picture,
        tries: &Tries,
        iteration: u32,
    ) -> Vec<(&str, Outlook)> {
        let mut outlooks: Vec<(&str, Outlook)> = Vec::with_capacity(self.tasks.len());
        let ordered: Vec<&str> = self.waves().into_iter().flatten().collect();
        for id in &ordered {
            let outlook = self.outlook(id, &outlooks, || {
                let entry = picture.progress.as_ref().and_then(|progress| progress.task(id));
                let made = attempts::made(picture, entry, tries, id, iteration);
                made > picture.rails.max_subagent_retries
            });
            outlooks.push((*id, outlook));
        }
        for task in self.tasks.iter().filter(|task| !ordered.contains(&task.id.as_str())) {
            let outlook = self.at_rest(&task.id).unwrap_or_else(|| {
                Outlook::Skipped(format!(
                    "{} is in a dependency cycle or waits for a missing task",
                    task.id
                ))
            });
            outlooks.push((task.id.as_str(), outlook));
        }
        outlooks
    }

    /// The outlook that follows from the status alone.
    fn at_rest(&self, id: &str) -> Option<Outlook> {
        match self.status(id)? {
            TaskMark::Done | TaskMark::Cancelled => Some(Outlook::Settled),
            TaskMark::ReviewPending => Some(Outlook::ToReview),
            TaskMark::InProgress => Some(Outlook::UnderWay),
            TaskMark::Open | TaskMark::Failed => None,
        }
    }

    fn outlook(
        &self,
        id: &str,
        before: &[(&str, Outlook)],
        is_exhausted: impl FnOnce() -> bool,
    ) -> Outlook {
        if let Some(outlook) = self.at_rest(id) {
            return outlook;
        }
        if self.unsound.iter().any(|other| other == id) {
            return Outlook::Skipped(format!("the dependencies of {id} cannot be read"));
        }
        if is_exhausted() {
            return Outlook::Exhausted;
        }
        let deps = self.tasks.iter().find(|task| task.id == id).map_or(&[][..], |task| &task.deps);
        let mut waits = false;
        for on in deps {
            if self.status(on) == Some(TaskMark::Done) {
                continue;
            }
            let moves = before.iter().any(|(other, outlook)| other == on && outlook.moves());
            if !moves {
                let why = match self.status(on) {
                    Some(TaskMark::Cancelled) => "is cancelled",
                    Some(TaskMark::Failed) => "failed",
                    Some(_) => "is not done",
                    None => "is not there",
                };
                return Outlook::Skipped(format!("{id} depends on {on}, which {why}"));
            }
            waits = true;
        }
        if waits { Outlook::Waiting } else { Outlook::Ready }
    }
}
