//! Reads a plan: criteria, tasks and the findings of planning, under the state file's own names.
//!
//! A model or a person writes the plan, so all problems are reported at once, each with its place.
//! A plan cannot vouch for itself: criteria arrive unverified, claims are dropped, and it cannot
//! choose how completion is decided.

mod adopted;
pub mod lines;
mod read;

pub use adopted::{adopted, taken_in};
pub use read::{JsonBlock, block};
pub(crate) use read::{closes, opening};

use crate::shell::vacuous;
use crate::state::{Criterion, Extra, LoopState, Task, TaskStatus};
use crate::tasks::graph::{self, GraphFlaw};
use std::collections::HashSet;
use std::fmt;

/// A valid plan.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    /// The goal; empty if the plan has none.
    pub prompt: String,
    pub criteria: Vec<Criterion>,
    pub tasks: Vec<Task>,
    /// Test files that the work may change, as globs from the top of the repository.
    pub tests_may_change: Vec<String>,
    /// What planning found out about the project.
    pub context_report: String,
    /// The iteration limit, if the plan sets one.
    pub max_iterations: Option<u32>,
    /// Members that this version does not know.
    pub extra: Extra,
}

/// A problem of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The place: `task_graph[2].deps`, or empty for the plan as a whole.
    pub place: String,
    /// The problem, and what to do.
    pub what: String,
}

impl Problem {
    fn new(place: impl Into<String>, what: impl Into<String>) -> Problem {
        Problem { place: place.into(), what: what.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place.as_str() {
            "" => to.write_str(&self.what),
            place => write!(to, "{place}: {}", self.what),
        }
    }
}

/// Reads a plan from a JSON document or from a block of a Markdown document: see [`block`].
pub fn parse(text: &str) -> Result<Plan, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut plan = read::document(text, &mut problems)?;
    number(plan.criteria.iter_mut().map(|criterion| &mut criterion.id), "AC-");
    number(plan.tasks.iter_mut().map(|task| &mut task.id), "T-");
    plan.criteria.iter_mut().for_each(unverified);
    plan.tasks.iter_mut().for_each(unclaimed);
    // Items that could not be read are missing from the lists, and would cause further problems
    // here.
    if problems.is_empty() {
        problems.extend(criteria_flaws(&plan.criteria).into_iter().map(|(at, field, what)| {
            Problem::new(format!("acceptance_criteria[{at}].{field}"), what)
        }));
        problems.extend(
            unknown_statuses(&plan.tasks)
                .map(|(at, what)| Problem::new(format!("task_graph[{at}].status"), what)),
        );
        problems.extend(flaws(&plan.tasks).map(|(at, field, flaw)| {
            Problem::new(format!("task_graph[{at}].{field}"), flaw.to_string())
        }));
        if plan.criteria.is_empty() && plan.tasks.is_empty() {
            problems.push(Problem::new(
                "",
                "the plan has neither `acceptance_criteria` nor `task_graph`; say what is to be \
                 done and how one can tell",
            ));
        }
    }
    if problems.is_empty() { Ok(plan) } else { Err(problems) }
}

impl Plan {
    /// Puts the plan into a loop that is being prepared. Values that the plan does not set stay.
    pub fn fill(self, state: &mut LoopState) {
        if !self.prompt.trim().is_empty() {
            state.prompt = self.prompt;
        }
        if let Some(max_iterations) = self.max_iterations {
            state.max_iterations = max_iterations;
        }
        state.acceptance_criteria = self.criteria;
        state.task_graph = self.tasks.into();
        state.tests_may_change = self.tests_may_change;
        state.context_report = self.context_report;
        state.extra.extend(self.extra);
    }
}

/// Gives each empty id the next free number.
pub fn number<'a>(ids: impl Iterator<Item = &'a mut String>, prefix: &str) {
    let ids: Vec<&mut String> = ids.collect();
    let mut taken: HashSet<String> = ids.iter().map(|id| (**id).clone()).collect();
    let mut count = 0_usize;
    for id in ids.into_iter().filter(|id| id.trim().is_empty()) {
        loop {
            count += 1;
            *id = format!("{prefix}{count}");
            if taken.insert(id.clone()) {
                break;
            }
        }
    }
}

/// Drops the recorded results of a criterion: only Ralph writes them. A test count that is set
/// before the first run would be the one that later runs are held to.
pub(super) fn unverified(criterion: &mut Criterion) {
    let said = std::mem::take(criterion);
    *criterion = Criterion {
        id: said.id,
        description: said.description,
        verification_command: said.verification_command,
        review: said.review,
        paths: said.paths,
        extra: said.extra,
        ..Criterion::default()
    };
}

pub(super) fn unclaimed(task: &mut Task) {
    if task.status == TaskStatus::InProgress {
        task.status = TaskStatus::Pending;
    }
    task.owner = None;
    task.lease_expires_at = None;
}

/// The problems of a loop's criteria, by id: a criterion without a command can never pass, and one
/// that proves nothing passes from the start.
pub fn criteria_problems(criteria: &[Criterion]) -> Vec<Problem> {
    let named = |(at, field, what): (usize, &str, String)| {
        Problem::new(format!("{}.{field}", criteria[at].id), what)
    };
    criteria_flaws(criteria).into_iter().map(named).collect()
}

/// The flaws of the criteria, each with its position in the list and the member.
fn criteria_flaws(criteria: &[Criterion]) -> Vec<(usize, &'static str, String)> {
    let mut seen = HashSet::new();
    let mut flaws = Vec::new();
    for (at, criterion) in criteria.iter().enumerate() {
        if !seen.insert(criterion.id.as_str()) {
            let what = format!("{} is the id of two criteria; rename one", criterion.id);
            flaws.push((at, "id", what));
        }
        if criterion.description.trim().is_empty() {
            flaws.push((at, "description", "empty; write what must be true".to_owned()));
        }
        let command = criterion.verification_command.as_str();
        if let Some(question) = &criterion.review {
            if question.trim().is_empty() {
                flaws.push((at, "review", "empty; write the question to answer".to_owned()));
            }
            if !command.trim().is_empty() {
                let what = "a criterion has a command or a question, not both".to_owned();
                flaws.push((at, "review", what));
            }
        } else if let Some(why) = vacuous::refuse(command) {
            let what = match command.trim() {
                "" => format!("{why}; name a command that fails until the work is done"),
                command => {
                    format!(
                        "`{command}` proves nothing: {why}; name a command that fails until the \
                         work is done"
                    )
                }
            };
            flaws.push((at, "verification_command", what));
        }
    }
    flaws
}

/// An unknown status would exclude its task forever, and all tasks that depend on it.
fn unknown_statuses(tasks: &[Task]) -> impl Iterator<Item = (usize, String)> {
    tasks.iter().enumerate().filter_map(|(at, task)| match &task.status {
        TaskStatus::Other(word) => {
            Some((at, format!("`{word}` is not a status; write `pending` or `done`, or omit it")))
        }
        _ => None,
    })
}

/// The flaws of the tasks, each with the task's position in the list and the member.
pub(crate) fn flaws(tasks: &[Task]) -> impl Iterator<Item = (usize, &'static str, GraphFlaw)> {
    graph::lint_with_places(tasks).into_iter().map(|(at, flaw)| {
        let field = match flaw {
            GraphFlaw::EmptyId { .. } | GraphFlaw::DuplicateId { .. } => "id",
            GraphFlaw::EmptyName { .. } => "name",
            GraphFlaw::UnknownDependency { .. }
            | GraphFlaw::OnItself { .. }
            | GraphFlaw::Cycle { .. } => "deps",
        };
        (at, field, flaw)
    })
}

#[cfg(test)]
mod tests;
