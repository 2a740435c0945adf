//! What reviewers cost. Each is noted in the loop's state before it starts and counted when it is gone,
//! so the next review also counts those of a run that was killed.

use crate::command::exit::Exit;
use crate::command::exit::{bad_state, refused};
use crate::runs::client::RoundResult;
use crate::runs::engine;
use anyhow::Result;
use jiff::Timestamp;
use ralph_core::state::{LoopState, StartedReviewer, Tokens};
use ralph_core::transcript::stream::{self, Account, Lines};
use ralph_io::process::{clock, headless};
use ralph_io::store::home::Home;
use ralph_io::store::lifecycle;
use ralph_io::store::lock::{self, Lock};
use ralph_io::store::loop_file::LoopFile;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Long enough for other reviewers of the same loop to end.
const OTHERS_TURN: Duration = Duration::from_secs(900);

/// Takes the lock of a loop's reviewers: two reviews at once would count each other's as lost.
pub(super) fn alone(file: &LoopFile, until: Option<Timestamp>) -> Result<Lock> {
    let left = until.map(|until| until.duration_since(clock::now()));
    let left = left.map_or(OTHERS_TURN, |left| Duration::try_from(left).unwrap_or_default());
    lock::take(&file.folder().join("reviews"), left).map_err(|_| {
        refused(Exit::No, "other reviewers of this loop are at work; try again when they are done")
    })
}

/// The lock that a reviewer's processes hold.
pub(super) fn lock_of(file: &LoopFile, number: usize) -> PathBuf {
    file.folder().join(format!("review-{number}"))
}

/// Counts the reviewers of a run that was killed, as far as their logs show what they used. Waits until
/// all of them have ended.
pub(super) fn count_lost(home: &Home, file: &LoopFile) -> Result<()> {
    let lost = file.read().map_err(bad_state)?.map(|loaded| loaded.state.reviewers);
    let lost = lost.unwrap_or_default();
    if lost.is_empty() {
        return Ok(());
    }
    for place in (1..).map(|number| lock_of(file, number)) {
        if !place.with_extension("lock").exists() {
            break;
        }
        engine::wait_for_earlier(&place)?;
    }
    lost.iter().try_for_each(|one| {
        let (tokens, cost) = used(Path::new(&one.log));
        count(home, file, one, tokens, cost)
    })
}

/// Notes the reviewers that are about to start.
pub(super) fn note(file: &LoopFile, started: &[StartedReviewer]) -> Result<()> {
    file.update(|state| state.reviewers = started.to_vec()).map(drop).map_err(bad_state)
}

/// Forgets those that never started.
pub(super) fn forget(home: &Home, file: &LoopFile) -> Result<()> {
    change(home, file, |state| state.reviewers.clear())
}

/// Counts a reviewer that is gone.
pub(super) fn count_gone(
    home: &Home,
    file: &LoopFile,
    one: &StartedReviewer,
    came: &RoundResult,
) -> Result<()> {
    let is_known = came.tokens.total() > 0 || came.cost > 0.0;
    let (tokens, cost) =
        if is_known { (came.tokens, came.cost) } else { used(Path::new(&one.log)) };
    count(home, file, one, tokens, cost)
}

fn count(
    home: &Home,
    file: &LoopFile,
    one: &StartedReviewer,
    tokens: Tokens,
    cost: f64,
) -> Result<()> {
    change(home, file, |state| state.count_reviewer(&one.session_id, tokens, cost))
}

/// Changes the state of a loop that may have ended, and been archived, meanwhile.
fn change(home: &Home, file: &LoopFile, change: impl Fn(&mut LoopState)) -> Result<()> {
    if file.update(&change).map_err(bad_state)?.is_none()
        && let Some((archived, _)) = lifecycle::read(home, file.clone()).map_err(bad_state)?
    {
        archived.update(&change).map_err(bad_state)?;
    }
    Ok(())
}

/// What the log of a client says that it used; nothing if it cannot be read.
fn used(log: &Path) -> (Tokens, f64) {
    let mut account = Account::default();
    let mut hear = |line: &[u8]| stream::read(line).into_iter().for_each(|it| account.hear(it));
    let mut lines = Lines::default();
    lines.feed(&headless::read_log(log).unwrap_or_default(), &mut hear);
    lines.finish(&mut hear);
    let cost = account.ended.as_ref().map_or(0.0, |ended| ended.cost);
    (account.tokens(), cost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_ends_in_mid_line_tells_the_tokens_and_a_whole_one_the_cost_too() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let message = r#"{"type":"assistant","message":{"id":"m","usage":{"input_tokens":30,"output_tokens":5},"content":[]}}"#;
        std::fs::write(&log, format!("{message}\n{message}\n{{\"type\":\"assis")).unwrap();
        let (tokens, cost) = used(&log);
        assert_eq!((tokens.total(), cost), (35, 0.0));
        let result = r#"{"type":"result","is_error":false,"result":"x","total_cost_usd":0.5,"modelUsage":{"m":{"inputTokens":90,"outputTokens":10}}}"#;
        std::fs::write(&log, format!("{message}\n{result}\n")).unwrap();
        let (tokens, cost) = used(&log);
        assert_eq!((tokens.total(), cost), (100, 0.5));
        assert_eq!(used(&folder.path().join("gone")).0.total(), 0);
    }
}
