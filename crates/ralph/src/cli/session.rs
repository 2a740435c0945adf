//! `ralph session …`: an orchestrated session, whose router is this program. It says which agent is called
//! next and with what; a model, a script or a person carries that out.

mod list;
mod mark;
mod mend;
mod new;
mod next;
mod put;
mod run;
mod waves;

use super::exit::{Exit, bad_state, refused};
use super::here::Here;
use anyhow::Result;
use ralph_core::modes::session::id::{REFUSED, SessionId};
use ralph_core::modes::session::snapshot::Snapshot;
use ralph_core::views::report::{self, Report, SessionSeen};
use ralph_io::store::sessions::{Changed, Sessions};

/// What to do about a session.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
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
    Signal(put::Signal),
    /// Say what the next iteration is to do
    #[command(subcommand)]
    Feedback(put::Feedback),
    /// Say what is wrong with the files of a session
    Validate(mend::Validate),
    /// Put right what of a damaged session can be
    Repair(mend::Repair),
    /// Say where a session stands; nothing is written
    Status(next::Args),
    /// Draw the tasks and what depends on what
    Graph(waves::Drawing),
    /// Carry a session out without a conversation: each call is a client of its own
    Run(run::Args),
}

impl Command {
    /// The command as it is typed, without its arguments.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Command::New(_) => "session new",
            Command::List => "session list",
            Command::Next(args) if args.begins() => "session --begin",
            Command::Next(_) => "session next",
            Command::Mark(_) => "session mark",
            Command::Waves(_) => "session waves",
            Command::Signal(_) => "session signal",
            Command::Feedback(_) => "session feedback",
            Command::Validate(_) => "session validate",
            Command::Repair(_) => "session repair",
            Command::Status(_) => "session status",
            Command::Graph(_) => "session graph",
            Command::Run(_) => "session run",
        }
    }
}

/// Does it.
pub(crate) fn run(command: &Command) -> Result<Exit> {
    let place = Place::gather(Here::gather()?)?;
    match command {
        Command::New(args) => new::run(&place, args),
        Command::List => list::run(&place),
        Command::Next(args) => next::next(&place, args),
        Command::Mark(args) => mark::run(&place, args),
        Command::Waves(args) => waves::waves(&place, args),
        Command::Signal(args) => put::signal(&place, args),
        Command::Feedback(put::Feedback::New(args)) => put::feedback(&place, args),
        Command::Validate(args) => mend::validate(&place, args),
        Command::Repair(args) => mend::repair(&place, args),
        Command::Status(args) => next::status(&place, args),
        Command::Graph(args) => waves::drawing(&place, args),
        Command::Run(args) => run::run(&place, args),
    }
}

/// Which session.
#[derive(Debug, clap::Args)]
pub(crate) struct Which {
    /// The session's name [default: the only one that is not completed]
    #[arg(long, value_name = "ID")]
    id: Option<String>,
}

/// Where the command was given, and the sessions there.
#[derive(Debug)]
pub(super) struct Place {
    here: Here,
    sessions: Sessions,
}

impl Place {
    /// Of the project where the command was given.
    pub(super) fn gather(here: Here) -> Result<Place> {
        let sessions = Sessions::of(&here.root, &here.home)?;
        Ok(Place { here, sessions })
    }

    /// Their names.
    pub(super) fn names(&self) -> Vec<SessionId> {
        self.sessions.list()
    }

    /// The report of one.
    pub(super) fn report(&self, name: &str) -> Result<Report> {
        let (files, step) = next::decided(self, &self.read(&named(name)?)?)?;
        Ok(report::of_session(&SessionSeen { files: &files, step: &step, now: self.here.now }))
    }

    /// The session that is meant.
    fn find(&self, which: &Which) -> Result<SessionId> {
        if let Some(name) = &which.id {
            return named(name);
        }
        let meant = self.sessions.meant().map_err(bad_state)?;
        meant.one(NONE, |id| format!("`--id {id}`")).map_err(|why| refused(Exit::No, why))
    }

    fn read(&self, id: &SessionId) -> Result<Snapshot> {
        self.sessions.read(id).map_err(bad_state)?.ok_or_else(|| missing(id))
    }

    /// Reads, decides and writes in one step.
    fn update<T>(
        &self,
        id: &SessionId,
        decide: impl FnMut(&Snapshot) -> Result<(Snapshot, T)>,
    ) -> Result<Changed<T>> {
        // What was refused says so itself; anything else is a file.
        let as_bad_state = |error: anyhow::Error| match error.is::<super::exit::Refused>() {
            true => error,
            false => bad_state(error),
        };
        self.sessions.update(id, decide).map_err(as_bad_state)?.ok_or_else(|| missing(id))
    }
}

/// What is said where there is none.
const NONE: &str = "there is no session here; `ralph session new TASK` begins one";

fn named(name: &str) -> Result<SessionId> {
    SessionId::parse(name).map_err(|_| refused(Exit::Usage, REFUSED))
}

fn missing(id: &SessionId) -> anyhow::Error {
    let what = format!("there is no session {id}; `ralph session new --id {id} TASK` begins it");
    refused(Exit::No, what)
}
