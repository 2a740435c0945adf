//! `ralph checkpoint list|show|diff`: the read-only commands.

use super::{LoopCheckpoints, git_failed};
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, refused};
use crate::command::number;
use crate::command::screen::{self, visible, visible_lines};
use crate::command::select_loop::LoopArgs;
use anyhow::Result;
use ralph_io::git::checkpoint::{self, Checkpoint};
use serde_json::{Value, json};
use std::io::IsTerminal;

/// How the list is wanted.
#[derive(Debug, clap::Args)]
pub(crate) struct CheckpointListArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    which: LoopArgs,
}

/// Which moment is meant.
#[derive(Debug, clap::Args)]
pub(crate) struct CheckpointArgs {
    /// Checkpoint number [default: the newest]
    #[arg(value_name = "N", value_parser = number::count, allow_hyphen_values = true)]
    number: Option<u32>,
    #[command(flatten)]
    which: LoopArgs,
}

pub(super) fn list(here: &Here, args: &CheckpointListArgs) -> Result<Exit> {
    let kept = LoopCheckpoints::gather(here, &args.which)?;
    if args.json {
        let checkpoints: Vec<Value> = kept.checkpoints.iter().map(document).collect();
        let document =
            json!({"schema_version": 1, "loop_id": kept.loop_id, "checkpoints": checkpoints});
        screen::print_json(&document)?;
        return Ok(Exit::Done);
    }
    if kept.checkpoints.is_empty() {
        return Err(refused(Exit::No, kept.lack(None)));
    }
    let mut rows = vec![format!("loop {}", visible(&kept.loop_id))];
    rows.extend(kept.checkpoints.iter().map(row));
    screen::print(&rows.join("\n"))?;
    Ok(Exit::Done)
}

pub(super) fn one(here: &Here, args: &CheckpointArgs) -> Result<Exit> {
    let kept = LoopCheckpoints::gather(here, &args.which)?;
    let shown = checkpoint::show(&kept.root, kept.one(args.number)?).map_err(git_failed)?;
    screen::print(&visible_lines(&shown))?;
    Ok(Exit::Done)
}

pub(super) fn diff(here: &Here, args: &CheckpointArgs) -> Result<Exit> {
    let kept = LoopCheckpoints::gather(here, &args.which)?;
    let from = kept.one(args.number)?;
    let text = checkpoint::diff(&kept.root, from).map_err(git_failed)?;
    if text.is_empty() {
        screen::tell(&format!("nothing has changed since checkpoint {}", from.number));
    } else if std::io::stdout().is_terminal() {
        screen::print(&visible_lines(&String::from_utf8_lossy(&text)))?;
    } else {
        // Byte for byte, so that `git apply -R` accepts it.
        screen::print_bytes(&text)?;
    }
    Ok(Exit::Done)
}

fn row(checkpoint: &Checkpoint) -> String {
    let row = format!(
        "{:>3}  {}  {}  {}",
        checkpoint.number,
        screen::local(checkpoint.at),
        checkpoint.commit.get(..10).unwrap_or(&checkpoint.commit),
        visible(&checkpoint.about)
    );
    row.trim_end().to_owned()
}

fn document(checkpoint: &Checkpoint) -> Value {
    json!({
        "number": checkpoint.number,
        "reference": checkpoint.reference,
        "commit": checkpoint.commit,
        "tree": checkpoint.tree,
        "at": checkpoint.at,
        "about": checkpoint.about,
    })
}
