//! `ralph task import`: makes a planned loop from a plan; the user starts it by typing `/ralph`.

use super::lint;
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, must_exist, refused};
use crate::command::journal::note;
use crate::command::screen::{self, visible, visible_lines};
use crate::command::select_loop;
use anyhow::Result;
use clap::ValueHint;
use ralph_core::state::{LoopState, StartedBy};
use ralph_core::tasks::graph::render::{self, Show};
use ralph_core::tasks::plan::{self, Plan, Problem};
use ralph_core::text::plural::counted;
use ralph_hooks::begin::{self, PlannedFrom};
use ralph_io::{client::given, store::lifecycle};
use std::path::Path;

/// The plan.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A JSON document, Markdown with a ```json block, or `.jsonl`; `-` reads standard input
    #[arg(value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    file: String,
}

/// Reads the plan and plans the loop; any problem in it leaves everything unchanged.
pub(super) fn run(here: &Here, args: &Args) -> Result<Exit> {
    nothing_is_live(here)?;
    let text = match args.file.as_str() {
        "-" => given::stdin()?,
        path => {
            must_exist(Path::new(path))?;
            given::file(Path::new(path))?
        }
    };
    let plan = match read(&args.file, &text) {
        Ok(plan) => plan,
        Err(problems) => return Err(unsound(problems.iter().map(ToString::to_string).collect())),
    };
    // Only the plan's own criteria can cause this error; problems with the project's
    // commands are reported below.
    let lacking = begin::cannot_start(&plan.criteria, &here.root);
    if !lacking.is_empty() {
        return Err(unsound(lacking));
    }
    let mut state = planned(here, plan)?;
    lint::tell(&lint::look(&state, &here.root));
    let file = lifecycle::create(&here.home, &mut state)?;
    let why = format!("from {}", if args.file == "-" { "standard input" } else { &args.file });
    note(here, &file, &state, ("task import", "planned"), &why);
    screen::print(&describe(&state, here))?;
    Ok(Exit::Done)
}

/// The file's name decides between tasks and a plan: the same text may be both, and a
/// single line is ambiguous.
fn read(file: &str, text: &str) -> Result<Plan, Vec<Problem>> {
    if !file.ends_with(".jsonl") {
        return plan::parse(text);
    }
    let tasks = plan::lines::parse(text)?;
    if tasks.is_empty() {
        return Err(vec![Problem {
            place: String::new(),
            what: "there is no task in it; write one on each line".to_owned(),
        }]);
    }
    Ok(Plan { tasks, ..Plan::default() })
}

fn unsound(problems: Vec<String>) -> anyhow::Error {
    problems.iter().for_each(|problem| screen::tell(&visible(problem)));
    let count = counted(problems.len(), "problem", "problems");
    refused(Exit::No, format!("the plan has {count}; nothing was imported"))
}

/// In a terminal, a user who imports a plan while a loop runs may mean the running loop's tasks. A
/// session's plan belongs to that session, whose own live loop has been checked.
fn nothing_is_live(here: &Here) -> Result<()> {
    if here.session.is_some() {
        return Ok(());
    }
    let live = select_loop::of_project(here, LoopState::is_live);
    live.first().map_or(Ok(()), |found| {
        let (id, position) = (visible(&found.state.loop_id), found.state.position());
        let message = format!(
            "loop {id} is live here at {position}; nothing was imported: cancel it first \
             (`ralph cancel`), or add to its tasks with `ralph task add`"
        );
        Err(refused(Exit::No, message))
    })
}

/// Builds a loop without writing it. A plan without criteria gets the project's commands.
pub(super) fn planned(here: &Here, plan: Plan) -> Result<LoopState> {
    let started_by = match here.session {
        Some(_) => StartedBy::Model,
        None => StartedBy::Person,
    };
    let goal = "Carry out the tasks of the plan.";
    begin::planned_from(&PlannedFrom { home: &here.home, root: &here.root, goal, started_by }, plan)
}

fn describe(state: &LoopState, here: &Here) -> String {
    let mut text = format!("Ralph loop {} planned\n", state.loop_id);
    for criterion in &state.acceptance_criteria {
        text.push_str(&format!(
            "{}  {}: {}\n",
            visible(&criterion.id),
            visible(&criterion.description),
            visible(&criterion.decided_by())
        ));
    }
    text.push_str(&visible_lines(&render::text(&state.task_graph, Show::All, here.now)));
    text.push_str("\nType /ralph in Claude Code, in this project, to start it.");
    text
}
