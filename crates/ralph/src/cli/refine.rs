//! `ralph refine …`: improves a plan or the tasks in rounds until they no longer change.

mod background;
mod conversation;
mod in_session;
pub(crate) mod prompt;
pub(super) mod report;
mod run;
mod session;
mod show;
mod versions;

use super::Reach;
use crate::command::complete;
use crate::command::context_dir::Here;
use crate::command::exit::Exit;
use anyhow::Result;
use clap_complete::engine::ArgValueCandidates;
use std::path::{Path, PathBuf};

/// What to do about a refinement.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum RefineCommand {
    /// Make one round
    Once(run::Once),
    /// Make rounds until nothing changes, or until the limit
    Loop(run::Loop),
    /// Begin a round that an agent of this session makes, and print its prompt
    #[command(hide = true)]
    Begin(in_session::Begin),
    /// End that round; standard input is the agent's last message
    #[command(hide = true)]
    End(in_session::EndArgs),
    /// Print a prompt with its variables filled in
    #[command(hide = true)]
    Prompt(prompt::Args),
    /// Read ideas from standard input and print them as tasks for `ralph task sync`
    #[command(hide = true)]
    Ideas,
    /// Show the state of a refinement and its rounds
    Status(show::StatusArgs),
    /// List the refinements of this project
    List(show::ListArgs),
    /// Show the rounds of a refinement and the versions of its plan
    History(versions::History),
    /// Show the last change of the plan, or the difference of two versions
    Diff(versions::DiffArgs),
    /// Restore a version of the plan; the present plan is kept as a version
    Restore(versions::Restore),
    /// Print the present screen of a background refinement
    Peek(background::Name),
    /// Attach to a background refinement; Ctrl-B D detaches
    Attach(background::Name),
    /// End a refinement; its changes stay
    Kill(background::Name),
    /// What tmux runs: takes the order at a socket, and becomes it
    #[command(hide = true)]
    Within {
        /// The socket
        socket: PathBuf,
    },
}

/// The refinement that a command acts on.
#[derive(Debug, clap::Args)]
struct RefinementArg {
    /// The refinement [default: the only one that fits]
    #[arg(
        long = "id",
        alias = "session",
        value_name = "NAME",
        allow_hyphen_values = true,
        add = ArgValueCandidates::new(complete::refinements)
    )]
    name: Option<String>,
}

impl RefineCommand {
    /// The plan that a round of the model would work on.
    pub(super) fn plan(&self) -> Option<&Path> {
        match self {
            RefineCommand::Begin(args) => args.plan(),
            _ => None,
        }
    }

    pub(super) fn reach(&self) -> Reach {
        use RefineCommand::*;
        match self {
            Prompt(_) | Ideas | Status(_) | List(_) | History(_) | Diff(_) => Reach::Reads,
            Begin(_) | End(_) => Reach::OneLoop,
            Peek(_) | Attach(_) => Reach::Elsewhere,
            Within { .. } => Reach::Internal,
            Once(_) | Loop(_) | Restore(_) | Kill(_) => Reach::User,
        }
    }
}

pub(crate) fn run(command: &RefineCommand) -> Result<Exit> {
    if let RefineCommand::Within { socket } = command {
        return Err(ralph_io::terminal::tmux::take_order(socket));
    }
    let here = Here::gather()?;
    match command {
        RefineCommand::Once(args) => run::once(&here, args),
        RefineCommand::Loop(args) => run::all(&here, args),
        RefineCommand::Begin(args) => in_session::begin(&here, args),
        RefineCommand::End(args) => in_session::end(&here, args),
        RefineCommand::Prompt(args) => prompt::run(&here, args),
        RefineCommand::Ideas => prompt::ideas(&here),
        RefineCommand::Status(args) => show::status(&here, args),
        RefineCommand::List(args) => show::list(&here, args),
        RefineCommand::History(args) => versions::history(&here, args),
        RefineCommand::Diff(args) => versions::diff(&here, args),
        RefineCommand::Restore(args) => versions::restore(&here, args),
        RefineCommand::Peek(args) => background::peek(&here, args),
        RefineCommand::Attach(args) => background::attach(&here, args),
        RefineCommand::Kill(args) => background::kill(&here, args),
        RefineCommand::Within { .. } => unreachable!("it was carried out above"),
    }
}
