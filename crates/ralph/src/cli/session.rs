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

use super::Reach;
use crate::command::complete;
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, refused};
use crate::orchestration::{OrchestrationContext, named};
use anyhow::Result;
use clap_complete::engine::ArgValueCandidates;
use ralph_core::state::EndingKind;
use ralph_core::views::report::{self, OrchestrationReportInput, Report};
use ralph_hooks::modes::orchestration;
use ralph_io::store::lifecycle;

/// What to do about a session.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum OrchestrationCommand {
    /// Begin an orchestration
    New(new::Args),
    /// List the orchestrations of this project
    List,
    /// Print which agents to call next, and their prompts
    #[command(hide = true)]
    Next(next::Next),
    /// Set the status of a task in `progress.md`
    #[command(hide = true)]
    Mark(mark::Args),
    /// Show the tasks in waves
    Waves(waves::Waves),
    /// Send a message to an orchestration while it works
    Signal(send::SignalArgs),
    /// Give feedback for the next iteration
    #[command(subcommand)]
    Feedback(send::FeedbackCommand),
    /// Check the files of an orchestration
    Validate(repair::Validate),
    /// Repair the files of a damaged orchestration
    Repair(repair::Repair),
    /// Show the state of an orchestration
    Status(next::Args),
    /// Draw the tasks and their dependencies
    Graph(waves::WavesArgs),
    /// Run an orchestration, each call in a fresh client
    Run(run::Args),
}

impl OrchestrationCommand {
    pub(super) fn reach(&self) -> Reach {
        use OrchestrationCommand::*;
        match self {
            Next(args) if args.begins() => Reach::User,
            List | Next(_) | Waves(_) | Validate(_) | Status(_) | Graph(_) => Reach::Reads,
            Mark(_) | Repair(_) => Reach::OneLoop,
            New(_) | Signal(_) | Feedback(_) | Run(_) => Reach::User,
        }
    }
}

pub(crate) fn run(command: &OrchestrationCommand) -> Result<Exit> {
    let place = OrchestrationContext::gather(Here::gather()?)?;
    match command {
        OrchestrationCommand::New(args) => new::run(&place, args),
        OrchestrationCommand::List => list::run(&place),
        OrchestrationCommand::Next(args) => {
            refuse_cancelled(&place, args.which())?;
            next::next(&place, args)
        }
        OrchestrationCommand::Mark(args) => {
            refuse_cancelled(&place, args.which())?;
            mark::run(&place, args)
        }
        OrchestrationCommand::Waves(args) => waves::waves(&place, args),
        OrchestrationCommand::Signal(args) => send::signal(&place, args),
        OrchestrationCommand::Feedback(send::FeedbackCommand::New(args)) => {
            send::feedback(&place, args)
        }
        OrchestrationCommand::Validate(args) => repair::validate(&place, args),
        OrchestrationCommand::Repair(args) => repair::repair(&place, args),
        OrchestrationCommand::Status(args) => next::status(&place, args),
        OrchestrationCommand::Graph(args) => waves::drawing(&place, args),
        OrchestrationCommand::Run(args) => run::run(&place, args),
    }
}

/// Refuses to go on in the session in which the user cancelled this orchestration: a notification wakes
/// the model there, which has its instructions.
fn refuse_cancelled(place: &OrchestrationContext, which: &OrchestrationArg) -> Result<()> {
    let (here, Some(session)) = (&place.here, &place.here.session) else { return Ok(()) };
    let id = place.find(which.id.as_deref())?;
    if orchestration::driving(&here.home, &here.root, &id).is_some() {
        return Ok(());
    }
    let ended = lifecycle::ended(&here.home).into_iter().filter_map(|(_, state)| state.ok());
    let endings = ended
        .filter(|state| state.session_id == *session)
        .filter(|state| state.orchestration().is_some_and(|one| one.id == id.as_str()))
        .filter_map(|state| state.ending);
    match endings.max_by_key(|ending| ending.at) {
        Some(ending) if ending.kind == EndingKind::Cancelled => Err(refused(
            Exit::No,
            format!("session {id} was cancelled; `/ralph-v2 {id}` continues it"),
        )),
        _ => Ok(()),
    }
}

/// The orchestration that a command acts on.
#[derive(Debug, clap::Args)]
pub(crate) struct OrchestrationArg {
    /// The orchestration [default: the only unfinished one]
    #[arg(long, value_name = "ID", add = ArgValueCandidates::new(complete::orchestrations))]
    id: Option<String>,
}

/// The report of one orchestration.
pub(super) fn report(place: &OrchestrationContext, name: &str) -> Result<Report> {
    let (files, step) = next::decided(place, &place.read(&named(name)?)?)?;
    Ok(report::of_session(&OrchestrationReportInput {
        files: &files,
        step: &step,
        now: place.here.now,
    }))
}
