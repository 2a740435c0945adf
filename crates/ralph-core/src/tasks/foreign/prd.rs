//! `prd.json`: a feature as user stories, each with conditions in prose and a member `passes`.

use super::{CONDITION, Collected, ForeignPlan, LONGEST, goal, problem};
use crate::state::{PlanFormat, PlannedTask, Task, TaskStatus};
use crate::tasks::plan::Problem;
use crate::text::truncate::bounded;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::ops::Range;

/// The members of a document that Ralph reads.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Document<'a> {
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

pub(super) fn plan(path: &str, text: &str) -> Result<ForeignPlan, Vec<Problem>> {
    let (document, mut stories) = read(text)?;
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
pub(super) fn stories(text: &str) -> Result<Vec<Story<'_>>, Vec<Problem>> {
    Ok(read(text)?.1)
}

fn read(text: &str) -> Result<(Document<'_>, Vec<Story<'_>>), Vec<Problem>> {
    let not_json = |error: serde_json::Error| {
        vec![problem(error.line(), format!("the plan is not JSON: {error}"))]
    };
    let bare = text.trim_start_matches('\u{feff}');
    let document: Document<'_> = serde_json::from_str(bare).map_err(not_json)?;
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
