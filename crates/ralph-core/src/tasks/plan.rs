//! Reads a plan: criteria, tasks and what planning found out, under the state file's own names.
//!
//! A plan is written by a model or by hand, so everything that is wrong with it is reported at
//! once, each with its place. Nothing in it can speak for itself: criteria come in unverified,
//! claims do not come in at all, and how completion is decided is not a plan's to say.

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

/// A sound plan.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    /// What is asked for; empty if the plan does not say.
    pub prompt: String,
    /// What "done" means.
    pub criteria: Vec<Criterion>,
    /// The work.
    pub tasks: Vec<Task>,
    /// What planning found out about the project.
    pub context_report: String,
    /// How many times the loop may go on, if the plan says so.
    pub max_iterations: Option<u32>,
    /// Members that this version does not know.
    pub extra: Extra,
}

/// Something that is wrong with a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where: `task_graph[2].deps`, or empty for the plan as a whole.
    pub place: String,
    /// What, and what to do.
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

/// Reads a plan from a JSON document, or from a block of a Markdown one: see [`block`].
pub fn parse(text: &str) -> Result<Plan, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut plan = read::document(text, &mut problems)?;
    number(plan.criteria.iter_mut().map(|criterion| &mut criterion.id), "AC-");
    number(plan.tasks.iter_mut().map(|task| &mut task.id), "T-");
    plan.criteria.iter_mut().for_each(unverified);
    plan.tasks.iter_mut().for_each(unclaimed);
    // What could not be read is missing from the lists, and would be reported a second time.
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
    /// Puts the plan into a loop that is being prepared. What the plan does not say stays.
    pub fn fill(self, state: &mut LoopState) {
        if !self.prompt.trim().is_empty() {
            state.prompt = self.prompt;
        }
        if let Some(max_iterations) = self.max_iterations {
            state.max_iterations = max_iterations;
        }
        state.acceptance_criteria = self.criteria;
        state.task_graph = self.tasks;
        state.context_report = self.context_report;
        state.extra.extend(self.extra);
    }
}

/// Gives each empty id the next number that no other has.
fn number<'a>(ids: impl Iterator<Item = &'a mut String>, prefix: &str) {
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

/// What runs have shown of a criterion is Ralph's to write: a count of tests that is set before
/// the first run would be the one that later runs are held to.
fn unverified(criterion: &mut Criterion) {
    let said = std::mem::take(criterion);
    *criterion = Criterion {
        id: said.id,
        description: said.description,
        verification_command: said.verification_command,
        paths: said.paths,
        extra: said.extra,
        ..Criterion::default()
    };
}

fn unclaimed(task: &mut Task) {
    if task.status == TaskStatus::InProgress {
        task.status = TaskStatus::Pending;
    }
    task.owner = None;
    task.lease_expires_at = None;
}

/// What is wrong with the criteria of a loop, each by its id: one without a command can never hold,
/// and one that proves nothing holds from the start.
pub fn criteria_problems(criteria: &[Criterion]) -> Vec<Problem> {
    let named = |(at, field, what): (usize, &str, String)| {
        Problem::new(format!("{}.{field}", criteria[at].id), what)
    };
    criteria_flaws(criteria).into_iter().map(named).collect()
}

/// What is wrong with the criteria, each with its place in the list and the member.
fn criteria_flaws(criteria: &[Criterion]) -> Vec<(usize, &'static str, String)> {
    let mut seen = HashSet::new();
    let mut flaws = Vec::new();
    for (at, criterion) in criteria.iter().enumerate() {
        if !seen.insert(criterion.id.as_str()) {
            let what = format!("{} is the id of two criteria; rename one", criterion.id);
            flaws.push((at, "id", what));
        }
        if criterion.description.trim().is_empty() {
            flaws.push((at, "description", "empty; say what must be true".to_owned()));
        }
        let command = criterion.verification_command.as_str();
        if let Some(why) = vacuous::refuse(command) {
            let what = match command.trim() {
                "" => format!("{why}; name one that fails while the work is not done"),
                command => {
                    format!(
                        "`{command}` proves nothing: {why}; name a command that fails while the work is not done"
                    )
                }
            };
            flaws.push((at, "verification_command", what));
        }
    }
    flaws
}

/// A word that is not ours would leave its task aside for ever, and with it all that depend on it.
fn unknown_statuses(tasks: &[Task]) -> impl Iterator<Item = (usize, String)> {
    tasks.iter().enumerate().filter_map(|(at, task)| match &task.status {
        TaskStatus::Other(word) => {
            Some((at, format!("`{word}` is no status; write `pending` or `done`, or leave it out")))
        }
        _ => None,
    })
}

/// What is wrong with the tasks, each with the place of its task in the list and the member.
fn flaws(tasks: &[Task]) -> impl Iterator<Item = (usize, &'static str, GraphFlaw)> {
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
