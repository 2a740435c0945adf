//! The plans of consensus planning: Ralph's own block of JSON in a Markdown document whose boxes
//! name its tasks.

use super::outline::{self, OutlineTask};
use super::{ForeignPlan, words};
use crate::state::{PlanFormat, PlannedTask, Task};
use crate::tasks::plan::{self, Problem};
use serde_json::Value;

/// True if the text between the fences is a plan, and no example.
pub(super) fn is_plan(block: &str) -> bool {
    match serde_json::from_str(block) {
        Ok(Value::Object(members)) => {
            members.contains_key("task_graph") || members.contains_key("acceptance_criteria")
        }
        _ => false,
    }
}

pub(super) fn read(text: &str) -> Result<ForeignPlan, Vec<Problem>> {
    let plan = plan::parse(text)?;
    let tasks = boxes(text, &plan.tasks);
    let (format, branch) = (PlanFormat::Ralplan, String::new());
    Ok(ForeignPlan { format, plan, branch, tasks, notes: Vec::new() })
}

/// The tasks that have boxes in the text.
pub(super) fn boxes(text: &str, tasks: &[Task]) -> Vec<PlannedTask> {
    let outline = outline::read(text);
    let marks = |task: &Task| {
        let mut found = outline.tasks.iter().filter(|one| names(one, task));
        let one = found.next().filter(|_| found.next().is_none())?;
        Some(super::markdown::planned_task(&task.id, one))
    };
    tasks.iter().filter_map(marks).collect()
}

/// True if a box or a heading stands for this task: by its id, or by its whole name.
fn names(one: &OutlineTask<'_>, task: &Task) -> bool {
    let by_label =
        || one.label.is_some_and(|label| task.id == label || task.id == format!("T-{label}"));
    let by_id = || words::leading_id(one.title).is_some_and(|(id, _)| id == task.id);
    by_id() || by_label() || one.title == task.name
}
