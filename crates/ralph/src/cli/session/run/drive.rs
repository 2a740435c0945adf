//! The orchestrator: asks the router, begins what it gives, waits for what happens.
//!
//! Every step is decided anew from the session's files, so nothing is lost with this process but the
//! clients that it holds. One thread: what happens is taken up between two steps.

use super::Plan;
use super::call::AtWork;
use crate::cli::exit::{Exit, bad_state, refused};
use crate::cli::note::note;
use crate::driver::many::Many;
use anyhow::Result;
use jiff::{SignedDuration, Timestamp};
use ralph_core::session::change::apply;
use ralph_core::session::conversation::Routed;
use ralph_core::session::finding::Weight;
use ralph_core::session::invocation::{Invocation, Running};
use ralph_core::session::machine::{self, Act, Step};
use ralph_core::session::snapshot::{Picture, Snapshot};
use ralph_core::session::state::State;
use ralph_core::state::{LoopState, PauseCause, Phase};
use ralph_core::stop;
use ralph_io::crew::Crew;
use ralph_io::interrupts::{Asked, Interrupts};
use ralph_io::watch::Watch;
use ralph_io::{chance, clock, lifecycle};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Where the system cannot tell of changes, everything is looked at again after this time.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// Why no call is begun any more.
pub(super) enum Ended {
    /// The loop has ended elsewhere.
    Over,
    /// Somebody let it rest.
    Paused,
    /// A bound of it is reached.
    Bound,
    /// The router says so.
    Router(Routed),
    /// Something failed that is not an agent's work.
    Failed(anyhow::Error),
    /// It rests, for this reason.
    Rest {
        /// The cause.
        cause: PauseCause,
        /// In words.
        why: String,
        /// How the command ends.
        exit: Exit,
    },
}

impl Ended {
    pub(super) fn rest(cause: PauseCause, why: &str, exit: Exit) -> Ended {
        Ended::Rest { cause, why: why.to_owned(), exit }
    }
}

/// Works until the session ends, or something stands in the way.
///
/// # Errors
/// When the session or the loop cannot be read or written. Nothing that was started is alive then.
pub(super) fn all(plan: &Plan<'_>, interrupts: &Interrupts) -> Result<Ended> {
    let inputs = plan.place.sessions.inputs(&plan.id);
    // Watched before anything is looked at, so that no change falls between.
    let watch = Watch::begin(&[plan.file.folder(), &inputs])?;
    let run = Run {
        plan,
        interrupts,
        watch,
        screen: Many::begin("all"),
        crew: Crew::new()?,
        at_work: BTreeMap::new(),
        number: 0,
        told: Asked::Nothing,
        over: None,
        asks: true,
        until: None,
        most: SignedDuration::from_mins(60),
        waits_for: String::new(),
        found: BTreeSet::new(),
    };
    run.finish()
}

pub(super) struct Run<'a> {
    pub(super) plan: &'a Plan<'a>,
    interrupts: &'a Interrupts,
    watch: Watch,
    pub(super) screen: Many,
    pub(super) crew: Crew,
    /// By the names of their clients.
    pub(super) at_work: BTreeMap<String, AtWork>,
    /// How many calls were begun.
    pub(super) number: u32,
    pub(super) told: Asked,
    /// Why no call is begun any more.
    over: Option<Ended>,
    /// True where the router may have another answer than before.
    pub(super) asks: bool,
    /// When it has another answer, if nothing else happens.
    until: Option<Timestamp>,
    /// How long a call may take.
    most: SignedDuration,
    /// What was last said to be waited for.
    waits_for: String,
    /// What is wrong with the files and was told.
    found: BTreeSet<String>,
}

/// What the router said, and the clients of the calls that are begun.
struct Asks {
    step: Step,
    begun: Vec<(String, Invocation)>,
    most: SignedDuration,
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
        self.end_overdue();
        if let (Some(state), true, true) = (&state, self.asks, self.over.is_none()) {
            self.ask(state)?;
            return Ok(None);
        }
        if self.over.is_some() && self.crew.is_empty() {
            return Ok(self.over.take());
        }
        self.wait().map(|()| None)
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
            Asked::End => "ending all agents",
            _ => {
                "those at work will be finished, and no other begun; Ctrl-C again ends them at once"
            }
        });
    }

    /// The loop as it is; none if it is over. Others may have ended it, or let it rest.
    fn look(&mut self) -> Result<Option<LoopState>> {
        let state = self.plan.file.read().map_err(bad_state)?.map(|loaded| loaded.state);
        let Some(state) = state.filter(|state| state.ending.is_none()) else {
            if !self.lets_finish() && self.told < Asked::End && !self.crew.is_empty() {
                self.told = Asked::End;
                self.crew.ask(Asked::End);
                self.screen.tell("the loop has ended: ending all agents");
            }
            self.over = Some(Ended::Over);
            return Ok(None);
        };
        if state.phase == Phase::Paused {
            self.stop(Ended::Paused);
        }
        Ok(Some(state))
    }

    /// True if whoever ended the loop lets those finish that are at work.
    fn lets_finish(&self) -> bool {
        let id = self.plan.file.folder().file_name().and_then(|name| name.to_str());
        let file = id.and_then(|id| lifecycle::by_id(&self.plan.place.here.home, id));
        let state = file.and_then(|file| file.read().ok().flatten());
        state.is_some_and(|loaded| loaded.state.let_finish)
    }

    /// Asks the router, and does what it says.
    fn ask(&mut self, state: &LoopState) -> Result<()> {
        self.asks = false;
        let left = match stop::may_go_on(&mut state.clone(), clock::now()) {
            true => usize::try_from(state.max_iterations - state.iteration).unwrap_or(usize::MAX),
            false => 0,
        };
        let plan = self.plan;
        let mut given_up: Vec<String> = Vec::new();
        let asked = plan.place.update(&plan.id, |seen| {
            // An agent has written meanwhile: what was about to be told is decided anew.
            given_up.drain(..).for_each(|name| plan.place.sessions.forget_call(&plan.id, &name));
            let (after, asks) = decided(plan, seen, left)?;
            given_up = asks.begun.iter().map(|(name, _)| name.clone()).collect();
            Ok((after, asks))
        })?;
        let Asks { step, begun, most } = asked.what;
        (self.most, self.until) = (most, None);
        for noted in asked.after.running.iter().flatten() {
            let of_it = |one: &&mut AtWork| one.call.key == noted.key;
            if let Some(one) = self.at_work.values_mut().find(of_it) {
                one.since = noted.since;
            }
        }
        self.show(&asked.after, &step, state);
        match &step.act {
            Act::Invoke(_) if begun.is_empty() => self.stop(Ended::Bound),
            Act::Invoke(_) => {
                let calls = u32::try_from(begun.len()).unwrap_or(u32::MAX);
                // Counted before they are begun: who is killed in between gets none for nothing.
                let counted = plan.file.update(|state| {
                    state.iteration = state.iteration.saturating_add(calls);
                });
                counted.map_err(bad_state)?;
                for (name, call) in begun {
                    self.start(&name, call)?;
                }
                self.asks = true;
            }
            Act::Wait { until, .. } => self.until = *until,
            Act::Paused(_) => {}
            Act::Stopped(_) | Act::Complete | Act::AwaitingFeedback(_) | Act::Failed(_) => {
                self.stop(Ended::Router(step.routed(&asked.after)));
            }
        }
        Ok(())
    }

    /// No call is begun any more. The first reason counts.
    pub(super) fn stop(&mut self, why: Ended) {
        self.over.get_or_insert(why);
    }

    /// Ends the clients that take longer than a call may.
    fn end_overdue(&mut self) {
        let now = clock::now();
        for (name, one) in &mut self.at_work {
            if !one.is_overdue && now > one.since + self.most {
                one.is_overdue = true;
                self.crew.ask_one(name, Asked::End);
                let minutes = self.most.as_mins();
                self.screen.say(name, &format!("{minutes} minutes are over: ending it"));
            }
        }
    }

    fn wait(&mut self) -> Result<()> {
        let ends = self.at_work.values().filter(|one| !one.is_overdue);
        let ends = ends.map(|one| one.since + self.most);
        let next = ends.chain(self.until).min();
        let until =
            Instant::now() + next.map_or(LOOK_AGAIN, |moment| time_to(moment).min(LOOK_AGAIN));
        let waited = self.crew.wait_for_either(self.interrupts, &self.watch, until)?;
        let (heard, has_changed) = waited;
        self.asks |= has_changed || Instant::now() >= until;
        for (name, heard) in heard {
            self.hear(&name, heard)?;
        }
        Ok(())
    }

    fn show(&mut self, after: &Snapshot, step: &Step, state: &LoopState) {
        let said = machine::output(after, step);
        let tasks = said.tasks_summary;
        let wave = match said.current_wave {
            0 => String::new(),
            wave => format!(", wave {wave}"),
        };
        let running = after.running.as_ref().map_or(0, Vec::len);
        let words = format!(
            "{}{wave}, iteration {}: {}/{} tasks done, {running}{} at work",
            said.current_state,
            said.iteration,
            tasks.completed,
            tasks.total,
            at_most(after, step.state)
        );
        self.screen.whole_in_words(words, state.usage.total());
        for finding in step.findings.iter().filter(|one| one.weight != Weight::Notice) {
            let text = finding.to_string();
            if self.found.insert(text.clone()) {
                self.screen.tell(&text);
            }
        }
        let waits_for = match &step.act {
            Act::Paused(_) => {
                format!("{}; STEER, INFO, STOP or `ralph resume` ends that", step.act)
            }
            Act::Wait { until: Some(_), .. } if self.at_work.is_empty() => step.act.to_string(),
            _ => String::new(),
        };
        if !waits_for.is_empty() && waits_for != self.waits_for {
            self.screen.tell(&waits_for);
            let plan = self.plan;
            note(&plan.place.here, &plan.file, state, ("session run", "waits"), &waits_for);
        }
        self.waits_for = waits_for;
    }

    /// After an error: nothing may go on without us.
    fn abandon(&mut self) {
        self.crew.ask(Asked::End);
        self.told = Asked::End;
        while !self.crew.is_empty() {
            let until = Instant::now() + LOOK_AGAIN;
            let Ok(all) = self.crew.wait(self.interrupts, &self.watch, until) else { return };
            for (name, heard) in all {
                // The first error is the one that is told.
                let _ = self.hear(&name, heard);
            }
        }
    }
}

/// What the router says, with the calls noted as under way that are begun: at most so many. A call that no
/// bound lets begin leaves everything as it was.
fn decided(plan: &Plan<'_>, seen: &Snapshot, left: usize) -> Result<(Snapshot, Asks)> {
    let now = clock::now();
    let mut seen = seen.clone();
    let running = seen.running.get_or_insert_default().clone();
    let step = machine::next(&seen, now);
    let most = i64::from(Picture::of(&seen).rails.task_wip_minutes);
    let most = SignedDuration::from_mins(most);
    let mut begun = Vec::new();
    let Act::Invoke(calls) = &step.act else {
        let after = written(&seen, &step, now)?;
        return Ok((after, Asks { step, begun, most }));
    };
    if left == 0 {
        return Ok((seen, Asks { step, begun, most }));
    }
    let mut after = written(&seen, &step, now)?;
    let mut running = running;
    for call in calls.iter().take(left) {
        let name = chance::uuid();
        // Before it counts as heard and as under way: who comes after us finds it by this.
        plan.place.sessions.note_call(&plan.id, &name, call.input("SIGNAL").unwrap_or_default())?;
        running.push(Running { key: call.key.clone(), since: now });
        begun.push((name, call.clone()));
    }
    after.running = Some(running);
    Ok((after, Asks { step, begun, most }))
}

fn written(seen: &Snapshot, step: &Step, now: Timestamp) -> Result<Snapshot> {
    apply(seen, &step.changes, now).map_err(|why| refused(Exit::BadState, why))
}

/// `/4` where several may be at work.
fn at_most(seen: &Snapshot, state: State) -> String {
    let rails = Picture::of(seen).rails;
    match state {
        State::ExecutingBatch => format!("/{}", rails.max_parallel_executors),
        State::ReviewingBatch => format!("/{}", rails.max_parallel_reviewers),
        _ => String::new(),
    }
}

fn time_to(moment: Timestamp) -> Duration {
    // A little later: the router compares with the moment itself.
    let left = moment.duration_since(clock::now()) + SignedDuration::from_millis(5);
    Duration::try_from(left).unwrap_or_default()
}
