//! `prd.json`: a feature as user stories, each with conditions in prose and a member `passes`.

use super::criteria::{Collector, Condition};
use super::markdown::told;
use super::{ForeignPlan, problem};
use crate::state::{Criterion, PlanFormat, PlannedTask, Task, TaskStatus};
use crate::tasks::plan::{self, Plan, Problem};
use crate::text::truncate::bounded;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::ops::Range;

/// The names of the list of stories, as real files have them.
const STORIES: [&str; 3] = ["userStories", "user_stories", "stories"];

/// Maximum length of a task's completion condition, in UTF-16 units.
const CONDITION: usize = 2_000;

/// True for a document with stories that is no plan of Ralph's own.
pub(super) fn is_prd(text: &str) -> bool {
    match serde_json::from_str(text) {
        Ok(Value::Object(members)) => {
            let has = |name: &str| members.contains_key(name);
            STORIES.iter().any(|name| has(name)) && !has("task_graph")
        }
        // What is meant must be known to say what is wrong.
        Err(_) => STORIES[..2].iter().any(|name| text.contains(&format!("\"{name}\""))),
        Ok(_) => false,
    }
}

pub(super) fn read(
    path: &str,
    text: &str,
    project: &[Criterion],
) -> Result<ForeignPlan, Vec<Problem>> {
    let stories = stories(text)?;
    let document: Map<String, Value> = serde_json::from_str(without_mark(text).1)
        .map_err(|error| vec![problem(error.line(), format!("the plan is not JSON: {error}"))])?;
    let mut collector = Collector::new(project);
    verification_commands(&document, &mut collector);
    let mut read: Vec<(&Story<'_>, Task)> =
        stories.iter().map(|story| (story, story.task(&mut collector))).collect();
    read.sort_by_key(|(story, _)| story.priority());
    if read.is_empty() {
        let what =
            "`userStories` is empty; add a story with `id`, `title` and `acceptanceCriteria`";
        collector.problems.push(Problem { place: String::new(), what: what.to_owned() });
    }
    plan::number(read.iter_mut().map(|(_, task)| &mut task.id), "US-");
    let tasks: Vec<Task> = read.iter().map(|(_, task)| task.clone()).collect();
    collector.problems.extend(
        plan::flaws(&tasks).map(|(at, _, flaw)| problem(read[at].0.line, flaw.to_string())),
    );
    let mut criteria = collector.criteria;
    plan::number(criteria.iter_mut().map(|criterion| &mut criterion.id), "AC-");
    if !collector.problems.is_empty() {
        return Err(collector.problems);
    }
    let planned = read.iter().map(|(story, task)| PlannedTask {
        task: task.id.clone(),
        title: story.title().to_owned(),
        ..PlannedTask::default()
    });
    let planned = planned.collect();
    let title = document.get("project").and_then(Value::as_str).unwrap_or_default();
    let about = document.get("description").and_then(Value::as_str).unwrap_or_default();
    let branch = document.get("branchName").and_then(Value::as_str).unwrap_or_default().trim();
    let prompt = told(title, &bounded(about, 600), path);
    collector.notes.sort();
    Ok(ForeignPlan {
        format: PlanFormat::Prd,
        plan: Plan { prompt, criteria, tasks, ..Plan::default() },
        branch: branch.to_owned(),
        tasks: planned,
        notes: collector.notes,
    })
}

/// Commands for the whole project, which some versions of the format have.
fn verification_commands(document: &Map<String, Value>, collector: &mut Collector<'_>) {
    let Some(Value::Object(named)) = document.get("verificationCommands") else { return };
    for (name, command) in named {
        if let Some(command) = command.as_str().filter(|command| !command.trim().is_empty()) {
            let about = format!("{name} passes");
            collector
                .command(1, super::commands::PlanCommand { command: command.to_owned(), about });
        }
    }
}

/// A story, with its place in the document.
#[derive(Debug)]
pub(super) struct Story<'a> {
    pub(super) line: usize,
    members: Map<String, Value>,
    /// The raw value of `passes`, and its place in the document, in bytes.
    pub(super) passes: Option<(&'a str, Range<usize>)>,
}

#[derive(Deserialize)]
struct Passes<'a> {
    #[serde(borrow, default)]
    passes: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct StoryList<'a> {
    #[serde(borrow, default, rename = "userStories", alias = "user_stories", alias = "stories")]
    stories: Option<&'a RawValue>,
}

/// The text without a byte order mark, and the length of the mark.
fn without_mark(text: &str) -> (usize, &str) {
    let bare = text.trim_start_matches('\u{feff}');
    (text.len() - bare.len(), bare)
}

/// The stories of a document.
///
/// # Errors
/// If it is not JSON, or the stories are no list of objects.
pub(super) fn stories(text: &str) -> Result<Vec<Story<'_>>, Vec<Problem>> {
    let not_json = |error: serde_json::Error| {
        vec![problem(error.line(), format!("the plan is not JSON: {error}"))]
    };
    let document: StoryList<'_> = serde_json::from_str(without_mark(text).1).map_err(not_json)?;
    let offset = |raw: &str| raw.as_ptr() as usize - text.as_ptr() as usize;
    let line = |at: usize| text[..at].matches('\n').count() + 1;
    let raw = document.stories.map_or("[]", RawValue::get);
    let listed: Vec<&RawValue> = serde_json::from_str(raw).map_err(|_| {
        vec![problem(line(offset(raw)), "the stories are not a list; write `\"userStories\": […]`")]
    })?;
    let mut stories = Vec::new();
    let mut problems = Vec::new();
    for raw in listed {
        let (raw, line) = (raw.get(), line(offset(raw.get())));
        let read = serde_json::from_str::<Map<String, Value>>(raw)
            .and_then(|members| Ok((members, serde_json::from_str::<Passes<'_>>(raw)?.passes)));
        match read {
            Ok((members, passes)) => {
                let passes = passes.map(|one| {
                    let at = offset(one.get());
                    (one.get(), at..at + one.get().len())
                });
                stories.push(Story { line, members, passes });
            }
            Err(_) => problems.push(problem(
                line,
                "not a story; write an object with `id`, `title`, `acceptanceCriteria` and `passes`",
            )),
        }
    }
    if problems.is_empty() { Ok(stories) } else { Err(problems) }
}

impl Story<'_> {
    /// The story's id; empty if it has none.
    pub(super) fn id(&self) -> String {
        match self.members.get("id") {
            Some(Value::String(id)) => id.trim().to_owned(),
            Some(Value::Number(id)) => format!("US-{id}"),
            _ => String::new(),
        }
    }

    pub(super) fn title(&self) -> &str {
        let texts = ["title", "name", "story", "description"].into_iter();
        texts.map(|name| self.text(name)).find(|text| !text.is_empty()).unwrap_or_default()
    }

    fn text(&self, name: &str) -> &str {
        self.members.get(name).and_then(Value::as_str).unwrap_or_default().trim()
    }

    /// A list of texts under any of these names.
    fn list(&self, names: &[&str]) -> Vec<String> {
        let values = names.iter().find_map(|name| self.members.get(*name));
        let text = |value: &Value| match value {
            Value::Object(members) => ["description", "text", "criterion"]
                .into_iter()
                .find_map(|name| members.get(name)?.as_str().map(str::to_owned)),
            value => value.as_str().map(str::to_owned),
        };
        match values {
            Some(Value::Array(items)) => items.iter().filter_map(text).collect(),
            Some(Value::String(one)) => vec![one.clone()],
            _ => Vec::new(),
        }
    }

    /// Stories without a priority come last, in their order.
    fn priority(&self) -> u64 {
        match self.members.get("priority") {
            Some(Value::Number(number)) => number.as_u64().unwrap_or(u64::MAX),
            Some(Value::String(word)) => {
                let heading = format!("{word} priority");
                super::words::urgency(&heading).map_or(u64::MAX, u64::from)
            }
            _ => u64::MAX,
        }
    }

    fn is_done(&self) -> bool {
        self.members.get("passes") == Some(&Value::Bool(true))
            || matches!(self.text("status"), "done" | "completed" | "passed")
    }

    fn task(&self, collector: &mut Collector<'_>) -> Task {
        let mut conditions = Vec::new();
        let about = self.text("description");
        if about != self.title() && !about.is_empty() {
            conditions.push(about.trim_end_matches('.').to_owned());
        }
        for text in self.list(&["acceptanceCriteria", "acceptance_criteria", "criteria"]) {
            if collector.condition(self.line, &text) == Condition::Command {
                continue;
            }
            // Said of each story, and true of the whole project.
            if is_of_project(&text) {
                collector.reviewed(self.line, &text);
            } else {
                conditions.push(text.trim().trim_end_matches('.').to_owned());
            }
        }
        if conditions.is_empty() && !self.is_done() {
            conditions.push("the story holds as it is written".to_owned());
        }
        if self.title().is_empty() {
            let what = "the story has no title; write `\"title\": \"WHAT IS TO BE DONE\"`";
            collector.problems.push(problem(self.line, what));
        }
        Task {
            id: self.id(),
            name: self.title().to_owned(),
            deps: self.list(&["dependsOn", "depends_on", "dependencies", "deps", "blockedBy"]),
            status: if self.is_done() { TaskStatus::Done } else { TaskStatus::Pending },
            completion_condition: bounded(&conditions.join("; "), CONDITION),
            ..Task::default()
        }
    }
}

fn is_of_project(text: &str) -> bool {
    let words = text.trim().trim_end_matches('.').to_ascii_lowercase();
    ["typecheck passes", "type check passes", "tests pass", "all tests pass", "lint passes"]
        .contains(&words.as_str())
}
