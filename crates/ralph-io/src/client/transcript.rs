//! Reads a session's transcript: its end for queued input and for how a turn was cut off, and its
//! new rows for tokens.
//!
//! The file belongs to the client and lags behind the events. So it is read only for what no event
//! reports: commands in the queue, marks of an end that fired no hook, tokens.

use crate::process::clock;
use anyhow::{Context, Result};
use jiff::Timestamp;
use ralph_core::protocol::client_version::ClientVersion;
use ralph_core::state::{PauseCause, Source, Usage};
use ralph_core::transcript::cutoff::{self, Giver, TypedRequest};
use ralph_core::transcript::row::{self, Counter, Doing, TranscriptRow};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// How many bytes are read from the end.
const TAIL: u64 = 256 << 10;

/// How many bytes are read where one tool result may fill the shorter tail.
const LONG_TAIL: u64 = 4 << 20;

/// The most that is counted at once, so that no stop waits for a long read. The rest is counted on
/// the next call.
const MOST_AT_ONCE: u64 = 64 << 20;

/// How far to search for a row with a time.
const SEARCHED: u64 = 1 << 20;

const PIECE: usize = 32 << 10;

/// An offset in bytes: every row that the client writes from now on begins at or after it.
pub fn offset_now(path: &Path) -> u64 {
    /// The client may be in the middle of a row. Those about the queue are shorter.
    const ROW: u64 = 4 << 10;
    path.metadata().map_or(0, |about| about.len().saturating_sub(ROW))
}

/// True if a `/ralph…` command that the user typed waits for the turn to end, which began at `from`
/// in the transcript. Prompts that the model has `scheduled` do not count as typed.
pub fn command_waits(path: &Path, from: u64, scheduled: &[String]) -> bool {
    may_hold_queue_rows(path, from) && cutoff::command_waits(rows(&tail(path)), scheduled)
}

/// True if the end of the transcript, at `from` or later, has rows about the queue of typed input.
/// A transcript that is shorter by now was written anew, and counts from its beginning.
pub fn may_hold_queue_rows(path: &Path, from: u64) -> bool {
    cutoff::may_hold_queue_rows(&read_end(path, from, TAIL).unwrap_or_default())
}

/// The requests that the user typed at or after `since`, and that the client holds back until the
/// turn ends. Prompts that the model has `scheduled` do not count as typed.
pub fn typed_requests(path: &Path, since: Timestamp, scheduled: &[String]) -> Vec<TypedRequest> {
    let mut waiting = cutoff::requests(rows(&tail(path)), since);
    waiting.retain(|(_, text)| !cutoff::is_scheduled(scheduled, text) && !was_due(path, text));
    waiting.into_iter().map(|(request, _)| request).collect()
}

/// The requests that the user typed at or after `since`, and that the client gave to the model within
/// the turn; see [`cutoff::delivered`].
pub fn delivered_requests(
    path: &Path,
    since: Timestamp,
    scheduled: &[String],
) -> Vec<TypedRequest> {
    let tail = tail(path);
    if !cutoff::may_hold_queue_rows(&tail) {
        return Vec::new();
    }
    let mut given = cutoff::delivered(rows(&tail), since);
    given.retain(|(_, text)| !cutoff::is_scheduled(scheduled, text) && !was_due(path, text));
    given.into_iter().map(|(request, _)| request).collect()
}

/// True if the transcript shows that a schedule submitted this prompt, which has just arrived.
pub fn was_due(path: &Path, prompt: &str) -> bool {
    const LATELY: Duration = Duration::from_secs(120);
    let tail = tail(path);
    if !cutoff::holds(&tail, "scheduled_task_fire") {
        return false;
    }
    let since = clock::now().checked_sub(LATELY).unwrap_or(Timestamp::MIN);
    cutoff::was_due(row::lines(&tail).filter_map(TranscriptRow::parse), prompt, since)
}

/// True if the client holds something back for the session, such as typed input or a worker's
/// report.
pub fn anything_waits(path: &Path) -> bool {
    let tail = tail(path);
    cutoff::may_hold_queue_rows(&tail) && cutoff::anything_waits(rows(&tail))
}

/// How the turn driven since `since` was cut off, if the transcript shows it.
pub fn cut_by(path: &Path, since: Option<Timestamp>) -> Option<PauseCause> {
    let tail = tail(path);
    let follows = |row: &TranscriptRow| {
        let parent = row.text(&["parentUuid"]);
        row.kind() != "user" || cutoff::holds(&tail, &format!("\"uuid\":\"{parent}\""))
    };
    cutoff::cut_by(rows(&tail).filter(follows), since, clock::now())
}

/// Who gave the prompt of this id, if the last rows record it.
pub fn giver(path: &Path, prompt_id: &str) -> Option<Giver> {
    cutoff::giver(&tail(path), prompt_id)
}

/// The version of the client that wrote the last rows, if they tell it.
pub fn client_version(path: &Path) -> Option<ClientVersion> {
    let tail = tail(path);
    let rows = row::lines(&tail).rev().filter_map(TranscriptRow::parse);
    rows.filter_map(|row| ClientVersion::printed(row.text(&["version"]))).next()
}

/// True if the main conversation has called a tool at this time or later.
pub fn worked_since(path: &Path, at: Timestamp) -> bool {
    for length in [TAIL, LONG_TAIL] {
        let tail = read_end(path, 0, length).unwrap_or_default();
        let lines = || row::lines(&tail);
        if row::since(at, lines()) {
            return true;
        }
        if lines().find_map(row::time_of).is_some_and(|first| first < at) {
            // The tail goes back to before `at`, so it holds everything since.
            return false;
        }
    }
    false
}

/// The last tool that the main conversation called, if the last rows show it.
pub fn doing(path: &Path) -> Option<Doing> {
    [TAIL, LONG_TAIL].into_iter().find_map(|length| {
        let tail = read_end(path, 0, length).ok()?;
        row::doing(row::lines(&tail))
    })
}

/// The prompt that began the conversation, if the first rows show it.
pub fn first_prompt(path: &Path) -> Option<String> {
    let mut file = open(path).ok()??;
    let mut begun = Vec::new();
    each_piece(&mut file, 0, SEARCHED, |piece| {
        begun.extend_from_slice(piece);
        first_words(&begun).is_none()
    })
    .ok()?;
    first_words(&begun)
}

fn first_words(begun: &[u8]) -> Option<String> {
    let rows = begun.split_inclusive(|byte| *byte == b'\n').filter_map(TranscriptRow::parse);
    rows.filter(|row| row.kind() == "user").find_map(|row| {
        let plain = row.text(&["message", "content"]);
        let block = || row.items(&["message", "content"]).find_map(|block| block["text"].as_str());
        Some(plain).filter(|text| !text.is_empty()).or_else(block).map(str::to_owned)
    })
}

/// Counts the tokens of the rows added since the last count, except rows older than `since`. A
/// missing transcript, or a path that is not a regular file, counts zero.
///
/// # Errors
/// If the transcript cannot be read. What was counted before the error stays counted.
pub fn count(path: &Path, since: Timestamp, usage: &mut Usage) -> Result<()> {
    let describe = || format!("could not read the transcript `{}`", path.display());
    let Some(mut file) = open(path).with_context(describe)? else { return Ok(()) };
    let about = file.metadata().with_context(describe)?;
    let name = path.to_string_lossy();
    if !usage.sources.contains_key(&*name) {
        let offset = first_row(&mut file, about.len(), since).with_context(describe)?;
        let source = Source { offset, file: about.ino(), ..Source::default() };
        usage.sources.insert(name.clone().into_owned(), source);
    }
    let Some(source) = usage.sources.get_mut(&*name) else { return Ok(()) };
    if source.offset > about.len() || source.file != about.ino() {
        source.read_anew(about.ino());
    }
    let from = source.offset;
    let mut counter = Counter::new(&mut usage.tokens, source, since);
    each_piece(&mut file, from, MOST_AT_ONCE, |piece| {
        counter.feed(piece);
        true
    })
    .with_context(describe)
}

/// Finds an offset at or before the first row of `since`, in growing leaps from the end, so that a
/// long conversation from before the loop is not read.
fn first_row(file: &mut File, length: u64, since: Timestamp) -> io::Result<u64> {
    let mut back = TAIL;
    while back < length {
        let at = length - back;
        if time_after(file, at)?.is_some_and(|time| time < since) {
            return Ok(at);
        }
        back = back.saturating_mul(4);
    }
    Ok(0)
}

/// The time of the first complete row with a time after this offset.
fn time_after(file: &mut File, at: u64) -> io::Result<Option<Timestamp>> {
    let (mut begun, mut time) = (Vec::new(), None);
    each_piece(file, at, SEARCHED, |piece| {
        begun.extend_from_slice(piece);
        let whole = begun.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
        time = row::lines(&begun[..whole]).find_map(row::time_of);
        time.is_none()
    })?;
    Ok(time)
}

/// Passes a file to `take` piece by piece until `take` returns false.
fn each_piece(
    file: &mut File,
    from: u64,
    at_most: u64,
    mut take: impl FnMut(&[u8]) -> bool,
) -> io::Result<()> {
    file.seek(SeekFrom::Start(from))?;
    let mut source = file.take(at_most);
    let mut piece = vec![0; PIECE];
    loop {
        match source.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(n) if take(&piece[..n]) => {}
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns `None` if the path does not exist or is not a regular file.
fn open(path: &Path) -> io::Result<Option<File>> {
    // Checked before opening: opening a pipe would wait for a writer.
    match path.metadata() {
        Ok(about) if about.is_file() => File::open(path).map(Some),
        Ok(_) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn rows(tail: &[u8]) -> impl DoubleEndedIterator<Item = TranscriptRow> {
    row::lines(tail).filter_map(cutoff::telling)
}

/// The last rows of the file; empty if it cannot be read.
fn tail(path: &Path) -> Vec<u8> {
    read_end(path, 0, TAIL).unwrap_or_default()
}

/// At most so many bytes from the end of the file, and none before `from` unless the file is shorter.
fn read_end(path: &Path, from: u64, most: u64) -> io::Result<Vec<u8>> {
    let Some(mut file) = open(path)? else { return Ok(Vec::new()) };
    let length = file.metadata()?.len();
    let from = if from > length { 0 } else { from };
    file.seek(SeekFrom::Start(from.max(length.saturating_sub(most))))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
