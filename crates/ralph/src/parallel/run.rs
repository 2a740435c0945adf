//! Workers without a session above them: starts what can be started, merges what is done, waits.
//!
//! Every step is decided anew from the state, in which all workers are noted, so nothing is lost with
//! this process but the clients that it holds. One thread: what happens is taken up between two steps.

mod ending;
mod leftovers;
mod worker;

pub(crate) use ending::Ended;
pub(crate) use leftovers::{free, kept, of_loop};
pub(crate) use worker::planned;

use crate::cli::exit::{Exit, bad_state};
use crate::cli::here::Here;
use crate::cli::note::note;
use crate::cli::rounds::{self, Client};
use crate::driver::many::{Many, Whole};
use crate::driver::{Came, Outcome};
use anyhow::Result;
use ralph_core::parallel::{self, Next};
use ralph_core::state::{LoopState, PauseCause, Phase, TaskStatus};
use ralph_core::stop;
use ralph_io::clock;
use ralph_io::crew::Crew;
use ralph_io::interrupts::{Asked, Interrupts};
use ralph_io::store::LoopFile;
use ralph_io::watch::Watch;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use worker::AtWork;

/// A client that crashes so often in a row, with nothing done between, is not started again.
const MOST_CRASHES: u32 = 3;

/// Where the system cannot tell of changes, the loop is looked at again after this time.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// Merges the work that is done into the branch of the main work tree; a line for each, in words.
pub(crate) type Merge<'a> = &'a dyn Fn(&Here, &LoopFile) -> Result<Vec<String>>;

/// What is run, and how.
pub(crate) struct Plan<'a> {
    pub(crate) here: &'a Here,
    pub(crate) file: &'a LoopFile,
    pub(crate) client: &'a Client,
    /// The folder for what the clients print.
    pub(crate) logs: PathBuf,
    pub(crate) merge: Merge<'a>,
}

/// Works until nothing is left to start, or something stands in the way.
///
/// # Errors
/// When the loop cannot be read or written. Nothing that was started is alive then.
pub(crate) fn all(plan: &Plan<'_>, interrupts: &Interrupts) -> Result<Ended> {
    let watch = Watch::begin(&[plan.file.folder()])?;
    let run = Run {
        plan,
        interrupts,
        watch,
        screen: Many::begin("all"),
        crew: Crew::new()?,
        at_work: BTreeMap::new(),
        number: 0,
        crashes: 0,
        can_merge: true,
        told: Asked::Nothing,
        over: None,
    };
    run.finish()
}

struct Run<'a> {
    plan: &'a Plan<'a>,
    interrupts: &'a Interrupts,
    watch: Watch,
    screen: Many,
    crew: Crew,
    /// By their calls.
    at_work: BTreeMap<String, AtWork>,
    /// How many workers were started.
    number: u32,
    /// How many clients in a row have crashed.
    crashes: u32,
    /// False once nothing of what is done could be merged.
    can_merge: bool,
    told: Asked,
    /// Why no worker is started any more.
    over: Option<Ended>,
}

impl Run<'_> {
    fn finish(mut self) -> Result<Ended> {
        loop {
            match self.step() {
                Ok(None) => {}
                Ok(Some(ended)) => return Ok(ended),
                Err(error) => {
                    self.abandon();
                    return Err(error);
                }
            }
        }
    }

    /// One step; how it ended, where nothing is left to do.
    fn step(&mut self) -> Result<Option<Ended>> {
        self.hear_person();
        let state = self.look()?;
        let Some(state) = state else { return Ok(self.wait_for_all()?.then_some(Ended::Over)) };
        self.show(&state, "");
        if self.over.is_none() {
            return self.go_on(&state);
        }
        if !self.wait_for_all()? {
            return Ok(None);
        }
        // What is done is not left behind.
        if self.can_merge && state.workers.iter().any(|worker| worker.awaits_merge()) {
            self.merge(&state)?;
        }
        Ok(self.over.take())
    }

    /// What a person at the keyboard wants.
    fn hear_person(&mut self) {
        let asked = self.interrupts.asked();
        if asked <= self.told {
            return;
        }
        self.told = asked;
        self.crew.ask(asked);
        self.stop(Ended::rest(PauseCause::Person, "ended by Ctrl-C", Exit::MissingProgram));
        self.screen.tell(match asked {
            Asked::End => "ending all workers",
            _ => {
                "those at work will be finished, and no other begun; Ctrl-C again ends them at once"
            }
        });
    }

    /// The loop as it is; none if it is over. Others may have ended it, or let it rest.
    fn look(&mut self) -> Result<Option<LoopState>> {
        let state = self.plan.file.read().map_err(bad_state)?.map(|loaded| loaded.state);
        let Some(state) = state.filter(|state| state.ending.is_none()) else {
            let lets_finish = ending::lets_finish(self.plan);
            if !lets_finish && self.told < Asked::End && !self.crew.is_empty() {
                self.told = Asked::End;
                self.crew.ask(Asked::End);
                self.screen.tell("the loop has ended: ending all workers");
            }
            self.over = Some(Ended::Over);
            return Ok(None);
        };
        if state.phase == Phase::Paused {
            self.stop(Ended::Paused);
        }
        Ok(Some(state))
    }

    fn go_on(&mut self, state: &LoopState) -> Result<Option<Ended>> {
        match parallel::next(state, clock::now()) {
            Next::Start { calls } => {
                if !stop::may_go_on(&mut state.clone(), clock::now()) {
                    self.stop(Ended::Bound);
                    return Ok(None);
                }
                for call in &calls {
                    if self.over.is_none() {
                        self.start(call)?;
                    }
                }
                Ok(None)
            }
            Next::Merge { .. } => self.merge(state).map(|()| None),
            Next::Wait { .. } => self.wait().map(|()| None),
            Next::Finished => Ok(Some(Ended::Criteria)),
            Next::Stuck { why } => {
                let why = format!("no task is ready; {}", why.join("; "));
                Ok(Some(Ended::rest(PauseCause::BlockedOnHuman, &why, Exit::No)))
            }
        }
    }

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
                lines.iter().for_each(|line| self.screen.tell(line));
                lines.join("; ")
            }
            Err(error) => format!("{error:#}"),
        };
        let Some(state) = self.look()? else { return Ok(()) };
        note(self.plan.here, self.plan.file, &state, ("parallel run", "merged"), &said);
        if due(&state) == tasks {
            self.can_merge = false;
            let why = format!("could not merge {}: {said}", tasks.join(", "));
            self.stop(Ended::rest(PauseCause::BlockedOnHuman, &why, Exit::No));
        }
        Ok(())
    }

    /// True once nobody is at work any more.
    fn wait_for_all(&mut self) -> Result<bool> {
        if self.crew.is_empty() {
            return Ok(true);
        }
        self.wait().map(|()| false)
    }

    /// No worker is started any more. The first reason counts.
    fn stop(&mut self, why: Ended) {
        self.over.get_or_insert(why);
    }

    /// What the end of a client says about those that could be started.
    fn learn(&mut self, came: &Came) {
        self.crashes =
            if matches!(came.outcome, Outcome::Crashed { .. }) { self.crashes + 1 } else { 0 };
        let cause = match &came.outcome {
            Outcome::RateLimited { .. } => PauseCause::RateLimited,
            Outcome::Ended => PauseCause::Person,
            _ => PauseCause::Crashed,
        };
        if self.crashes >= MOST_CRASHES {
            let why = format!("the client crashed {} times in a row", self.crashes);
            self.stop(Ended::rest(cause, &why, Exit::MissingProgram));
        } else if let Some(why) = rounds::stops(&came.outcome) {
            self.stop(Ended::rest(cause, &why, Exit::MissingProgram));
        }
    }

    fn wait(&mut self) -> Result<()> {
        let until = Instant::now() + LOOK_AGAIN;
        for (call, heard) in self.crew.wait(self.interrupts, &self.watch, until)? {
            self.hear(&call, heard)?;
        }
        Ok(())
    }

    fn show(&self, state: &LoopState, what: &str) {
        let is_done = |task: &&ralph_core::state::Task| task.status == TaskStatus::Done;
        let at = Whole {
            n_done: state.task_graph.iter().filter(is_done).count(),
            n_tasks: state.task_graph.len(),
            n_merged: state.workers.iter().filter(|worker| !worker.merged.is_empty()).count(),
            n_running: self.crew.len(),
            most: state.limits.max_workers as usize,
            tokens: state.usage.total(),
        };
        self.screen.whole(&at, what);
    }

    /// After an error: nothing may go on without us.
    fn abandon(&mut self) {
        self.crew.ask(Asked::End);
        while !self.crew.is_empty() {
            let until = Instant::now() + LOOK_AGAIN;
            let Ok(all) = self.crew.wait(self.interrupts, &self.watch, until) else { return };
            for (call, heard) in all {
                // The first error is the one that is told.
                let _ = self.hear(&call, heard);
            }
        }
    }
}
