//! Calls the user: starts the process that sends a notification, and does not wait for it.
//!
//! The process claims a marker file in the loop's folder before it sends anything, so that an event
//! is told once however often it is noticed: by a hook that is started twice, or after a kill.

use crate::process::{self, clock, programs};
use crate::store::atomic;
use crate::store::journal::{self, JournalEntry};
use crate::store::loop_file::LoopFile;
use anyhow::{Context, Result};
use ralph_core::guard::commands::present_name;
use ralph_core::state::LoopState;
use ralph_core::views::notice::{self, NoticeEvent};
use rustix::fs::OFlags;
use serde_json::Value;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The journal's words for a notification.
const EVENT: &str = "ralph notify";
pub const DECISION: &str = "notified";

/// The command with which this process continues its loop; not set in a hook.
static DRIVER: OnceLock<String> = OnceLock::new();

/// Notes that this process drives loops by the command `ralph NAME`.
pub fn driven_by(name: &str) {
    // A process runs one command.
    let _ = DRIVER.set(format!("ralph {}", present_name(name)));
}

/// Calls the user for the state's ending or pause, if it is due and was not told yet.
pub fn call_if_due(file: &LoopFile, state: &LoopState) {
    if notice::is_wanted(state)
        && let Some(event) = notice::due(state)
    {
        call(file, state, &event);
    }
}

/// Calls the user for a loop whose run is over.
pub fn call_at_end_of_run(file: &LoopFile, state: &LoopState) {
    if let Some(event) = notice::at_end_of_run(state) {
        call(file, state, &event);
    }
}

/// Calls the user for an ending that a hook wrote in a round, unless the run did: it may have been
/// killed before it could.
pub fn call_for_killed_run(file: &LoopFile, state: &LoopState) {
    if state.ending.is_some() && state.round.is_some() {
        call_at_end_of_run(file, state);
    }
}

/// Calls the user for the last review of the loop's criteria.
pub fn call_if_judged(file: &LoopFile, state: &LoopState) {
    if notice::is_wanted(state)
        && let Some(event) = notice::judged(state)
    {
        call(file, state, &event);
    }
}

/// Calls the user if the loop's settings say how, and this was not told yet. The cost is the start of
/// one process.
pub fn call(file: &LoopFile, state: &LoopState, event: &NoticeEvent) {
    let Some(key) = event.key(state).filter(|_| notice::is_wanted(state)) else { return };
    if marker(file, &key).symlink_metadata().is_ok() {
        return;
    }
    // The loop matters more than its notification: a failure is only noted.
    if let Err(error) = start(file, event) {
        let entry = entry(state, format!("the user was not called: {error:#}"), Value::Null);
        let _ = journal::append(file.folder(), &entry);
    }
}

/// The journal's line about a notification.
pub fn entry(state: &LoopState, why: String, seen: Value) -> JournalEntry {
    JournalEntry {
        at: clock::now(),
        event: EVENT.to_owned(),
        decision: DECISION.to_owned(),
        why,
        position: state.position(),
        prompt_id: String::new(),
        input: String::new(),
        seen,
        record: None,
        took_us: 0,
    }
}

fn start(file: &LoopFile, event: &NoticeEvent) -> Result<()> {
    let ralph = programs::running()?.with_file_name("ralph");
    let event = serde_json::to_string(event).context("could not write the event")?;
    let mut arguments: Vec<OsString> =
        ["delegate", "notify", &event, "--state"].map(Into::into).into();
    arguments.push(file.path().into());
    if let Some(driver) = DRIVER.get() {
        arguments.extend(["--driver", driver].map(Into::into));
    }
    process::start_apart(&ralph, &arguments, true)
}

/// Claims an event for this process. False if another process has claimed it.
///
/// # Errors
/// If the file cannot be made, or not durably.
pub fn claim(file: &LoopFile, key: &str) -> std::io::Result<bool> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).custom_flags(OFlags::NOFOLLOW.bits() as i32);
    let marker = marker(file, key);
    match options.open(&marker) {
        // After a power cut, too, the event was told.
        Ok(_) => atomic::sync_folder(&marker).map(|()| true),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

fn marker(file: &LoopFile, key: &str) -> PathBuf {
    file.folder().join(format!("notified-{key}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::state::{BuildRound, EndingKind};

    /// Of a call that could not be made there is a line in the journal; a test has no `ralph` beside it.
    #[test]
    fn a_round_that_ends_its_loop_calls_the_user_and_no_other_end_does() {
        let folder = tempfile::tempdir().unwrap();
        let file = LoopFile::at(folder.path().join("state.json"));
        let settings = serde_json::json!({"notify": {"command": ["true"]}});
        let mut state = LoopState { settings, ..LoopState::default() };
        let lines = |state: &LoopState| {
            call_for_killed_run(&file, state);
            journal::read(file.folder()).len()
        };
        state.round = Some(BuildRound::default());
        assert_eq!(lines(&state), 0);
        state.end(EndingKind::Failed, "why", clock::now());
        let round = state.round.take();
        assert_eq!(lines(&state), 0);
        state.round = round;
        assert_eq!(lines(&state), 1);
    }

    #[test]
    fn an_event_is_claimed_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = LoopFile::at(folder.path().join("state.json"));
        assert!(claim(&file, "ended").unwrap());
        assert!(!claim(&file, "ended").unwrap());
        assert!(claim(&file, "paused-1").unwrap());
        let gone = LoopFile::at(folder.path().join("gone/state.json"));
        assert!(claim(&gone, "ended").is_err());
    }
}
