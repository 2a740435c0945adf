//! Runs clients: starts them, shows them, waits, and ends them when the user or the loop's end
//! requires it.
//!
//! An [`Owner`] decides what starts and what an end means, each step anew from files: if this
//! process is killed, only its clients are lost. There is one thread; events are handled between
//! two steps.

mod runner;

use crate::command::context_dir::{Here, note};
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::screen::{self, Colour};
use crate::runs::build::events::Answer;
use crate::runs::client::{ClientRound, RoundResult};
use anyhow::{Context, Result};
use jiff::{SignedDuration, Timestamp};
use ralph_core::guard::commands::present_name;
use ralph_core::modes::build;
use ralph_core::state::{EndingKind, EndingTone, LoopState, PauseCause};
use ralph_core::stop;
use ralph_core::tasks::graph;
use ralph_core::text::plural::counted;
use ralph_core::views::messages;
use ralph_io::process::clock;
use ralph_io::process::process_pool::MemberEvent;
use ralph_io::process::wait_any::Interrupts;
use ralph_io::store::loop_file::{Loaded, LoopFile};
use ralph_io::store::{journal, lifecycle, lock, notice};
pub(crate) use runner::{ClientRunner, Words};
use std::path::Path;
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
    pub(crate) fn pause(cause: PauseCause, why: &str, exit: Exit) -> RunEnd<V> {
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
    fn on_exit(&mut self, name: &str, gone: MemberExit) -> Result<()>;

    /// Takes an event of a member that runs no client. False for a member with a client.
    fn on_event(&mut self, _name: &str, _event: &MemberEvent) -> Result<bool> {
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
        build::pause(state, cause, why, clock::now());
    }

    /// The last line of a run that pauses.
    fn paused_line(&mut self, state: &LoopState, why: &str) -> String {
        let next = goes_on(self.runner().words.command, why);
        format!("{}: {why}{next}", messages::paused_run(state))
    }

    /// Prints how the loop has ended, wherever its file is now.
    fn print_ending(&mut self) -> Result<Exit> {
        print_ending(self.runner().here, self.file())
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
    let state = runner.poll_state()?;
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
    heard.into_iter().try_for_each(|(name, heard)| handle_event(owner, &name, heard))
}

fn handle_event<'a, O: Owner<'a>>(owner: &mut O, name: &str, heard: MemberEvent) -> Result<()> {
    if owner.on_event(name, &heard)? {
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
            let gone = owner.runner().take_exit(name, &how);
            owner.on_exit(name, gone)
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
            let _ = handle_event(owner, &name, heard);
        }
    }
}

fn time_to(moment: Timestamp) -> Duration {
    // A little later, since the owner compares with the moment itself.
    let left = moment.duration_since(clock::now()) + SignedDuration::from_millis(5);
    Duration::try_from(left).unwrap_or_default()
}

// How a run leaves its loop: paused, with the command that continues it, or ended and archived.

/// How many of the journal's last entries are searched for the end of the loop.
const LOOKED_AT: usize = 20;

/// The command that continues a run, unless the reason of its pause names another.
pub(crate) fn goes_on(command: &str, why: &str) -> String {
    match why.contains("; type `") {
        true => String::new(),
        false => format!("; `ralph {}` continues", present_name(command)),
    }
}

/// Runs an owner until it, the loop or the user ends the run; then pauses the loop, or prints how
/// it has ended.
pub(crate) fn run<'a, O: LoopOwner<'a>>(mut owner: O) -> Result<Exit> {
    let file = owner.file();
    notice::driven_by(owner.runner().words.command);
    let ended = work(&mut owner)?;
    // Otherwise the lines stay on the terminal, among what the end prints.
    owner.runner().screen.clear();
    let used = owner.runner().used();
    let exit = finish(&mut owner, ended)?;
    let found = lifecycle::read(&owner.runner().here.home, file.clone()).ok().flatten();
    if let Some((file, Loaded { state, .. })) = &found
        && let Some(ending) = &state.ending
    {
        let runner = owner.runner();
        // A hook or a command that ended the loop has noted it.
        if journal::last(file.folder(), LOOKED_AT).iter().all(|entry| entry.decision != "ended") {
            let why = format!("{}: {}", ending.kind, ending.detail);
            note(runner.here, file, state, runner.words.command, "ended", &why);
        }
        // A hook in a client of this run cannot call the user: its child would end with the client.
        notice::call_at_end_of_run(file, state);
    }
    if let (Some(used), Some((_, Loaded { state, .. }))) = (used, found) {
        let tasks = graph::summary(&state.task_graph, clock::now());
        let tasks = match tasks.total {
            0 => String::new(),
            total => format!("{} of {} done; ", tasks.done, counted(total, "task", "tasks")),
        };
        owner.say(&format!("{tasks}{used}"))?;
    }
    Ok(exit)
}

fn finish<'a, O: LoopOwner<'a>>(owner: &mut O, ended: RunEnd<O::Verdict>) -> Result<Exit> {
    let file = owner.file();
    match ended {
        RunEnd::Failed(error) => owner.failed(error),
        RunEnd::Over => owner.print_ending(),
        RunEnd::Bound => {
            let now = clock::now();
            file.update(|state| stop::may_go_on(state, now)).map_err(bad_state)?;
            owner.print_ending()
        }
        RunEnd::Paused => {
            let state = file.read().map_err(bad_state)?.context("the loop is gone")?.state;
            let line = owner.paused_line(&state, "you paused it");
            owner.say_in(Colour::Yellow, &line)?;
            Ok(O::PAUSED)
        }
        RunEnd::Rest { cause, why, exit } => pause_loop(owner, cause, &why, exit),
        RunEnd::Decided(verdict) => owner.decided(verdict),
    }
}

/// Pauses the loop, unless it has ended meanwhile.
pub(crate) fn pause_loop<'a, O: LoopOwner<'a>>(
    owner: &mut O,
    cause: PauseCause,
    why: &str,
    exit: Exit,
) -> Result<Exit> {
    let file = owner.file();
    let rested = file.update(|state| {
        if state.ending.is_none() {
            owner.pause(state, cause, why);
        }
        state.clone()
    });
    let Some(state) = rested.map_err(bad_state)?.filter(|state| state.ending.is_none()) else {
        return owner.print_ending();
    };
    let runner = owner.runner();
    note(runner.here, file, &state, runner.words.command, "paused", why);
    if !runner.was_asked() {
        notice::call_at_end_of_run(file, &state);
    }
    let line = owner.paused_line(&state, why);
    owner.say_in(Colour::Yellow, &line)?;
    Ok(exit)
}

/// Archives a loop that has ended, and prints how it ended.
pub(crate) fn print_ending(here: &Here, file: &LoopFile) -> Result<Exit> {
    let state = ended(here, file)?;
    Answer::Text.say_in(colour(&state), &messages::ended(&state))?;
    let kind = state.ending.map(|ending| ending.kind);
    let is_good = kind.is_some_and(|kind| kind.is_completion() || kind == EndingKind::Approved);
    Ok(if is_good { Exit::Done } else { Exit::No })
}

/// The colour of an ending.
pub(crate) fn colour(state: &LoopState) -> Colour {
    match state.ending.as_ref().map(|ending| ending.kind.tone()) {
        Some(EndingTone::Good) => Colour::Green,
        Some(EndingTone::Wrong) => Colour::Red,
        Some(EndingTone::Look) => Colour::Yellow,
        Some(EndingTone::Quiet) | None => Colour::Dim,
    }
}

/// The state of a loop, wherever its file is now.
pub(crate) fn last_state(here: &Here, file: &LoopFile) -> Result<LoopState> {
    let found = lifecycle::read(&here.home, file.clone()).map_err(bad_state)?;
    Ok(found.context("the loop is gone")?.1.state)
}

/// Archives a loop that has ended, and returns its last state.
pub(crate) fn ended(here: &Here, file: &LoopFile) -> Result<LoopState> {
    let found = lifecycle::read(&here.home, file.clone()).map_err(bad_state)?;
    let (file, Loaded { state, .. }) = found.context("the loop is gone")?;
    put_away(here, &file, &state)?;
    Ok(state)
}

/// Archives the loop if it has ended.
pub(crate) fn put_away(here: &Here, file: &LoopFile, state: &LoopState) -> Result<()> {
    if state.ending.is_some() && !lifecycle::is_put_away(&here.home, file) {
        lifecycle::let_go(&here.home, file, state)?;
    }
    Ok(())
}

// A single round outside of any loop, and the wait for a round of an earlier run.

/// Longer than a client may take to end once it was told to.
pub(crate) const TO_END: Duration = Duration::from_secs(20);

/// Runs one round to its end. After the first Ctrl-C it continues; a round that only waits ends at
/// once. `limited` calls the user when the round waits for the usage limit.
pub(crate) fn round(
    here: &Here,
    round: &ClientRound,
    alone: &Path,
    interrupts: &Interrupts,
    limited: &dyn Fn(Timestamp),
) -> Result<RoundResult> {
    let runner = ClientRunner::one(here, None, interrupts, "")?;
    let mut single = Single { runner, limited, came: None };
    single.runner.start("", "", round.clone(), alone)?;
    work(&mut single)?;
    single.came.context("the round ended without a result")
}

struct Single<'a> {
    runner: ClientRunner<'a, ()>,
    limited: &'a dyn Fn(Timestamp),
    came: Option<RoundResult>,
}

impl<'a> Owner<'a> for Single<'a> {
    type Verdict = ();

    fn runner(&mut self) -> &mut ClientRunner<'a, ()> {
        &mut self.runner
    }

    fn go_on(&mut self, _: Option<&LoopState>) -> Result<Then> {
        self.runner.stop(RunEnd::Decided(()));
        Ok(Then::Again)
    }

    fn limited(&mut self, until: Timestamp) {
        (self.limited)(until);
    }

    fn on_exit(&mut self, name: &str, gone: MemberExit) -> Result<()> {
        let came = gone.result()?;
        self.runner.remove(name, &came);
        self.came = Some(came);
        Ok(())
    }
}

/// Waits until every process of a round that an earlier run started with this lock has ended.
pub(crate) fn wait_for_earlier(alone: &Path) -> Result<()> {
    // Without the file there was no round.
    if !alone.with_extension("lock").exists() {
        return Ok(());
    }
    lock::take(alone, TO_END)
        .map(drop)
        .context("a client of an earlier run is alive")
        .map_err(|error| refused(Exit::No, format!("{error:#}")))
}
