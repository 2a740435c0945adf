//! `ralph session …`: an orchestration, whose router is this program. It decides which agent is
//! called next and with what; a model, a script or the user makes the call.

mod list;
mod mark;
mod new;
mod next;
mod repair;
mod run;
mod send;
mod waves;

use crate::command::context_dir::Here;
use crate::command::exit::Exit;
use crate::orchestration::{SessionContext, named};
use anyhow::Result;
use ralph_core::views::report::{self, Report, SessionSeen};

/// What to do about a session.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum SessionCommand {
    /// Begin a session
    New(new::Args),
    /// List the sessions of the project
    List,
    /// Say which agents are called now, and with what
    Next(next::Next),
    /// Set the status of a task in `progress.md`
    Mark(mark::Args),
    /// Show the waves in which the tasks are carried out
    Waves(waves::Waves),
    /// Say something to a session while it works
    Signal(send::SignalArgs),
    /// Say what the next iteration is to do
    #[command(subcommand)]
    Feedback(send::FeedbackCommand),
    /// Say what is wrong with the files of a session
    Validate(repair::Validate),
    /// Put right what of a damaged session can be
    Repair(repair::Repair),
    /// Say where a session stands; nothing is written
    Status(next::Args),
    /// Draw the tasks and what depends on what
    Graph(waves::WavesArgs),
    /// Carry a session out without a conversation: each call is a client of its own
    Run(run::Args),
}

impl SessionCommand {
    /// The command as it is typed, without its arguments.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            SessionCommand::New(_) => "session new",
            SessionCommand::List => "session list",
            SessionCommand::Next(args) if args.begins() => "session --begin",
            SessionCommand::Next(_) => "session next",
            SessionCommand::Mark(_) => "session mark",
            SessionCommand::Waves(_) => "session waves",
            SessionCommand::Signal(_) => "session signal",
            SessionCommand::Feedback(_) => "session feedback",
            SessionCommand::Validate(_) => "session validate",
            SessionCommand::Repair(_) => "session repair",
            SessionCommand::Status(_) => "session status",
            SessionCommand::Graph(_) => "session graph",
            SessionCommand::Run(_) => "session run",
        }
    }
}

pub(crate) fn run(command: &SessionCommand) -> Result<Exit> {
    let place = SessionContext::gather(Here::gather()?)?;
    match command {
        SessionCommand::New(args) => new::run(&place, args),
        SessionCommand::List => list::run(&place),
        SessionCommand::Next(args) => next::next(&place, args),
        SessionCommand::Mark(args) => mark::run(&place, args),
        SessionCommand::Waves(args) => waves::waves(&place, args),
        SessionCommand::Signal(args) => send::signal(&place, args),
        SessionCommand::Feedback(send::FeedbackCommand::New(args)) => send::feedback(&place, args),
        SessionCommand::Validate(args) => repair::validate(&place, args),
        SessionCommand::Repair(args) => repair::repair(&place, args),
        SessionCommand::Status(args) => next::status(&place, args),
        SessionCommand::Graph(args) => waves::drawing(&place, args),
        SessionCommand::Run(args) => run::run(&place, args),
    }
}

/// Which session.
#[derive(Debug, clap::Args)]
pub(crate) struct SessionArg {
    /// The session's name [default: the only one that is not completed]
    #[arg(long, value_name = "ID")]
    id: Option<String>,
}

/// The report of one orchestration.
pub(super) fn report(place: &SessionContext, name: &str) -> Result<Report> {
    let (files, step) = next::decided(place, &place.read(&named(name)?)?)?;
    Ok(report::of_session(&SessionSeen { files: &files, step: &step, now: place.here.now }))
}
