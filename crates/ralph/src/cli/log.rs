//! `ralph log`: what the clients of a run wrote and did, from their output.

use crate::cli::refine;
use crate::command::context_dir::Here;
use crate::command::exit::Exit;
use crate::command::number;
use crate::command::screen::{self, visible, visible_lines};
use crate::command::select_loop;
use crate::command::select_target::{Target, TargetArgs};
use crate::orchestration::OrchestrationContext;
use crate::runs::client::CLIENT;
use crate::runs::options;
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::path::Path;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of rounds or calls of agents
    #[arg(value_name = "N", default_value = "1", value_parser = number::count, allow_hyphen_values = true)]
    count: u32,
    /// Print one JSON document, with the files that hold the whole output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: TargetArgs,
}

pub(crate) fn run(args: &Args) -> Result<Exit> {
    let here = Here::gather()?;
    let (owner, session) = match args.target.target()? {
        Target::Refinement(name) => {
            (options::owner_in(&here.root, &refine::show::named(&here, name)?), String::new())
        }
        Target::Orchestration(id) => {
            let id = OrchestrationContext::gather(&here)?.find(id)?;
            (options::owner_in(&here.root, id.as_str()), String::new())
        }
        _ => {
            let state = select_loop::recent(&here, &args.target.which)?.state;
            (options::owner_of(&state), state.session_id)
        }
    };
    let logs = options::logs_of(&here, &owner);
    if logs.is_empty() {
        let conversation = match session.is_empty() {
            true => String::new(),
            false => format!("; `claude --resume {}` shows the conversation", visible(&session)),
        };
        bail!("no client of a run has worked on this yet{conversation}");
    }
    let count = usize::try_from(args.count).unwrap_or(usize::MAX);
    let logs = &logs[logs.len().saturating_sub(count)..];
    if args.json {
        let rounds = logs.iter().map(|log| Ok(json!({"file": log, "lines": lines(log)?})));
        let rounds = rounds.collect::<Result<Vec<Value>>>()?;
        return screen::print_json(&json!({"schema_version": 1, "logs": rounds}));
    }
    for log in logs {
        screen::print(&visible(&log.display().to_string()))?;
        for said in lines(log)? {
            screen::print(&visible_lines(&said))?;
        }
    }
    Ok(Exit::Done)
}

fn lines(log: &Path) -> Result<Vec<String>> {
    let text = std::fs::read(log).with_context(|| format!("could not read `{}`", log.display()))?;
    Ok(text.split(|byte| *byte == b'\n').flat_map(|line| CLIENT.readable(line)).collect())
}
