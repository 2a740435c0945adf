//! Records the user's commands in the loop's journal.

use crate::command::context_dir::Here;
use jiff::Timestamp;
use ralph_core::state::LoopState;
use ralph_io::store::journal::JournalEntry;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::{process::clock, store::digest, store::lifecycle};
use serde_json::Value;

/// Writes one line to the journal. A write error is ignored.
pub(crate) fn note(
    here: &Here,
    file: &LoopFile,
    state: &LoopState,
    command: &str,
    decision: &str,
    why: &str,
) {
    note_seen(here, file, state, command, decision, why, Value::Null);
}

/// Like [`note`], with details for the reader.
pub(crate) fn note_seen(
    here: &Here,
    file: &LoopFile,
    state: &LoopState,
    command: &str,
    decision: &str,
    why: &str,
    seen: Value,
) {
    note_at(here, file, state.position(), command, decision, why, seen);
}

/// Like [`note_seen`], for a caller without the state: a large state is not copied for one line.
pub(crate) fn note_at(
    here: &Here,
    file: &LoopFile,
    position: String,
    command: &str,
    decision: &str,
    why: &str,
    seen: Value,
) {
    let entry: JournalEntry = JournalEntry {
        at: clock::now(),
        event: format!("ralph {command}"),
        decision: decision.to_owned(),
        why: why.to_owned(),
        position,
        prompt_id: String::new(),
        input: input(),
        seen,
        record: None,
        took_us: microseconds_since(here.now),
    };
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

fn microseconds_since(began: Timestamp) -> u64 {
    let took = clock::now().duration_since(began).as_micros();
    u64::try_from(took).unwrap_or_default()
}
