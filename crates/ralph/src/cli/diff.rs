//! `ralph diff`: what has changed since the start of a loop.

use crate::command::context_dir::Here;
use crate::command::exit::{Exit, refused};
use crate::command::screen::{self, visible_lines};
use crate::command::select_loop::{self, FoundLoop, LoopArgs, LoopFilter};
use crate::verify::observe::Start;
use anyhow::{Context, Result};
use ralph_io::git::checkpoint;
use ralph_io::store::checks;
use std::io::IsTerminal;

/// What to show.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show only tests and what belongs to them
    #[arg(long)]
    tests: bool,
    #[command(flatten)]
    which: LoopArgs,
}

pub(crate) fn run(args: &Args) -> Result<Exit> {
    let here = Here::gather()?;
    let found = match select_loop::named(&here, &args.which)? {
        Some(found) => found,
        None => match select_loop::if_any(&here, &args.which, LoopFilter::Live)? {
            Some(found) => found,
            None => select_loop::last_ended(&here)
                .map_or_else(|| select_loop::one(&here, &args.which, LoopFilter::Live), Ok)?,
        },
    };
    show(&found, args.tests)?;
    Ok(Exit::Done)
}

/// Prints git's diff between the start of the loop and the present files.
pub(super) fn show(found: &FoundLoop, only_tests: bool) -> Result<()> {
    let start = checks::start_of(found.file.folder());
    let start = start.ok_or_else(|| {
        refused(
            Exit::No,
            "the start of this loop was not kept: the project is in no git repository",
        )
    })?;
    let paths = match only_tests {
        true => {
            let start = Start::read(found.file.folder(), &found.state);
            let start = start.map_err(|reason| refused(Exit::No, reason.why))?;
            start.changed_harness(&found.state.acceptance_criteria)
        }
        false => {
            let changed = checkpoint::changed_files(&start.root, &start.tree, None);
            let changed = changed.context("could not compare with the start of the loop")?;
            changed.into_iter().map(|(path, _)| path).collect()
        }
    };
    if paths.is_empty() {
        let what = if only_tests { "no test has changed" } else { "nothing has changed" };
        screen::tell(&format!("{what} since the start of the loop"));
        return Ok(());
    }
    let text = checkpoint::diff_since(&start.root, &start.tree, &paths)?;
    if std::io::stdout().is_terminal() {
        screen::print(&visible_lines(&String::from_utf8_lossy(&text)))
    } else {
        // Byte for byte, so that `git apply -R` accepts it.
        screen::print_bytes(&text)
    }
}
