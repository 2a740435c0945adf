//! `ralph parallel clean`: removes the worktrees and branches of workers whose work is merged.

use crate::command::context_dir::Here;
use crate::command::exit::Exit;
use crate::command::screen::{self, visible};
use crate::parallel::clean::{self, CleanItem};
use anyhow::Result;
use serde_json::json;

/// Whether anything is removed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<Exit> {
    let here = Here::gather()?;
    let items = clean::clean(&here.home, &here.root, args.dry_run)?;
    let failed = items.iter().any(|item| !item.problem.is_empty());
    let exit = if failed { Exit::No } else { Exit::Done };
    if args.json {
        let document = json!({"schema_version": 1, "dry_run": args.dry_run, "worktrees": items});
        screen::print_json(&document)?;
        return Ok(exit);
    }
    let lines: Vec<String> = items.iter().map(|item| line(item, args.dry_run)).collect();
    screen::print(&match lines.is_empty() {
        true => "There are no worktrees of workers.".to_owned(),
        false => lines.join("\n"),
    })?;
    Ok(exit)
}

fn line(item: &CleanItem, dry_run: bool) -> String {
    let what = match (item.worktree.as_str(), item.branch.as_str()) {
        ("", branch) => format!("branch `{}`", visible(branch)),
        (worktree, "") => visible(worktree),
        (worktree, branch) => format!("{} and branch `{}`", visible(worktree), visible(branch)),
    };
    let task = if item.task.is_empty() { "" } else { &format!("{}: ", visible(&item.task)) };
    match (&item.stays, item.problem.as_str()) {
        (Some(stays), _) => format!(
            "stays         {task}{what}\n              {}; to remove it, work and all: {}",
            visible(&stays.reason()),
            visible(&item.command)
        ),
        (None, "") if dry_run => format!("would remove  {task}{what}"),
        (None, "") => format!("removed       {task}{what}"),
        (None, problem) => {
            format!("failed        {task}{what}\n              {}", visible(problem))
        }
    }
}
