//! The rounds of `ralph run`: a fresh client for each task, or for the goal.
//!
//! The loop is bound to the session of each round while that lasts, so the hooks enforce it as in
//! any session. The hooks and the tasks decide about a round; the client's words do not count.

mod begin;
pub(crate) mod events;
pub(crate) mod keep;
mod settle;

use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state};
use crate::command::plan_import;
use crate::command::screen::{Colour, visible};
use crate::runs::client::{ClientRound, RoundOutcome};
use crate::runs::engine::{self, ClientRunner, LoopOwner, MemberExit, Owner, RunEnd, Then};
use crate::runs::left::LeftForGit;
use crate::runs::options::ClientOptions;
use crate::runs::parallel::held_by_client;
use anyhow::Result;
pub(crate) use begin::{
    ReadyRun, RunOptions, alone, announce, ask_for_review, needs, nobody_works, note_start,
    show_first, take_up,
};
use events::{Answer, used};
use ralph_core::modes::build as rules;
use ralph_core::modes::build::{ENDED, NextBuildStep, RoundFacts};
use ralph_core::state::{EndingKind, LoopState, PauseCause, PlanFile, TaskStatus};
use ralph_core::text::truncate::bounded;
use ralph_core::views::messages;
use ralph_hooks::{delegate, signals};
use ralph_io::git::tree;
use ralph_io::process::wait_any::{InterruptRequest, Interrupts};
use ralph_io::process::{clock, random};
use ralph_io::store::loop_file::LoopFile;
use ralph_io::store::mailbox::Mailbox;
use ralph_io::store::{journal, lifecycle, notice};
use serde_json::json;
use settle::Settled;
pub(in crate::runs) use settle::{prove, settled};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::Duration;

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
    number: u32,
    session: &str,
) -> ClientRound {
    ClientRound {
        session_id: Some(session.to_owned()),
        label: format!("round {number}"),
        ..client.round(here, "build", logs.join(format!("round-{number}.jsonl")))
    }
}

/// The prompt of the round that the loop is at.
pub(crate) fn prompt(file: &LoopFile, state: &LoopState) -> String {
    let steers = Mailbox::for_loop(file, state).steers(signals::STEERS);
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
    /// True if the last run of this loop was killed in a round.
    pub(crate) was_killed: bool,
    /// The highest number of rounds; 0 means no limit.
    pub(crate) rounds: u32,
}

/// Works through the tasks of a loop, one after another.
pub(crate) struct Builder<'a> {
    runner: ClientRunner<'a, Infallible>,
    order: BuildOrder<'a>,
    left: LeftForGit,
    /// The number of the current round, or of the last one.
    number: u32,
    /// The file of the loop's plan, whose boxes are no part of the work.
    plan: Option<PlanFile>,
    /// Fingerprint of the work tree at the start of the round; `None` if it could not be taken.
    tree: Option<String>,
    /// True once the criteria have run for the first time.
    has_proof: bool,
    /// The number of the round after which the criteria were settled. They are settled once after a round: a refusal is
    /// for the next round, and a second request without a round in between would be granted unheard.
    settled: Option<u32>,
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

/// A round that has begun.
struct Begun {
    label: String,
    prompt: String,
}

type BuildEnd = RunEnd<Infallible>;

impl<'a> Builder<'a> {
    pub(crate) fn new(order: BuildOrder<'a>, interrupts: &'a Interrupts) -> Result<Builder<'a>> {
        let runner = ClientRunner::one(order.here, Some(order.file), interrupts, order.command)?;
        let plan = engine::last_state(order.here, order.file)?.plan_file;
        let left = LeftForGit::begin(&order.here.root, order.file.folder(), order.was_killed)?;
        Ok(Builder {
            runner,
            order,
            left,
            number: 0,
            plan,
            tree: None,
            has_proof: false,
            settled: None,
        })
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
                return Ok(Err(RunEnd::pause(pause.cause, why, Exit::No)));
            }
            Some(Ok(begun)) => begun,
        };
        let blocked = |why: &str| Ok(Err(RunEnd::pause(PauseCause::BlockedOnHuman, why, Exit::No)));
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
            NextBuildStep::Criteria => match self.settle_once()? {
                Settled::Over => return Ok(Err(RunEnd::Over)),
                Settled::Rest(end) => return Ok(Err(end)),
                // The findings are tasks now.
                Settled::Reviewed => return self.begin(session),
                Settled::Open | Settled::Untouched => {
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

    /// Settles the criteria, if that was not done after the round before.
    fn settle_once(&self) -> Result<Settled> {
        match self.settled == self.number.checked_sub(1) {
            true => Ok(Settled::Open),
            false => self.settle(),
        }
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
                        format!(" (in the sandbox: {})", commit.attempts.join("; "))
                    }
                };
                Ok(format!("; commit {}{attempts}", commit.id))
            }
            Err(error) => Ok(format!("; {error:#}")),
        }
    }

    fn tree(&self) -> Option<String> {
        tree::fingerprint(&self.runner.here.root, self.plan.as_ref()).ok()
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
                let BuildOrder { client, logs, .. } = &self.order;
                let round = round(self.runner.here, client, logs, self.number, &session);
                let round = ClientRound { label, prompt, ..round };
                let alone = held_by_client(self.order.file);
                self.show()?;
                let state = engine::last_state(self.runner.here, self.order.file)?;
                let of = match self.order.rounds {
                    0 => String::new(),
                    most => format!("of {most}"),
                };
                let started = self.runner.start(&session, &of, round, &alone);
                started.inspect_err(|_| self.could_not_start(&session))?;
                let task = rules::task_of_round(&state);
                let members = json!({"round": self.number, "session": session, "task": task});
                self.order.answer.event("round began", &state, members)?;
            }
        }
        Ok(Then::Again)
    }

    fn on_exit(&mut self, session: &str, gone: MemberExit) -> Result<()> {
        let came = gone.result().inspect_err(|_| self.could_not_start(session))?;
        let why = came.outcome.why("its client ended without closing it");
        let mut ended = self.end(session, &why)?;
        let left = self.left.find_changes()?.news;
        left.iter().for_each(|news| self.runner.screen.tell(&visible(news)));
        if let Some(state) = &ended.state {
            notice::call_if_judged(self.order.file, state);
        }
        let is_turn = matches!(came.outcome, RoundOutcome::Finished { .. });
        let kept = match is_turn {
            true => self.commit(&ended)?,
            false => String::new(),
        };
        let mut noted = format!("{}{kept}", ended.told);
        let pause = ended.state.as_ref().and_then(|state| state.pause.clone());
        if let Some(pause) = pause.filter(|pause| is_turn && pause.cause.is_alarm()) {
            ended.told = format!("paused: {}", pause.detail);
            self.runner.stop(RunEnd::pause(pause.cause, &pause.detail, Exit::No));
        } else if let (true, RoundOutcome::Finished { result, .. }) =
            (ended.is_for_goal, &came.outcome)
        {
            ended.told = self.count_goal_round()?;
            noted = format!(
                "{}{kept}; its last words: {}",
                ended.told,
                bounded(result.trim(), LAST_WORDS)
            );
        }
        if let Some(news) = &left {
            noted = format!("{noted}; {news}");
        }
        let used = used(&came);
        let label = self.runner.screen.label(session);
        let state = engine::last_state(self.runner.here, self.order.file)?;
        let criteria = &state.acceptance_criteria;
        if ended.told.is_empty() {
            let told = match criteria.is_empty() {
                true => "no criterion is set",
                false => "ended without an answer",
            };
            told.clone_into(&mut ended.told);
            noted = format!("{told}{kept}");
        }
        let became = format!("{label}: {}{kept} ({used})", ended.told);
        let noted = format!("round {}: {noted}", self.number);
        let colour = match ended.is_for_goal && !criteria.is_empty() {
            true if criteria.iter().all(|one| one.verified) => Colour::Green,
            true => Colour::Red,
            false if !ended.finished.is_empty() => Colour::Green,
            false => Colour::Yellow,
        };
        self.runner.show_end_in(Some(colour), session, &became, &noted, &came);
        self.report(session, &ended, &came)?;
        self.show()?;
        let is_client = came.session_id.as_deref() == Some(session);
        if is_client && !ended.is_hooked && matches!(came.outcome, RoundOutcome::Finished { .. }) {
            self.runner.stop(RunEnd::pause(PauseCause::BlockedOnHuman, NO_HOOKS, Exit::No));
        }
        if ended.is_open && self.tree.is_some() && self.tree == self.tree() {
            self.runner.stop_idle(self.order.client, "build", &came);
        }
        self.runner.stop_on_failure(&came);
        Ok(())
    }
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
        format!("{}: {why}{next}", messages::paused_run(state))
    }

    fn print_ending(&mut self) -> Result<Exit> {
        let state = engine::ended(self.runner.here, self.order.file)?;
        let ending = state.ending.clone().unwrap_or_default();
        self.order.answer.say_in(engine::colour(&state), &messages::ended(&state))?;
        let members = json!({"kind": ending.kind, "detail": ending.detail,
            "rounds": self.number, "tokens": state.usage.total().max(self.runner.tokens()),
            "cost": state.usage.cost});
        self.order.answer.event("ended", &state, members)?;
        Ok(if ending.kind == EndingKind::Complete { Exit::Done } else { Exit::No })
    }

    fn say(&mut self, text: &str) -> Result<()> {
        self.order.answer.say(text)
    }

    fn say_in(&mut self, colour: Colour, text: &str) -> Result<()> {
        self.order.answer.say_in(colour, text)
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
