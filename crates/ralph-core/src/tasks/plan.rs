//! Reads a plan: criteria, tasks and the findings of planning, under the state file's own names.
//!
//! A model or a person writes the plan, so all problems are reported at once, each with its place.
//! A plan cannot vouch for itself: criteria arrive unverified, claims are dropped, and it cannot
//! choose how completion is decided.

pub mod lines;

use crate::shell::vacuous;
use crate::state::{Criterion, Extra, LimitFlag, LoopState, Progress, Task, TaskStatus};
use crate::tasks::graph;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::fmt;

/// A valid plan.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    /// The goal; empty if the plan has none.
    pub prompt: String,
    pub criteria: Vec<Criterion>,
    pub tasks: Vec<Task>,
    /// Test files that the work may change, as globs from the top of the repository.
    pub tests_may_change: Vec<String>,
    /// What planning found out about the project.
    pub context_report: String,
    /// The iteration limit, if the plan sets one.
    pub max_iterations: Option<u32>,
    /// Members that this version does not know.
    pub extra: Extra,
}

/// A problem of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The place: `task_graph[2].deps`, or empty for the plan as a whole.
    pub place: String,
    /// The problem, and what to do.
    pub what: String,
}

impl Problem {
    fn new(place: impl Into<String>, what: impl Into<String>) -> Problem {
        Problem { place: place.into(), what: what.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place.as_str() {
            "" => to.write_str(&self.what),
            place => write!(to, "{place}: {}", self.what),
        }
    }
}

/// Reads a plan from a JSON document or from a block of a Markdown document: see [`block`].
pub fn parse(text: &str) -> Result<Plan, Vec<Problem>> {
    let mut plan = document(text).map_err(|problem| vec![problem])?;
    number(plan.criteria.iter_mut().map(|criterion| &mut criterion.id), "AC-");
    number(plan.tasks.iter_mut().map(|task| &mut task.id), "T-");
    plan.criteria.iter_mut().for_each(unverified);
    plan.tasks.iter_mut().for_each(unclaimed);
    let of_criteria = criteria_flaws(&plan.criteria).into_iter();
    let of_criteria =
        of_criteria.map(|(at, field, what)| (format!("acceptance_criteria[{at}].{field}"), what));
    let statuses =
        unknown_statuses(&plan.tasks).map(|(at, what)| (format!("task_graph[{at}].status"), what));
    let of_tasks = graph::lint_with_places(&plan.tasks).into_iter();
    let of_tasks =
        of_tasks.map(|(at, flaw)| (format!("task_graph[{at}].{}", flaw.member), flaw.what));
    let all = of_criteria.chain(statuses).chain(of_tasks);
    let mut problems: Vec<Problem> = all.map(|(place, what)| Problem { place, what }).collect();
    if plan.criteria.is_empty() && plan.tasks.is_empty() {
        problems.push(Problem::new(
            "",
            "the plan has neither `acceptance_criteria` nor `task_graph`; say what is to be done \
             and how one can tell",
        ));
    }
    if problems.is_empty() { Ok(plan) } else { Err(problems) }
}

impl Plan {
    /// Puts the plan into a loop that is being prepared. Values that the plan does not set stay.
    pub fn fill(self, state: &mut LoopState) {
        if !self.prompt.trim().is_empty() {
            state.prompt = self.prompt;
        }
        if let Some(max_iterations) = self.max_iterations {
            state.max_iterations = max_iterations;
        }
        state.acceptance_criteria = self.criteria;
        state.task_graph = self.tasks.into();
        state.tests_may_change = self.tests_may_change;
        state.context_report = self.context_report;
        state.extra.extend(self.extra);
    }
}

/// Gives each empty id the next free number.
pub fn number<'a>(ids: impl Iterator<Item = &'a mut String>, prefix: &str) {
    let ids: Vec<&mut String> = ids.collect();
    let mut taken: HashSet<String> = ids.iter().map(|id| (**id).clone()).collect();
    let mut count = 0_usize;
    for id in ids.into_iter().filter(|id| id.trim().is_empty()) {
        loop {
            count += 1;
            *id = format!("{prefix}{count}");
            if taken.insert(id.clone()) {
                break;
            }
        }
    }
}

/// Drops the recorded results of a criterion: only Ralph writes them. A test count that is set
/// before the first run would be the one that later runs are held to.
pub(super) fn unverified(criterion: &mut Criterion) {
    let said = std::mem::take(criterion);
    *criterion = Criterion {
        id: said.id,
        description: said.description,
        verification_command: said.verification_command,
        review: said.review,
        paths: said.paths,
        extra: said.extra,
        ..Criterion::default()
    };
}

pub(super) fn unclaimed(task: &mut Task) {
    if task.status == TaskStatus::InProgress {
        task.status = TaskStatus::Pending;
    }
    task.owner = None;
    task.lease_expires_at = None;
}

/// The problems of a loop's criteria, by id: a criterion without a command can never pass, and one
/// that proves nothing passes from the start.
pub fn criteria_problems(criteria: &[Criterion]) -> Vec<Problem> {
    let named = |(at, field, what): (usize, &str, String)| {
        Problem::new(format!("{}.{field}", criteria[at].id), what)
    };
    criteria_flaws(criteria).into_iter().map(named).collect()
}

/// The flaws of the criteria, each with its position in the list and the member.
fn criteria_flaws(criteria: &[Criterion]) -> Vec<(usize, &'static str, String)> {
    let mut seen = HashSet::new();
    let mut flaws = Vec::new();
    for (at, criterion) in criteria.iter().enumerate() {
        if !seen.insert(criterion.id.as_str()) {
            let what = format!("{} is the id of two criteria; rename one", criterion.id);
            flaws.push((at, "id", what));
        }
        if criterion.description.trim().is_empty() {
            flaws.push((at, "description", "empty; write what must be true".to_owned()));
        }
        let command = criterion.verification_command.as_str();
        if let Some(question) = &criterion.review {
            if question.trim().is_empty() {
                flaws.push((at, "review", "empty; write the question to answer".to_owned()));
            }
            if !command.trim().is_empty() {
                let what = "a criterion has a command or a question, not both".to_owned();
                flaws.push((at, "review", what));
            }
        } else if let Some(why) = vacuous::refuse(command) {
            let what = match command.trim() {
                "" => format!("{why}; name a command that fails until the work is done"),
                command => {
                    format!(
                        "`{command}` proves nothing: {why}; name a command that fails until the \
                         work is done"
                    )
                }
            };
            flaws.push((at, "verification_command", what));
        }
    }
    flaws
}

/// An unknown status would exclude its task forever, and all tasks that depend on it.
fn unknown_statuses(tasks: &[Task]) -> impl Iterator<Item = (usize, String)> {
    tasks.iter().enumerate().filter_map(|(at, task)| match &task.status {
        TaskStatus::Other(word) => Some((at, graph::unknown_status(word))),
        _ => None,
    })
}

// Reads a state file that another tool or an older loop wrote.
//
// Nothing in it counts as evidence: a criterion arrives unverified and without a receipt, and must
// pass the checks of an imported plan.

/// Prepares the state for its adoption.
///
/// # Errors
/// The criteria that prove nothing and the unknown status words, each with its place.
pub fn adopted(mut state: LoopState) -> Result<LoopState, Vec<Problem>> {
    taken_in(&mut state);
    let mut problems = criteria_problems(&state.acceptance_criteria);
    problems.extend(
        unknown_statuses(&state.task_graph)
            .map(|(at, what)| Problem::new(format!("{}.status", state.task_graph[at].id), what)),
    );
    if problems.is_empty() { Ok(state) } else { Err(problems) }
}

/// Prepares a state that is used in place. As in [`adopted`], nothing in it counts as evidence;
/// items that cannot be used stay and prove nothing.
pub fn taken_in(state: &mut LoopState) {
    state.acceptance_criteria.iter_mut().for_each(unverified);
    number(state.acceptance_criteria.iter_mut().map(|one| &mut one.id), "AC-");
    state.task_graph.iter_mut().for_each(unclaimed);
    if state.prompt.is_empty() {
        // The old pattern kept no prompt, and without one the loop's prompt would name no goal.
        state.prompt = "Finish what was begun: the tasks and the criteria say what.".to_owned();
    }
    // A plain text tells no time.
    let undated = |at: &Timestamp| *at == Timestamp::UNIX_EPOCH;
    let errors = state.errors.iter_mut().filter(|error| undated(&error.at));
    errors.for_each(|error| error.at = state.created_at);
    state.frozen = None;
    state.checkpoint = None;
    state.progress = Progress::default();
}

/// The members of a plan. The state's other members (`phase`, `iteration`, `completion` …) are written by the loop: a plan
/// that contains them, like a copy of a state file, does not set them.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Members {
    prompt: Option<String>,
    acceptance_criteria: Option<Vec<Criterion>>,
    task_graph: Option<Vec<Task>>,
    tests_may_change: Option<Vec<String>>,
    context_report: Option<String>,
    max_iterations: Option<Value>,
    #[serde(flatten)]
    others: Extra,
}

/// The plan as written.
fn document(text: &str) -> Result<Plan, Problem> {
    let members = object(text).map_err(|what| Problem::new("", what))?;
    let members: Members = serde_path_to_error::deserialize(Value::Object(members))
        .map_err(|error| Problem::new(error.path().to_string(), error.inner().to_string()))?;
    let mut extra = members.others;
    extra.retain(|name, _| !is_of_state(name));
    Ok(Plan {
        prompt: members.prompt.unwrap_or_default(),
        criteria: members.acceptance_criteria.unwrap_or_default(),
        tasks: members.task_graph.unwrap_or_default(),
        tests_may_change: members.tests_may_change.unwrap_or_default(),
        context_report: members.context_report.unwrap_or_default(),
        max_iterations: members.max_iterations.map(max_iterations).transpose()?,
        extra,
    })
}

fn object(text: &str) -> Result<Map<String, Value>, String> {
    let text = text.trim_start_matches('\u{feff}').trim();
    let whole = || text.starts_with('[').then(|| text.to_owned());
    let json = match text.starts_with('{') {
        true => Some(text.to_owned()),
        false => block(text).map(|block| block.text).or_else(whole),
    };
    let Some(json) = json else {
        return Err("there is no plan here: a plan is Markdown with checkboxes (`- [ ] TASK`), \
                    `prd.json`, `fix_plan.md`, or a JSON object, alone or in a ```json block of \
                    a Markdown document, as `/ralplan` writes it"
            .to_owned());
    };
    match serde_json::from_str(&json) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err("a plan is a JSON object: write it in braces".to_owned()),
        Err(error) => Err(format!("the plan is not JSON: {error}")),
    }
}

/// A fenced block of a Markdown document, such as the JSON of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonBlock<'a> {
    /// The line of its opening fence, from 1.
    pub line: usize,
    /// The words behind the opening fence.
    pub kind: &'a str,
    /// The text between the fences.
    pub text: String,
}

/// The fenced blocks. One without a closing fence ends with the text.
fn fenced(text: &str) -> Vec<JsonBlock<'_>> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let Some((fence, kind)) = opening(line) else { continue };
        let inside: Vec<&str> =
            lines.by_ref().map(|(_, line)| line).take_while(|line| !closes(line, fence)).collect();
        blocks.push(JsonBlock { line: at + 1, kind, text: inside.join("\n") });
    }
    blocks
}

/// The block that contains the plan: the last
/// ```` ```json ralph-plan ```` block, otherwise the last ```` ```json ```` block. Blocks with
/// another language are skipped as a whole, because they may show a plan as an example.
pub fn block(text: &str) -> Option<JsonBlock<'_>> {
    let is_json = |block: &JsonBlock<'_>| {
        block.kind.split_whitespace().next().is_some_and(|word| word.eq_ignore_ascii_case("json"))
    };
    let is_named =
        |block: &JsonBlock<'_>| block.kind.split_whitespace().any(|word| word == "ralph-plan");
    let blocks = fenced(text).into_iter().filter(is_json);
    blocks.max_by_key(|block| (is_named(block), block.line))
}

/// The fence characters and the words after them.
pub(crate) fn opening(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let (fence, rest) = line.split_at(line.len() - line.trim_start_matches(mark).len());
    (fence.len() >= 3).then_some((fence, rest))
}

/// True for the line that closes this fence.
pub(crate) fn closes(line: &str, fence: &str) -> bool {
    let line = line.trim();
    line.starts_with(fence) && line.chars().all(|mark| fence.starts_with(mark))
}

/// The rule of the flag applies, so that a plan cannot set what a person could not type.
fn max_iterations(given: Value) -> Result<u32, Problem> {
    let given = given.to_string();
    let number = LimitFlag::MaxIterations.parse(&given);
    number.and_then(|number| u32::try_from(number).ok()).ok_or_else(|| {
        let most = LimitFlag::MaxIterations.most();
        let what = format!("not a whole number from 1 to {most}, but `{given}`");
        Problem::new("max_iterations", what)
    })
}

/// Asks the state itself. A list of its names would miss the next one, and a member that counts as
/// unknown here is written beside the state's own members and read back as one of them.
fn is_of_state(name: &str) -> bool {
    let alone = Map::from_iter([(name.to_owned(), Value::Null)]);
    match serde_json::from_value::<LoopState>(Value::Object(alone)) {
        Ok(state) => !state.extra.contains_key(name),
        // Only a member that the state knows can have a type that it refuses.
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod adopted_tests {
    use super::*;
    use crate::state::{LoopError, TaskStatus};
    use serde_json::json;

    fn read(value: serde_json::Value) -> Result<LoopState, Vec<String>> {
        let state = serde_json::from_value(value).unwrap();
        adopted(state).map_err(|problems| problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn status_words_of_real_loops_are_read() {
        for (word, status) in [
            ("completed", TaskStatus::Done),
            ("Done", TaskStatus::Done),
            ("COMPLETE", TaskStatus::Done),
            // No worker is active on it any more.
            ("in-progress", TaskStatus::Pending),
            ("In Progress", TaskStatus::Pending),
            ("not_started", TaskStatus::Pending),
            ("todo", TaskStatus::Pending),
            ("FAILED", TaskStatus::Failed),
            ("on hold", TaskStatus::Blocked),
        ] {
            let state = read(json!({"task_graph": [{"id": "T-1", "name": "n", "status": word}]}));
            assert_eq!(state.unwrap().task_graph[0].status, status, "{word}");
        }
        let refused = read(json!({"task_graph": [{"id": "T-1", "status": "blau"}]})).unwrap_err();
        assert_eq!(
            refused,
            ["T-1.status: `blau` is not a status; write `pending` or `done`, or omit it"]
        );
    }

    #[test]
    fn nothing_in_the_file_is_evidence() {
        let state = read(json!({"acceptance_criteria": [{
            "id": "AC-1", "description": "d", "verification_command": "cargo test",
            "verified": true, "tests_expected": 0, "held_on": "x",
            "receipt": {"command": "cargo test", "passed": true, "tree_after": "x", "tree_before": "x"},
        }]}))
        .unwrap();
        let criterion = &state.acceptance_criteria[0];
        assert!(!criterion.verified && criterion.receipt.is_none(), "{criterion:?}");
        assert_eq!((criterion.tests_expected, &criterion.held_on), (None, &None));
    }

    #[test]
    fn a_criterion_that_proves_nothing_is_named() {
        for command in ["", " ", "true", "echo ok", "npm test || true"] {
            let refused = read(json!({"acceptance_criteria": [{
                "id": "AC-1", "description": "d", "verification_command": command, "verified": true,
            }]}));
            let problems = refused.unwrap_err();
            assert!(problems[0].starts_with("AC-1.verification_command: "), "{problems:?}");
        }
    }

    #[test]
    fn errors_are_read_as_text_and_as_objects() {
        let errors = json!(["tsc failed", {"at": "2026-01-02T03:04:05Z", "message": "stalled"}]);
        let created = "2026-01-02T03:00:00Z";
        let state = read(json!({ "errors": errors, "created_at": created })).unwrap();
        let dated = |error: &LoopError| format!("{} {}", error.at, error.message);
        let errors: Vec<_> = state.errors.iter().map(dated).collect();
        assert_eq!(errors, ["2026-01-02T03:00:00Z tsc failed", "2026-01-02T03:04:05Z stalled"]);
    }
}
