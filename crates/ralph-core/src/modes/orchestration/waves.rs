//! The tasks of an orchestration in waves, and the outlook of each.
//!
//! The tasks of a wave depend only on earlier waves. A task that must not run in parallel gets a
//! wave of its own. Only this module decides whether a task can be executed.

use super::progress::TaskMark;
use super::recovery::Tries;
use super::snapshot::Picture;
use super::task::TaskFile;
use crate::state::{Task, TaskStatus};
use crate::tasks::graph;

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

impl Picture<'_> {
    /// The status of a task. A task that has a file but no entry in the progress is open.
    pub fn status(&self, id: &str) -> Option<TaskMark> {
        let noted = self.progress.task(id).map(|entry| entry.status);
        noted.or_else(|| self.task(id).map(|_| TaskMark::Open))
    }

    /// The tasks that have a file as a graph, for a drawing as well. A task under review is shown as in
    /// progress, and a cancelled task as blocked.
    pub fn graph_tasks(&self) -> Vec<Task> {
        let drawn = |task: &TaskFile| Task {
            id: task.id.clone(),
            // The graph is not used for names.
            name: task.id.clone(),
            deps: task.depends_on.clone(),
            status: match self.status(&task.id) {
                None | Some(TaskMark::Open) => TaskStatus::Pending,
                Some(TaskMark::InProgress | TaskMark::ReviewPending) => TaskStatus::InProgress,
                Some(TaskMark::Done) => TaskStatus::Done,
                Some(TaskMark::Failed) => TaskStatus::Failed,
                Some(TaskMark::Cancelled) => TaskStatus::Blocked,
            },
            ..Task::default()
        };
        self.tasks.iter().map(drawn).collect()
    }

    /// The waves of the tasks that have a file.
    pub fn waves(&self) -> Vec<Vec<&TaskFile>> {
        let mut waves = Vec::new();
        for level in graph::waves(&self.graph_tasks()) {
            let files = level.into_iter().filter_map(|task| self.task(&task.id));
            let (together, alone): (Vec<&TaskFile>, Vec<&TaskFile>) =
                files.partition(|task| task.parallel);
            waves.extend((!together.is_empty()).then_some(together));
            waves.extend(alone.into_iter().map(|task| vec![task]));
        }
        waves
    }

    /// What is wrong with the dependencies, with the task's id.
    pub fn dependency_flaws(&self) -> Vec<(&str, String)> {
        let mut found: Vec<(&str, String)> = graph::lint_with_places(&self.graph_tasks())
            .into_iter()
            .filter(|(_, flaw)| flaw.member != "name")
            .map(|(at, flaw)| (self.tasks[at].id.as_str(), flaw.to_string()))
            .collect();
        for TaskFile { id, depends_on, .. } in &self.tasks {
            let is_open = self.status(id).is_some_and(|status| !status.is_settled());
            let cancelled = |id: &&String| is_open && self.status(id) == Some(TaskMark::Cancelled);
            found.extend(depends_on.iter().filter(cancelled).map(|on| {
                let what =
                    format!("{id} depends on {on}, which is cancelled; remove that dependency");
                (id.as_str(), what)
            }));
        }
        found
    }

    /// The outlook of each task that has a file, in the order of the waves. Tasks that are in no
    /// wave come last.
    pub fn outlooks(&self, tries: &Tries) -> Vec<(&str, Outlook)> {
        let mut outlooks: Vec<(&str, Outlook)> = Vec::with_capacity(self.tasks.len());
        for task in self.waves().into_iter().flatten() {
            let outlook = self.outlook(task, &outlooks, tries);
            outlooks.push((&task.id, outlook));
        }
        for TaskFile { id, .. } in &self.tasks {
            if outlooks.iter().all(|(other, _)| other != id) {
                let why = || format!("{id} is in a dependency cycle or waits for a missing task");
                let outlook = self.outlook_at_rest(id).unwrap_or_else(|| Outlook::Skipped(why()));
                outlooks.push((id, outlook));
            }
        }
        outlooks
    }

    /// The outlook that follows from the status alone.
    fn outlook_at_rest(&self, id: &str) -> Option<Outlook> {
        match self.status(id)? {
            TaskMark::Done | TaskMark::Cancelled => Some(Outlook::Settled),
            TaskMark::ReviewPending => Some(Outlook::ToReview),
            TaskMark::InProgress => Some(Outlook::UnderWay),
            TaskMark::Open | TaskMark::Failed => None,
        }
    }

    fn outlook(&self, task: &TaskFile, before: &[(&str, Outlook)], tries: &Tries) -> Outlook {
        let id = &task.id;
        if let Some(outlook) = self.outlook_at_rest(id) {
            return outlook;
        }
        if !task.is_sound {
            return Outlook::Skipped(format!("the dependencies of {id} cannot be read"));
        }
        if self.attempts_made(tries, id) > self.rails.max_subagent_retries {
            return Outlook::Exhausted;
        }
        let mut waits = false;
        for on in &task.depends_on {
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
