//! `ralph ralplan …`: a planner writes a plan, a critic judges it, and a person approves it.

mod decide;
mod next;
mod run;
mod status;

use super::Reach;
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, refused};
use crate::command::select_loop::{self, FoundLoop, LoopArgs};
use anyhow::Result;
use ralph_core::state::LoopState;

/// What to do about a plan.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum RalplanCommand {
    /// Make and review a plan, each agent in a fresh client
    Run(run::Args),
    /// Show the state of the planning and each agent's answer
    Status(PlanViewArgs),
    /// Print the next step of the planning session
    #[command(hide = true)]
    Next(PlanViewArgs),
    /// Approve the plan; /ralph then starts it as a loop
    Approve(decide::Args),
    /// Return the plan to the planner with changes to make
    Adjust(decide::Adjust),
    /// End the planning; the plan file stays
    Discard(decide::Args),
}

/// Which planning, and how it is shown.
#[derive(Debug, clap::Args)]
pub(crate) struct PlanViewArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    which: LoopArgs,
}

impl RalplanCommand {
    pub(super) fn reach(&self) -> Reach {
        use RalplanCommand::*;
        match self {
            Status(_) | Next(_) => Reach::Reads,
            Run(_) | Approve(_) | Adjust(_) | Discard(_) => Reach::User,
        }
    }
}

pub(crate) fn run(command: &RalplanCommand) -> Result<Exit> {
    let here = Here::gather()?;
    match command {
        RalplanCommand::Run(args) => run::run(&here, args),
        RalplanCommand::Status(args) => status::run(&here, args),
        RalplanCommand::Next(args) => next::run(&here, args),
        RalplanCommand::Approve(args) => decide::approve(&here, args),
        RalplanCommand::Adjust(args) => decide::adjust(&here, args),
        RalplanCommand::Discard(args) => decide::discard(&here, args),
    }
}

/// The live planning to use: the named one, else the session's own, else the project's.
fn live(here: &Here, which: &LoopArgs) -> Result<FoundLoop> {
    let is_live = |state: &LoopState| state.ralplan().is_some() && state.is_live();
    if let Some(found) = select_loop::named(here, which)? {
        return match is_live(&found.state) {
            true => Ok(found),
            false => Err(refused(
                Exit::No,
                format!(
                    "loop {} is not a live planning; `ralph status --all` lists all loops",
                    found.state.loop_id
                ),
            )),
        };
    }
    if let Some(session) = &here.session
        && let Some(found) = select_loop::of_session(here, session)?
        && is_live(&found.state)
    {
        return Ok(found);
    }
    of_project(here).ok_or_else(|| {
        let message = format!(
            "no planning is live in `{}`; `/ralplan \"what to plan\"` in Claude Code begins one",
            here.root.display()
        );
        refused(Exit::No, message)
    })
}

/// The project's live planning; a project has at most one.
fn of_project(here: &Here) -> Option<FoundLoop> {
    select_loop::of_project(here, |state| state.ralplan().is_some() && state.is_live()).pop()
}

/// Refuses in every session, not only the planning's own: in a session's shell a model types.
fn is_a_person(here: &Here) -> Result<()> {
    if here.session.is_none() {
        return Ok(());
    }
    Err(refused(
        Exit::No,
        "only you approve a plan: type this in a terminal outside of Claude Code, or answer the question in the \
         session",
    ))
}
