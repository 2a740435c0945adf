//! Markdown plans with checkboxes: their lines, their tasks, criteria, and what is left out.

use super::{CONDITION, Collected, ForeignPlan, PlanNote, QUOTED, goal, problem};
use crate::state::{PlanFormat, PlannedTask, Task, TaskStatus};
use crate::tasks::plan::{self, Problem, closes, opening};
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
    let lines = split_lines(text);
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

// Splits a Markdown document into the lines that matter in a plan: headings, list items, boxes and
// blocks of code.
//
// By lines, as the tools that own these formats read them, and more leniently than CommonMark: an
// item keeps its box however deep it is indented. Front matter, comments and the boxes inside
// blocks of code are no part of the plan.

/// A line, or a block of code, which counts as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// As an editor counts, from 1.
    pub(super) number: usize,
    pub(super) kind: LineKind<'a>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LineKind<'a> {
    Heading {
        /// 1 for `#`.
        level: usize,
        text: &'a str,
    },
    Item {
        /// Columns before the bullet.
        indent: usize,
        text: &'a str,
        checkbox: Option<Checkbox>,
    },
    Code,
    /// Any other line, an empty one too.
    Text(&'a str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Checkbox {
    /// Where in the document the character between the brackets is, in bytes.
    pub(super) offset: usize,
    pub(super) is_ticked: bool,
}

/// The lines of a document.
pub(super) fn split_lines(document: &str) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let mut rest = raw(document).into_iter().skip(front_matter(document)).peekable();
    while let Some(line) = rest.next() {
        let trimmed = line.text.trim();
        if trimmed.starts_with("<!--") {
            let mut is_open = !trimmed.contains("-->");
            while is_open && let Some(next) = rest.next() {
                is_open = !next.text.contains("-->");
            }
            continue;
        }
        let kind = match fence(line.text) {
            Some(fence) => {
                rest.by_ref().take_while(|next| !closes(next.text, fence)).for_each(drop);
                LineKind::Code
            }
            None => heading(&line).or_else(|| item(&line)).unwrap_or(LineKind::Text(line.text)),
        };
        lines.push(Line { number: line.number, kind });
    }
    lines
}

/// A line as it stands in the document, without its end.
struct RawLine<'a> {
    number: usize,
    /// Where it begins, in bytes.
    start: usize,
    text: &'a str,
}

fn raw(document: &str) -> Vec<RawLine<'_>> {
    let mut start = document.len() - document.trim_start_matches('\u{feff}').len();
    let mut lines = Vec::new();
    for (at, line) in document[start..].split_inclusive('\n').enumerate() {
        lines.push(RawLine { number: at + 1, start, text: line.trim_end_matches(['\n', '\r']) });
        start += line.len();
    }
    lines
}

/// How many lines the front matter takes. Without a closing line it takes 0.
fn front_matter(document: &str) -> usize {
    let mut lines = document.trim_start_matches('\u{feff}').lines();
    if lines.next().map(str::trim_end) != Some("---") {
        return 0;
    }
    lines.position(|line| matches!(line.trim_end(), "---" | "...")).map_or(0, |at| at + 2)
}

fn fence(line: &str) -> Option<&str> {
    let (fence, language) = opening(line)?;
    // Backticks after the fence: a span of code that fills the line.
    (fence.starts_with('~') || !language.contains('`')).then_some(fence)
}

fn heading<'a>(line: &RawLine<'a>) -> Option<LineKind<'a>> {
    let text = line.text.trim_start_matches(' ');
    if line.text.len() - text.len() > 3 {
        return None;
    }
    let rest = text.trim_start_matches('#');
    let level = text.len() - rest.len();
    if !(1..=6).contains(&level) || !rest.is_empty() && !rest.starts_with([' ', '\t']) {
        return None;
    }
    Some(LineKind::Heading { level, text: rest.trim().trim_end_matches('#').trim() })
}

fn item<'a>(line: &RawLine<'a>) -> Option<LineKind<'a>> {
    let text = line.text.trim_start_matches([' ', '\t']);
    let before = &line.text[..line.text.len() - text.len()];
    let indent = before.chars().map(|mark| if mark == '\t' { 4 } else { 1 }).sum();
    let rest = text.strip_prefix(['-', '*', '+']).or_else(|| after_number(text))?;
    if !rest.starts_with([' ', '\t']) {
        return None;
    }
    let rest = rest.trim();
    let checkbox = checkbox(line, rest);
    let text = checkbox.map_or(rest, |_| rest[3..].trim());
    Some(LineKind::Item { indent, text, checkbox })
}

/// The text after `1.` or `1)`.
fn after_number(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let digits = text.len() - rest.len();
    (1..=9).contains(&digits).then(|| rest.strip_prefix(['.', ')'])).flatten()
}

/// The box at the start of `text`, which is a part of the line.
fn checkbox(line: &RawLine<'_>, text: &str) -> Option<Checkbox> {
    let is_ticked = match text.get(..3)? {
        "[ ]" => false,
        "[x]" | "[X]" => true,
        _ => return None,
    };
    // A link: `[x](…)`.
    if text[3..].starts_with(['(', '[']) {
        return None;
    }
    let within = text.as_ptr() as usize - line.text.as_ptr() as usize;
    Some(Checkbox { offset: line.start + within + 1, is_ticked })
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod lines_tests {
    use super::*;

    /// Each line as `number kind text`, with the character that its box holds.
    #[track_caller]
    fn check(document: &str, expected: &[&str]) {
        let lines = split_lines(document);
        let shown: Vec<String> = lines
            .iter()
            .filter(|line| line.kind != LineKind::Text(""))
            .map(|line| {
                let mark = |checkbox: &Option<Checkbox>| {
                    checkbox.map_or(String::new(), |one| {
                        format!("[{}]", &document[one.offset..=one.offset])
                    })
                };
                let kind = match &line.kind {
                    LineKind::Heading { level, text } => format!("h{level} {text}"),
                    LineKind::Item { indent, text, checkbox } => {
                        format!("i{indent}{} {text}", mark(checkbox))
                    }
                    LineKind::Code => "code".to_owned(),
                    LineKind::Text(text) => format!("text {text}"),
                };
                format!("{} {kind}", line.number)
            })
            .collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn bullets_boxes_and_headings_are_read_as_people_write_them() {
        check(
            "# A #\n* [x] a\n+ [X] b\n1. [ ] c\n2) d\n\t- [ ] e\n- [x](link)\n-[ ] f\n### 3. [ ] G\n#tag\n",
            &[
                "1 h1 A",
                "2 i0[x] a",
                "3 i0[X] b",
                "4 i0[ ] c",
                "5 i0 d",
                "6 i4[ ] e",
                "7 i0 [x](link)",
                "8 text -[ ] f",
                "9 h3 3. [ ] G",
                "10 text #tag",
            ],
        );
    }

    #[test]
    fn code_comments_and_front_matter_have_no_boxes() {
        check(
            "\u{feff}---\r\na: 1\r\n---\r\n<!-- - [ ] x\r\n- [ ] y -->\r\n```md\r\n- [ ] z\r\n```\r\n- [ ] real\r\n",
            &["6 code", "9 i0[ ] real"],
        );
        check("---\n- [ ] a\n", &["1 text ---", "2 i0[ ] a"]);
        check(
            "```inline``` text\n- [ ] a\n~~~\n- [ ] b",
            &["1 text ```inline``` text", "2 i0[ ] a", "3 code"],
        );
    }
}
