//! The rounds of `ralph build`: one fresh client for each task.
//!
//! The loop is bound to the session of each round while it lasts, so the hooks enforce it there as in
//! any session. What decides is what they and the tasks say; the client's words are not asked.

use crate::cli::context_dir::Here;
use crate::cli::exit::{Exit, bad_state, refused};
use crate::cli::journal::note;
use crate::cli::screen;
use crate::cli::select_loop::FoundLoop;
use crate::runs::client::{ClientRound, RoundOutcome, RoundResult};
use crate::runs::options::{self, ClientOptions};
use crate::runs::parallel::held_by_client;
use crate::runs::single::run_apart;
use anyhow::{Context, Result, bail};
use ralph_core::modes::build::{self, NextBuildStep};
use ralph_core::protocol::permission::Need;
use ralph_core::state::{EndingKind, LoopState, PauseCause};
use ralph_core::stop::Withheld;
use ralph_core::tasks::graph;
use ralph_core::views::messages;
use ralph_hooks::{begin, delegate};
use ralph_io::process::interrupts::Interrupts;
use ralph_io::store::lifecycle;
use ralph_io::store::loop_file::{Loaded, LoopFile};
use ralph_io::{client, process::clock, process::random, project::environment, store::lock};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longer than any run of criteria that has no limit of its own.
const A_DAY: Duration = Duration::from_secs(24 * 3600);

/// What a worker has done and nobody has merged is not there for those who come after.
pub(crate) fn all_is_merged(file: &LoopFile) -> Result<()> {
    let state = file.read().map_err(bad_state)?.context("the loop is gone")?.state;
    let waits = state.workers.iter().filter(|worker| worker.awaits_merge());
    let tasks: Vec<&str> = waits.map(|worker| worker.task.as_str()).collect();
    if tasks.is_empty() {
        return Ok(());
    }
    let message = format!(
        "the work of {} is done and not merged; `ralph parallel run` merges it and goes on",
        screen::visible(&tasks.join(", "))
    );
    Err(refused(Exit::No, message))
}

/// Nobody else works on a loop's tasks in the meantime, one client at a time or several.
pub(crate) fn alone(file: &LoopFile) -> Result<lock::Lock> {
    lock::take(&file.folder().join("build"), Duration::ZERO).map_err(|_| {
        refused(Exit::No, "another `ralph build` or `ralph parallel run` works on this loop")
    })
}

/// What every round will call.
pub(crate) fn needs() -> Vec<Need> {
    let edits = ["Edit", "Write"].map(|tool| Need::Edits(tool.to_owned()));
    let calls = ["ralph task done T-1 --result done", "ralph verify"];
    edits.into_iter().chain(calls.map(|call| Need::Bash(call.to_owned()))).collect()
}

/// A loop whose client works would have two of them.
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

/// What a person starts here is what they agree to, as with a typed `/ralph`.
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
        resume: None,
        env: vec![("RALPH_ROUND".to_owned(), "build".to_owned())],
        extra_args: client.args.clone(),
        permission_mode: client.permission_mode(here),
        log: logs.join(format!("round-{number}.jsonl")),
        folder: Some(PathBuf::from(&here.root)),
        label: format!("round {number}"),
    }
}

/// Works off the tasks of a loop, one after another.
pub(crate) struct Builder<'a> {
    here: &'a Here,
    client: &'a ClientOptions,
    file: LoopFile,
    loop_id: String,
    logs: PathBuf,
    /// At most so many rounds; 0 is no bound.
    pub(crate) rounds: u32,
}

impl<'a> Builder<'a> {
    pub(crate) fn new(
        here: &'a Here,
        client: &'a ClientOptions,
        file: LoopFile,
        loop_id: String,
        logs: PathBuf,
    ) -> Builder<'a> {
        Builder { here, client, file, loop_id, logs, rounds: 0 }
    }

    /// Until nothing is ready, or something stands in the way.
    pub(crate) fn all(&self, interrupts: &Interrupts) -> Result<Exit> {
        let mut crashes = 0;
        for number in 1.. {
            if self.rounds > 0 && number > self.rounds {
                return self.after_its_rounds();
            }
            let session = random::uuid();
            let Some(label) = self.begin(&session, number)? else { return self.over() };
            let Label::Round(label) = label else { return self.stuck(label) };
            let round = ClientRound {
                label,
                ..round(self.here, self.client, &self.logs, (number, &session))
            };
            let came =
                run_apart(&round, &held_by_client(&self.file), interrupts, &self.client.policy());
            let came = came.inspect_err(|_| drop(self.end(&session, "it could not be started")))?;
            options::tell(&round.label, &came);
            let done =
                self.end(&session, &came.outcome.why("its client ended without closing it"))?;
            screen::tell(&screen::visible(&format!("{}: {done}", round.label)));
            self.note_round(number, &done, &came);
            crashes =
                if matches!(came.outcome, RoundOutcome::Crashed { .. }) { crashes + 1 } else { 0 };
            if let Some((cause, why)) = options::rests(&came, interrupts, crashes) {
                return self.rest(cause, &why, Exit::MissingProgram);
            }
        }
        self.over()
    }

    /// What is left when it has made as many rounds as were asked for. Criteria that only have to be run need
    /// no other round.
    fn after_its_rounds(&self) -> Result<Exit> {
        let Some(loaded) = self.file.read().map_err(bad_state)? else { return self.over() };
        let summary = graph::summary(&loaded.state.task_graph, clock::now());
        if summary.all_done() && loaded.state.ending.is_none() && self.settle()? {
            return self.over();
        }
        self.rest(PauseCause::Person, "as many rounds as were asked for", Exit::No)
    }

    /// Binds the loop to the round; none if it is over.
    fn begin(&self, session: &str, number: u32) -> Result<Option<Label>> {
        let now = clock::now();
        let next =
            self.file.update(|state| (build::begin(state, session, number, now), state.clone()));
        // It may have ended in the round before, and been put away there.
        let Some((next, state)) = next.map_err(bad_state)? else { return Ok(None) };
        let label = match next {
            NextBuildStep::Task(claim) => {
                format!("round {number}, {} {}", claim.task.id, claim.task.name)
            }
            NextBuildStep::Stuck(_) => return Ok(Some(Label::Stuck(Box::new(state)))),
            NextBuildStep::Withheld(why) => return Ok(Some(Label::Withheld(why))),
            NextBuildStep::Over => {
                self.put_away(&state)?;
                return Ok(None);
            }
            NextBuildStep::Criteria if self.settle()? => return Ok(None),
            NextBuildStep::Criteria => {
                self.file.update(|state| build::begin_for_criteria(state, session, number))?;
                format!("round {number}, criteria")
            }
        };
        lifecycle::bind(&self.here.home, &self.file, session)?;
        Ok(Some(Label::Round(label)))
    }

    /// Runs the criteria that are due; true if that ends the loop.
    fn settle(&self) -> Result<bool> {
        // In a process of its own, which can have the environment that was recorded.
        let proof = delegate::prove(&self.file, A_DAY)?;
        if proof.trees.is_empty() && !proof.problem.is_empty() {
            bail!("could not run the criteria: {}", proof.problem);
        }
        let now = clock::now();
        let settled = self.file.update(|state| (build::settle(state, &proof, now), state.clone()));
        let (is_settled, state) = settled.map_err(bad_state)?.context("the loop is gone")?;
        if !is_settled {
            return Ok(false);
        }
        self.put_away(&state)?;
        Ok(true)
    }

    /// What became of the round's task. The loop may have ended in it.
    fn end(&self, session: &str, why: &str) -> Result<String> {
        let told = self.file.update(|state| build::end(state, why)).map_err(bad_state)?;
        lifecycle::release(&self.here.home, &self.file, session)?;
        Ok(told.unwrap_or_else(|| "the loop has ended".to_owned()))
    }

    /// What came of a round, for whoever asks later; also what its client was not permitted, which has
    /// no event of its own in every mode. A loop that has ended has its own last line.
    fn note_round(&self, number: u32, done: &str, came: &RoundResult) {
        let Ok(Some(loaded)) = self.file.read() else { return };
        let why = options::told(number, done, came);
        note(self.here, &self.file, &loaded.state, ("build", "round ended"), &why);
    }

    fn rest(&self, cause: PauseCause, why: &str, exit: Exit) -> Result<Exit> {
        let now = clock::now();
        let rested = self.file.update(|state| {
            build::rest(state, cause, why, now);
            state.clone()
        });
        let Some(state) = rested.map_err(bad_state)? else { return self.over() };
        note(self.here, &self.file, &state, ("build", "paused"), why);
        screen::print(&screen::visible_lines(&format!(
            "loop {} rests at {}: {why}; `ralph build` goes on",
            state.loop_id,
            state.position()
        )))?;
        Ok(exit)
    }

    fn stuck(&self, label: Label) -> Result<Exit> {
        let state = match label {
            Label::Stuck(state) => state,
            Label::Withheld(why) => {
                return self.rest(PauseCause::BlockedOnHuman, why.describe(), Exit::No);
            }
            Label::Round(_) => return self.over(),
        };
        let open = state.task_graph.iter().filter(|task| task.result.is_some());
        let open: Vec<String> = open
            .filter(|task| task.status != ralph_core::state::TaskStatus::Done)
            .map(|task| {
                format!("{} {}: {}", task.id, task.status, task.result.as_deref().unwrap_or(""))
            })
            .collect();
        let why = format!("no task is ready; {}", open.join("; "));
        self.rest(PauseCause::BlockedOnHuman, &why, Exit::No)
    }

    fn over(&self) -> Result<Exit> {
        over(self.here, &self.loop_id)
    }

    fn put_away(&self, state: &LoopState) -> Result<()> {
        put_away(self.here, &self.file, state)
    }
}

/// How the loop has ended, wherever it stands now.
pub(crate) fn over(here: &Here, loop_id: &str) -> Result<Exit> {
    let found = lifecycle::read_by_id(&here.home, loop_id).map_err(bad_state)?;
    let (file, Loaded { state, .. }) = found.context("the loop is gone")?;
    put_away(here, &file, &state)?;
    screen::print(&screen::visible_lines(&messages::ended(&state)))?;
    let kind = state.ending.as_ref().map(|ending| &ending.kind);
    let is_good = matches!(kind, Some(EndingKind::Complete | EndingKind::CompleteUnverified));
    Ok(if is_good { Exit::Done } else { Exit::No })
}

/// As what it has ended, wherever it stands now.
pub(crate) fn ending(here: &Here, loop_id: &str) -> Result<Option<EndingKind>> {
    let found = lifecycle::read_by_id(&here.home, loop_id).map_err(bad_state)?;
    let (_, Loaded { state, .. }) = found.context("the loop is gone")?;
    Ok(state.ending.map(|ending| ending.kind))
}

fn put_away(here: &Here, file: &LoopFile, state: &LoopState) -> Result<()> {
    if state.ending.is_some() && !lifecycle::is_put_away(&here.home, file) {
        lifecycle::let_go(&here.home, file, state)?;
    }
    Ok(())
}

enum Label {
    Round(String),
    Stuck(Box<LoopState>),
    Withheld(Withheld),
}
