//! `ralph plan`: plans without a person, in exactly the requested number of rounds.

use crate::cli::task;
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, refused};
use crate::command::number;
use crate::command::screen;
use crate::runs::client;
use crate::runs::options::{self, ClientOptions};
use crate::runs::plan::Planner;
use anyhow::Result;
use ralph_core::text::plural::counted;
use ralph_io::project::user_files;

/// How many rounds, and how the client is called.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of rounds
    #[arg(
        short = 'n',
        long = "max-iterations",
        value_name = "N",
        default_value = "1",
        value_parser = number::from_zero,
        allow_hyphen_values = true
    )]
    rounds: u32,
    #[command(flatten)]
    client: ClientOptions,
}

pub(crate) fn run(args: &Args) -> Result<Exit> {
    if args.rounds == 0 {
        let message = "planning needs at least one round: `ralph plan -n 1`";
        return Err(refused(Exit::Usage, message));
    }
    let here = Here::gather()?;
    let logs = options::logs(&here, "plan");
    let (client, rounds) = (&args.client, args.rounds);
    let planner = Planner { here: &here, client, rounds, logs, store: task::store };
    if args.client.dry_run {
        let round = planner.round(1)?;
        options::show(&round)?;
        return Ok(Exit::Done);
    }
    client::client()?;
    // A round only reads, and hands its tasks over in its last message.
    args.client.check(&here, "plan", &[])?;
    user_files::make_folders(&planner.logs, 0o700)?;
    screen::tell(&format!(
        "planning in {}; logs in {}",
        counted(args.rounds as usize, "round", "rounds"),
        screen::visible(&planner.logs.display().to_string())
    ));
    planner.all()
}
