//! How a run leaves its loop: paused, with the command that continues it, or ended and archived.

use super::{LoopOwner, RunEnd, work};
use crate::command::context_dir::{Here, note};
use crate::command::exit::{Exit, bad_state};
use crate::command::screen::Colour;
use crate::runs::build::events::Answer;
use anyhow::{Context, Result};
use ralph_core::state::{EndingKind, EndingTone, LoopState, PauseCause};
use ralph_core::stop;
use ralph_core::tasks::graph;
use ralph_core::text::plural::counted;
use ralph_core::views::messages;
use ralph_io::process::clock;
use ralph_io::store::loop_file::{Loaded, LoopFile};
use ralph_io::store::{journal, lifecycle, notice};

/// How many of the journal's last entries are searched for the end of the loop.
const LOOKED_AT: usize = 20;

/// The command that continues a run, unless the reason of its pause names another.
pub(crate) fn goes_on(command: &str, why: &str) -> String {
    match why.contains("; type `") {
        true => String::new(),
        false => format!("; `ralph {command}` continues"),
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
        RunEnd::Over => owner.over(),
        RunEnd::Bound => {
            let now = clock::now();
            file.update(|state| stop::may_go_on(state, now)).map_err(bad_state)?;
            owner.over()
        }
        RunEnd::Paused => {
            let state = file.read().map_err(bad_state)?.context("the loop is gone")?.state;
            let line = owner.paused_line(&state, "you paused it");
            owner.say_in(Colour::Yellow, &line)?;
            Ok(O::PAUSED)
        }
        RunEnd::Rest { cause, why, exit } => rest(owner, cause, &why, exit),
        RunEnd::Decided(verdict) => owner.decided(verdict),
    }
}

/// Pauses the loop, unless it has ended meanwhile.
pub(crate) fn rest<'a, O: LoopOwner<'a>>(
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
        return owner.over();
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
pub(crate) fn over(here: &Here, file: &LoopFile) -> Result<Exit> {
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
