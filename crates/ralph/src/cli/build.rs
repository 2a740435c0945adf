//! `ralph build`: works through the planned tasks without a person. It is `ralph run` on a plan.

use super::run::EXIT_CODES;
use crate::command::context_dir::Here;
use crate::command::exit::Exit;
use crate::command::select_loop::{self, LoopFilter};
use crate::runs::build::{self, ReadyRun, RunOptions};
use anyhow::Result;

/// How many rounds, and how they run.
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES, mut_arg("rounds", as_in_build))]
pub(crate) struct Args {
    #[command(flatten)]
    how: RunOptions,
}

/// The rounds of a build have a long flag, which means the turns of the loop in `ralph run`.
fn as_in_build(rounds: clap::Arg) -> clap::Arg {
    rounds.long("max-iterations").help("Maximum number of rounds; 0: until no task is ready")
}

pub(crate) fn run(args: &Args) -> Result<Exit> {
    let here = Here::gather()?;
    let found = select_loop::one(&here, &args.how.which, LoopFilter::WithTasks)?;
    build::nobody_works(&found.state)?;
    if args.how.client.dry_run {
        build::show_first(&here, Some(&found.file), &found.state, &args.how, "build")?;
        return Ok(Exit::Done);
    }
    ReadyRun::check(&here, "build", &args.how, Some(&found.state))?.work_on(&found, |_| {})
}
