//! `ralph build`: works through the planned tasks without a person, one fresh client for each.

use crate::command::context_dir::Here;
use crate::command::exit::Exit;
use crate::command::screen;
use crate::command::select_loop::{self, LoopArgs, LoopFilter};
use crate::runs::build::{self, Builder};
use crate::runs::client;
use crate::runs::engine::{self, wait_for_earlier};
use crate::runs::options::{self, ClientOptions};
use crate::runs::parallel::{self, held_by_client};
use anyhow::Result;
use ralph_core::modes::build as rules;
use ralph_io::process::interrupts::Interrupts;
use ralph_io::project::user_files;

/// Exit codes of `ralph build` and `ralph parallel run`, shown in their help.
pub(super) const EXIT_CODES: &str = "Exit codes: 0 the loop is complete; 1 tasks are unfinished, the loop ended otherwise, or \
    you must act; 4 the client failed or you interrupted it.";

/// How many rounds, and how the client is called.
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
    client: ClientOptions,
}

pub(crate) fn run(args: &Args) -> Result<Exit> {
    let here = Here::gather()?;
    let found = select_loop::one(&here, &args.which, LoopFilter::WithTasks)?;
    build::nobody_works(&found.state)?;
    args.client.keep(&here, &found.state);
    let logs = options::logs(&here, "build");
    if args.client.dry_run {
        build::show_first(&here, &found, &args.client, &logs)?;
        return Ok(Exit::Done);
    }
    client::client()?;
    args.client.check(&here, "build", &build::needs())?;
    let _alone = build::alone(&found.file)?;
    wait_for_earlier(&held_by_client(&found.file))?;
    for line in parallel::free(&here, &found.file)? {
        screen::tell(&screen::visible(&line));
    }
    build::all_is_merged(&found.file)?;
    user_files::make_folders(&logs, 0o700)?;
    let state = build::take_up(&here, &found, "build", |state| {
        rules::free(state);
        args.client.bind(&here, state);
    })?;
    screen::tell(&screen::visible_lines(&build::announcement(&state, &logs, "building")));
    let interrupts = Interrupts::catch()?;
    let loop_file = (&here, &found.file);
    engine::run(Builder::new(loop_file, &args.client, logs, args.rounds, &interrupts)?)
}
