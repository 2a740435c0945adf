//! The rounds of `ralph build`: one fresh client for each task.
//!
//! The loop is bound to the session of each round while that lasts, so the hooks enforce it as in
//! any session. The hooks and the tasks decide about a round; the client's words do not count.

use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::journal::note;
use crate::command::screen;
use crate::command::select_loop::FoundLoop;
use crate::runs::client::{ClientRound, RoundOutcome};
use crate::runs::engine::{self, ClientRunner, LoopOwner, MemberExit, Owner, RunEnd, Then};
use crate::runs::options::{self, ClientOptions};
use crate::runs::parallel::held_by_client;
use crate::runs::screen::Whole;
use crate::runs::worker::RoundOrder;
use anyhow::{Context, Result, bail};
use ralph_core::evidence::receipt::Proof;
use ralph_core::modes::build::{self as rules, NextBuildStep};
use ralph_core::protocol::permission::Need;
use ralph_core::state::{EndingKind, LoopState, PauseCause, TaskStatus};
use ralph_core::stop::progress;
use ralph_core::tasks::graph;
use ralph_core::text::plural::counted;
use ralph_core::text::truncate::bounded;
use ralph_hooks::{begin, delegate, signals};
use ralph_io::git::tree;
use ralph_io::process::interrupts::Interrupts;
use ralph_io::store::lifecycle;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::store::mailbox::Mailbox;
use ralph_io::{
    client, process::clock, process::random, project::environment, store::journal, store::lock,
};
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The journal's word for the end of a round.
pub(crate) const ENDED: &str = "round ended";

/// Maximum length of a model's last words in the journal, in UTF-16 units.
const LAST_WORDS: usize = 300;

const NO_HOOKS: &str = "Ralph's hooks did not take part in the round, so nothing enforces the loop; `ralph doctor` shows why";

/// How many of the journal's last entries are searched for the ends of earlier rounds.
const LOOKED_AT: usize = 200;

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
        text.push_str(&format!("\n{}: {}", criterion.id, criterion.decided_by()));
    }
    text
}

/// Prints the command of the first round, and changes nothing.
pub(crate) fn show_first(
    here: &Here,
    found: &FoundLoop,
    client: &ClientOptions,
    logs: &Path,
) -> Result<()> {
    let (mut state, now) = (found.state.clone(), clock::now());
    if rules::begin(&mut state, "ID", 1, now) == NextBuildStep::Criteria {
        rules::begin_for_goal(&mut state, "ID", 1);
    }
    let prompt = prompt(&found.file, &state);
    options::show(&ClientRound { prompt, ..round(here, client, logs, (1, "ID")) })
}

fn round(
    here: &Here,
    client: &ClientOptions,
    logs: &Path,
    (number, session): (u32, &str),
) -> ClientRound {
    ClientRound {
        session_id: Some(session.to_owned()),
        label: format!("round {number}"),
        ..client.round(here, "build", logs.join(format!("round-{number}.jsonl")))
    }
}

/// The prompt of the round that the loop is at.
pub(crate) fn prompt(file: &LoopFile, state: &LoopState) -> String {
    let steers = Mailbox::of(file, state).steers(signals::STEERS);
    let earlier = journal::last(file.folder(), LOOKED_AT).into_iter();
    let earlier = earlier.filter(|entry| entry.decision == ENDED).map(|entry| entry.why);
    rules::prompt::of_round(state, &steers, &earlier.collect::<Vec<_>>(), clock::now())
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

/// What a round left.
struct EndedRound {
    /// What happened to its task.
    told: String,
    /// True if its task is where it was, or it had none.
    is_open: bool,
    is_for_goal: bool,
    /// True if one of Ralph's hooks took part.
    is_hooked: bool,
}

/// A round that has begun.
struct Begun {
    label: String,
    prompt: String,
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

    /// Binds the loop to the round, or returns the reason why there is no round.
    fn begin(&self, session: &str) -> Result<Result<Begun, BuildEnd>> {
        let (now, number) = (clock::now(), self.number);
        let next =
            self.file.update(|state| (rules::begin(state, session, number, now), state.clone()));
        // The loop may have ended in the round before, and been archived there.
        let Some((next, mut state)) = next.map_err(bad_state)? else {
            return Ok(Err(RunEnd::Over));
        };
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
            NextBuildStep::Criteria => match self.begin_for_goal(session)? {
                None => return Ok(Err(RunEnd::Over)),
                Some(begun) => {
                    state = begun;
                    format!("round {number}")
                }
            },
        };
        lifecycle::bind(&self.runner.here.home, self.file, session)?;
        Ok(Ok(Begun { label, prompt: prompt(self.file, &state) }))
    }

    /// Runs the criteria, and binds the loop to a round for the goal. `None` if the loop has ended.
    fn begin_for_goal(&self, session: &str) -> Result<Option<LoopState>> {
        let state = self.file.read().map_err(bad_state)?.context("the loop is gone")?.state;
        let is_first = state.iteration == 0 && state.task_graph.is_empty();
        // Before any work, criteria that hold prove nothing; the prompt names those that fail.
        if is_first {
            self.prove()?;
        } else if self.settle()? {
            return Ok(None);
        }
        let begun = self.file.update(|state| {
            rules::begin_for_goal(state, session, self.number);
            state.clone()
        });
        begun.map_err(bad_state)
    }

    /// Runs the criteria that are due, in a process of their own, which can take on the recorded
    /// environment.
    fn prove(&self) -> Result<Proof> {
        let proof = delegate::prove(self.file, A_DAY)?;
        if proof.trees.is_empty() && !proof.problem.is_empty() {
            bail!("could not run the criteria: {}", proof.problem);
        }
        Ok(proof)
    }

    /// Runs the criteria that are due. Returns true if that ends the loop.
    fn settle(&self) -> Result<bool> {
        let proof = self.prove()?;
        let now = clock::now();
        let settled = self.file.update(|state| (rules::settle(state, &proof, now), state.clone()));
        let (is_settled, state) = settled.map_err(bad_state)?.context("the loop is gone")?;
        if is_settled {
            engine::put_away(self.runner.here, self.file, &state)?;
        }
        Ok(is_settled)
    }

    /// Ends the round. The loop may have ended in it.
    fn end(&self, session: &str, why: &str) -> Result<EndedRound> {
        let ended = self.file.update(|state| {
            let (is_open, is_for_goal) = (rules::is_open(state), rules::is_goal_round(state));
            let is_hooked = state.via.is_some();
            EndedRound { is_open, is_for_goal, is_hooked, told: rules::end(state, why) }
        });
        let ended = ended.map_err(bad_state)?;
        let home = &self.runner.here.home;
        lifecycle::release(home, self.file, session)?;
        if let Some(ended) = ended {
            return Ok(ended);
        }
        let found = lifecycle::read(home, self.file.clone()).map_err(bad_state)?;
        let ending = found.and_then(|(_, loaded)| loaded.state.ending);
        let is_open = ending.is_some_and(|ending| ending.kind == EndingKind::Stalled);
        let told = "the loop has ended".to_owned();
        Ok(EndedRound { told, is_open, is_for_goal: false, is_hooked: true })
    }

    /// Runs the criteria after a round for the goal, and counts the round. Returns what holds now.
    fn count_goal_round(&self) -> Result<String> {
        let Some(loaded) = self.file.read().map_err(bad_state)? else { return Ok(String::new()) };
        let (work, tree) = (progress::print_of_work(&loaded.state), self.tree());
        if self.settle()? {
            return Ok("all criteria hold".to_owned());
        }
        let (tree_after, now) = (self.tree(), clock::now());
        let counted = self.file.update(|state| {
            let trees = (work.as_str(), tree.as_deref(), tree_after.as_deref());
            rules::count_goal_round(state, trees, now);
            state.clone()
        });
        let Some(state) = counted.map_err(bad_state)? else { return Ok(String::new()) };
        engine::put_away(self.runner.here, self.file, &state)?;
        Ok(holding(&state))
    }

    /// Updates the line about the whole run.
    fn show(&self) -> Result<()> {
        let Some(loaded) = self.file.read().map_err(bad_state)? else { return Ok(()) };
        let state = loaded.state;
        let summary = graph::summary(&state.task_graph, clock::now());
        let (n_done, n_tasks, words) = match summary.total {
            0 => {
                let criteria = &state.acceptance_criteria;
                let n_hold = criteria.iter().filter(|criterion| criterion.verified).count();
                (n_hold, criteria.len(), holding(&state))
            }
            total => (summary.done, total, format!("{}/{total} tasks done", summary.done)),
        };
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
            Ok(Begun { label, prompt }) => {
                let which = (self.number, session.as_str());
                let round = round(self.runner.here, self.client, &self.logs, which);
                let round = ClientRound { label: label.clone(), prompt, ..round };
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
        let mut ended = self.end(session, &why)?;
        let mut noted = ended.told.clone();
        if let (true, RoundOutcome::Finished { result, .. }) = (ended.is_for_goal, &came.outcome) {
            ended.told = self.count_goal_round()?;
            noted =
                format!("{}; its last words: {}", ended.told, bounded(result.trim(), LAST_WORDS));
        }
        let became = format!("{}: {}", self.runner.screen.label(session), ended.told);
        let noted = format!("round {}: {noted}", self.number);
        self.runner.show_end(session, &became, &noted, &came);
        self.show()?;
        let is_client = came.session_id.as_deref() == Some(session);
        if is_client && !ended.is_hooked && matches!(came.outcome, RoundOutcome::Finished { .. }) {
            self.runner.stop(RunEnd::rest(
                PauseCause::BlockedOnHuman,
                NO_HOOKS,
                Exit::MissingProgram,
            ));
        }
        if ended.is_open && self.tree.is_some() && self.tree == self.tree() {
            self.runner.stop_idle(self.client, "build", &came);
        }
        self.runner.learn(&came);
        Ok(())
    }
}

/// `1 of 2 criteria hold`; empty without criteria.
fn holding(state: &LoopState) -> String {
    let criteria = &state.acceptance_criteria;
    let n_hold = criteria.iter().filter(|criterion| criterion.verified).count();
    match criteria.len() {
        0 => String::new(),
        total => format!("{n_hold} of {} hold", counted(total, "criterion", "criteria")),
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
