//! Markdown plans with checkboxes: their tasks, criteria, and what is left out.

use super::commands;
use super::criteria::{Collector, Condition};
use super::outline::{self, Outline, OutlineTask, Part};
use super::words::{self, PlanSection};
use super::{ForeignPlan, problem};
use crate::state::{Criterion, PlanFormat, PlannedTask, Task, TaskStatus};
use crate::tasks::plan::{self, Plan, Problem};
use crate::text::truncate::bounded;
use std::collections::HashMap;

/// Maximum length of what the plan says it is about, in UTF-16 units.
const OVERVIEW: usize = 600;

/// Maximum length of the text that a note or a condition quotes, in UTF-16 units.
const QUOTED: usize = 80;

/// Maximum length of a task's completion condition, in UTF-16 units.
const CONDITION: usize = 2_000;

pub(super) fn read(
    format: PlanFormat,
    path: &str,
    text: &str,
    project: &[Criterion],
) -> Result<ForeignPlan, Vec<Problem>> {
    let outline = outline::read(text);
    let mut collector = Collector::new(project);
    criteria(&outline, &mut collector);
    left_out(&outline, &mut collector);
    let mut tasks: Vec<(&OutlineTask<'_>, Task)> = outline
        .tasks
        .iter()
        .filter(|one| !is_left_out(one))
        .map(|one| (one, task(one, path, &mut collector)))
        .collect();
    tasks.sort_by_key(|(one, _)| one.urgency);
    identify(&mut tasks);
    depend(&mut tasks, &mut collector);
    if tasks.is_empty() {
        let what = "there is no task; write each as `- [ ] WHAT IS TO BE DONE`, or as steps below a \
                    heading `### Task 1: NAME`";
        collector.problems.push(Problem { place: String::new(), what: what.to_owned() });
    }
    let planned = tasks.iter().filter(|(one, _)| !one.boxes.is_empty());
    let planned: Vec<PlannedTask> =
        planned.map(|(one, task)| planned_task(&task.id, one)).collect();
    let lines: Vec<usize> = tasks.iter().map(|(one, _)| one.line).collect();
    for (one, task) in tasks.iter().filter(|(one, _)| one.boxes.is_empty()) {
        collector.note(one.line, format!("{} has no box to tick", task.id));
    }
    let tasks: Vec<Task> = tasks.into_iter().map(|(_, task)| task).collect();
    collector
        .problems
        .extend(plan::flaws(&tasks).map(|(at, _, flaw)| problem(lines[at], flaw.to_string())));
    let mut criteria = collector.criteria;
    plan::number(criteria.iter_mut().map(|criterion| &mut criterion.id), "AC-");
    if !collector.problems.is_empty() {
        return Err(collector.problems);
    }
    collector.notes.sort();
    let plan = Plan { prompt: goal(&outline, path), criteria, tasks, ..Plan::default() };
    let (branch, notes) = (String::new(), collector.notes);
    Ok(ForeignPlan { format, plan, branch, tasks: planned, notes })
}

/// The task as the plan's file names it.
pub(super) fn planned_task(id: &str, one: &OutlineTask<'_>) -> PlannedTask {
    PlannedTask {
        task: id.to_owned(),
        section: one.section.to_owned(),
        title: one.title.to_owned(),
        boxes: one.boxes.iter().map(|one| one.text.to_owned()).collect(),
        ..PlannedTask::default()
    }
}

/// The goal for the model: what the plan is about, and who ticks its boxes.
pub(super) fn told(title: &str, overview: &str, path: &str) -> String {
    let title = title.trim_start_matches("Plan:").trim();
    let about = [title, overview].into_iter().filter(|part| !part.is_empty());
    let about = about.collect::<Vec<_>>().join(". ");
    let whole = format!("The whole plan is in `{path}`. Ralph ticks its boxes; do not edit it.");
    match about.as_str() {
        "" => format!("Carry out the plan. {whole}"),
        about => format!("Carry out the plan: {}\n{whole}", about.trim_end_matches(' ')),
    }
}

fn goal(outline: &Outline<'_>, path: &str) -> String {
    told(outline.title, &bounded(&outline.overview.join(" "), OVERVIEW), path)
}

fn criteria(outline: &Outline<'_>, collector: &mut Collector<'_>) {
    let before = collector.problems.len();
    for part in &outline.commands {
        match part {
            Part::Item(line, text) => command_item(*line, text, collector),
            Part::Code(lines) => match commands::of_block(lines) {
                Ok(found) => {
                    found.into_iter().for_each(|(line, found)| collector.command(line, found));
                }
                Err(one) => collector.problems.push(problem(one.number, one.what)),
            },
            Part::Text(_) => {}
        }
    }
    for (line, text) in &outline.acceptance {
        if collector.condition(*line, text) == Condition::Prose {
            collector.reviewed(*line, text);
        }
    }
    let has_command = collector.criteria.iter().any(|one| !one.verification_command.is_empty());
    let promised = outline.command_headings.iter().find(|(_, text)| words::promises_commands(text));
    if let (false, true, Some((line, text))) =
        (has_command, collector.problems.len() == before, promised)
    {
        let what = format!("no command below `{text}`; write each as - `COMMAND`");
        collector.problems.push(problem(*line, what));
    }
}

fn command_item(line: usize, text: &str, collector: &mut Collector<'_>) {
    let found = commands::of_item(text);
    if found.is_empty() && collector.condition(line, text) == Condition::Prose {
        collector.reviewed(line, text);
    }
    found.into_iter().for_each(|found| collector.command(line, found));
}

fn is_left_out(one: &OutlineTask<'_>) -> bool {
    matches!(one.within, Some(PlanSection::Optional | PlanSection::Manual)) && !one.is_ticked()
}

fn left_out(outline: &Outline<'_>, collector: &mut Collector<'_>) {
    let why = |section| match section {
        PlanSection::Optional => "is optional; move it out of its section to have it done",
        PlanSection::Manual => "is for a person",
        _ => "is below no task heading; move it below one to have it done",
    };
    let mut note = |line, text: &str, section| {
        collector.note(line, format!("left out: `{}` {}", bounded(text, QUOTED), why(section)));
    };
    for one in outline.tasks.iter().filter(|one| is_left_out(one)) {
        note(one.line, one.title, one.within.unwrap_or(PlanSection::Optional));
    }
    for one in &outline.others {
        note(one.line, one.text, one.within);
    }
}

fn task(one: &OutlineTask<'_>, path: &str, collector: &mut Collector<'_>) -> Task {
    let name = match words::task_heading(one.title).filter(|_| one.label.is_some()) {
        Some((_, "")) | None => words::leading_id(one.title).map_or(one.title, |(_, name)| name),
        Some((_, name)) => name,
    };
    let status = if one.is_ticked() { TaskStatus::Done } else { TaskStatus::Pending };
    Task {
        name: name.trim_matches('*').trim().to_owned(),
        status,
        completion_condition: bounded(&condition(one, path), CONDITION),
        files: files(one),
        verify: task_commands(one, collector),
        ..Task::default()
    }
}

/// The commands below a label such as `Validation` inside a task.
fn task_commands(one: &OutlineTask<'_>, collector: &mut Collector<'_>) -> Vec<String> {
    let mut commands = Vec::new();
    for (_, part) in one.parts.iter().filter(|(section, _)| *section == PlanSection::Commands) {
        let found = match part {
            Part::Item(line, text) => {
                commands::of_item(text).into_iter().map(|found| (*line, found)).collect()
            }
            Part::Text(text) => {
                commands::of_item(text).into_iter().map(|found| (one.line, found)).collect()
            }
            Part::Code(lines) => match commands::of_block(lines) {
                Ok(found) => found,
                Err(one) => {
                    collector.problems.push(problem(one.number, one.what));
                    continue;
                }
            },
        };
        commands
            .extend(found.into_iter().filter_map(|(line, found)| collector.proving(line, found)));
    }
    commands.into_iter().map(|found: commands::PlanCommand| found.command).collect()
}

/// The open steps and the conditions of a task.
fn condition(one: &OutlineTask<'_>, path: &str) -> String {
    let steps = one.boxes.iter().skip(usize::from(one.has_own_box));
    let steps: Vec<&str> =
        steps.filter(|step| !step.checkbox.is_ticked).map(|step| step.text).collect();
    let mut parts = Vec::new();
    if !steps.is_empty() {
        let place = format!("`{path}`, line {}", one.line);
        parts.push(format!("each step is done ({place}): {}", steps.join("; ")));
    }
    for (section, part) in &one.parts {
        let is_item = one.section.is_empty() && one.label.is_some();
        match (section, part) {
            (PlanSection::Acceptance, Part::Item(_, text) | Part::Text(text)) => {
                parts.push((*text).to_owned());
            }
            (PlanSection::Commands, Part::Item(_, text)) if commands::of_item(text).is_empty() => {
                parts.push((*text).to_owned());
            }
            // What is indented below a box belongs to it; a heading's paragraphs are in the plan.
            (PlanSection::Other, Part::Item(_, text) | Part::Text(text))
                if !is_item && words::dependencies(text).is_empty() =>
            {
                parts.push((*text).to_owned());
            }
            _ => {}
        }
    }
    match parts.is_empty() && !one.is_ticked() {
        true => format!("it is as `{path}`, line {}, says", one.line),
        false => parts.join("; "),
    }
}

/// The paths between backticks below a label `Files`.
fn files(one: &OutlineTask<'_>) -> Vec<String> {
    let listed = one.parts.iter().filter(|(section, _)| *section == PlanSection::Files);
    let texts = listed.filter_map(|(_, part)| match part {
        Part::Item(_, text) | Part::Text(text) => Some(*text),
        Part::Code(_) => None,
    });
    let paths = texts.flat_map(|text| text.split('`').skip(1).step_by(2));
    let mut files: Vec<String> = Vec::new();
    for path in paths.filter(|path| !path.is_empty() && !path.contains(' ')) {
        if !files.iter().any(|file| file == path) {
            files.push(path.to_owned());
        }
    }
    files
}

/// Gives each task an id: that of the plan where it is unique, otherwise the next number.
fn identify(tasks: &mut [(&OutlineTask<'_>, Task)]) {
    let ids: Vec<Option<String>> = tasks
        .iter()
        .map(|(one, _)| match one.label {
            Some(label) => Some(format!("T-{label}")),
            None => words::leading_id(one.title).map(|(id, _)| id.to_owned()),
        })
        .collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    ids.iter().flatten().for_each(|id| *counts.entry(id).or_default() += 1);
    for ((_, task), id) in tasks.iter_mut().zip(&ids) {
        if let Some(id) = id.as_ref().filter(|id| counts[id.as_str()] == 1) {
            task.id.clone_from(id);
        }
    }
    plan::number(tasks.iter_mut().map(|(_, task)| &mut task.id), "T-");
}

/// Sets the dependencies that the plan states.
fn depend(tasks: &mut [(&OutlineTask<'_>, Task)], collector: &mut Collector<'_>) {
    let ids: Vec<String> = tasks.iter().map(|(_, task)| task.id.clone()).collect();
    for (one, task) in tasks {
        let parts = one.parts.iter().filter_map(|(_, part)| match part {
            Part::Item(_, text) | Part::Text(text) => Some(*text),
            Part::Code(_) => None,
        });
        for name in parts.chain([one.title]).flat_map(words::dependencies) {
            match ids.iter().find(|id| is_meant(&name, id)) {
                Some(id) if task.deps.contains(id) => {}
                Some(id) => task.deps.push(id.clone()),
                None if is_task_name(&name) => collector.note(
                    one.line,
                    format!("{} depends on `{name}`, which is no task of the plan", task.id),
                ),
                // Prose: "depends on the server", "none".
                None => {}
            }
        }
    }
}

fn is_meant(name: &str, id: &str) -> bool {
    let bare = without_word(name);
    [name, bare].iter().any(|name| {
        name.eq_ignore_ascii_case(id)
            || id.strip_prefix("T-").is_some_and(|label| name.eq_ignore_ascii_case(label))
    })
}

fn is_task_name(name: &str) -> bool {
    without_word(name) != name
}

/// The name without `Task` before it.
fn without_word(name: &str) -> &str {
    let words = ["task ", "step ", "iteration ", "story "];
    let is_there =
        |word: &&str| name.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    words.iter().find(|word| is_there(word)).map_or(name, |word| name[word.len()..].trim())
}
