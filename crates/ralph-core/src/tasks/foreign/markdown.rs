//! Markdown plans with checkboxes: their tasks, criteria, and what is left out.
//!
//! Each box that is not inside another is a task, and the boxes indented below it are its steps. In a
//! plan with headings `Task 1: NAME`, each of these is a task, and the boxes below it are its steps.

use super::lines::{self, Checkbox, Line, LineKind};
use super::{CONDITION, Collected, ForeignPlan, PlanNote, QUOTED, goal, problem};
use crate::state::{PlanFormat, PlannedTask, Task, TaskStatus};
use crate::tasks::plan::{self, Problem};
use crate::text::truncate::bounded;
use serde_json::Value;
use std::collections::HashSet;

/// A Markdown plan.
#[derive(Debug, Default)]
pub(super) struct Document<'a> {
    /// The first heading of the first level.
    title: &'a str,
    pub(super) tasks: Vec<BoxedTask<'a>>,
    /// What stands below a heading of commands or criteria, and is no task.
    criteria: Vec<Line<'a>>,
    /// Boxes that are no tasks.
    others: Vec<(usize, &'a str)>,
}

#[derive(Debug, Default)]
pub(super) struct BoxedTask<'a> {
    line: usize,
    /// The heading above it; empty if it is a heading.
    pub(super) section: &'a str,
    /// Its heading or the text of its box, as written.
    pub(super) title: &'a str,
    /// Its own box first, if it is one.
    pub(super) boxes: Vec<TaskBox<'a>>,
    /// The column of its bullet; `None` if it is a heading.
    indent: Option<usize>,
    /// The lines below it, which may name what it depends on.
    below: Vec<&'a str>,
}

#[derive(Debug, Clone)]
pub(super) struct TaskBox<'a> {
    pub(super) text: &'a str,
    pub(super) checkbox: Checkbox,
}

impl<'a> BoxedTask<'a> {
    /// True if its own box, or each of its boxes, is ticked.
    fn is_ticked(&self) -> bool {
        let own = if self.indent.is_some() { 1 } else { self.boxes.len() };
        own > 0 && self.boxes.iter().take(own).all(|one| one.checkbox.is_ticked)
    }

    /// The id that the plan gives it, and its name: `T-1` of `Task 1: NAME`, `US-001` of
    /// `US-001: NAME`, `T001` of `T001 [P] NAME`, `1.2` of `1.2 NAME`.
    fn id_and_name(&self) -> (String, &'a str) {
        if let Some((label, name)) = task_heading(self.title).filter(|_| self.indent.is_none()) {
            let name = if name.is_empty() { self.title } else { name };
            return (format!("T-{label}"), name);
        }
        match leading_id(self.title) {
            Some((id, name)) => (id.to_owned(), name),
            None => (String::new(), self.title),
        }
    }

    /// The task as the plan's file names it.
    fn planned(&self, id: &str) -> PlannedTask {
        PlannedTask {
            task: id.to_owned(),
            section: self.section.to_owned(),
            title: self.title.to_owned(),
            boxes: self.boxes.iter().map(|one| one.text.to_owned()).collect(),
            ..PlannedTask::default()
        }
    }
}

/// Reads a document.
pub(super) fn read(text: &str) -> Document<'_> {
    let lines = lines::split(text);
    let has_headings = lines.iter().any(
        |line| matches!(line.kind, LineKind::Heading { text, .. } if task_heading(text).is_some()),
    );
    let mut document = Document::default();
    let (mut task, mut section): (Option<(usize, BoxedTask<'_>)>, _) = (None, "");
    for line in lines {
        let number = line.number;
        // The level of the open task's heading; a box has none, and any heading ends it.
        let level = task.as_ref().map_or(0, |(level, _)| *level);
        match line.kind {
            LineKind::Heading { level: other, text } => {
                if task_heading(text).is_some() {
                    document.tasks.extend(task.take().map(|(_, task)| task));
                    let new = BoxedTask { line: number, title: text, ..BoxedTask::default() };
                    task = Some((other, new));
                } else if level == 0 || other <= level {
                    document.tasks.extend(task.take().map(|(_, task)| task));
                    section = text;
                    if other == 1 && document.title.is_empty() {
                        document.title = text;
                    }
                }
            }
            LineKind::Item { indent, text, checkbox: Some(checkbox) } => {
                let one = TaskBox { text, checkbox };
                let inside =
                    task.as_mut().filter(|(_, task)| task.indent.is_none_or(|own| indent > own));
                if let Some((_, task)) = inside {
                    task.boxes.push(one);
                } else if has_headings {
                    document.others.push((number, text));
                } else {
                    document.tasks.extend(task.take().map(|(_, task)| task));
                    let boxes = vec![one];
                    let (line, title, indent) = (number, text, Some(indent));
                    let new = BoxedTask { line, section, title, boxes, indent, below: Vec::new() };
                    task = Some((0, new));
                }
            }
            LineKind::Text(text) | LineKind::Item { text, .. } if task.is_some() => {
                task.iter_mut().for_each(|(_, task)| task.below.push(text));
            }
            _ if is_of_criteria(section) => document.criteria.push(line),
            _ => {}
        }
    }
    document.tasks.extend(task.map(|(_, task)| task));
    document
}

/// True for a heading below which each item is a criterion.
fn is_of_criteria(heading: &str) -> bool {
    let heading = heading.to_ascii_lowercase();
    ["validation", "verification", "criteria", "commands", "definition of done"]
        .iter()
        .any(|word| heading.contains(word))
}

pub(super) fn plan(path: &str, text: &str) -> Result<ForeignPlan, Vec<Problem>> {
    let document = read(text);
    let mut collected = Collected::default();
    for line in &document.criteria {
        match line.kind {
            LineKind::Item { text, .. } if collected.command(line.number, text) => {}
            LineKind::Item { text, .. } => collected.reviewed(line.number, text),
            LineKind::Code => {
                let what = "a block of code is not read; write each command as - `COMMAND`";
                collected.problems.push(problem(line.number, what));
            }
            _ => {}
        }
    }
    for (line, text) in &document.others {
        let why = "is below no task heading; move it below one to have it done";
        collected.note(*line, format!("left out: `{}` {why}", bounded(text, QUOTED)));
    }
    let mut known = HashSet::new();
    for one in &document.tasks {
        let (id, name) = one.id_and_name();
        collected.tasks.push(Task {
            // A second task of the same id gets the next number.
            id: if known.insert(id.clone()) { id } else { String::new() },
            name: name.trim_matches('*').trim().to_owned(),
            status: if one.is_ticked() { TaskStatus::Done } else { TaskStatus::Pending },
            completion_condition: bounded(&condition(one, path), CONDITION),
            ..Task::default()
        });
    }
    plan::number(collected.tasks.iter_mut().map(|task| &mut task.id), "T-");
    depend(&document.tasks, &mut collected);
    let mut planned = Vec::new();
    for (one, task) in document.tasks.iter().zip(&collected.tasks) {
        if one.boxes.is_empty() {
            let what = format!("{} has no box to tick", task.id);
            collected.notes.push(PlanNote { line: one.line, what });
        } else {
            planned.push(one.planned(&task.id));
        }
    }
    let lines: Vec<usize> = document.tasks.iter().map(|one| one.line).collect();
    let title = document.title.trim_start_matches("Plan:").trim();
    let (plan, notes) = collected.finish(goal(title, "", path), "T-", &lines)?;
    let (format, branch) = (PlanFormat::Markdown, String::new());
    Ok(ForeignPlan { format, plan, branch, tasks: planned, notes })
}

/// The open steps of a task.
fn condition(one: &BoxedTask<'_>, path: &str) -> String {
    let steps = one.boxes.iter().skip(usize::from(one.indent.is_some()));
    let steps = steps.filter(|step| !step.checkbox.is_ticked).map(|step| step.text);
    let steps: Vec<&str> = steps.collect();
    match steps.as_slice() {
        [] if one.is_ticked() => String::new(),
        [] => format!("it is as `{path}`, line {}, says", one.line),
        steps => format!("each step is done (`{path}`, line {}): {}", one.line, steps.join("; ")),
    }
}

/// Sets the dependencies that the plan states: `Depends on: Task 1`, `(depends on T012, T013)`.
fn depend(tasks: &[BoxedTask<'_>], collected: &mut Collected) {
    let ids: Vec<String> = collected.tasks.iter().map(|task| task.id.clone()).collect();
    for (one, task) in tasks.iter().zip(&mut collected.tasks) {
        let names = one.below.iter().copied().chain([one.title]).flat_map(dependencies);
        for name in names {
            // Prose, such as "depends on the server", names no task.
            let known = ids.iter().find(|id| **id == name || **id == format!("T-{name}"));
            task.deps.extend(known.filter(|id| !task.deps.contains(id)).cloned());
        }
    }
}

/// The names after `depends on`, without `Task` before them.
fn dependencies(line: &str) -> Vec<String> {
    let Some(at) = line.to_ascii_lowercase().find("depends on") else { return Vec::new() };
    let said = line.get(at + "depends on".len()..).unwrap_or_default();
    let said = said.split([')', ']', ';']).next().unwrap_or_default();
    let names = said.split([',', '&']).flat_map(|part| part.split(" and "));
    let bare = |name: &str| name.split_whitespace().last().map(str::to_owned);
    let names = names
        .filter_map(bare)
        .map(|name| name.trim_matches(|letter: char| !letter.is_ascii_alphanumeric()).to_owned());
    names.collect()
}

/// The label and the name of a task's heading: `2a` and `Add it` of `Task 2a: Add it`.
fn task_heading(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches(['*', '_']);
    let rest = ["Task", "Iteration", "Step"].into_iter().find_map(|word| {
        text.get(..word.len()).filter(|start| start.eq_ignore_ascii_case(word))?;
        text[word.len()..].strip_prefix([' ', '#', '-'])
    })?;
    let rest = rest.trim_start_matches([' ', '#']);
    let end = rest.find(|end: char| end == ':' || end.is_whitespace()).unwrap_or(rest.len());
    let label = rest[..end].trim_end_matches(['.', ')', '*', '_']);
    let is_label = |letter: char| letter.is_alphanumeric() || matches!(letter, '.' | '-' | '_');
    let counts = label.starts_with(|digit: char| digit.is_ascii_digit());
    if !counts || label.len() > 16 || !label.chars().all(is_label) {
        return None;
    }
    let name = rest[end..].trim_start_matches([':', ' ', '-', '–', '—', '*', '_']);
    Some((label, name.trim_end_matches(['*', '_']).trim()))
}

/// The id and the name of a task that begins with an id.
fn leading_id(text: &str) -> Option<(&str, &str)> {
    let (id, name) = text.trim_start_matches(['*', '_']).split_once(' ')?;
    let id = id.trim_end_matches(['*', '_']);
    let ends = id.ends_with(':');
    let id = id.trim_end_matches([':', '*', '_']);
    let digits = id.trim_start_matches(|letter: char| letter.is_ascii_uppercase());
    let is_number = digits.starts_with(|digit: char| digit.is_ascii_digit())
        && (digits.len() < id.len() || digits.contains('.'));
    let is_id = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_');
    let counts = id.chars().any(|digit| digit.is_ascii_digit());
    if !(ends || is_number) || !counts || id.len() > 16 || !id.chars().all(is_id) {
        return None;
    }
    let mut name = name.trim_start_matches(['*', '_', ' ']);
    // spec-kit's marks: `[P]`, `[US1]`.
    while let Some((_, rest)) = name.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        name = rest.trim_start();
    }
    (!name.is_empty()).then(|| (id.trim_end_matches('.'), name))
}

/// True if the text between the fences is a plan of Ralph's own, and no example.
pub(super) fn is_plan(block: &str) -> bool {
    match serde_json::from_str(block) {
        Ok(Value::Object(members)) => {
            members.contains_key("task_graph") || members.contains_key("acceptance_criteria")
        }
        _ => false,
    }
}

/// Of the tasks of a plan of consensus planning, those that have boxes in the text: by the id or the
/// whole name.
pub(super) fn boxes(text: &str, tasks: &[Task]) -> Vec<PlannedTask> {
    let document = read(text);
    let marks = |task: &Task| {
        let names = |one: &&BoxedTask<'_>| one.id_and_name().0 == task.id || one.title == task.name;
        let mut found = document.tasks.iter().filter(names);
        let one = found.next().filter(|_| found.next().is_none())?;
        Some(one.planned(&task.id))
    };
    tasks.iter().filter_map(marks).collect()
}
