//! `ralph team run`: asks the router, starts the calls that it returns, waits.
//!
//! Every step is decided anew from the files of the orchestration. The [`engine`] holds the
//! clients.

mod call;

use crate::command::context_dir::note;
use crate::command::exit::{Exit, bad_state};
use crate::command::screen;
use crate::orchestration::OrchestrationContext;
use crate::runs::build;
use crate::runs::engine::{self, ClientRunner, LoopOwner, MemberExit, Owner, RunEnd, Then, Words};
use crate::runs::left::LeftForGit;
use crate::runs::options::ClientOptions;
use crate::runs::screen::Whole;
use anyhow::Result;
use call::AtWork;
pub(crate) use call::{About, round, take_up};
use jiff::{SignedDuration, Timestamp};
use ralph_core::modes::orchestration::finding::Weight;
use ralph_core::modes::orchestration::guardrails::Guardrails;
use ralph_core::modes::orchestration::id::OrchestrationId;
use ralph_core::modes::orchestration::in_session::{self, RouterEnding};
use ralph_core::modes::orchestration::invocation::Invocation;
use ralph_core::modes::orchestration::machine::{self, Act, MachineStep};
use ralph_core::modes::orchestration::snapshot::Picture;
use ralph_core::modes::orchestration::state::State;
use ralph_core::state::{EndingKind, LoopState, PauseCause};
use ralph_core::stop::{self, Routed};
use ralph_core::text::plural::noun;
use ralph_hooks::delegate::Request;
use ralph_hooks::modes::orchestration;
use ralph_io::process::wait_any::Interrupts;
use ralph_io::process::{clock, random};
use ralph_io::store::loop_file::LoopFile;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The orchestration to drive, and the options.
pub(crate) struct OrchestrationRun<'a> {
    pub(crate) place: &'a OrchestrationContext,
    pub(crate) id: OrchestrationId,
    pub(crate) file: LoopFile,
    pub(crate) client: &'a ClientOptions,
    /// The folder for the clients' output.
    pub(crate) logs: PathBuf,
    /// The prefix of the agents' names.
    pub(crate) prefix: &'static str,
}

pub(crate) type OrchestrationEnd = RunEnd<Routed>;

/// Works until the orchestration ends, or the run must pause.
///
/// # Errors
/// When the orchestration or the loop cannot be read or written. No process that the run started is
/// alive then.
pub(crate) fn all(plan: &OrchestrationRun<'_>, interrupts: &Interrupts) -> Result<Exit> {
    let inputs = plan.place.sessions.inputs(&plan.id);
    let words = Words {
        command: "session run",
        members: "agents",
        ended: "call ended",
        failed: Exit::MissingProgram,
    };
    let watched = [plan.file.folder(), &inputs];
    engine::run(DriveState {
        plan,
        runner: ClientRunner::many(&plan.place.here, &plan.file, interrupts, words, &watched)?,
        at_work: BTreeMap::new(),
        number: 0,
        until: None,
        most: SignedDuration::from_mins(60),
        waits_for: String::new(),
        found: BTreeSet::new(),
        // Nobody knows whether the last run was killed in a call.
        left: LeftForGit::begin(&plan.place.here.root, plan.file.folder(), true)?,
    })
}

struct DriveState<'a> {
    plan: &'a OrchestrationRun<'a>,
    runner: ClientRunner<'a, Routed>,
    /// By client name.
    at_work: BTreeMap<String, AtWork>,
    /// How many calls were started.
    number: u32,
    /// When the router will answer differently if nothing else happens.
    until: Option<Timestamp>,
    /// How long a call may take.
    most: SignedDuration,
    /// The last printed reason for waiting.
    waits_for: String,
    /// Problems with the files that were already printed.
    found: BTreeSet<String>,
    left: LeftForGit,
}

impl<'a> Owner<'a> for DriveState<'a> {
    type Verdict = Routed;

    fn runner(&mut self) -> &mut ClientRunner<'a, Routed> {
        &mut self.runner
    }

    fn go_on(&mut self, state: Option<&LoopState>) -> Result<Then> {
        let Some(state) = state else { return Ok(Then::Wait) };
        // The router reads the whole folder, and its answer stays the same until something happens.
        if !self.runner.take_news() {
            return Ok(Then::Wait);
        }
        self.ask(state).map(|()| Then::Again)
    }

    /// Ends overdue clients. Returns when the next one will be overdue, or when the router's answer
    /// will change.
    fn next_moment(&mut self) -> Option<Timestamp> {
        self.end_overdue();
        let ends = self.at_work.values().filter(|one| !one.is_overdue);
        // A stopped run no longer asks the router.
        let until = self.until.filter(|_| !self.runner.is_stopped());
        ends.map(|one| one.since + self.most).chain(until).min()
    }

    fn on_exit(&mut self, name: &str, gone: MemberExit) -> Result<()> {
        self.take_up_end(name, gone)
    }
}

impl DriveState<'_> {
    /// Asks the router and carries out its answer, with at most as many calls as the loop may make.
    fn ask(&mut self, state: &LoopState) -> Result<()> {
        let left = match stop::may_go_on(&mut state.clone(), clock::now()) {
            true => usize::try_from(state.max_iterations - state.iteration).unwrap_or(usize::MAX),
            false => 0,
        };
        let plan = self.plan;
        let sessions = &plan.place.sessions;
        let mut begun: Vec<(String, Invocation)> = Vec::new();
        let asked = plan.place.update(&plan.id, |seen| {
            // An agent has written meanwhile, so the calls of the previous try are dropped and
            // decided anew.
            begun.drain(..).for_each(|(name, _)| sessions.forget_call(&plan.id, &name));
            let now = clock::now();
            let mut seen = seen.clone();
            seen.running.get_or_insert_default();
            let mut step = machine::next(&seen, clock::local(now));
            let calls = step.act.calls().iter().take(left).cloned().collect::<Vec<_>>();
            for call in &calls {
                let name = random::uuid();
                // Write this before the messages count as delivered and the call as under way, so
                // that a later run can find the call.
                let told = call.input("SIGNAL").unwrap_or_default();
                sessions.note_call(&plan.id, &name, told)?;
                begun.push((name, call.clone()));
            }
            step.after = match (step.act.calls().is_empty(), calls.is_empty()) {
                (true, _) => step.after,
                // The bound permits no call, so nothing is written.
                (false, true) => seen,
                (false, false) => step.made(&calls, now),
            };
            Ok((step.after.clone(), step))
        })?;
        let step = asked.what;
        let rails = Picture::from_snapshot(&step.after).rails;
        self.most = SignedDuration::from_mins(i64::from(rails.task_wip_minutes));
        self.until = None;
        for noted in step.after.running.iter().flatten() {
            let of_it = |one: &&mut AtWork| one.call.key == noted.key;
            if let Some(one) = self.at_work.values_mut().find(of_it) {
                one.since = noted.since;
            }
        }
        self.show(&step, &rails, state);
        match &step.act {
            Act::Invoke(_) if begun.is_empty() => self.runner.stop(OrchestrationEnd::Bound),
            Act::Invoke(_) => {
                let calls = u32::try_from(begun.len()).unwrap_or(u32::MAX);
                // Count the calls before they start, so that a killed run cannot make calls without
                // counting them.
                let counted = plan.file.update(|state| {
                    state.iteration = state.iteration.saturating_add(calls);
                });
                counted.map_err(bad_state)?;
                for (name, call) in begun {
                    self.start(&name, call)?;
                }
            }
            Act::Wait { until, .. } => self.until = *until,
            Act::Paused(_) => {}
            Act::Stopped(_) | Act::Complete | Act::AwaitingFeedback(_) | Act::Failed(_) => {
                self.runner.stop(OrchestrationEnd::Decided(step.routed()));
            }
        }
        Ok(())
    }

    fn end_overdue(&mut self) {
        let now = clock::now();
        for (name, one) in &mut self.at_work {
            if !one.is_overdue && now > one.since + self.most {
                one.is_overdue = true;
                self.runner.end(name);
                let minutes = self.most.as_mins();
                let over = noun(minutes, "minute is", "minutes are");
                self.runner.screen.say(name, &format!("{minutes} {over} over: ending it"));
            }
        }
    }

    fn show(&mut self, step: &MachineStep, rails: &Guardrails, state: &LoopState) {
        let tasks = step.after.counts();
        let wave = step.wave.map(|wave| format!(", wave {wave}")).unwrap_or_default();
        let running = step.after.running.as_ref().map_or(0, Vec::len);
        let at_most = match step.state {
            State::ExecutingBatch => format!("/{}", rails.max_parallel_executors),
            State::ReviewingBatch => format!("/{}", rails.max_parallel_reviewers),
            _ => String::new(),
        };
        let words = format!(
            "{}{wave}, iteration {}: {}/{} tasks done, {running}{at_most} at work",
            step.state, step.iteration, tasks.completed, tasks.total
        );
        let (n_done, n_tasks) = (tasks.completed, tasks.total);
        self.runner.screen.whole(&Whole {
            n_done,
            n_tasks,
            words,
            tokens: state.usage.total(),
            cost: state.usage.cost,
        });
        for finding in step.findings.iter().filter(|one| one.weight != Weight::Notice) {
            let text = finding.to_string();
            if self.found.insert(text.clone()) {
                self.runner.screen.tell(&text);
            }
        }
        let waits_for = match &step.act {
            Act::Paused(_) => {
                format!("{}; STEER, INFO, STOP or `ralph resume` ends that", step.act)
            }
            Act::Stopped(_) if !self.at_work.is_empty() => {
                format!("{}; those at work come to their end", step.act)
            }
            Act::Wait { until: Some(_), .. } if self.at_work.is_empty() => step.act.to_string(),
            _ => String::new(),
        };
        if !waits_for.is_empty() && waits_for != self.waits_for {
            self.runner.screen.tell(&waits_for);
            let plan = self.plan;
            note(&plan.place.here, &plan.file, state, "session run", "waits", &waits_for);
        }
        self.waits_for = waits_for;
    }
}

// The end of a run: the criteria run, and the router's answer becomes the ending of the loop.

impl<'a> LoopOwner<'a> for DriveState<'a> {
    const PAUSED: Exit = Exit::Done;

    fn file(&self) -> &'a LoopFile {
        &self.plan.file
    }

    fn decided(&mut self, routed: Routed) -> Result<Exit> {
        let (plan, interrupts) = (self.plan, self.runner.interrupts);
        let state = plan.file.read().map_err(bad_state)?.map(|loaded| loaded.state);
        let Some(state) = state else { return self.print_ending() };
        let mut proof = None;
        if in_session::wants_proof(&state, &routed) {
            self.runner.screen.tell("running the criteria");
            proof = build::prove(&plan.file, Request::Completion, interrupts)?;
            if proof.is_none() {
                let why = "ended by Ctrl-C";
                return engine::pause_loop(self, PauseCause::Person, why, Exit::Interrupted);
            }
        }
        let now = clock::now();
        let left = self.left.find_changes()?.question;
        let mut question = None;
        let ended = plan.file.update(|state| {
            if state.ending.is_none()
                && let RouterEnding::Ended(kind, detail) =
                    in_session::ends(state, &routed, proof.as_ref())
            {
                question = left.filter(|_| kind == EndingKind::Complete);
                if question.is_none() {
                    state.end(kind, detail, now);
                }
            }
            state.clone()
        });
        if let Some(why) = question {
            let why = format!("all is done, but {why}; `ralph accept` accepts it");
            return engine::pause_loop(self, PauseCause::BlockedOnHuman, &why, Exit::No);
        }
        if let Some(state) = ended.map_err(bad_state)?
            && let Some(ending) = &state.ending
        {
            let why = format!("{}: {}", ending.kind, ending.detail);
            note(&plan.place.here, &plan.file, &state, "session run", "ended", &why);
            let sessions = &plan.place.sessions;
            orchestration::use_up(sessions, &plan.id, &routed.heard).map_err(bad_state)?;
        }
        self.print_ending()
    }

    fn failed(&mut self, error: anyhow::Error) -> Result<Exit> {
        let why = format!("{error:#}");
        let paused = self.plan.file.update(|state| self.pause(state, PauseCause::Crashed, &why));
        paused.map_err(bad_state)?;
        Err(error)
    }

    fn paused_line(&mut self, _: &LoopState, why: &str) -> String {
        let id = &self.plan.id;
        format!("orchestration {id} is paused: {why}; `ralph team run --id {id}` continues")
    }

    fn print_ending(&mut self) -> Result<Exit> {
        let id = &self.plan.id;
        let exit = engine::print_ending(&self.plan.place.here, &self.plan.file)?;
        if exit != Exit::Done {
            screen::say(&format!("In a terminal: `ralph team run --id {id}` continues"))?;
        }
        Ok(exit)
    }
}
