//! Where the command line was called: read from the environment once.

use anyhow::{Context, Result};
use jiff::Timestamp;
use ralph_io::store::home::Home;
use ralph_io::{client, process::clock, project};
use std::path::PathBuf;

/// What a command needs to know about the place it was called from.
#[derive(Debug)]
pub(crate) struct Here {
    /// Where Ralph keeps its state.
    pub(crate) home: Home,
    /// The session of Claude Code whose shell this is; none in a terminal.
    pub(crate) session: Option<String>,
    /// The project's folder.
    pub(crate) root: PathBuf,
    /// The time.
    pub(crate) now: Timestamp,
}

impl Here {
    /// Reads the environment.
    pub(crate) fn gather() -> Result<Here> {
        let folder = std::env::current_dir().context("could not find the current folder")?;
        Ok(Here {
            home: Home::from_env()?,
            session: client::session_id(),
            root: project::root(client::project_dir(), &folder),
            now: clock::now(),
        })
    }

    /// What identifies the project: its work trees are one project.
    pub(crate) fn project(&self) -> PathBuf {
        project::identity(&self.root)
    }
}
