//! `ralph build`: works through the planned tasks without a person. It is `ralph run` on a plan.

use super::run::EXIT_CODES;
use crate::command::context_dir::Here;
use crate::command::exit::Exit;
use crate::command::select_loop::{self, LoopArgs, LoopFilter};
use crate::runs::build::{self, ReadyRun, RunOptions};
use crate::runs::options;
use anyhow::Result;

/// How many rounds, and how they run.
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct Args {
    /// Maximum number of rounds; 0: until no task is ready
    #[arg(
        short = 'n',
        long = "max-iterations",
        value_name = "N",
        default_value = "0",
        value_parser = options::count,
        allow_hyphen_values = true
    )]
    rounds: u32,
    #[command(flatten)]
    which: LoopArgs,
    #[command(flatten)]
    how: RunOptions,
}

pub(crate) fn run(args: &Args) -> Result<Exit> {
    let here = Here::gather()?;
    let found = select_loop::one(&here, &args.which, LoopFilter::WithTasks)?;
    build::nobody_works(&found.state)?;
    if args.how.client.dry_run {
        build::show_first(&here, (Some(&found.file), &found.state), &args.how, "build")?;
        return Ok(Exit::Done);
    }
    ReadyRun::check(&here, "build", &args.how, args.rounds)?.work_on(&found, |_| {})
}
