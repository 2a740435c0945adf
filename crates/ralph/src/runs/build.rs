//! The rounds of `ralph run` and `ralph build`: a fresh client for each task, or for the goal.
//!
//! The loop is bound to the session of each round while that lasts, so the hooks enforce it as in
//! any session. The hooks and the tasks decide about a round; the client's words do not count.

mod begin;
pub(crate) mod events;
pub(crate) mod keep;

pub(crate) use begin::{
    ReadyRun, RunOptions, alone, announcement, ask_for_review, needs, nobody_works, note_start,
    show_first, take_up,
};

use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state};
use crate::command::journal::note;
use crate::command::plan_import;
use crate::command::screen::visible;
use crate::runs::client::{ClientRound, RoundOutcome, RoundResult};
use crate::runs::engine::{self, ClientRunner, LoopOwner, MemberExit, Owner, RunEnd, Then};
use crate::runs::options::{ClientOptions, TOLD};
use crate::runs::parallel::held_by_client;
use crate::runs::review::{self, Reviewed};
use crate::runs::screen::Whole;
use crate::runs::worker::RoundOrder;
use anyhow::{Context, Result, bail};
use events::{Answer, criteria};
use jiff::Timestamp;
use ralph_core::evidence::completion_feedback;
use ralph_core::evidence::receipt::{self, Proof};
use ralph_core::modes::build::{self as rules, NextBuildStep, RoundFacts};
use ralph_core::state::{Criterion, EndingKind, LoopState, PauseCause, PlanFile, TaskStatus};
use ralph_core::stop::{self, progress};
use ralph_core::tasks::graph;
use ralph_core::text::plural::{counted, dollars, lasted, tokens};
use ralph_core::text::truncate::bounded;
use ralph_core::views::messages;
use ralph_hooks::{delegate, signals};
use ralph_io::git::tree;
use ralph_io::process::interrupts::{InterruptRequest, Interrupts};
use ralph_io::store::lifecycle;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::store::mailbox::Mailbox;
use ralph_io::{process::clock, process::random, store::journal, store::notice};
use serde_json::json;
use std::collections::BTreeMap;
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

/// The rounds to run, and how.
pub(crate) struct BuildOrder<'a> {
    pub(crate) here: &'a Here,
    pub(crate) file: &'a LoopFile,
    /// The command that the user typed, and that continues the run.
    pub(crate) command: &'static str,
    pub(crate) client: &'a ClientOptions,
    pub(crate) logs: PathBuf,
    pub(crate) answer: Answer,
    pub(crate) commits: Option<keep::RoundCommits<'a>>,
    /// The highest number of rounds; 0 means no limit.
    pub(crate) rounds: u32,
}

/// Works through the tasks of a loop, one after another.
pub(crate) struct Builder<'a> {
    runner: ClientRunner<'a, Infallible>,
    order: BuildOrder<'a>,
    /// The number of the current round, or of the last one.
    number: u32,
    /// The file of the loop's plan, whose boxes are no part of the work.
    plan: Option<PlanFile>,
    /// Fingerprint of the work tree at the start of the round; `None` without git.
    tree: Option<String>,
    /// True once the criteria have run for the first time.
    has_proof: bool,
}

/// What a round left.
struct EndedRound {
    /// What happened to its task.
    told: String,
    /// The state afterwards; `None` if the loop had ended before.
    state: Option<LoopState>,
    /// The task of the round.
    task: Option<String>,
    /// The tasks that it finished.
    finished: Vec<String>,
    /// True if its task is where it was, or it had none.
    is_open: bool,
    is_for_goal: bool,
    /// True if one of Ralph's hooks took part.
    is_hooked: bool,
}

/// What follows a run of the criteria.
enum Settled {
    /// The loop has ended.
    Over,
    /// A criterion does not hold.
    Open,
    /// The review found something to fix.
    Reviewed,
    /// The review could not be made.
    Rest(BuildEnd),
}

impl Settled {
    fn is_over(&self) -> bool {
        matches!(self, Settled::Over)
    }
}

/// A round that has begun.
struct Begun {
    label: String,
    prompt: String,
}

type BuildEnd = RunEnd<Infallible>;

impl<'a> Builder<'a> {
    pub(crate) fn new(order: BuildOrder<'a>, interrupts: &'a Interrupts) -> Result<Builder<'a>> {
        let here = (order.here, Some(order.file));
        let runner = ClientRunner::one(here, interrupts, order.command)?;
        let plan = engine::last_state(order.here, order.file)?.plan_file;
        Ok(Builder { runner, order, number: 0, plan, tree: None, has_proof: false })
    }

    /// Runs the criteria before the first round. Returns the end of the run if that is it: all of them
    /// hold and no task is open, or the review could not be made.
    fn prove_first(&mut self) -> Result<Option<BuildEnd>> {
        let state = self.order.file.read().map_err(bad_state)?;
        let Some(state) = state.map(|loaded| loaded.state) else { return Ok(None) };
        // A run that was killed may have left a box open. Before the criteria run: a receipt holds for
        // the tree as it then is.
        plan_import::tick(&state, &[]);
        if state.acceptance_criteria.is_empty() || state.ending.is_some() {
            return Ok(None);
        }
        let is_open = !graph::summary(&state.task_graph, clock::now()).all_done();
        let is_over = match !state.task_graph.is_empty() && is_open {
            true => self.prove().map(|_| false)?,
            false => match self.settle()? {
                Settled::Rest(end) => return Ok(Some(end)),
                settled => settled.is_over(),
            },
        };
        let state = engine::last_state(self.runner.here, self.order.file)?;
        match is_over {
            true => {
                self.runner.screen.tell(&format!("{}; no round is needed", holding(&state)));
            }
            // Without tasks, the line about the whole run says the same.
            false if state.task_graph.is_empty() => {}
            false => self.runner.screen.tell(&holding(&state)),
        }
        self.order.answer.event("criteria", &state, criteria(&state))?;
        Ok(is_over.then_some(RunEnd::Over))
    }

    /// The end of the run once all requested rounds are done. Criteria that only have to run need
    /// no further round.
    fn after_its_rounds(&self) -> Result<BuildEnd> {
        let Some(loaded) = self.order.file.read().map_err(bad_state)? else {
            return Ok(RunEnd::Over);
        };
        let summary = graph::summary(&loaded.state.task_graph, clock::now());
        if summary.all_done() && loaded.state.ending.is_none() {
            match self.settle()? {
                Settled::Over => return Ok(RunEnd::Over),
                Settled::Rest(end) => return Ok(end),
                Settled::Open | Settled::Reviewed => {}
            }
        }
        Ok(RunEnd::rest(PauseCause::Person, "as many rounds as were asked for", Exit::No))
    }

    /// Binds the loop to the round, or returns the reason why there is no round.
    fn begin(&self, session: &str) -> Result<Result<Begun, BuildEnd>> {
        let (now, number) = (clock::now(), self.number);
        let next = self.order.file.update(|state| {
            // Starting the run continues a paused loop; a pause since then is for a person to end.
            let pause = state.pause.clone().filter(|_| number > 1);
            if let Some(pause) = pause.filter(|pause| !pause.cause.resumes_by_itself()) {
                return Err(pause);
            }
            let next = rules::begin(state, session, number, now);
            self.note_tree(state);
            Ok((next, state.clone()))
        });
        // The loop may have ended in the round before, and been archived there.
        let (next, mut state) = match next.map_err(bad_state)? {
            None => return Ok(Err(RunEnd::Over)),
            Some(Err(pause)) => {
                let why = match pause.detail.as_str() {
                    detail if !detail.is_empty() && pause.cause != PauseCause::Person => detail,
                    _ => "you paused it",
                };
                return Ok(Err(RunEnd::rest(pause.cause, why, Exit::No)));
            }
            Some(Ok(begun)) => begun,
        };
        let blocked = |why: &str| Ok(Err(RunEnd::rest(PauseCause::BlockedOnHuman, why, Exit::No)));
        let label = match next {
            NextBuildStep::Task(claim) => {
                format!("round {number}, {} {}", claim.task.id, claim.task.name)
            }
            NextBuildStep::Stuck(_) => return blocked(&stuck(&state)),
            NextBuildStep::Withheld(why) => return blocked(why.describe()),
            NextBuildStep::Over => {
                engine::put_away(self.runner.here, self.order.file, &state)?;
                return Ok(Err(RunEnd::Over));
            }
            NextBuildStep::Criteria => match self.settle()? {
                Settled::Over => return Ok(Err(RunEnd::Over)),
                Settled::Rest(end) => return Ok(Err(end)),
                // The findings are tasks now.
                Settled::Reviewed => return self.begin(session),
                Settled::Open => {
                    let Some(begun) = self.begin_for_goal(session)? else {
                        return Ok(Err(RunEnd::Over));
                    };
                    state = begun;
                    format!("round {number}")
                }
            },
        };
        lifecycle::bind(&self.runner.here.home, self.order.file, session)?;
        Ok(Ok(Begun { label, prompt: prompt(self.order.file, &state) }))
    }

    /// Binds the loop to a round for the goal. `None` if the loop has ended.
    fn begin_for_goal(&self, session: &str) -> Result<Option<LoopState>> {
        let begun = self.order.file.update(|state| {
            rules::begin_for_goal(state, session, self.number);
            self.note_tree(state);
            state.clone()
        });
        begun.map_err(bad_state)
    }

    fn note_tree(&self, state: &mut LoopState) {
        if let Some(round) = &mut state.round {
            round.tree.clone_from(&self.tree);
        }
    }

    /// Runs the criteria that are due, in a process of their own, which can take on the recorded
    /// environment. `None` if the user ended it.
    fn prove(&self) -> Result<Option<Proof>> {
        let (interrupts, began) = (self.runner.interrupts, clock::now());
        let proof = delegate::prove_unless_ended(self.order.file, A_DAY, interrupts)?;
        if let Some(proof) = &proof
            && proof.trees.is_empty()
            && !proof.problem.is_empty()
        {
            bail!("could not run the criteria: {}", proof.problem);
        }
        self.tell_attempts(began)?;
        Ok(proof)
    }

    /// Reports what the commands that were started since then tried outside of the bounds.
    fn tell_attempts(&self, since: Timestamp) -> Result<()> {
        let (here, file) = (self.runner.here, self.order.file);
        let Some(loaded) = file.read().map_err(bad_state)? else { return Ok(()) };
        let mut state = loaded.state;
        state.acceptance_criteria.retain(|one| {
            let started = one.receipt.as_ref().and_then(|receipt| receipt.started_at);
            started.is_some_and(|started| started >= since)
        });
        let lines = completion_feedback::out_of_bounds(&state);
        for line in &lines {
            self.runner.screen.tell(&visible(line));
        }
        if !lines.is_empty() {
            let told = bounded(&lines.join(" "), TOLD);
            note(here, file, &state, (self.runner.words.command, "criteria run"), &told);
        }
        Ok(())
    }

    /// Runs the criteria that are due, and the review once they hold. Ends the loop if nothing
    /// remains.
    fn settle(&self) -> Result<Settled> {
        let Some(mut proof) = self.prove()? else { return Ok(Settled::Rest(interrupted())) };
        loop {
            let state = self.order.file.read().map_err(bad_state)?.map(|loaded| loaded.state);
            let due = state.and_then(|state| rules::review::due(&state, &proof));
            let Some(number) = due else { break };
            if let Some(settled) = self.review(number)? {
                return Ok(settled);
            }
            // A file may have changed meanwhile.
            let Some(again) = self.prove()? else { return Ok(Settled::Rest(interrupted())) };
            proof = again;
        }
        let now = clock::now();
        let settled =
            self.order.file.update(|state| (rules::settle(state, &proof, now), state.clone()));
        let (is_settled, state) = settled.map_err(bad_state)?.context("the loop is gone")?;
        if is_settled {
            engine::put_away(self.runner.here, self.order.file, &state)?;
            return Ok(Settled::Over);
        }
        Ok(Settled::Open)
    }

    /// Has the changes reviewed. `None` if nothing that it found is in the way of the end.
    fn review(&self, number: u32) -> Result<Option<Settled>> {
        let (here, file) = (self.runner.here, self.order.file);
        self.runner.screen.tell(&format!("all criteria hold; review {number} of the changes"));
        let client = self.order.client;
        let reviewed = review::round((here, file), client, number, self.runner.interrupts)?;
        if let Reviewed::Clean(told) | Reviewed::Tasks(told) | Reviewed::Spent(told) = &reviewed {
            self.runner.screen.tell(told);
            let state = engine::last_state(here, file)?;
            let round = state.reviews.last().map(|round| json!({"review": round}));
            self.order.answer.event("reviewed", &state, round.unwrap_or_default())?;
        }
        Ok(match reviewed {
            Reviewed::Clean(_) => None,
            Reviewed::Tasks(_) => Some(Settled::Reviewed),
            Reviewed::Spent(_) => {
                let now = clock::now();
                file.update(|state| stop::may_go_on(state, now)).map_err(bad_state)?;
                engine::put_away(here, file, &engine::last_state(here, file)?)?;
                Some(Settled::Over)
            }
            Reviewed::Failed(why) => {
                let why = format!("the changes could not be reviewed: {why}");
                Some(Settled::Rest(RunEnd::rest(PauseCause::Crashed, &why, Exit::MissingProgram)))
            }
            Reviewed::Interrupted => Some(Settled::Rest(interrupted())),
        })
    }

    /// Ends the round, and judges what it finished. The loop may have ended in it.
    fn end(&self, session: &str, why: &str) -> Result<EndedRound> {
        let has_changed = self.tree.as_ref().zip(self.tree()).map(|(one, now)| *one != now);
        let facts = RoundFacts { has_changed, failed: self.failed_tasks(has_changed)? };
        let ended = self.order.file.update(|state| {
            let (is_open, is_for_goal) = (rules::is_open(state), rules::is_goal_round(state));
            let (is_hooked, task) =
                (state.via.is_some(), rules::task_of_round(state).map(str::to_owned));
            let marked: Vec<String> =
                rules::marked_done(state).iter().map(|task| task.id.clone()).collect();
            let told = rules::end(state, why, &facts);
            let is_done = |id: &String| {
                let task = state.task_graph.iter().find(|task| task.id == *id);
                task.is_some_and(|task| task.status == TaskStatus::Done)
            };
            let finished = marked.into_iter().filter(is_done).collect();
            let state = Some(state.clone());
            EndedRound { told, state, task, finished, is_open, is_for_goal, is_hooked }
        });
        let ended = ended.map_err(bad_state)?;
        let home = &self.runner.here.home;
        lifecycle::release(home, self.order.file, session)?;
        if let Some(ended) = ended {
            ended.state.as_ref().inspect(|state| plan_import::tick(state, &ended.finished));
            return Ok(ended);
        }
        let found = lifecycle::read(home, self.order.file.clone()).map_err(bad_state)?;
        found.as_ref().inspect(|(_, loaded)| plan_import::tick(&loaded.state, &[]));
        let ending = found.and_then(|(_, loaded)| loaded.state.ending);
        let is_open = ending.is_some_and(|ending| ending.kind == EndingKind::Stalled);
        Ok(EndedRound {
            told: "the loop has ended".to_owned(),
            state: None,
            task: None,
            finished: Vec::new(),
            is_open,
            is_for_goal: false,
            is_hooked: true,
        })
    }

    /// Runs the commands of the tasks that the round marked done. Returns those that do not hold.
    fn failed_tasks(&self, has_changed: Option<bool>) -> Result<BTreeMap<String, String>> {
        let Some(loaded) = self.order.file.read().map_err(bad_state)? else {
            return Ok(BTreeMap::new());
        };
        let marked = rules::marked_done(&loaded.state).into_iter();
        let marked = marked.filter(|task| !task.verify.is_empty() && has_changed != Some(false));
        let failed = marked.map(|task| {
            let failed = delegate::task_commands(self.order.file, &task.id, A_DAY);
            // A command that could not run proves nothing.
            let failed = failed.unwrap_or_else(|error| Some(format!("{error:#}")));
            failed.map(|failed| (task.id.clone(), failed))
        });
        Ok(failed.flatten().collect())
    }

    /// Commits what the round changed. Returns a note for the round's line.
    fn commit(&self, ended: &EndedRound) -> Result<String> {
        let Some(commits) = &self.order.commits else { return Ok(String::new()) };
        // A loop may end in the round, without proof.
        let is_finished = ended.is_for_goal || ended.state.is_none() || !ended.finished.is_empty();
        if !is_finished {
            commits.note_round()?;
            return Ok(String::new());
        }
        let state = match &ended.state {
            Some(state) => state.clone(),
            None => engine::last_state(self.runner.here, self.order.file)?,
        };
        let task = ended.finished.first().map(String::as_str);
        match commits.commit(&keep::message(&state, task, self.number)) {
            Ok(None) => Ok(String::new()),
            Ok(Some(commit)) => {
                let members = json!({"round": self.number, "commit": commit.id});
                self.order.answer.event("committed", &state, members)?;
                let attempts = match commit.attempts.is_empty() {
                    true => String::new(),
                    false => {
                        format!(", whose git hooks were bounded: {}", commit.attempts.join("; "))
                    }
                };
                Ok(format!("; commit {}{attempts}", commit.id))
            }
            Err(error) => Ok(format!("; {error:#}")),
        }
    }

    /// Runs the criteria after a round for the goal, and counts the round. Returns what holds now.
    fn count_goal_round(&mut self) -> Result<String> {
        let Some(loaded) = self.order.file.read().map_err(bad_state)? else {
            return Ok(String::new());
        };
        let (work, tree) = (progress::print_of_work(&loaded.state, clock::now()), self.tree());
        match self.settle()? {
            Settled::Over => return Ok("all criteria hold".to_owned()),
            Settled::Reviewed => {
                return Ok("all criteria hold; the review found something to fix".to_owned());
            }
            Settled::Rest(end) => {
                let why = end.why().to_owned();
                self.runner.stop(end);
                return Ok(why);
            }
            Settled::Open => {}
        }
        let (tree_after, now) = (self.tree(), clock::now());
        let counted = self.order.file.update(|state| {
            let trees = (work.as_str(), tree.as_deref(), tree_after.as_deref());
            rules::count_goal_round(state, trees, now);
            state.clone()
        });
        let Some(state) = counted.map_err(bad_state)? else { return Ok(String::new()) };
        engine::put_away(self.runner.here, self.order.file, &state)?;
        Ok(holding(&state))
    }

    /// Updates the line about the whole run.
    fn show(&self) -> Result<()> {
        let Some(loaded) = self.order.file.read().map_err(bad_state)? else { return Ok(()) };
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
        let (tokens, cost) = (state.usage.total().max(self.runner.tokens()), state.usage.cost);
        self.runner.screen.whole(&Whole { n_done, n_tasks, words, tokens, cost });
        Ok(())
    }

    /// The number of the last round that may begin, as far as it is known: the user's bound, that of
    /// the loop, or one round for each open task.
    fn most_rounds(&self, state: &LoopState) -> u32 {
        let summary = graph::summary(&state.task_graph, clock::now());
        let open = u32::try_from(summary.total - summary.done).unwrap_or(u32::MAX);
        let earlier = self.number.saturating_sub(1);
        let more = match (self.order.rounds, open) {
            (0, 0) => state.max_iterations.saturating_sub(state.iteration),
            (0, open) => open,
            (most, _) => return most,
        };
        earlier.saturating_add(more).max(self.number)
    }

    fn tree(&self) -> Option<String> {
        tree::fingerprint(&self.runner.here.root, self.plan.as_ref()).ok().flatten()
    }

    /// Prints the events of a round that is over.
    fn report(&self, session: &str, ended: &EndedRound, came: &RoundResult) -> Result<()> {
        if self.order.answer == Answer::Text {
            return Ok(());
        }
        let state = engine::last_state(self.runner.here, self.order.file)?;
        let outcome = match &came.outcome {
            RoundOutcome::Finished { is_error: false, .. } => "finished",
            RoundOutcome::Finished { .. } => "failed",
            RoundOutcome::RateLimited { .. } => "rate_limited",
            RoundOutcome::Overloaded { .. } => "overloaded",
            RoundOutcome::Crashed { .. } => "crashed",
            RoundOutcome::Ended => "interrupted",
        };
        let has_changed = self.tree.as_ref().zip(self.tree()).map(|(one, now)| *one != now);
        let members = json!({"round": self.number, "session": session, "task": ended.task,
            "outcome": outcome, "changed": has_changed, "seconds": came.duration.as_secs(),
            "tokens": came.tokens.total(), "cost": came.cost, "what": ended.told});
        self.order.answer.event("round ended", &state, members)?;
        for id in &ended.finished {
            let task = state.task_graph.iter().find(|task| task.id == *id);
            let note = task.and_then(|task| task.result.as_deref());
            self.order.answer.event("task done", &state, json!({"task": id, "note": note}))?;
        }
        if !state.acceptance_criteria.is_empty() {
            self.order.answer.event("criteria", &state, criteria(&state))?;
        }
        Ok(())
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
        if !std::mem::replace(&mut self.has_proof, true) {
            let end = self.prove_first()?;
            let is_over = end.is_some();
            end.into_iter().for_each(|end| self.runner.stop(end));
            // The user may have ended it meanwhile.
            if is_over || self.runner.interrupts.asked() != InterruptRequest::Nothing {
                return Ok(Then::Again);
            }
        }
        if self.order.rounds > 0 && self.number >= self.order.rounds {
            let end = self.after_its_rounds()?;
            self.runner.stop(end);
            return Ok(Then::Again);
        }
        self.number += 1;
        let session = random::uuid();
        self.tree = self.tree();
        match self.begin(&session)? {
            Err(end) => self.runner.stop(end),
            Ok(Begun { label, prompt }) => {
                let which = (self.number, session.as_str());
                let round = round(self.runner.here, self.order.client, &self.order.logs, which);
                let round = ClientRound { label: label.clone(), prompt, ..round };
                let alone = held_by_client(self.order.file);
                let order = RoundOrder::new(round, &self.order.client.policy(), &alone);
                self.show()?;
                let state = engine::last_state(self.runner.here, self.order.file)?;
                let of = format!("of {}", self.most_rounds(&state));
                let started = self.runner.start(&session, (&label, &of), &order);
                started.inspect_err(|_| self.could_not_start(&session))?;
                let task = rules::task_of_round(&state);
                let members = json!({"round": self.number, "session": session, "task": task});
                self.order.answer.event("round began", &state, members)?;
            }
        }
        Ok(Then::Again)
    }

    fn gone(&mut self, session: &str, gone: MemberExit) -> Result<()> {
        let came = gone.result().inspect_err(|_| self.could_not_start(session))?;
        let why = came.outcome.why("its client ended without closing it");
        let mut ended = self.end(session, &why)?;
        if let Some(state) = &ended.state {
            notice::call_if_judged(self.order.file, state);
        }
        let is_turn = matches!(came.outcome, RoundOutcome::Finished { .. });
        let kept = match is_turn {
            true => self.commit(&ended)?,
            false => String::new(),
        };
        let mut noted = format!("{}{kept}", ended.told);
        if let (true, RoundOutcome::Finished { result, .. }) = (ended.is_for_goal, &came.outcome) {
            ended.told = self.count_goal_round()?;
            noted = format!(
                "{}{kept}; its last words: {}",
                ended.told,
                bounded(result.trim(), LAST_WORDS)
            );
        }
        let used = used(&came);
        let label = self.runner.screen.label(session);
        let became = format!("{label}: {}{kept} ({used})", ended.told);
        let noted = format!("round {}: {noted}", self.number);
        self.runner.show_end(session, &became, &noted, &came);
        self.report(session, &ended, &came)?;
        self.show()?;
        let is_client = came.session_id.as_deref() == Some(session);
        if is_client && !ended.is_hooked && matches!(came.outcome, RoundOutcome::Finished { .. }) {
            self.runner.stop(RunEnd::rest(PauseCause::BlockedOnHuman, NO_HOOKS, Exit::No));
        }
        if ended.is_open && self.tree.is_some() && self.tree == self.tree() {
            self.runner.stop_idle(self.order.client, "build", &came);
        }
        self.runner.learn(&came);
        Ok(())
    }
}

/// `1 of 2 criteria hold`; empty without criteria. Names those that only a person can accept.
fn holding(state: &LoopState) -> String {
    let criteria = &state.acceptance_criteria;
    let (n_hold, n_reviewed) = receipt::count_met(criteria);
    let holding = match criteria.len() {
        0 => return String::new(),
        total if n_reviewed > 0 => {
            format!(
                "{n_hold} of {} hold, {n_reviewed} reviewed",
                counted(total, "criterion", "criteria")
            )
        }
        1 => format!("{n_hold} of 1 criterion holds"),
        total => format!("{n_hold} of {} hold", counted(total, "criterion", "criteria")),
    };
    let passed = |one: &&Criterion| one.receipt.as_ref().is_some_and(|receipt| receipt.passed);
    let changed = criteria.iter().filter(|one| !one.verified && !one.meaning_changed.is_empty());
    let changed: Vec<&str> = changed.filter(passed).map(|one| one.id.as_str()).collect();
    match changed.as_slice() {
        [] => holding,
        changed => format!(
            "{holding}; {} runs something else than you agreed to, `ralph criteria accept` takes it",
            changed.join(", ")
        ),
    }
}

/// `12 s, 48 k tokens, $0.31`.
fn used(came: &RoundResult) -> String {
    let seconds = i64::try_from(came.duration.as_secs()).unwrap_or(i64::MAX);
    format!("{}, {}{}", lasted(seconds), tokens(came.tokens.total()), dollars(came.cost))
}

impl<'a> LoopOwner<'a> for Builder<'a> {
    fn file(&self) -> &'a LoopFile {
        self.order.file
    }

    fn decided(&mut self, verdict: Infallible) -> Result<Exit> {
        match verdict {}
    }

    fn paused_line(&mut self, state: &LoopState, why: &str) -> String {
        let cause = state.pause.as_ref().map(|pause| pause.cause.as_str().to_owned());
        // The line below says the same to a person.
        drop(self.order.answer.event("paused", state, json!({"cause": cause, "why": why})));
        let next = engine::goes_on(self.runner.command(), why);
        format!("loop {} is paused at {}: {why}{next}", state.loop_id, state.position())
    }

    fn over(&mut self) -> Result<Exit> {
        let state = engine::ended(self.runner.here, self.order.file)?;
        let ending = state.ending.clone().unwrap_or_default();
        self.order.answer.say(&messages::ended(&state))?;
        let members = json!({"kind": ending.kind, "detail": ending.detail,
            "rounds": self.number, "tokens": state.usage.total().max(self.runner.tokens()),
            "cost": state.usage.cost});
        self.order.answer.event("ended", &state, members)?;
        Ok(if ending.kind == EndingKind::Complete { Exit::Done } else { Exit::No })
    }

    fn say(&mut self, text: &str) -> Result<()> {
        self.order.answer.say(text)
    }
}

/// The user has ended the run while criteria ran or reviewers read.
fn interrupted() -> BuildEnd {
    RunEnd::rest(PauseCause::Person, "ended by Ctrl-C", Exit::Interrupted)
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
