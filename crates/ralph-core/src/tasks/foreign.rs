//! Plans that people already have, in the forms of other tools: Markdown with checkboxes and
//! validation commands, `fix_plan.md`, `prd.json`, and the plans of consensus planning.
//!
//! They are read leniently, since people and models write them by hand. Whatever does not become a
//! task or a criterion is noted with its line, so that the user sees it before anything starts. The
//! file stays the user's: only [`tick`] changes it, and only the boxes of tasks that are done.

mod commands;
mod criteria;
mod lines;
mod markdown;
mod outline;
mod prd;
mod ralplan;
mod tick;
mod words;

pub use tick::{Ticks, tick};

use super::plan::{self, Plan, Problem};
use crate::state::{Criterion, PlanFile, PlanFormat, PlannedTask, Task};
use std::fmt;

/// A plan of another tool, as tasks and criteria.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignPlan {
    /// The form that was recognised.
    pub format: PlanFormat,
    /// The goal, the tasks and the criteria.
    pub plan: Plan,
    /// The branch that the plan names for its work; empty if it names none.
    pub branch: String,
    /// Where the boxes of the tasks are.
    pub tasks: Vec<PlannedTask>,
    /// What the user should know before it starts.
    pub notes: Vec<PlanNote>,
}

/// A part of the plan that did not become what it may look like.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlanNote {
    /// The line, from 1; 0 for the file as a whole.
    pub line: usize,
    /// What Ralph made of it, or why it was left out.
    pub what: String,
}

impl fmt::Display for PlanNote {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => to.write_str(&self.what),
            line => write!(to, "line {line}: {}", self.what),
        }
    }
}

impl ForeignPlan {
    /// What a loop keeps of the plan's file.
    pub fn file(&self, path: &str) -> PlanFile {
        PlanFile {
            path: path.to_owned(),
            format: self.format.clone(),
            branch: self.branch.clone(),
            tasks: self.tasks.clone(),
            ..PlanFile::default()
        }
    }
}

/// The form of a text; `None` for a plan of Ralph's own, and for a text that is no plan.
pub fn format(name: &str, text: &str) -> Option<PlanFormat> {
    let bare = text.trim_start_matches('\u{feff}').trim_start();
    if bare.starts_with('{') {
        return prd::is_prd(bare).then_some(PlanFormat::Prd);
    }
    if plan::block(text).is_some_and(|block| ralplan::is_plan(&block.text)) {
        // Without boxes there is nothing to tick, and the plan is one of ours.
        return outline::has_tasks(text).then_some(PlanFormat::Ralplan);
    }
    let file = name.rsplit('/').next().unwrap_or(name).trim_start_matches('@');
    let is_fix_plan = file.to_ascii_lowercase().replace(['-', ' '], "_") == "fix_plan.md";
    let is_markdown = is_fix_plan || outline::has_tasks(text);
    let format = if is_fix_plan { PlanFormat::FixPlan } else { PlanFormat::Markdown };
    is_markdown.then_some(format)
}

/// Reads a plan of this form. `path` is its name for the model, and `project` the criteria that the
/// project itself states, for conditions such as "Typecheck passes".
///
/// # Errors
/// Every problem, with its line and what to write.
pub fn read(
    format: PlanFormat,
    path: &str,
    text: &str,
    project: &[Criterion],
) -> Result<ForeignPlan, Vec<Problem>> {
    match format {
        PlanFormat::Prd => prd::read(path, text, project),
        PlanFormat::Ralplan => ralplan::read(text),
        _ => markdown::read(format, path, text, project),
    }
}

/// The file of a plan of consensus planning that became these tasks; `None` if it has no boxes.
pub fn ralplan_file(path: &str, text: &str, tasks: &[Task]) -> Option<PlanFile> {
    let tasks = ralplan::boxes(text, tasks);
    let format = PlanFormat::Ralplan;
    (!tasks.is_empty()).then(|| PlanFile {
        path: path.to_owned(),
        format,
        tasks,
        ..PlanFile::default()
    })
}

fn problem(line: usize, what: impl Into<String>) -> Problem {
    Problem { place: format!("line {line}"), what: what.into() }
}

#[cfg(test)]
mod tests;
