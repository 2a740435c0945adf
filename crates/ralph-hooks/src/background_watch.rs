//! `ralph-stop-hook wait`: wakes a session whose background workers have gone silent.
//!
//! The client starts it beside the hook that answers the stop, and it waits until the loop has
//! moved on. In a terminal, and when prompts are streamed to the client, the client continues
//! meanwhile. With a single prompt (`-p`) the client does not: it holds back even a worker's report
//! until this hook has ended. So the hook also stops waiting when reports wait in the client's
//! queue.

use crate::active_loop::{self, Bound};
use crate::hook_runner::HookCall;
use anyhow::Result;
use ralph_core::protocol::event::{BackgroundTask, HookEvent};
use ralph_core::stop::time_left;
use ralph_core::transcript::background_watch::{self, MovedOn};
use ralph_io::process::watch::{Watch, Woken};
use ralph_io::store::loop_file::LoopFile;
use ralph_io::{client::transcript, process::clock, project::trusted_read, store::atomic};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How the wait ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waited {
    /// There was nothing to wait for, or the loop has moved on.
    Silently,
    /// The text to wake the session with.
    Wake(String),
}

/// Waits, at a Stop of the main conversation, for the workers that are still running.
pub fn answer(call: &HookCall) -> Result<Waited> {
    let workers: Vec<BackgroundTask> = call.input.subagents().cloned().collect();
    let is_stop = call.input.hook_event_name == HookEvent::Stop && !call.input.from_subagent();
    if !is_stop || workers.is_empty() {
        return Ok(Waited::Silently);
    }
    let Some(bound) = Bound::find(call)? else { return Ok(Waited::Silently) };
    if !bound.state.is_running() || bound.is_outranked(call.via) {
        return Ok(Waited::Silently);
    }
    let minutes = background_watch::minutes(&bound.state);
    let mut stop = Stop::begin(call, &bound.file)?;
    // The stop that follows the wake-up ends a loop whose time is used up.
    let patience = Duration::from_secs(60 * minutes).min(time_left(&bound.state, clock::now()));
    if until(patience, &mut stop)?.is_some() {
        return Ok(Waited::Silently);
    }
    let told = background_watch::report(&workers, minutes);
    let names: Vec<&str> = workers.iter().map(|worker| worker.description.as_str()).collect();
    let position = bound.state.position();
    active_loop::note(&bound.file, call, &position, "woken", &told, json!({"workers": names}));
    Ok(Waited::Wake(told))
}

/// Something that [`until`] waits on.
pub trait Awaited {
    /// The reason to stop waiting, or `None` to keep waiting.
    fn moved_on(&self) -> Result<Option<MovedOn>>;
    /// Waits for the next change.
    fn wait(&mut self, deadline: Instant) -> Result<Woken>;
}

/// Waits until `awaited` has moved on. Returns `None` if `patience` runs out first.
pub fn until(patience: Duration, awaited: &mut impl Awaited) -> Result<Option<MovedOn>> {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(why) = awaited.moved_on()? {
            return Ok(Some(why));
        }
        if awaited.wait(deadline)? == Woken::Overdue {
            return awaited.moved_on();
        }
    }
}

/// A stop of a loop's session, and the signs that the loop has moved past it.
struct Stop<'a> {
    file: &'a LoopFile,
    prompt_id: &'a str,
    transcript: &'a Path,
    watch: Watch,
    /// A file that names the process that waits; a later one overwrites it.
    mark: PathBuf,
    name: String,
}

impl<'a> Stop<'a> {
    fn begin(call: &'a HookCall, file: &'a LoopFile) -> Result<Stop<'a>> {
        let transcript = Path::new(&call.input.transcript_path);
        // Start the watch before the first check, so that no change falls between the two.
        let watch = Watch::begin(&[file.folder(), transcript])?;
        let mark = file.folder().join("waiting");
        let name = format!("{} {}\n", std::process::id(), call.input.prompt_id);
        atomic::write(&mark, name.as_bytes())?;
        let prompt_id = &call.input.prompt_id;
        Ok(Stop { file, prompt_id, transcript, watch, mark, name })
    }

    fn is_replaced(&self) -> bool {
        matches!(trusted_read::read(&self.mark), Ok(Some(text)) if text != self.name.as_bytes())
    }
}

impl Awaited for Stop<'_> {
    fn moved_on(&self) -> Result<Option<MovedOn>> {
        let Some(loaded) = self.file.read()? else {
            return Ok(Some(MovedOn::NotRunning));
        };
        if self.is_replaced() {
            return Ok(Some(MovedOn::LaterStop));
        }
        if transcript::anything_waits(self.transcript) {
            return Ok(Some(MovedOn::News));
        }
        Ok(background_watch::moved_on(&loaded.state, self.prompt_id))
    }

    fn wait(&mut self, deadline: Instant) -> Result<Woken> {
        self.watch.wait(deadline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moves on after a number of changes; time never passes by itself.
    struct Scripted {
        changes: Vec<Woken>,
        left: usize,
    }

    impl Awaited for Scripted {
        fn moved_on(&self) -> Result<Option<MovedOn>> {
            Ok((self.left == 0).then_some(MovedOn::AnotherTurn))
        }

        fn wait(&mut self, _deadline: Instant) -> Result<Woken> {
            self.left = self.left.saturating_sub(1);
            Ok(self.changes.pop().unwrap_or(Woken::Overdue))
        }
    }

    #[track_caller]
    fn check(changes: &[Woken], left: usize, expected: Option<MovedOn>) {
        let mut scripted = Scripted { changes: changes.to_vec(), left };
        let waited = until(Duration::from_secs(1), &mut scripted).unwrap();
        assert_eq!(waited, expected);
    }

    #[test]
    fn it_looks_before_it_waits_and_once_more_when_the_time_is_over() {
        check(&[], 0, Some(MovedOn::AnotherTurn));
        check(&[], 1, Some(MovedOn::AnotherTurn));
        check(&[], 2, None);
    }

    #[test]
    fn changes_that_mean_nothing_do_not_end_the_waiting() {
        check(&[Woken::Changed; 3], 4, Some(MovedOn::AnotherTurn));
        check(&[Woken::Changed; 3], 5, None);
    }
}
