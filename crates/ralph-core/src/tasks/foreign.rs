//! Plans that people already have, in the forms of other tools: Markdown with checkboxes (ralphex,
//! `fix_plan.md`, the `tasks.md` of spec-kit and OpenSpec), `prd.json`, and the plans of consensus
//! planning.
//!
//! A box or a story is a task; a command is a criterion only where it is marked as code. Boxes that
//! become no task and conditions without a command are noted with their lines, and Ralph shows the
//! notes before the work starts. The file stays the user's: only [`tick`] changes it, and only the
//! boxes of tasks that are done.

mod markdown;

use crate::shell::vacuous;
use crate::state::{Criterion, PlanFile, PlanFormat, PlannedTask, Task, TaskStatus};
use crate::tasks::graph;
use crate::tasks::plan::{self, Plan, Problem};
use crate::text::truncate::bounded;
use markdown::BoxedTask;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

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
        return is_prd(bare).then_some(PlanFormat::Prd);
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
        PlanFormat::Prd => prd_plan(path, text),
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
        let flaws = graph::lint_with_places(&self.tasks).into_iter();
        self.problems.extend(flaws.map(|(at, flaw)| problem(lines[at], flaw.what)));
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
    let Ok(stories) = prd_stories(text) else {
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

// `prd.json`: a feature as user stories, each with conditions in prose and a member `passes`.

/// The members of a document that Ralph reads.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct PrdDocument<'a> {
    project: String,
    description: String,
    branch_name: String,
    #[serde(borrow, alias = "user_stories", alias = "stories")]
    user_stories: Option<&'a RawValue>,
    /// Commands for the whole project, which some versions of the format have.
    verification_commands: BTreeMap<String, Value>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct StoryText<'a> {
    id: String,
    title: String,
    description: String,
    #[serde(alias = "acceptance_criteria")]
    acceptance_criteria: Vec<String>,
    #[serde(alias = "depends_on", alias = "dependencies")]
    depends_on: Vec<String>,
    /// Stories without a priority come last, in their order.
    priority: Option<u64>,
    #[serde(borrow)]
    passes: Option<&'a RawValue>,
}

/// A story, with its place in the document.
pub(super) struct Story<'a> {
    line: usize,
    text: StoryText<'a>,
    /// The raw value of `passes`, and its place in the document, in bytes.
    pub(super) passes: Option<(&'a str, Range<usize>)>,
}

/// True for a document with stories that is no plan of Ralph's own.
pub(super) fn is_prd(text: &str) -> bool {
    match serde_json::from_str(text) {
        Ok(Value::Object(members)) => {
            let names = ["userStories", "user_stories", "stories"];
            names.iter().any(|name| members.contains_key(*name))
                && !members.contains_key("task_graph")
        }
        // What is meant must be known to say what is wrong.
        Err(_) => text.contains("\"userStories\""),
        Ok(_) => false,
    }
}

pub(super) fn prd_plan(path: &str, text: &str) -> Result<ForeignPlan, Vec<Problem>> {
    let (document, mut stories) = read_prd(text)?;
    stories.sort_by_key(|story| story.text.priority.unwrap_or(u64::MAX));
    let mut collected = Collected::default();
    for (name, command) in &document.verification_commands {
        if let Some(command) = command.as_str().map(str::trim).filter(|it| !it.is_empty()) {
            collected.add(1, command, bounded(&format!("{name} passes"), LONGEST));
        }
    }
    for story in &stories {
        let task = story.task(&mut collected);
        collected.tasks.push(task);
    }
    if stories.is_empty() {
        let what =
            "`userStories` is empty; add a story with `id`, `title` and `acceptanceCriteria`";
        collected.problems.push(Problem { place: String::new(), what: what.to_owned() });
    }
    let lines: Vec<usize> = stories.iter().map(|story| story.line).collect();
    let prompt = goal(document.project.trim(), &bounded(&document.description, 600), path);
    let (plan, notes) = collected.finish(prompt, "US-", &lines)?;
    let planned = stories.iter().zip(&plan.tasks).map(|(story, task)| PlannedTask {
        task: task.id.clone(),
        title: story.title().to_owned(),
        ..PlannedTask::default()
    });
    let (tasks, branch) = (planned.collect(), document.branch_name.trim().to_owned());
    Ok(ForeignPlan { format: PlanFormat::Prd, plan, branch, tasks, notes })
}

/// The stories of a document.
///
/// # Errors
/// If it is not JSON, or the stories are no list of objects.
pub(super) fn prd_stories(text: &str) -> Result<Vec<Story<'_>>, Vec<Problem>> {
    Ok(read_prd(text)?.1)
}

fn read_prd(text: &str) -> Result<(PrdDocument<'_>, Vec<Story<'_>>), Vec<Problem>> {
    let not_json = |error: serde_json::Error| {
        vec![problem(error.line(), format!("the plan is not JSON: {error}"))]
    };
    let bare = text.trim_start_matches('\u{feff}');
    let document: PrdDocument<'_> = serde_json::from_str(bare).map_err(not_json)?;
    let offset = |raw: &str| raw.as_ptr() as usize - text.as_ptr() as usize;
    let line = |at: usize| text[..at].matches('\n').count() + 1;
    let raw = document.user_stories.map_or("[]", RawValue::get);
    let listed: Vec<&RawValue> = serde_json::from_str(raw).map_err(|_| {
        vec![problem(line(offset(raw)), "the stories are not a list; write `\"userStories\": […]`")]
    })?;
    let (mut stories, mut problems) = (Vec::new(), Vec::new());
    for raw in listed.into_iter().map(RawValue::get) {
        let line = line(offset(raw));
        match serde_json::from_str::<StoryText<'_>>(raw) {
            Ok(text) => {
                let place = |one: &'_ str| offset(one)..offset(one) + one.len();
                let passes = text.passes.map(|one| (one.get(), place(one.get())));
                stories.push(Story { line, text, passes });
            }
            Err(error) => {
                let how = "write an object with `id`, `title`, `acceptanceCriteria` and `passes`";
                problems.push(problem(line, format!("not a story: {error}; {how}")));
            }
        }
    }
    if problems.is_empty() { Ok((document, stories)) } else { Err(problems) }
}

impl Story<'_> {
    /// The story's id; empty if it has none.
    pub(super) fn id(&self) -> &str {
        self.text.id.trim()
    }

    pub(super) fn title(&self) -> &str {
        self.text.title.trim()
    }

    fn task(&self, collected: &mut Collected) -> Task {
        let is_done = self.passes.as_ref().is_some_and(|(raw, _)| *raw == "true");
        let about = self.text.description.trim().trim_end_matches('.');
        let mut conditions = vec![about];
        for text in &self.text.acceptance_criteria {
            if !collected.command(self.line, text) {
                conditions.push(text.trim().trim_end_matches('.'));
            }
        }
        conditions.retain(|text| !text.is_empty());
        if conditions.is_empty() && !is_done {
            conditions.push("the story holds as it is written");
        }
        if self.title().is_empty() {
            let what = "the story has no title; write `\"title\": \"WHAT IS TO BE DONE\"`";
            collected.problems.push(problem(self.line, what));
        }
        Task {
            id: self.id().to_owned(),
            name: self.title().to_owned(),
            deps: self.text.depends_on.clone(),
            status: if is_done { TaskStatus::Done } else { TaskStatus::Pending },
            completion_condition: bounded(&conditions.join("; "), CONDITION),
            ..Task::default()
        }
    }
}

#[cfg(test)]
mod tests;
