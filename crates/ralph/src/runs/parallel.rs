//! Workers without a session above them: starts what can be started, merges what is done, waits.
//!
//! Every step is decided anew from the state, in which all workers are noted. How clients are held and waited for is
//! [`engine`]'s.

mod leftovers;
mod worker;

pub(crate) use leftovers::{free, held_by_client, kept, of_loop};
pub(crate) use worker::planned;

use crate::cli::context_dir::Here;
use crate::cli::exit::{Exit, bad_state};
use crate::cli::journal::note;
use crate::cli::screen;
use crate::runs::build::{self, Builder};
use crate::runs::client::{RoundOutcome, RoundResult};
use crate::runs::engine::{self, MemberExit, Team, TeamOwner, Then, Words};
use crate::runs::options::{self, ClientOptions};
use crate::runs::screen::Whole;
use anyhow::{Context, Result};
use ralph_core::modes::build as rules;
use ralph_core::modes::parallel::{self, NextParallelStep};
use ralph_core::state::{LoopState, PauseCause, TaskStatus};
use ralph_core::stop;
use ralph_io::process::clock;
use ralph_io::process::interrupts::Interrupts;
use ralph_io::store::loop_file::LoopFile;
use std::collections::BTreeMap;
use std::path::PathBuf;
use worker::AtWork;

/// Merges the work that is done into the branch of the main work tree; a line for each, in words.
pub(crate) type Merge<'a> = &'a dyn Fn(&Here, &LoopFile) -> Result<Vec<String>>;

/// What is run, and how.
pub(crate) struct ParallelRun<'a> {
    pub(crate) here: &'a Here,
    pub(crate) file: &'a LoopFile,
    pub(crate) client: &'a ClientOptions,
    /// The folder for what the clients print.
    pub(crate) logs: PathBuf,
    pub(crate) merge: Merge<'a>,
}

/// All tasks are done and merged: the criteria decide.
pub(crate) struct AllMerged;

/// Why no worker is started any more: for a reason of every team, or because all is done.
pub(crate) type ParallelEnd = engine::TeamEnd<AllMerged>;

/// Works until nothing is left to start, or something stands in the way.
///
/// # Errors
/// When the loop cannot be read or written. Nothing that was started is alive then.
pub(crate) fn all(plan: &ParallelRun<'_>, interrupts: &Interrupts) -> Result<ParallelEnd> {
    let words = Words { command: "parallel run", members: "workers", ended: "worker ended" };
    let watched = [plan.file.folder()];
    engine::work(ParallelState {
        plan,
        team: Team::begin((plan.here, plan.file), interrupts, words, &watched)?,
        at_work: BTreeMap::new(),
        number: 0,
        crashes: 0,
        can_merge: true,
    })
}

struct ParallelState<'a> {
    plan: &'a ParallelRun<'a>,
    team: Team<'a, AllMerged>,
    /// By their calls.
    at_work: BTreeMap<String, AtWork>,
    /// How many workers were started.
    number: u32,
    /// How many clients in a row have crashed.
    crashes: u32,
    /// False once nothing of what is done could be merged.
    can_merge: bool,
}

impl<'a> TeamOwner<'a> for ParallelState<'a> {
    type DriveVerdict = AllMerged;

    fn team(&mut self) -> &mut Team<'a, AllMerged> {
        &mut self.team
    }

    fn go_on(&mut self, state: &LoopState) -> Result<Then> {
        self.show(state, "");
        match parallel::next(state, clock::now()) {
            NextParallelStep::Start { .. }
                if !stop::may_go_on(&mut state.clone(), clock::now()) =>
            {
                self.team.stop(ParallelEnd::Bound);
            }
            NextParallelStep::Start { calls } => {
                for call in &calls {
                    if !self.team.is_stopped() {
                        self.start(call)?;
                    }
                }
            }
            NextParallelStep::Merge { .. } => self.merge(state)?,
            NextParallelStep::Wait { .. } => return Ok(Then::Wait),
            NextParallelStep::Finished => self.team.stop(ParallelEnd::Decided(AllMerged)),
            NextParallelStep::NoTasks => {
                let why = stop::Withheld::NoTasks.describe();
                self.team.stop(ParallelEnd::rest(PauseCause::BlockedOnHuman, why, Exit::No));
            }
            NextParallelStep::Stuck { why } => {
                let why = format!("no task is ready; {}", why.join("; "));
                self.team.stop(ParallelEnd::rest(PauseCause::BlockedOnHuman, &why, Exit::No));
            }
        }
        Ok(Then::Again)
    }

    fn gone(&mut self, name: &str, gone: MemberExit) -> Result<()> {
        self.take_up_end(name, gone)?;
        if let Some(state) = self.team.look()? {
            self.show(&state, "");
        }
        Ok(())
    }

    /// What is done is not left behind.
    fn conclude(&mut self, state: &LoopState) -> Result<()> {
        match self.can_merge && state.workers.iter().any(|worker| worker.awaits_merge()) {
            true => self.merge(state),
            false => Ok(()),
        }
    }
}

impl ParallelState<'_> {
    /// Merges what is done. What is not merged and stays so is for a person.
    fn merge(&mut self, before: &LoopState) -> Result<()> {
        let due = |state: &LoopState| {
            let due = state.workers.iter().filter(|worker| worker.awaits_merge());
            due.map(|worker| worker.task.clone()).collect::<Vec<_>>()
        };
        let tasks = due(before);
        self.show(before, &format!("merging {}", tasks.join(", ")));
        let merged = (self.plan.merge)(self.plan.here, self.plan.file);
        let said = match merged {
            Ok(lines) => {
                lines.iter().for_each(|line| self.team.screen.tell(line));
                lines.join("; ")
            }
            Err(error) => format!("{error:#}"),
        };
        let Some(state) = self.team.look()? else { return Ok(()) };
        note(self.plan.here, self.plan.file, &state, ("parallel run", "merged"), &said);
        if due(&state) == tasks {
            self.can_merge = false;
            let why = format!("could not merge {}: {said}", tasks.join(", "));
            self.team.stop(ParallelEnd::rest(PauseCause::BlockedOnHuman, &why, Exit::No));
        }
        Ok(())
    }

    /// What the end of a client says about those that could be started.
    fn learn(&mut self, came: &RoundResult) {
        let has_crashed = matches!(came.outcome, RoundOutcome::Crashed { .. });
        self.crashes = if has_crashed { self.crashes + 1 } else { 0 };
        if let Some((cause, why)) = options::rests(came, self.team.interrupts, self.crashes) {
            self.team.stop(ParallelEnd::rest(cause, &why, Exit::MissingProgram));
        }
    }

    fn show(&self, state: &LoopState, what: &str) {
        let is_done = |task: &&ralph_core::state::Task| task.status == TaskStatus::Done;
        let at = Whole {
            n_done: state.task_graph.iter().filter(is_done).count(),
            n_tasks: state.task_graph.len(),
            n_merged: state.workers.iter().filter(|worker| !worker.merged.is_empty()).count(),
            n_running: self.team.len(),
            most: state.limits.max_workers as usize,
            tokens: state.usage.total(),
        };
        self.team.screen.whole(&at, what);
    }
}

/// Ends the loop, or leaves it as it is, and says what comes next.
pub(crate) fn conclude(
    plan: &ParallelRun<'_>,
    interrupts: &Interrupts,
    loop_id: &str,
    ended: ParallelEnd,
) -> Result<Exit> {
    let (here, file) = (plan.here, plan.file);
    match ended {
        ParallelEnd::Decided(AllMerged) => {
            // Nothing is left for workers: whoever goes on does so in the main work tree.
            file.update(|state| state.parallel = false).map_err(bad_state)?;
            let logs = plan.logs.clone();
            let builder = Builder::new(here, plan.client, file.clone(), loop_id.to_owned(), logs);
            builder.all(interrupts)
        }
        ParallelEnd::Failed(error) => Err(error),
        ParallelEnd::Over => build::over(here, loop_id),
        ParallelEnd::Bound => {
            let now = clock::now();
            file.update(|state| stop::may_go_on(state, now)).map_err(bad_state)?;
            build::over(here, loop_id)
        }
        ParallelEnd::Paused => {
            let state = read(file)?;
            rest(&state, "a person let it rest")?;
            Ok(Exit::No)
        }
        ParallelEnd::Rest { cause, why, exit } => {
            let now = clock::now();
            let rested = file.update(|state| {
                rules::rest(state, cause, &why, now);
                state.clone()
            });
            let Some(state) = rested.map_err(bad_state)? else { return build::over(here, loop_id) };
            note(here, file, &state, ("parallel run", "paused"), &why);
            rest(&state, &why)?;
            Ok(exit)
        }
    }
}

fn rest(state: &LoopState, why: &str) -> Result<()> {
    let kept = kept(state).into_iter().map(|line| format!("\n{line}")).collect::<String>();
    screen::print(&screen::visible_lines(&format!(
        "loop {} rests at {}: {why}; `ralph parallel run` goes on{kept}",
        state.loop_id,
        state.position()
    )))
}

fn read(file: &LoopFile) -> Result<LoopState> {
    Ok(file.read().map_err(bad_state)?.context("the loop is gone")?.state)
}
