//! Shared by `ralph plan`, `ralph build` and `ralph ralplan run`: the number of rounds, the
//! client's options, the folder of the logs, and which results end a run.

use super::client::{self, ClientRound, Policy, RoundOutcome, RoundResult, preflight};
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, refused};
use crate::command::{number, screen};
use anyhow::Result;
use ralph_core::protocol::permission::Need;
use ralph_core::state::PauseCause;
use ralph_core::stop::progress::in_a_row;
use ralph_core::text::truncate::bounded;
use ralph_io::{process::clock, project::settings};
use std::ffi::OsString;
use std::path::PathBuf;

/// How the client is called.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ClientOptions {
    /// The client's permission mode, passed as its `--permission-mode` [default: the settings]
    #[arg(long, value_name = "MODE")]
    permission_mode: Option<String>,
    /// When a usage limit is reached, wait until it is reset
    #[arg(long)]
    wait_limits: bool,
    /// Print the command of the first round and start nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Arguments passed to the client
    #[arg(last = true, value_name = "ARG")]
    pub(crate) args: Vec<OsString>,
}

impl ClientOptions {
    pub(crate) fn policy(&self) -> Policy {
        Policy { waits_for_limits: self.wait_limits, ..Policy::default() }
    }

    /// The mode given here, else the one in Ralph's settings. `None` leaves it to the client's
    /// settings.
    pub(crate) fn permission_mode(&self, here: &Here) -> Option<String> {
        let said = || settings::read(&here.home, &here.root).0.client().permission_mode;
        self.permission_mode.clone().or_else(said)
    }

    /// A round with these options. `kind` is the word by which the hooks recognize it.
    pub(crate) fn round(&self, here: &Here, kind: &str, log: PathBuf) -> ClientRound {
        ClientRound {
            env: vec![("RALPH_ROUND".to_owned(), kind.to_owned())],
            extra_args: self.args.clone(),
            permission_mode: self.permission_mode(here),
            folder: Some(here.root.clone()),
            log,
            ..ClientRound::default()
        }
    }

    /// Prints the mode, and which of these calls the client's settings prevent. Returns true if
    /// none.
    pub(crate) fn tell(&self, here: &Here, needs: &[Need]) -> Result<bool> {
        let mode = self.permission_mode(here);
        let preflight = preflight(needs, mode.as_deref(), &here.root)?;
        screen::tell(&format!("permission mode: {}", screen::visible(&preflight.mode)));
        for line in preflight.lines() {
            screen::tell(&screen::visible(&line));
        }
        Ok(preflight.obstacles.is_empty())
    }
}

/// Prints the command of a round, for `--dry-run`.
pub(crate) fn show(round: &ClientRound) -> Result<()> {
    screen::print(&screen::visible_lines(&client::command_line(round)?))
}

/// The folder of this run's logs, with a file for each round.
pub(crate) fn logs(here: &Here, command: &str) -> PathBuf {
    let name = format!("{}-{command}-{}", clock::compact(here.now), std::process::id());
    here.home.root().join("rounds").join(name)
}

/// Parses a number of rounds. Accepts 0, which each command interprets for itself.
pub(crate) fn count(text: &str) -> Result<u32, String> {
    match text {
        "0" => Ok(0),
        text => number::max_iterations(text),
    }
}

/// Why no other round starts after this one; `None` if the next may start.
pub(crate) fn stops(outcome: &RoundOutcome) -> Option<String> {
    match outcome {
        RoundOutcome::Finished { .. } | RoundOutcome::Crashed { .. } => None,
        RoundOutcome::Ended => Some("ended by Ctrl-C".to_owned()),
        RoundOutcome::Overloaded { .. } => {
            Some("the API did not answer; try again later".to_owned())
        }
        RoundOutcome::RateLimited { until: Some(at) } => {
            Some(format!("the usage limit is reached until {at}; --wait-limits waits for that"))
        }
        RoundOutcome::RateLimited { until: None } => {
            Some("the usage limit is reached; try again later".to_owned())
        }
    }
}

/// After this many crashes in a row the client is not started again.
const MOST_CRASHES: u32 = 3;

/// Why no other round starts after this one, and the cause for the loop's pause. `crashes` counts
/// the crashes in a row, this one included.
pub(crate) fn rests(came: &RoundResult, crashes: u32) -> Option<(PauseCause, String)> {
    let cause = match &came.outcome {
        RoundOutcome::RateLimited { .. } => PauseCause::RateLimited,
        RoundOutcome::Ended => PauseCause::Person,
        _ => PauseCause::Crashed,
    };
    if crashes >= MOST_CRASHES {
        return Some((cause, format!("the client crashed {}", in_a_row(crashes))));
    }
    stops(&came.outcome).map(|why| (cause, why))
}

/// The longest text for a round in the journal.
const TOLD: usize = 1_000;

/// The journal's text about a round, with the denied calls: no hook event reports those in every
/// mode.
pub(crate) fn with_denials(told: &str, came: &RoundResult) -> String {
    let denied = came.denials.iter().map(|one| format!("{} {}", one.tool, one.about));
    let denied = denied.collect::<Vec<_>>();
    let denied = match denied.is_empty() {
        true => String::new(),
        false => format!("; not permitted: {}", denied.join(", ")),
    };
    bounded(&format!("{told}{denied}"), TOLD)
}

/// The error of a run that ended early.
pub(crate) fn broke_off(what: String) -> anyhow::Error {
    refused(Exit::MissingProgram, what)
}
