//! Runs clients: starts them, shows them, waits, and ends them when the user or the loop's end
//! requires it.
//!
//! An [`Owner`] decides what starts and what an end means, each step anew from files: if this
//! process is killed, only its clients are lost. There is one thread; events are handled between
//! two steps.

mod finish;
mod results;
mod runner;
mod single;

pub(crate) use finish::{colour, ended, goes_on, last_state, over, put_away, rest, run};
pub(crate) use runner::{ClientRunner, Words};
pub(crate) use single::{TO_END, round, wait_for_earlier};

use super::client::RoundResult;
use crate::command::exit::{Exit, refused};
use crate::command::screen::{self, Colour};
use crate::runs::build::events::Answer;
use anyhow::Result;
use jiff::{SignedDuration, Timestamp};
use ralph_core::modes::build;
use ralph_core::state::{LoopState, PauseCause};
use ralph_core::views::messages;
use ralph_io::process::clock;
use ralph_io::process::process_pool::MemberEvent;
use ralph_io::store::loop_file::LoopFile;
use std::time::Duration;

/// The longest time between two reads of the files, in case the system cannot report changes.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// Why a run starts no more clients.
pub(crate) enum RunEnd<V> {
    Over,
    /// The user paused the loop.
    Paused,
    /// A bound of the loop is reached.
    Bound,
    Decided(V),
    /// Something other than the work failed: the disk, git, a program.
    Failed(anyhow::Error),
    Rest {
        cause: PauseCause,
        why: String,
        /// The exit code of the command.
        exit: Exit,
    },
}

impl<V> RunEnd<V> {
    pub(crate) fn rest(cause: PauseCause, why: &str, exit: Exit) -> RunEnd<V> {
        RunEnd::Rest { cause, why: why.to_owned(), exit }
    }

    /// The reason for a pause; empty for another end.
    pub(crate) fn why(&self) -> &str {
        match self {
            RunEnd::Rest { why, .. } => why,
            _ => "",
        }
    }
}

/// The result of a client that is gone.
pub(crate) struct MemberExit {
    pub(crate) came: RoundResult,
    /// Why the round could not be carried out, and the exit code for that.
    pub(crate) failed: Option<(String, Exit)>,
}

impl MemberExit {
    /// The result, or an error if the round could not be carried out, which ends the run.
    pub(crate) fn result(self) -> Result<RoundResult> {
        match self.failed {
            Some((why, exit)) => Err(refused(exit, why)),
            None => Ok(self.came),
        }
    }
}

/// What follows a step of an owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// Ask again at once.
    Again,
    /// Wait until something happens.
    Wait,
}

/// Decides what a run does.
pub(crate) trait Owner<'a> {
    /// What the owner ends the run with.
    type Verdict;

    fn runner(&mut self) -> &mut ClientRunner<'a, Self::Verdict>;

    /// Starts what is due. Not called once the run is told to stop, nor while the only client of a
    /// run is working. Only a run of several clients gets its loop's state.
    fn go_on(&mut self, state: Option<&LoopState>) -> Result<Then>;

    /// When the next step is due if nothing happens.
    fn next_moment(&mut self) -> Option<Timestamp> {
        None
    }

    /// Calls the user because a round waits for the usage limit until then.
    fn limited(&mut self, until: Timestamp) {
        self.runner().call_for_limit(until);
    }

    /// Takes the result of a client that is gone. No process that it started is alive.
    fn gone(&mut self, name: &str, gone: MemberExit) -> Result<()>;

    /// Takes an event of a member that runs no client. False for a member with a client.
    fn heard(&mut self, _name: &str, _event: &MemberEvent) -> Result<bool> {
        Ok(false)
    }

    /// Finishes when the last client is gone and the loop has not ended.
    fn conclude(&mut self, _state: &LoopState) -> Result<()> {
        Ok(())
    }
}

/// The owner of a run that works on a loop, and how it leaves the loop.
pub(crate) trait LoopOwner<'a>: Owner<'a> + Sized {
    /// The exit code if the user paused the loop.
    const PAUSED: Exit = Exit::No;

    fn file(&self) -> &'a LoopFile;

    fn decided(&mut self, verdict: Self::Verdict) -> Result<Exit>;

    fn failed(&mut self, error: anyhow::Error) -> Result<Exit> {
        Err(error)
    }

    /// Pauses the loop in its state.
    fn pause(&self, state: &mut LoopState, cause: PauseCause, why: &str) {
        build::rest(state, cause, why, clock::now());
    }

    /// The last line of a run that pauses.
    fn paused_line(&mut self, state: &LoopState, why: &str) -> String {
        let next = goes_on(self.runner().words.command, why);
        format!("{}: {why}{next}", messages::paused_run(state))
    }

    /// Prints how the loop has ended, wherever its file is now.
    fn over(&mut self) -> Result<Exit> {
        over(self.runner().here, self.file())
    }

    /// Prints a line of the answer.
    fn say(&mut self, text: &str) -> Result<()> {
        screen::say(&screen::visible_lines(text)).map(drop)
    }

    /// Like [`LoopOwner::say`], with the beginning in colour.
    fn say_in(&mut self, colour: Colour, text: &str) -> Result<()> {
        Answer::Text.say_in(colour, text)
    }
}

/// Runs until the owner, the loop or the user ends the run, and all clients are gone.
///
/// # Errors
/// When the owner fails, or the loop cannot be read. No process that the run started is alive then.
pub(crate) fn work<'a, O: Owner<'a>>(owner: &mut O) -> Result<RunEnd<O::Verdict>> {
    loop {
        match step(owner) {
            Ok(None) => {}
            Ok(Some(ended)) => return Ok(ended),
            Err(error) => {
                abandon(owner);
                return Err(error);
            }
        }
    }
}

/// Takes one step. Returns the end once nothing remains to do.
fn step<'a, O: Owner<'a>>(owner: &mut O) -> Result<Option<RunEnd<O::Verdict>>> {
    let runner = owner.runner();
    runner.hear_user();
    let state = runner.look()?;
    let may_begin = runner.over.is_none() && (runner.is_many || runner.crew.is_empty());
    if may_begin && owner.go_on(state.as_ref())? == Then::Again {
        return Ok(None);
    }
    if owner.runner().over.is_none() || !owner.runner().crew.is_empty() {
        let until = owner.next_moment();
        return wait(owner, until).map(|()| None);
    }
    if let Some(state) = &state {
        owner.conclude(state)?;
    }
    Ok(owner.runner().over.take())
}

/// Waits until `until` or until something happens, and handles it.
fn wait<'a, O: Owner<'a>>(owner: &mut O, until: Option<Timestamp>) -> Result<()> {
    let longest = until.map_or(LOOK_AGAIN, |moment| time_to(moment).min(LOOK_AGAIN));
    let heard = owner.runner().listen(longest)?;
    heard.into_iter().try_for_each(|(name, heard)| hear(owner, &name, heard))
}

fn hear<'a, O: Owner<'a>>(owner: &mut O, name: &str, heard: MemberEvent) -> Result<()> {
    if owner.heard(name, &heard)? {
        return Ok(());
    }
    match heard {
        MemberEvent::Line(line) => {
            if let Some(until) = owner.runner().take_down(name, &line) {
                owner.limited(until);
            }
            Ok(())
        }
        MemberEvent::Gone(how) => {
            let gone = owner.runner().came(name, &how);
            owner.gone(name, gone)
        }
    }
}

/// Ends all clients after an error.
fn abandon<'a, O: Owner<'a>>(owner: &mut O) {
    owner.runner().end_all();
    while !owner.runner().crew.is_empty() {
        let Ok(heard) = owner.runner().listen(LOOK_AGAIN) else { return };
        for (name, heard) in heard {
            // The first error is the one to report.
            let _ = hear(owner, &name, heard);
        }
    }
}

fn time_to(moment: Timestamp) -> Duration {
    // A little later, since the owner compares with the moment itself.
    let left = moment.duration_since(clock::now()) + SignedDuration::from_millis(5);
    Duration::try_from(left).unwrap_or_default()
}
