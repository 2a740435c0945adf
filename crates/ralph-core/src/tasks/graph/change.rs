//! Changes to the task graph. Each one is applied completely, or refused with what to do instead.
//!
//! This module decides who may claim a task. The store prevents two workers from deciding at the
//! same time: it holds its lock around these functions.

use super::{Graph, GraphFlaw, TaskError, TaskReadiness, lease_ran_out, lint_with_places};
use crate::state::{Task, TaskStatus};
use jiff::{SignedDuration, Timestamp};

/// A task to add.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NewTask {
    /// `None` selects the next free `T-N`.
    pub id: Option<String>,
    pub name: String,
    /// Ids of the tasks that must be done first.
    pub deps: Vec<String>,
    pub completion_condition: String,
    /// Files that the task will change.
    pub files: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimTarget<'a> {
    /// The first task that is ready.
    Next,
    Id(&'a str),
}

/// Who claims a task, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease<'a> {
    pub owner: &'a str,
    /// `None` lasts until the task is done, failed or released.
    pub length: Option<SignedDuration>,
}

/// A claimed task, with what its worker should know.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// The task after the claim.
    pub task: Task,
    /// Its dependencies with their results, in the order of `deps`.
    pub findings: Vec<Task>,
}

/// Adds a task at the end and returns its id.
pub fn add(tasks: &mut Vec<Task>, new: NewTask) -> Result<String, TaskError> {
    let id = match new.id {
        Some(id) => id.trim().to_owned(),
        None => format!("T-{}", next_number(tasks)),
    };
    if new.name.trim().is_empty() {
        return Err(TaskError::Missing { what: "the task's name" });
    }
    let before = lint_with_places(tasks);
    tasks.push(Task {
        id: id.clone(),
        name: new.name.trim().to_owned(),
        deps: new.deps,
        completion_condition: new.completion_condition,
        files: new.files,
        ..Task::default()
    });
    match new_flaw(&before, tasks) {
        None => Ok(id),
        Some(flaw) => {
            tasks.pop();
            Err(TaskError::Flawed(flaw))
        }
    }
}

/// The first flaw that the graph did not have before.
fn new_flaw(before: &[(usize, GraphFlaw)], tasks: &[Task]) -> Option<GraphFlaw> {
    let mut flaws = lint_with_places(tasks).into_iter();
    flaws.find(|flaw| !before.contains(flaw)).map(|(_, flaw)| flaw)
}

/// Replaces the dependencies of a task.
pub fn depend(tasks: &mut [Task], id: &str, deps: Vec<String>) -> Result<(), TaskError> {
    let place = place(tasks, id)?;
    let flaws = lint_with_places(tasks);
    let before = std::mem::replace(&mut tasks[place].deps, deps);
    match new_flaw(&flaws, tasks) {
        None => Ok(()),
        Some(flaw) => {
            tasks[place].deps = before;
            Err(TaskError::Flawed(flaw))
        }
    }
}

/// Claims a task for a worker. If the worker already holds it, this renews the lease.
pub fn claim(
    tasks: &mut [Task],
    which: ClaimTarget,
    lease: Lease,
    now: Timestamp,
) -> Result<Claim, TaskError> {
    if lease.owner.trim().is_empty() {
        return Err(TaskError::Missing { what: "the owner" });
    }
    let (place, findings) = claimable(tasks, which, lease.owner, now)?;
    let task = &mut tasks[place];
    let held = task.status == TaskStatus::InProgress
        && task.owner.as_deref() == Some(lease.owner)
        && !lease_ran_out(task, now);
    if !held {
        task.attempts = task.attempts.saturating_add(1);
    }
    task.status = TaskStatus::InProgress;
    task.owner = Some(lease.owner.to_owned());
    task.lease_expires_at = lease_end(lease, now);
    Ok(Claim { task: task.clone(), findings })
}

/// The position of the task and the results of its dependencies. Both come from a single index of
/// the graph, which is most of the cost of a claim among ten thousand tasks.
fn claimable(
    tasks: &[Task],
    which: ClaimTarget,
    owner: &str,
    now: Timestamp,
) -> Result<(usize, Vec<Task>), TaskError> {
    let graph = Graph::new(tasks, now);
    let ClaimTarget::Id(id) = which else {
        let next = tasks.iter().position(|task| graph.readiness(task) == TaskReadiness::Ready);
        let found = next.map(|place| (place, findings(&graph, &tasks[place])));
        return found.ok_or_else(|| TaskError::NothingReady(graph.summary()));
    };
    let place = graph.place(id).ok_or_else(|| TaskError::NoSuchTask { id: id.to_owned() })?;
    let task = &tasks[place];
    match graph.readiness(task) {
        TaskReadiness::Ready => Ok((place, findings(&graph, task))),
        TaskReadiness::InProgress if task.owner.as_deref() == Some(owner) => {
            Ok((place, findings(&graph, task)))
        }
        TaskReadiness::InProgress => Err(held(task)),
        TaskReadiness::Waiting => Err(waits(&graph, task)),
        _ => Err(TaskError::Closed { id: id.to_owned(), status: task.status.clone() }),
    }
}

fn findings(graph: &Graph, task: &Task) -> Vec<Task> {
    task.deps.iter().filter_map(|id| graph.get(id)).cloned().collect()
}

/// Extends the claim of a worker that still holds its task, even if the lease has expired: as long
/// as no other worker has taken the task, it still belongs to this one.
pub fn renew(tasks: &mut [Task], id: &str, lease: Lease, now: Timestamp) -> Result<(), TaskError> {
    let task = open(tasks, id)?;
    if task.status != TaskStatus::InProgress {
        return Err(TaskError::NotHeld { id: id.to_owned() });
    }
    if task.owner.as_deref() != Some(lease.owner) {
        return Err(held(task));
    }
    task.lease_expires_at = lease_end(lease, now);
    Ok(())
}

/// Marks a task as done. `by` is the worker: one whose lease has expired must not close a task that
/// another worker has taken over. `None` stands for the loop itself.
pub fn done(
    tasks: &mut [Task],
    id: &str,
    by: Option<&str>,
    result: Option<String>,
) -> Result<(), TaskError> {
    let graph = Graph::new(tasks, Timestamp::UNIX_EPOCH);
    if let Some(task) = graph.get(id).filter(|task| graph.waits_for(task).is_some()) {
        return Err(waits(&graph, task));
    }
    let task = open(tasks, id)?;
    theirs(task, by)?;
    close(task, TaskStatus::Done, result);
    Ok(())
}

/// Makes a claimed, failed or blocked task pending again. The result of the attempt is kept for the
/// next worker.
pub fn release(tasks: &mut [Task], id: &str) -> Result<(), TaskError> {
    let place = place(tasks, id)?;
    let task = &mut tasks[place];
    match task.status {
        TaskStatus::Done | TaskStatus::Other(_) => Err(closed(task)),
        _ => {
            task.status = TaskStatus::Pending;
            task.owner = None;
            task.lease_expires_at = None;
            Ok(())
        }
    }
}

/// Marks a task as failed or as blocked by something outside the graph, with the reason. Tasks that depend on it wait
/// until it is released and done.
pub fn stop_work(
    tasks: &mut [Task],
    id: &str,
    by: Option<&str>,
    reason: &str,
    status: TaskStatus,
) -> Result<(), TaskError> {
    if reason.trim().is_empty() {
        return Err(TaskError::Missing { what: "the reason" });
    }
    let task = open(tasks, id)?;
    theirs(task, by)?;
    close(task, status, Some(reason.trim().to_owned()));
    Ok(())
}

/// A closed task keeps its owner, to show who did it.
fn close(task: &mut Task, status: TaskStatus, result: Option<String>) {
    task.status = status;
    task.lease_expires_at = None;
    task.result = result.filter(|text| !text.trim().is_empty());
}

fn theirs(task: &Task, by: Option<&str>) -> Result<(), TaskError> {
    match (by, &task.owner) {
        (Some(by), Some(owner)) if task.status == TaskStatus::InProgress && owner != by => {
            Err(held(task))
        }
        _ => Ok(()),
    }
}

/// The task with this id, if it is pending or in progress.
fn open<'a>(tasks: &'a mut [Task], id: &str) -> Result<&'a mut Task, TaskError> {
    let place = place(tasks, id)?;
    let task = &mut tasks[place];
    match task.status {
        TaskStatus::Pending | TaskStatus::InProgress => Ok(task),
        _ => Err(closed(task)),
    }
}

fn place(tasks: &[Task], id: &str) -> Result<usize, TaskError> {
    tasks
        .iter()
        .position(|task| task.id == id)
        .ok_or_else(|| TaskError::NoSuchTask { id: id.to_owned() })
}

fn closed(task: &Task) -> TaskError {
    TaskError::Closed { id: task.id.clone(), status: task.status.clone() }
}

fn held(task: &Task) -> TaskError {
    TaskError::Held {
        id: task.id.clone(),
        owner: task.owner.clone().unwrap_or_else(|| "someone".to_owned()),
        until: task.lease_expires_at,
    }
}

fn waits(graph: &Graph, task: &Task) -> TaskError {
    let on = graph.waits_for(task).unwrap_or_default();
    TaskError::Waits {
        id: task.id.clone(),
        on: on.to_owned(),
        status: graph.get(on).map(|dependency| dependency.status.clone()),
    }
}

/// A lease that ends after the last timestamp never expires.
fn lease_end(lease: Lease, now: Timestamp) -> Option<Timestamp> {
    lease.length.map(|length| now.checked_add(length).unwrap_or(Timestamp::MAX))
}

/// One more than the highest `T-N`, so that the id of a removed task is not reused.
fn next_number(tasks: &[Task]) -> u32 {
    let highest =
        tasks.iter().filter_map(|task| task.id.strip_prefix("T-")?.parse::<u32>().ok()).max();
    highest.unwrap_or(0).saturating_add(1)
}
