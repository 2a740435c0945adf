//! `ralph parallel next`: tells the session that starts the workers its next step.
//!
//! The answer is for a model, so it is complete: the exact input of each call, the step after it,
//! and anything that prevents it.

use crate::command::context_dir::Here;
use crate::command::exit::Exit;
use crate::command::screen::{self, visible_lines};
use crate::command::select_loop::{self, LoopArgs, LoopFilter};
use anyhow::Result;
use ralph_core::modes::parallel::{self, NextParallelStep, merge};
use ralph_core::state::LoopState;
use ralph_io::git::worker_base::{self, Base};
use serde_json::json;

/// How it is shown.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    which: LoopArgs,
}

pub(super) fn run(here: &Here, args: &Args) -> Result<Exit> {
    let state = select_loop::one(here, &args.which, LoopFilter::Live)?.state;
    let next = parallel::next(&state, here.now);
    let (hindrance, lacking) = match &next {
        NextParallelStep::Start { .. } => base(here)?,
        _ => (None, Vec::new()),
    };
    if args.json {
        let document = json!({"schema_version": 1, "next": next, "hindrance": hindrance, "not_in_base": lacking});
        screen::print_json(&document)?;
    } else {
        screen::print(&visible_lines(&told(&state, &next, hindrance.as_deref(), &lacking)))?;
    }
    let goes_on = hindrance.is_none()
        && !matches!(next, NextParallelStep::Stuck { .. } | NextParallelStep::NoTasks);
    Ok(if goes_on { Exit::Done } else { Exit::No })
}

/// Why no worker can be started, and which uncommitted files the workers will not see.
fn base(here: &Here) -> Result<(Option<String>, Vec<String>)> {
    Ok(match worker_base::look(&here.root)? {
        Ok(base) => (hindrance(&base), base.uncommitted),
        Err(why) => (Some(why.to_string()), Vec::new()),
    })
}

/// Why workers would start from a base that lacks commits of this branch.
fn hindrance(base: &Base) -> Option<String> {
    let behind = base.behind.as_ref()?;
    Some(format!(
        "workers would begin at {}, which lacks {} of this branch: the user must type `ralph install \
         --with worker-base`, or push",
        behind.reference,
        if behind.commits == 1 {
            "1 commit".to_owned()
        } else {
            format!("{} commits", behind.commits)
        }
    ))
}

fn told(
    state: &LoopState,
    next: &NextParallelStep,
    hindrance: Option<&str>,
    lacking: &[String],
) -> String {
    if let Some(why) = hindrance {
        return format!(
            "No worker can be started: {why}. Say so with `ralph blocked 'WHAT A PERSON MUST DO'` and \
             end your turn."
        );
    }
    match next {
        NextParallelStep::Start { calls } => {
            let inputs: Vec<String> = calls.iter().map(|call| json!(call).to_string()).collect();
            format!(
                "Start {} now: in one message, one call of the Agent tool for each line, with exactly \
                 this input.\n{}\n{}Then end your turn: you are woken when a worker ends. Run `ralph \
                 parallel next` again then.",
                if calls.len() == 1 {
                    "this worker".to_owned()
                } else {
                    format!("these {} workers", calls.len())
                },
                inputs.join("\n"),
                not_in_base(lacking)
            )
        }
        NextParallelStep::Merge { tasks } => format!(
            "Run `ralph parallel merge` now: the work of {} is done and not merged. Then run `ralph \
             parallel next` again.",
            tasks.join(", ")
        ),
        NextParallelStep::Wait { workers } => format!(
            "At work: {}. End your turn now: you are woken when one ends. Run `ralph parallel next` \
             again then.",
            workers.join(", ")
        ),
        NextParallelStep::Finished => format!(
            "All tasks are done and merged. Run `ralph verify`. When all criteria hold, end your message \
             with {} alone on its last line.",
            state.completion_token
        ),
        NextParallelStep::NoTasks => {
            "There are no tasks yet, and without tasks this loop cannot complete. Read what the goal \
             names, and bring its work into the graph with `ralph plan-sync`: one JSON object on each line \
             of standard input, `{\"id\":\"T-1\",\"name\":\"…\",\"deps\":[],\"completion_condition\":\"…\",\
             \"files\":[\"…\"]}`. Then run `ralph parallel next` again."
                .to_owned()
        }
        NextParallelStep::Stuck { why } => format!(
            "Nothing can be started: {}. Where you can fix that, `ralph task release ID` makes a task \
             pending again. Otherwise report what the user must do with `ralph blocked 'WHAT'`, and end \
             your turn.",
            why.join("; ")
        ),
    }
}

fn not_in_base(files: &[String]) -> String {
    match files.is_empty() {
        true => String::new(),
        false => format!("Not committed, so workers will not see it: {}.\n", merge::list(files)),
    }
}
