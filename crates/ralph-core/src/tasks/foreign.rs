//! Plans that people already have, in the forms of other tools: Markdown with checkboxes (ralphex,
//! `fix_plan.md`, the `tasks.md` of spec-kit and OpenSpec), `prd.json`, and the plans of consensus
//! planning.
//!
//! A box or a story is a task; a command is a criterion only where it is marked as code. Boxes that
//! become no task and conditions without a command are noted with their lines, and Ralph shows the
//! notes before the work starts. The file stays the user's: only [`tick`] changes it, and only the
//! boxes of tasks that are done.

mod lines;
mod markdown;
mod prd;

use super::plan;
use super::plan::{Plan, Problem};
use crate::shell::vacuous;
use crate::state::{Criterion, PlanFile, PlanFormat, PlannedTask, Task};
use crate::text::truncate::bounded;
use markdown::BoxedTask;
use std::fmt;

/// Maximum length of a criterion's description, in UTF-16 units.
const LONGEST: usize = 300;

/// Maximum length of the text that a note quotes, in UTF-16 units.
const QUOTED: usize = 80;

/// Maximum length of a task's completion condition, in UTF-16 units.
const CONDITION: usize = 2_000;

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
pub fn format(text: &str) -> Option<PlanFormat> {
    let bare = text.trim_start_matches('\u{feff}').trim_start();
    if bare.starts_with('{') {
        return prd::is_prd(bare).then_some(PlanFormat::Prd);
    }
    let is_ours = plan::block(text).is_some_and(|block| markdown::is_plan(&block.text));
    let format = if is_ours { PlanFormat::Ralplan } else { PlanFormat::Markdown };
    // Without boxes there is nothing to tick, and a plan with a block is one of ours.
    (!markdown::read(text).tasks.is_empty()).then_some(format)
}

/// Reads a plan of this form. `path` is its name for the model.
///
/// # Errors
/// Every problem, with its line and what to write.
pub fn read(format: PlanFormat, path: &str, text: &str) -> Result<ForeignPlan, Vec<Problem>> {
    match format {
        PlanFormat::Prd => prd::plan(path, text),
        PlanFormat::Ralplan => {
            let plan = plan::parse(text)?;
            let (tasks, branch) = (markdown::boxes(text, &plan.tasks), String::new());
            Ok(ForeignPlan { format, plan, branch, tasks, notes: Vec::new() })
        }
        _ => markdown::plan(path, text),
    }
}

/// The file of a plan of consensus planning that became these tasks; `None` if it has no boxes.
pub fn ralplan_file(path: &str, text: &str, tasks: &[Task]) -> Option<PlanFile> {
    let tasks = markdown::boxes(text, tasks);
    let format = PlanFormat::Ralplan;
    (!tasks.is_empty()).then(|| PlanFile {
        path: path.to_owned(),
        format,
        tasks,
        ..PlanFile::default()
    })
}

/// Collects what the lines of a plan become.
#[derive(Debug, Default)]
struct Collected {
    tasks: Vec<Task>,
    criteria: Vec<Criterion>,
    notes: Vec<PlanNote>,
    problems: Vec<Problem>,
}

impl Collected {
    /// Adds a condition that begins with a command between backticks, or ends with one after a
    /// label; false for prose.
    fn command(&mut self, line: usize, text: &str) -> bool {
        let text = text.trim().trim_end_matches('.');
        let Some((before, rest)) = text.split_once('`') else { return false };
        let Some((command, after)) = rest.split_once('`') else { return false };
        let label = before.trim().strip_suffix(':').unwrap_or(before.trim());
        let is_label = before.trim().ends_with(':') && after.is_empty();
        // One word between backticks may be any name: `Config` passes.
        let is_command = command.contains(' ') || after.is_empty();
        if !(before.is_empty() || is_label) || !is_command || command.trim().is_empty() {
            return false;
        }
        let about = after.trim_start_matches(['-', '–', '—', ':', ' ']);
        let description = match (label, about) {
            ("", "" | "passes") => format!("`{command}` passes"),
            ("", about) => bounded(about, LONGEST),
            (label, _) => bounded(label, LONGEST),
        };
        self.add(line, command.trim(), description);
        true
    }

    /// Adds a criterion, unless the command proves nothing or is known.
    fn add(&mut self, line: usize, command: &str, description: String) {
        if let Some(why) = vacuous::refuse(command) {
            let what = format!(
                "`{command}` proves nothing: {why}; name a command that fails until the work is done, or remove the line"
            );
            self.problems.push(problem(line, what));
        } else if !self.criteria.iter().any(|one| one.verification_command == command) {
            let verification_command = command.to_owned();
            self.criteria.push(Criterion {
                description,
                verification_command,
                ..Criterion::default()
            });
        }
    }

    /// Adds a condition for the whole plan that only a reader can judge.
    fn reviewed(&mut self, line: usize, text: &str) {
        let text = bounded(text.trim(), LONGEST);
        self.note(
            line,
            format!("\"{}\" names no command, so it is reviewed", bounded(&text, QUOTED)),
        );
        let review = Some(format!("Does this hold? {text}"));
        self.criteria.push(Criterion { description: text, review, ..Criterion::default() });
    }

    fn note(&mut self, line: usize, what: String) {
        self.notes.push(PlanNote { line, what });
    }

    /// Numbers and checks what was collected; `lines` are those of the tasks.
    fn finish(
        mut self,
        prompt: String,
        prefix: &str,
        lines: &[usize],
    ) -> Result<(Plan, Vec<PlanNote>), Vec<Problem>> {
        plan::number(self.tasks.iter_mut().map(|task| &mut task.id), prefix);
        plan::number(self.criteria.iter_mut().map(|one| &mut one.id), "AC-");
        let flaws = plan::flaws(&self.tasks);
        self.problems.extend(flaws.map(|(at, _, flaw)| problem(lines[at], flaw.to_string())));
        if !self.problems.is_empty() {
            return Err(self.problems);
        }
        self.notes.sort();
        let (criteria, tasks) = (self.criteria, self.tasks);
        Ok((Plan { prompt, criteria, tasks, ..Plan::default() }, self.notes))
    }
}

/// The goal for the model: what the plan is about, and who ticks its boxes.
fn goal(title: &str, about: &str, path: &str) -> String {
    let about = [title, about].into_iter().filter(|part| !part.is_empty());
    let about = about.collect::<Vec<_>>().join(". ");
    let whole = format!("The whole plan is in `{path}`. Ralph ticks its boxes; do not edit it.");
    match about.as_str() {
        "" => format!("Carry out the plan. {whole}"),
        about => format!("Carry out the plan: {about}\n{whole}"),
    }
}

fn problem(line: usize, what: impl Into<String>) -> Problem {
    Problem { place: format!("line {line}"), what: what.into() }
}

// Ticks the tasks of a plan's file that are done, and changes no other byte.
//
// A task is found by its words, wherever the lines went. Where two places could be meant, nothing
// is ticked: a box that stays open is seen, a wrong one is believed.

/// The result of ticking.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ticks {
    /// The new text; `None` if nothing is left to tick.
    pub text: Option<String>,
    /// Ids of done tasks that the text does not name any more, or not clearly.
    pub lost: Vec<String>,
}

/// Ticks every task of the plan that is done.
pub fn tick(text: &str, plan: &PlanFile, is_done: impl Fn(&str) -> bool) -> Ticks {
    let done: Vec<&PlannedTask> = plan.tasks.iter().filter(|one| is_done(&one.task)).collect();
    match plan.format {
        PlanFormat::Markdown | PlanFormat::FixPlan | PlanFormat::Ralplan => {
            boxes(text, plan, &done)
        }
        PlanFormat::Prd => stories(text, &done),
        PlanFormat::Other(_) => Ticks::default(),
    }
}

fn boxes(text: &str, plan: &PlanFile, done: &[&PlannedTask]) -> Ticks {
    let document = markdown::read(text);
    let mut ticks = Ticks::default();
    let mut offsets = Vec::new();
    for planned in done {
        match find(&document.tasks, plan, planned) {
            Some(found) => offsets.extend(open_boxes(found, planned)),
            None => ticks.lost.push(planned.task.clone()),
        }
    }
    if !offsets.is_empty() {
        let mut bytes = text.as_bytes().to_vec();
        // A box is open if it holds a space, so the length stays.
        offsets.into_iter().for_each(|offset: usize| bytes[offset] = b'x');
        ticks.text = String::from_utf8(bytes).ok();
    }
    ticks
}

/// The task in the text: the only one of its title, or of its title and section, or the same one of
/// several that are all still there.
fn find<'o, 'a>(
    tasks: &'o [BoxedTask<'a>],
    plan: &PlanFile,
    planned: &PlannedTask,
) -> Option<&'o BoxedTask<'a>> {
    let titled: Vec<_> = tasks.iter().filter(|one| one.title == planned.title).collect();
    let alike = plan.tasks.iter().filter(|one| one.title == planned.title);
    if let ([only], 1) = (titled.as_slice(), alike.count()) {
        return Some(only);
    }
    let same: Vec<_> = titled.into_iter().filter(|one| one.section == planned.section).collect();
    let alike = plan.tasks.iter().filter(|one| {
        (one.title.as_str(), one.section.as_str()) == (&planned.title, &planned.section)
    });
    let alike: Vec<&PlannedTask> = alike.collect();
    let at = alike.iter().position(|one| one.task == planned.task)?;
    (same.len() == alike.len()).then(|| same[at])
}

/// The open boxes that the task had when its plan was read. The model did not mark
/// a step that was added since, and of two equal steps it is unknown which is the old one.
fn open_boxes(found: &BoxedTask<'_>, planned: &PlannedTask) -> Vec<usize> {
    let known = |text: &str| planned.boxes.iter().filter(|one| *one == text).count();
    let there = |text: &str| found.boxes.iter().filter(|one| one.text == text).count();
    let open = found.boxes.iter().filter(|one| !one.checkbox.is_ticked);
    open.filter(|one| (1..=known(one.text)).contains(&there(one.text)))
        .map(|one| one.checkbox.offset)
        .collect()
}

fn stories(text: &str, done: &[&PlannedTask]) -> Ticks {
    let mut ticks = Ticks::default();
    let Ok(stories) = prd::stories(text) else {
        ticks.lost = done.iter().map(|one| one.task.clone()).collect();
        return ticks;
    };
    let mut places = Vec::new();
    for planned in done {
        let mut same: Vec<_> = stories.iter().filter(|one| one.id() == planned.task).collect();
        if same.len() != 1 {
            same = stories.iter().filter(|one| one.title() == planned.title).collect();
        }
        match same.as_slice() {
            [one] => match &one.passes {
                Some(("false", place)) => places.push(place.clone()),
                Some(("true", _)) => {}
                _ => ticks.lost.push(planned.task.clone()),
            },
            _ => ticks.lost.push(planned.task.clone()),
        }
    }
    if !places.is_empty() {
        places.sort_by_key(|place| place.start);
        let mut new = text.to_owned();
        places.into_iter().rev().for_each(|place| new.replace_range(place, "true"));
        ticks.text = Some(new);
    }
    ticks
}

#[cfg(test)]
mod tests;
