//! `ralph refine …`: a plan or the tasks, gone over in rounds until they no longer change.

mod background;
mod conversation;
mod inside;
mod look;
mod notice;
pub(crate) mod prompt;
pub(super) mod report;
mod run;
mod session;
mod versions;

use super::exit::Exit;
use super::here::Here;
use anyhow::Result;
use std::path::PathBuf;

/// What to do about a refinement.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Make one round, to see what comes of it
    Once(run::Once),
    /// Make rounds until nothing changes any more, or there were enough
    Loop(run::Loop),
    /// Open a round that an agent of this conversation makes, and say what it is told
    Begin(inside::Begin),
    /// Take what that agent has done, with its last words on standard input
    End(inside::End),
    /// Print one of the prompts, with its variables in place
    Prompt(prompt::Args),
    /// Read ideas from standard input, and print them as tasks for `ralph plan-sync`
    Ideas,
    /// Show how a session stands: each round with what it says and what was measured
    Status(look::Status),
    /// List the sessions of this project
    List(look::List),
    /// Show the rounds of a session and the versions of its plan
    History(versions::History),
    /// Show what the last round changed in the plan, or how two versions differ
    Diff(versions::Diff),
    /// Put a version in the place of the plan, which is kept as a version too
    Restore(versions::Restore),
    /// Show what a session in the background shows now
    Peek(background::Name),
    /// Join a session in the background; Ctrl-B and then D leaves it again
    Attach(background::Name),
    /// End a session for good; what it did stays
    Kill(background::Name),
    /// What tmux runs: takes the order at a socket, and becomes it
    #[command(hide = true)]
    Within {
        /// The socket
        socket: PathBuf,
    },
}

impl Command {
    /// The command as it is typed, without its arguments.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Command::Once(_) => "refine once",
            Command::Loop(_) => "refine loop",
            Command::Begin(_) => "refine begin",
            Command::End(_) => "refine end",
            Command::Prompt(_) => "refine prompt",
            Command::Ideas => "refine ideas",
            Command::Status(_) => "refine status",
            Command::List(_) => "refine list",
            Command::History(_) => "refine history",
            Command::Diff(_) => "refine diff",
            Command::Restore(_) => "refine restore",
            Command::Peek(_) => "refine peek",
            Command::Attach(_) => "refine attach",
            Command::Kill(_) => "refine kill",
            Command::Within { .. } => "refine within",
        }
    }
}

/// Does it.
pub(crate) fn run(command: &Command) -> Result<Exit> {
    if let Command::Within { socket } = command {
        return Err(ralph_io::terminal::tmux::take_order(socket));
    }
    let here = Here::gather()?;
    match command {
        Command::Once(args) => run::once(&here, args),
        Command::Loop(args) => run::all(&here, args),
        Command::Begin(args) => inside::begin(&here, args),
        Command::End(args) => inside::end(&here, args),
        Command::Prompt(args) => prompt::run(&here, args),
        Command::Ideas => prompt::ideas(&here),
        Command::Status(args) => look::status(&here, args),
        Command::List(args) => look::list(&here, args),
        Command::History(args) => versions::history(&here, args),
        Command::Diff(args) => versions::diff(&here, args),
        Command::Restore(args) => versions::restore(&here, args),
        Command::Peek(args) => background::peek(&here, args),
        Command::Attach(args) => background::attach(&here, args),
        Command::Kill(args) => background::kill(&here, args),
        Command::Within { .. } => unreachable!("it was carried out above"),
    }
}
