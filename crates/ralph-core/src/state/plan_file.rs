//! The plan of another tool from which a loop was made, and how to find each task's boxes in it.

use super::Extra;
use super::words::words;
use serde::{Deserialize, Serialize};

words! {
    /// The form of a plan.
    #[derive(Default)]
    PlanFormat {
        /// Markdown with checkboxes, and a section of validation commands.
        #[default]
        Markdown = "markdown",
        /// `fix_plan.md` in states of older versions: Markdown with checkboxes.
        FixPlan = "fix_plan",
        /// `prd.json`: stories that pass or do not.
        Prd = "prd",
        /// A plan of consensus planning: Markdown with a block of JSON.
        Ralplan = "ralplan",
    }
}

/// The file in which Ralph ticks the tasks that are done.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PlanFile {
    /// Path of the file, relative to the project.
    pub path: String,
    /// The form of the plan.
    pub format: PlanFormat,
    /// The branch that the plan names for its work; empty if it names none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub branch: String,
    /// The tasks that have something to tick.
    pub tasks: Vec<PlannedTask>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A task as the plan's file names it. It is found by its words, because lines move when the file is
/// edited.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PlannedTask {
    /// Id of the task in `task_graph`.
    pub task: String,
    /// The heading above the task; empty if the task is a heading itself, or a story.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub section: String,
    /// The text of the task's heading, its box, or its story.
    pub title: String,
    /// The texts of the boxes that belong to the task.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub boxes: Vec<String>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}
