//! The place where the command was called, read from the environment once.

use anyhow::{Context, Result};
use jiff::Timestamp;
use ralph_core::modes::arguments::LoopRequest;
use ralph_core::state::{Mode, StartedBy};
use ralph_hooks::begin::StartRequest;
use ralph_io::store::home::Home;
use ralph_io::{client, process::clock, project};
use std::path::PathBuf;

/// The surroundings of a command.
#[derive(Debug)]
pub(crate) struct Here {
    pub(crate) home: Home,
    /// The Claude Code session whose shell runs the command; `None` in a terminal.
    pub(crate) session: Option<String>,
    pub(crate) root: PathBuf,
    pub(crate) now: Timestamp,
}

impl Here {
    pub(crate) fn gather() -> Result<Here> {
        let folder = std::env::current_dir().context("could not find the current folder")?;
        Ok(Here {
            home: Home::from_env()?,
            session: client::session_id(),
            root: project::root(client::project_dir(), &folder),
            now: clock::now(),
        })
    }

    /// What the user at the terminal asks for; without a session the loop is only planned.
    pub(crate) fn asks<'a>(
        &'a self,
        mode: Mode,
        request: &'a LoopRequest,
        session_id: &'a str,
    ) -> StartRequest<'a> {
        StartRequest {
            mode,
            home: &self.home,
            request,
            session_id,
            prompt_id: "",
            project_root: self.root.clone(),
            started_by: StartedBy::Person,
            via: None,
        }
    }

    /// Identifies the project: all its worktrees are one project.
    pub(crate) fn project(&self) -> PathBuf {
        project::identity(&self.root)
    }
}
