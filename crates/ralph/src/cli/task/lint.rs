//! `ralph task lint`: what prevents a plan from being carried out, and what would make it go badly.

use crate::command::context_dir::Here;
use crate::command::exit::Exit;
use crate::command::screen::{self, visible};
use crate::command::select_loop::LoopArgs;
use anyhow::Result;
use ralph_core::state::LoopState;
use ralph_core::tasks::graph;
use ralph_core::tasks::plan;
use ralph_core::text::plural::counted;
use ralph_hooks::begin;
use std::path::Path;

/// Which loop.
#[derive(Debug, clap::Args)]
pub(crate) struct Lint {
    #[command(flatten)]
    which: LoopArgs,
}

pub(super) struct LintResult {
    /// What prevents the plan from being carried out.
    pub(super) problems: Vec<String>,
    /// What would make it go badly.
    pub(super) advice: Vec<String>,
}

pub(super) fn run(here: &Here, args: &Lint) -> Result<Exit> {
    let state = super::find(here, &args.which)?.state;
    let looked = look(&state, &here.root);
    let mut rows: Vec<String> = looked.problems.iter().map(|row| visible(row)).collect();
    rows.extend(looked.advice.iter().map(|row| format!("advice: {}", visible(row))));
    rows.push(format!(
        "{}, {}: {}, {}",
        some(state.acceptance_criteria.len(), "criterion", "criteria"),
        some(state.task_graph.len(), "task", "tasks"),
        some(looked.problems.len(), "problem", "problems"),
        some(looked.advice.len(), "piece of advice", "pieces of advice"),
    ));
    screen::print(&rows.join("\n"))?;
    Ok(if looked.problems.is_empty() { Exit::Done } else { Exit::No })
}

/// Checks the criteria and the tasks of a loop.
pub(super) fn look(state: &LoopState, root: &Path) -> LintResult {
    let criteria = &state.acceptance_criteria;
    let mut problems: Vec<String> =
        plan::criteria_problems(criteria).iter().map(ToString::to_string).collect();
    problems.extend(begin::cannot_start(criteria, root));
    problems.extend(graph::lint(&state.task_graph).iter().map(ToString::to_string));
    let none = "there are no acceptance criteria, so nothing can show that the work is done; name \
                some with `/ralph \"task\" --ac 'DESCRIPTION=COMMAND'` or in a plan";
    let mut advice: Vec<String> =
        criteria.is_empty().then(|| none.to_owned()).into_iter().collect();
    advice.extend(graph::advice(&state.task_graph).iter().map(ToString::to_string));
    LintResult { problems, advice }
}

/// Reports the result on standard error, beside another command's output.
pub(super) fn tell(looked: &LintResult) {
    looked.problems.iter().for_each(|row| screen::tell(&visible(row)));
    looked.advice.iter().for_each(|row| screen::tell(&format!("advice: {}", visible(row))));
}

/// Like [`counted()`], with "no" for zero.
fn some(count: usize, one: &str, many: &str) -> String {
    match count {
        0 => format!("no {many}"),
        count => counted(count, one, many),
    }
}
