//! The place where the command was called, read from the environment once, and the journal's line about it.

use anyhow::{Context, Result};
use jiff::Timestamp;
use ralph_core::modes::arguments::LoopRequest;
use ralph_core::state::{LoopState, Mode, StartedBy};
use ralph_hooks::begin::StartRequest;
use ralph_io::process::clock;
use ralph_io::store::home::Home;
use ralph_io::store::journal::JournalEntry;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::store::{digest, lifecycle};
use ralph_io::{client, project};
use serde_json::Value;
use std::path::PathBuf;

/// The surroundings of a command.
#[derive(Debug, Clone)]
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

    /// The journal's line about a command, for a loop at this position.
    pub(crate) fn entry(
        &self,
        position: String,
        command: &str,
        decision: &str,
        why: &str,
    ) -> JournalEntry {
        let took = clock::now().duration_since(self.now).as_micros();
        JournalEntry {
            at: clock::now(),
            event: format!("ralph {command}"),
            decision: decision.to_owned(),
            why: why.to_owned(),
            position,
            prompt_id: String::new(),
            input: input(),
            seen: Value::Null,
            record: None,
            took_us: u64::try_from(took).unwrap_or_default(),
        }
    }

    /// Identifies the project: all its worktrees are one project.
    pub(crate) fn project(&self) -> PathBuf {
        project::identity(&self.root)
    }
}

// Records the user's commands in the loop's journal.

/// Writes one line to the journal. A write error is ignored.
pub(crate) fn note(
    here: &Here,
    file: &LoopFile,
    state: &LoopState,
    command: &str,
    decision: &str,
    why: &str,
) {
    let entry = here.entry(state.position(), command, decision, why);
    let _ = lifecycle::note(&here.home, file, &entry);
}

/// The digest of the command line, with a zero byte after each argument.
fn input() -> String {
    let mut typed = Vec::new();
    for argument in std::env::args_os().skip(1) {
        typed.extend_from_slice(argument.as_encoded_bytes());
        typed.push(0);
    }
    digest::of_bytes(&typed)
}
