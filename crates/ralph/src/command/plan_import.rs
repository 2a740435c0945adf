//! Reads a plan for a loop: one of Ralph's own, or one of another tool.
//!
//! It says whatever did not become what it looks like, since the user agrees to what is shown before
//! anything starts.

use crate::command::context_dir::Here;
use crate::command::exit::must_exist;
use crate::command::screen::{self, visible};
use crate::command::select_loop;
use anyhow::{Result, anyhow, bail};
use ralph_core::project;
use ralph_core::state::{Criterion, LoopState, PlanFile, PlanFormat, StartedBy};
use ralph_core::tasks::foreign::{self, ForeignPlan};
use ralph_core::tasks::graph::render::{self, Show};
use ralph_core::tasks::plan::{self, Plan, Problem};
use ralph_core::text::plural::counted;
use ralph_hooks::begin::{self, PlannedFrom};
use ralph_io::client::given;
use ralph_io::project::plan_file;
use ralph_io::project::reader::DiskReader;
use std::path::Path;

/// A plan that was read and can be started.
#[derive(Debug)]
pub(crate) struct ImportedPlan {
    plan: Plan,
    /// The file whose boxes Ralph ticks.
    file: Option<PlanFile>,
    notes: Vec<String>,
}

/// Reads a plan from a file, or from standard input for `-`.
///
/// # Errors
/// With all problems on the screen.
pub(crate) fn read(here: &Here, name: &str) -> Result<ImportedPlan> {
    let text = match name {
        "-" => given::stdin()?,
        path => {
            must_exist(Path::new(path))?;
            given::file(Path::new(path))?
        }
    };
    let read = match foreign::format(&text) {
        Some(format) => of_another_tool(here, name, &text, format),
        None => of_ours(name, &text).map(|plan| ImportedPlan { plan, file: None, notes: vec![] }),
    };
    let read = read.map_err(|problems| {
        refused_plan(name, problems.iter().map(ToString::to_string).collect())
    })?;
    // Only the plan's own criteria can cause this error; those of the project are checked later.
    let lacking = begin::cannot_start(&read.plan.criteria, &here.root);
    if lacking.is_empty() { Ok(read) } else { Err(refused_plan(name, lacking)) }
}

fn of_another_tool(
    here: &Here,
    name: &str,
    text: &str,
    format: PlanFormat,
) -> Result<ImportedPlan, Vec<Problem>> {
    let path = plan_file::path_in_project(&here.root, Path::new(name)).filter(|_| name != "-");
    let shown = path.as_deref().unwrap_or(name);
    let read = foreign::read(format, shown, text)?;
    let mut notes: Vec<String> = read.notes.iter().map(ToString::to_string).collect();
    if path.is_none() {
        notes.push("its boxes are not ticked: it is no file of this project".to_owned());
    }
    let file = path.map(|path| read.file(&path));
    let ForeignPlan { mut plan, .. } = read;
    // A plan with nothing but prose still has the project's tests to pass.
    if !plan.criteria.is_empty() && plan.criteria.iter().all(|one| one.review.is_some()) {
        plan.criteria.splice(0..0, project::criteria(&DiskReader::new(&here.root)));
    }
    Ok(ImportedPlan { plan, file, notes })
}

/// The file's name decides between tasks and a plan: the same text may be both, and a single line
/// is ambiguous.
fn of_ours(file: &str, text: &str) -> Result<Plan, Vec<Problem>> {
    if !file.ends_with(".jsonl") {
        return plan::parse(text);
    }
    let tasks = plan::lines::parse(text)?;
    if tasks.is_empty() {
        let what = "there is no task in it; write one on each line".to_owned();
        return Err(vec![Problem { place: String::new(), what }]);
    }
    Ok(Plan { tasks, ..Plan::default() })
}

fn refused_plan(name: &str, problems: Vec<String>) -> anyhow::Error {
    problems.iter().for_each(|problem| screen::tell(&visible(problem)));
    let count = counted(problems.len(), "problem", "problems");
    let plan = if name == "-" { "the plan".to_owned() } else { format!("`{}`", visible(name)) };
    anyhow!("{plan} has {count}; nothing was imported")
}

/// Refuses a plan while a loop runs in the project: the user may mean the running loop. A session's
/// plan belongs to that session, whose own live loop has been checked.
pub(crate) fn nothing_is_live(here: &Here, advice: &str) -> Result<()> {
    if here.session.is_some() {
        return Ok(());
    }
    let live = select_loop::of_project(here, LoopState::is_live);
    live.first().map_or(Ok(()), |found| {
        let (id, position) = (visible(&found.state.loop_id), found.state.position());
        bail!("loop {id} is live here at {position}; nothing was imported: {advice}");
    })
}

impl ImportedPlan {
    /// Adds the criteria that the user names on the command line.
    pub(crate) fn with(mut self, criteria: &[Criterion]) -> ImportedPlan {
        let unnumbered = |one: &Criterion| Criterion { id: String::new(), ..one.clone() };
        self.plan.criteria.extend(criteria.iter().map(unnumbered));
        plan::number(self.plan.criteria.iter_mut().map(|one| &mut one.id), "AC-");
        self
    }

    /// Builds a loop without writing it, and returns it with what the user should know.
    pub(crate) fn into_loop(self, here: &Here) -> Result<(LoopState, Vec<String>)> {
        let mut state = planned(here, self.plan)?;
        state.plan_file = self.file;
        Ok((state, self.notes))
    }
}

/// Builds a loop from a plan without writing it. A plan without criteria gets the project's commands.
pub(crate) fn planned(here: &Here, plan: Plan) -> Result<LoopState> {
    let started_by = match here.session {
        Some(_) => StartedBy::Model,
        None => StartedBy::Person,
    };
    let goal = "Carry out the tasks of the plan.";
    begin::planned_from(&PlannedFrom { home: &here.home, root: &here.root, goal, started_by }, plan)
}

/// What the loop will do: its criteria, its tasks, and what the plan's reader noted.
pub(crate) fn describe(state: &LoopState, notes: &[String], here: &Here) -> String {
    let mut text = String::new();
    for criterion in &state.acceptance_criteria {
        let shown = visible(&criterion.decided_by());
        let (id, description) = (visible(&criterion.id), visible(&criterion.description));
        text.push_str(&format!("{id}  {description}: {shown}\n"));
    }
    let with_commands = state.task_graph.iter().filter(|task| !task.verify.is_empty());
    let with_commands: Vec<String> = with_commands
        .map(|task| format!("{} also needs: {}", task.id, task.verify.join("; ")))
        .map(|line| visible(&line) + "\n")
        .collect();
    let tasks = render::text(&state.task_graph, Show::All, here.now);
    text.push_str(&screen::visible_lines(&tasks));
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&with_commands.concat());
    for note in notes {
        text.push_str(&format!("  {}\n", visible(note)));
    }
    text
}

/// Ticks the tasks that are done in the file of the loop's plan, and tells which of those that are
/// `finished` now could not be found. A file that cannot be ticked stops nothing: the state is what
/// counts.
pub(crate) fn tick(state: &LoopState, finished: &[String]) {
    match plan_file::tick(Path::new(&state.project_root), state) {
        Ok(mut lost) => {
            lost.retain(|id| finished.contains(id));
            if !lost.is_empty() {
                let path = state.plan_file.as_ref().map_or("", |plan| plan.path.as_str());
                let (ids, path) = (visible(&lost.join(", ")), visible(path));
                screen::tell(&format!("could not find {ids} in `{path}`; tick it there yourself"));
            }
        }
        Err(error) => screen::tell(&visible(&format!("{error:#}"))),
    }
}
