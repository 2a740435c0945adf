//! The rounds of `ralph build`: one fresh client for each task.
//!
//! The loop is bound to the session of each round while that lasts, so the hooks enforce it as in
//! any session. The hooks and the tasks decide about a round; the client's words do not count.

use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::journal::note;
use crate::command::screen;
use crate::command::select_loop::FoundLoop;
use crate::runs::client::ClientRound;
use crate::runs::engine::{self, ClientRunner, LoopOwner, MemberExit, Owner, RunEnd, Then};
use crate::runs::options::ClientOptions;
use crate::runs::parallel::held_by_client;
use crate::runs::screen::Whole;
use crate::runs::worker::RoundOrder;
use anyhow::{Context, Result, bail};
use ralph_core::modes::build::{self, NextBuildStep};
use ralph_core::protocol::permission::Need;
use ralph_core::state::{EndingKind, LoopState, PauseCause, TaskStatus};
use ralph_core::tasks::graph;
use ralph_hooks::{begin, delegate};
use ralph_io::git::tree;
use ralph_io::process::interrupts::Interrupts;
use ralph_io::store::lifecycle;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::{client, process::clock, process::random, project::environment, store::lock};
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longer than any run of criteria without a time limit of its own.
const A_DAY: Duration = Duration::from_secs(24 * 3600);

/// Refuses a loop with unmerged work of workers, which later tasks could not see.
pub(crate) fn all_is_merged(file: &LoopFile) -> Result<()> {
    let state = file.read().map_err(bad_state)?.context("the loop is gone")?.state;
    let waits = state.workers.iter().filter(|worker| worker.awaits_merge());
    let tasks: Vec<&str> = waits.map(|worker| worker.task.as_str()).collect();
    if tasks.is_empty() {
        return Ok(());
    }
    let message = format!(
        "the work of {} is done and not merged; `ralph parallel run` merges it and continues",
        screen::visible(&tasks.join(", "))
    );
    Err(refused(Exit::No, message))
}

/// Locks the loop, so that no other `ralph build` or `ralph parallel run` works on its tasks.
pub(crate) fn alone(file: &LoopFile) -> Result<lock::Lock> {
    lock::take(&file.folder().join("build"), Duration::ZERO).map_err(|_| {
        refused(Exit::No, "another `ralph build` or `ralph parallel run` works on this loop")
    })
}

/// The tool calls that every round makes.
pub(crate) fn needs() -> Vec<Need> {
    let edits = ["Edit", "Write"].map(|tool| Need::Edits(tool.to_owned()));
    let calls = ["ralph task done T-1 --note done", "ralph verify"];
    edits.into_iter().chain(calls.map(|call| Need::Bash(call.to_owned()))).collect()
}

/// Refuses a loop whose client is already working: it would have two.
pub(crate) fn nobody_works(state: &LoopState) -> Result<()> {
    let works = state.is_running() && state.round.is_none();
    if works && state.client.as_ref().is_some_and(client::is_alive) {
        let message = format!(
            "loop {} is at work in a session at {}; pause or cancel it first",
            screen::visible(&state.loop_id),
            state.position()
        );
        return Err(refused(Exit::No, message));
    }
    Ok(())
}

/// Starts or continues the loop. The first start pins the criteria, since starting is the user's
/// consent, as with a typed `/ralph`.
pub(crate) fn take_up(
    here: &Here,
    found: &FoundLoop,
    command: &str,
    change: impl FnOnce(&mut LoopState),
) -> Result<LoopState> {
    let lacking = begin::cannot_start(&found.state.acceptance_criteria, &here.root);
    if !lacking.is_empty() {
        return Err(refused(Exit::No, format!("{}; nothing was started", lacking.join("; "))));
    }
    let state = found.file.update(|state| {
        if state.started_at.is_none() {
            begin::freeze(state, &here.root, here.now);
        }
        environment::take(state);
        change(state);
        state.clone()
    });
    let state = state.map_err(bad_state)?.context("the loop is gone")?;
    note(here, &found.file, &state, (command, "started"), "a person started it in a terminal");
    Ok(state)
}

pub(crate) fn announcement(state: &LoopState, logs: &Path, what: &str) -> String {
    let mut text = format!("{what} loop {}; logs in {}", state.loop_id, logs.display());
    for criterion in &state.acceptance_criteria {
        text.push_str(&format!("\n{}: {}", criterion.id, criterion.verification_command));
    }
    text
}

pub(crate) fn round(
    here: &Here,
    client: &ClientOptions,
    logs: &Path,
    (number, session): (u32, &str),
) -> ClientRound {
    ClientRound {
        prompt: "/ralph-build".to_owned(),
        session_id: Some(session.to_owned()),
        label: format!("round {number}"),
        ..client.round(here, "build", logs.join(format!("round-{number}.jsonl")))
    }
}

/// Works through the tasks of a loop, one after another.
pub(crate) struct Builder<'a> {
    runner: ClientRunner<'a, Infallible>,
    client: &'a ClientOptions,
    file: &'a LoopFile,
    logs: PathBuf,
    /// The highest number of rounds; 0 means no limit.
    rounds: u32,
    /// The number of the current round, or of the last one.
    number: u32,
    /// Fingerprint of the work tree at the start of the round; `None` without git.
    tree: Option<String>,
}

type BuildEnd = RunEnd<Infallible>;

impl<'a> Builder<'a> {
    pub(crate) fn new(
        (here, file): (&'a Here, &'a LoopFile),
        client: &'a ClientOptions,
        logs: PathBuf,
        rounds: u32,
        interrupts: &'a Interrupts,
    ) -> Result<Builder<'a>> {
        let runner = ClientRunner::one((here, Some(file)), interrupts, "build")?;
        Ok(Builder { runner, client, file, logs, rounds, number: 0, tree: None })
    }

    /// The end of the run once all requested rounds are done. Criteria that only have to run need
    /// no further round.
    fn after_its_rounds(&self) -> Result<BuildEnd> {
        let Some(loaded) = self.file.read().map_err(bad_state)? else { return Ok(RunEnd::Over) };
        let summary = graph::summary(&loaded.state.task_graph, clock::now());
        if summary.all_done() && loaded.state.ending.is_none() && self.settle()? {
            return Ok(RunEnd::Over);
        }
        Ok(RunEnd::rest(PauseCause::Person, "as many rounds as were asked for", Exit::No))
    }

    /// Binds the loop to the round and returns the round's label, or the reason why there is no
    /// round.
    fn begin(&self, session: &str) -> Result<Result<String, BuildEnd>> {
        let (now, number) = (clock::now(), self.number);
        let next =
            self.file.update(|state| (build::begin(state, session, number, now), state.clone()));
        // The loop may have ended in the round before, and been archived there.
        let Some((next, state)) = next.map_err(bad_state)? else { return Ok(Err(RunEnd::Over)) };
        let blocked = |why: &str| Ok(Err(RunEnd::rest(PauseCause::BlockedOnHuman, why, Exit::No)));
        let label = match next {
            NextBuildStep::Task(claim) => {
                format!("round {number}, {} {}", claim.task.id, claim.task.name)
            }
            NextBuildStep::Stuck(_) => return blocked(&stuck(&state)),
            NextBuildStep::Withheld(why) => return blocked(why.describe()),
            NextBuildStep::Over => {
                engine::put_away(self.runner.here, self.file, &state)?;
                return Ok(Err(RunEnd::Over));
            }
            NextBuildStep::Criteria if self.settle()? => return Ok(Err(RunEnd::Over)),
            NextBuildStep::Criteria => {
                self.file.update(|state| build::begin_for_criteria(state, session, number))?;
                format!("round {number}, criteria")
            }
        };
        lifecycle::bind(&self.runner.here.home, self.file, session)?;
        Ok(Ok(label))
    }

    /// Runs the criteria that are due. Returns true if that ends the loop.
    fn settle(&self) -> Result<bool> {
        // They run in a process of their own, which can take on the recorded environment.
        let proof = delegate::prove(self.file, A_DAY)?;
        if proof.trees.is_empty() && !proof.problem.is_empty() {
            bail!("could not run the criteria: {}", proof.problem);
        }
        let now = clock::now();
        let settled = self.file.update(|state| (build::settle(state, &proof, now), state.clone()));
        let (is_settled, state) = settled.map_err(bad_state)?.context("the loop is gone")?;
        if is_settled {
            engine::put_away(self.runner.here, self.file, &state)?;
        }
        Ok(is_settled)
    }

    /// Ends the round. Returns what happened to its task, and whether the task is where it was. The
    /// loop may have ended in the round.
    fn end(&self, session: &str, why: &str) -> Result<(String, bool)> {
        let ended = self.file.update(|state| (build::is_open(state), build::end(state, why)));
        let ended = ended.map_err(bad_state)?;
        let home = &self.runner.here.home;
        lifecycle::release(home, self.file, session)?;
        Ok(match ended {
            Some((is_open, told)) => (told, is_open),
            None => {
                let found = lifecycle::read(home, self.file.clone()).map_err(bad_state)?;
                let ending = found.and_then(|(_, loaded)| loaded.state.ending);
                let is_stalled = ending.is_some_and(|ending| ending.kind == EndingKind::Stalled);
                ("the loop has ended".to_owned(), is_stalled)
            }
        })
    }

    /// Updates the line about the whole run.
    fn show(&self) -> Result<()> {
        let Some(loaded) = self.file.read().map_err(bad_state)? else { return Ok(()) };
        let state = loaded.state;
        let summary = graph::summary(&state.task_graph, clock::now());
        let (n_done, n_tasks) = (summary.done, summary.total);
        let words = format!("{n_done}/{n_tasks} tasks done");
        // The hooks count as well, and earlier runs are in the state alone.
        let tokens = state.usage.total().max(self.runner.tokens());
        self.runner.screen.whole(&Whole { n_done, n_tasks, words, tokens });
        Ok(())
    }

    fn tree(&self) -> Option<String> {
        tree::fingerprint(&self.runner.here.root).ok().flatten()
    }

    fn could_not_start(&self, session: &str) {
        // The error of the start is the one to report.
        drop(self.end(session, "it could not be started"));
    }
}

impl<'a> Owner<'a> for Builder<'a> {
    type Verdict = Infallible;

    fn runner(&mut self) -> &mut ClientRunner<'a, Infallible> {
        &mut self.runner
    }

    fn go_on(&mut self, _: Option<&LoopState>) -> Result<Then> {
        if self.rounds > 0 && self.number >= self.rounds {
            let end = self.after_its_rounds()?;
            self.runner.stop(end);
            return Ok(Then::Again);
        }
        self.number += 1;
        let session = random::uuid();
        match self.begin(&session)? {
            Err(end) => self.runner.stop(end),
            Ok(label) => {
                let which = (self.number, session.as_str());
                let round = round(self.runner.here, self.client, &self.logs, which);
                let round = ClientRound { label: label.clone(), ..round };
                let alone = held_by_client(self.file);
                let order = RoundOrder::new(round, &self.client.policy(), &alone);
                self.tree = self.tree();
                self.show()?;
                let started = self.runner.start(&session, (&label, ""), &order);
                started.inspect_err(|_| self.could_not_start(&session))?;
            }
        }
        Ok(Then::Again)
    }

    fn gone(&mut self, session: &str, gone: MemberExit) -> Result<()> {
        let came = gone.result().inspect_err(|_| self.could_not_start(session))?;
        let why = came.outcome.why("its client ended without closing it");
        let (done, is_open) = self.end(session, &why)?;
        let became = format!("{}: {done}", self.runner.screen.label(session));
        let noted = format!("round {}: {done}", self.number);
        self.runner.show_end(session, &became, &noted, &came);
        self.show()?;
        if is_open && self.tree.is_some() && self.tree == self.tree() {
            self.runner.stop_idle(self.client, "build", &came);
        }
        self.runner.learn(&came);
        Ok(())
    }
}

impl<'a> LoopOwner<'a> for Builder<'a> {
    fn file(&self) -> &'a LoopFile {
        self.file
    }

    fn decided(&mut self, verdict: Infallible) -> Result<Exit> {
        match verdict {}
    }
}

fn stuck(state: &LoopState) -> String {
    let open = state.task_graph.iter().filter(|task| task.status != TaskStatus::Done);
    let open: Vec<String> = open
        .filter_map(|task| {
            Some(format!("{} {}: {}", task.id, task.status, task.result.as_deref()?))
        })
        .collect();
    format!("no task is ready; {}", open.join("; "))
}
