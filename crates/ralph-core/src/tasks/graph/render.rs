//! Shows a task graph: to people as a list, in documents as Markdown, to programs as JSON.
//!
//! Texts from a model or a plan are put on one line, so that a name cannot look like a row of its
//! own.

use super::{Graph, TaskReadiness};
use crate::state::Task;
use crate::text::sanitize;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::fmt::Write as _;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// All tasks that are not done.
    Open,
    All,
}

/// A list with aligned columns, and how many tasks are done. Empty for an empty graph.
pub fn text(tasks: &[Task], show: Show, now: Timestamp) -> String {
    let graph = Graph::new(tasks, now);
    let rows: Vec<[Cow<str>; 3]> = shown(&graph, show)
        .map(|(task, standing)| {
            [one_line(&task.id), Cow::from(standing.word()), described(task, standing)]
        })
        .collect();
    let width = |column: usize| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
    };
    let (id, word) = (width(0), width(1));
    let mut list = String::new();
    for [first, second, third] in &rows {
        // Writing to a string cannot fail.
        let _ = writeln!(list, "{first:<id$}  {second:<word$}  {third}");
    }
    if !tasks.is_empty() {
        let _ = writeln!(list, "{}", graph.summary().describe());
    }
    list
}

fn described<'a>(task: &'a Task, standing: TaskReadiness) -> Cow<'a, str> {
    let name = one_line(&task.name);
    let remark = match standing {
        TaskReadiness::Waiting => format!("after {}", task.deps.join(", ")),
        TaskReadiness::InProgress => {
            task.owner.as_ref().map(|owner| format!("by {owner}")).unwrap_or_default()
        }
        TaskReadiness::Failed | TaskReadiness::Blocked => task.result.clone().unwrap_or_default(),
        TaskReadiness::Unknown => task.status.to_string(),
        TaskReadiness::Ready | TaskReadiness::Done => String::new(),
    };
    match remark.as_str() {
        "" => name,
        remark => Cow::from(format!("{name}  ({})", one_line(remark))),
    }
}

/// A checkbox and the state of each task, with its dependencies, completion condition, files and
/// result. Empty for an empty graph.
pub fn markdown(tasks: &[Task], show: Show, now: Timestamp) -> String {
    let graph = Graph::new(tasks, now);
    let mut list = String::new();
    for (task, standing) in shown(&graph, show) {
        let tick = if standing == TaskReadiness::Done { 'x' } else { ' ' };
        let (id, name, stands) =
            (one_line(&task.id), one_line(&task.name), status_text(task, standing));
        let _ = writeln!(list, "- [{tick}] **{id}** {name} ({stands})");
        for (label, detail) in details(task, standing) {
            if !detail.is_empty() {
                let _ = writeln!(list, "  - {label}: {detail}");
            }
        }
    }
    list
}

fn status_text(task: &Task, standing: TaskReadiness) -> Cow<'static, str> {
    match (standing, &task.owner) {
        (TaskReadiness::InProgress, Some(owner)) => {
            Cow::from(format!("in progress by {}", one_line(owner)))
        }
        (TaskReadiness::Unknown, _) => Cow::from(one_line(&task.status.to_string()).into_owned()),
        _ => Cow::from(standing.word()),
    }
}

fn details(task: &Task, standing: TaskReadiness) -> [(&'static str, Cow<'_, str>); 4] {
    let files: Vec<String> =
        task.files.iter().map(|file| format!("`{}`", one_line(file))).collect();
    let result = match standing {
        TaskReadiness::Failed => "failed because",
        TaskReadiness::Blocked => "blocked because",
        // A released task: the result of the previous attempt is for the next worker.
        TaskReadiness::Ready | TaskReadiness::Waiting | TaskReadiness::InProgress => "before",
        TaskReadiness::Done | TaskReadiness::Unknown => "result",
    };
    [
        ("after", Cow::from(one_line(&task.deps.join(", ")).into_owned())),
        ("done when", one_line(&task.completion_condition)),
        ("files", Cow::from(files.join(", "))),
        (result, task.result.as_deref().map(one_line).unwrap_or_default()),
    ]
}

/// A single document: each task with its own fields and its state, and the summary.
pub fn json(tasks: &[Task], show: Show, now: Timestamp) -> Value {
    let graph = Graph::new(tasks, now);
    let shown: Vec<Value> = shown(&graph, show)
        .map(|(task, standing)| {
            let mut fields = json!(task);
            fields["standing"] = json!(standing);
            fields
        })
        .collect();
    json!({ "schema_version": 1, "tasks": shown, "summary": graph.summary() })
}

fn shown<'g>(graph: &'g Graph, show: Show) -> impl Iterator<Item = (&'g Task, TaskReadiness)> {
    graph
        .tasks
        .iter()
        .map(|task| (task, graph.readiness(task)))
        .filter(move |(_, standing)| show == Show::All || *standing != TaskReadiness::Done)
}

pub(super) fn one_line(text: &str) -> Cow<'_, str> {
    let is_quiet = sanitize::is_quiet(text) && !text.contains('\n');
    if !is_quiet && text.contains(sanitize::acts) {
        let spaced = text.replace(sanitize::acts, " ");
        Cow::from(spaced.split_whitespace().collect::<Vec<_>>().join(" "))
    } else {
        Cow::from(text.trim())
    }
}
