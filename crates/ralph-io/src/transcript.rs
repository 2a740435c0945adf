//! Reads the end of a conversation's transcript: what waits, and how a turn was cut.
//!
//! The file is the client's own and lags behind the events, so it is asked only for what no event
//! tells: commands that wait in the queue, and marks of an end that fired no hook.

use jiff::Timestamp;
use ralph_core::ending_marks::{self, Row};
use ralph_core::state::PauseCause;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// How much of the end is read.
const TAIL: u64 = 256 << 10;

/// True when a `/ralph…` command that the person typed waits for the turn to end.
pub fn command_waits(path: &Path) -> bool {
    let tail = tail(path);
    ending_marks::may_hold_queue_rows(&tail) && ending_marks::command_waits(rows(&tail))
}

/// True when the client holds something back for the session: typed input, a worker's report.
pub fn anything_waits(path: &Path) -> bool {
    let tail = tail(path);
    ending_marks::may_hold_queue_rows(&tail) && ending_marks::anything_waits(rows(&tail))
}

/// How the turn that began to be driven at `since` was cut, as far as the transcript tells.
pub fn cut_by(path: &Path, since: Option<Timestamp>) -> Option<PauseCause> {
    let tail = tail(path);
    ending_marks::cut_by(rows(&tail), since)
}

fn rows(tail: &[u8]) -> impl DoubleEndedIterator<Item = Row> {
    tail.split(|byte| *byte == b'\n').filter_map(Row::parse)
}

/// The last whole rows of the file; nothing if it cannot be read.
fn tail(path: &Path) -> Vec<u8> {
    read_tail(path).unwrap_or_default()
}

fn read_tail(path: &Path) -> std::io::Result<Vec<u8>> {
    // Asked before it is opened: to open a pipe would wait for a writer.
    let about = path.metadata()?;
    if !about.is_file() {
        return Ok(Vec::new());
    }
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(about.len().saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
    Ok(bytes)
}
