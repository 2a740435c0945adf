//! Runs the criteria between rounds and the review once they hold, and ends the loop if nothing remains.

use super::{A_DAY, BuildEnd, Builder};
use crate::command::context_dir::note;
use crate::command::exit::{Exit, bad_state};
use crate::command::plan_import;
use crate::command::screen::visible;
use crate::runs::build::events::{criteria, holding};
use crate::runs::engine::{self, RunEnd};
use crate::runs::options::TOLD;
use crate::runs::review::{self, Reviewed};
use crate::verify::judge;
use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use ralph_core::evidence::completion_feedback;
use ralph_core::evidence::receipt::Proof;
use ralph_core::evidence::request::{self, Refused};
use ralph_core::modes::build as rules;
use ralph_core::modes::build::{SettleAt, Settlement};
use ralph_core::project::settings::Settings;
use ralph_core::state::{EndingKind, LoopState, PauseCause};
use ralph_core::stop::{self, progress};
use ralph_core::tasks::graph;
use ralph_core::text::truncate::bounded;
use ralph_core::views::messages;
use ralph_hooks::delegate::{self, Request};
use ralph_io::process::clock;
use ralph_io::process::wait_any::{InterruptRequest, Interrupts};
use ralph_io::store::loop_file::LoopFile;
use serde_json::json;

/// What follows a run of the criteria.
pub(super) enum Settled {
    /// The loop has ended.
    Over,
    /// A criterion does not hold, or the end was refused.
    Open,
    /// No round was made, and nothing has changed since the start.
    Untouched,
    /// The review found something to fix.
    Reviewed,
    /// The user has to decide, or the review could not be made.
    Rest(BuildEnd),
}

impl Settled {
    fn is_over(&self) -> bool {
        matches!(self, Settled::Over)
    }
}

impl Builder<'_> {
    /// Runs the criteria before the first round. Returns the end of the run if that is it: all of them
    /// hold and no task is open, or the review could not be made.
    pub(super) fn prove_first(&mut self) -> Result<Option<BuildEnd>> {
        let state = self.order.file.read().map_err(bad_state)?;
        let Some(state) = state.map(|loaded| loaded.state) else { return Ok(None) };
        // A run that was killed may have left a box open. Before the criteria run: a receipt holds for
        // the tree as it then is.
        plan_import::tick(&state, &[]);
        if state.acceptance_criteria.is_empty() || state.ending.is_some() {
            return Ok(None);
        }
        let is_open = !state.task_graph.is_empty()
            && !graph::summary(&state.task_graph, clock::now()).all_done();
        let is_over = match is_open {
            true => self.prove(Request::FirstRun).map(|_| false)?,
            false => match self.settle()? {
                Settled::Rest(end) => return Ok(Some(end)),
                Settled::Untouched => {
                    self.settled = Some(self.number);
                    false
                }
                settled => settled.is_over(),
            },
        };
        let state = engine::last_state(self.runner.here, self.order.file)?;
        match is_over {
            true => self.runner.screen.tell(&format!("{}; no round is needed", holding(&state))),
            false if self.settled.is_some() && state.acceptance_criteria.iter().all(|one| one.verified) => self.runner.screen.tell(
                "the criteria pass before anything was done, so they prove nothing yet: the first round is asked for \
                 a test that fails today",
            ),
            // Without tasks, the line about the whole run says the same.
            false if state.task_graph.is_empty() => {}
            false => self.runner.screen.tell(&holding(&state)),
        }
        self.order.answer.event("criteria", &state, criteria(&state))?;
        Ok(is_over.then_some(RunEnd::Over))
    }

    /// The end of the run once all requested rounds are done. Criteria that only have to run need
    /// no further round.
    pub(super) fn after_its_rounds(&self) -> Result<BuildEnd> {
        let Some(loaded) = self.order.file.read().map_err(bad_state)? else {
            return Ok(RunEnd::Over);
        };
        let summary = graph::summary(&loaded.state.task_graph, clock::now());
        if summary.all_done() && loaded.state.ending.is_none() {
            match self.settle()? {
                Settled::Over => return Ok(RunEnd::Over),
                Settled::Rest(end) => return Ok(end),
                Settled::Open | Settled::Untouched | Settled::Reviewed => {}
            }
        }
        Ok(RunEnd::pause(PauseCause::Person, "as many rounds as were asked for", Exit::No))
    }

    /// As [`prove`], and reports what the commands tried.
    fn prove(&self, request: Request) -> Result<Option<Proof>> {
        let began = clock::now();
        let proof = prove(self.order.file, request, self.runner.interrupts)?;
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
            note(here, file, &state, self.runner.words.command, "criteria run", &told);
        }
        Ok(())
    }

    /// Runs the criteria that are due, and the review once they hold. Ends the loop if nothing
    /// remains.
    pub(super) fn settle(&self) -> Result<Settled> {
        let prove = || self.prove(Request::Completion);
        let Some(mut proof) = prove()? else { return Ok(Settled::Rest(interrupted())) };
        let is_first = self.number == 0;
        if is_first {
            let state = engine::last_state(self.runner.here, self.order.file)?;
            if !rules::has_begun(&state, &proof) {
                return Ok(Settled::Untouched);
            }
        }
        loop {
            let state = self.order.file.read().map_err(bad_state)?.map(|loaded| loaded.state);
            let due = state.and_then(|state| rules::review::due(&state, &proof, is_first));
            let Some(number) = due else { break };
            if let Some(settled) = self.review(number)? {
                return Ok(settled);
            }
            // A file may have changed meanwhile.
            let Some(again) = prove()? else { return Ok(Settled::Rest(interrupted())) };
            proof = again;
        }
        let is_last = self.order.rounds > 0 && self.number >= self.order.rounds;
        let judge = |state: &LoopState, refused: &Refused| self.judge(state, refused);
        let question = self.left.find_changes()?.question;
        let question = question.as_deref();
        let file = self.order.file;
        let (settlement, state) = settled(file, &proof, is_first, is_last, question, judge)?;
        Ok(match settlement {
            Settlement::Over => {
                engine::put_away(self.runner.here, self.order.file, &state)?;
                Settled::Over
            }
            Settlement::Open => Settled::Open,
            Settlement::AskUser(why) => {
                Settled::Rest(RunEnd::pause(PauseCause::BlockedOnHuman, &why, Exit::No))
            }
            Settlement::Judge(_) => Settled::Rest(interrupted()),
        })
    }

    /// Has a reviewer judge what Ralph would refuse. `None` if the user has ended the run meanwhile.
    fn judge(&self, state: &LoopState, refused: &Refused) -> Option<(bool, String)> {
        self.runner.screen.tell(&visible(&format!("a reviewer judges: {}", refused.why)));
        let interrupts = self.runner.interrupts;
        let (holds, why) = judge::decide(self.order.file, state, interrupts, refused);
        if interrupts.asked() != InterruptRequest::Nothing {
            return None;
        }
        let word = if holds { "the task needs it" } else { "the task does not need it" };
        self.runner.screen.tell(&visible(&format!("the reviewer: {word}: {why}")));
        Some((holds, why))
    }

    /// Has the changes reviewed. `None` if nothing that it found is in the way of the end.
    fn review(&self, number: u32) -> Result<Option<Settled>> {
        let (here, file) = (self.runner.here, self.order.file);
        self.runner.screen.tell(&format!("all criteria hold; review {number} of the changes"));
        let client = self.order.client;
        let reviewed = review::round(here, file, client, number, self.runner.interrupts)?;
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
                Some(Settled::Rest(RunEnd::pause(PauseCause::Crashed, &why, Exit::MissingProgram)))
            }
            Reviewed::Interrupted => Some(Settled::Rest(interrupted())),
        })
    }

    /// Runs the criteria after a round for the goal, and counts the round. Returns what holds now.
    pub(super) fn count_goal_round(&mut self) -> Result<String> {
        let Some(loaded) = self.order.file.read().map_err(bad_state)? else {
            return Ok(String::new());
        };
        let (work, tree) = (progress::print_of_work(&loaded.state, clock::now()), self.tree());
        match self.settle()? {
            Settled::Over => {
                let state = engine::last_state(self.runner.here, self.order.file)?;
                let unproven = state.ending.filter(|ending| ending.kind != EndingKind::Complete);
                let told = unproven.map(|ending| ending.detail);
                return Ok(told.unwrap_or_else(|| "all criteria hold".to_owned()));
            }
            Settled::Reviewed => {
                return Ok("all criteria hold; the review found something to fix".to_owned());
            }
            Settled::Rest(end) => {
                let why = end.why().to_owned();
                self.runner.stop(end);
                return Ok(why);
            }
            Settled::Open | Settled::Untouched => self.settled = Some(self.number),
        }
        let (tree_after, now) = (self.tree(), clock::now());
        let counted = self.order.file.update(|state| {
            rules::count_goal_round(state, &work, tree.as_deref(), tree_after.as_deref(), now);
            state.clone()
        });
        let Some(state) = counted.map_err(bad_state)? else { return Ok(String::new()) };
        engine::put_away(self.runner.here, self.order.file, &state)?;
        Ok(messages::holding(&state))
    }
}

/// Runs the criteria that are due, in a process of their own, which can take on the recorded environment.
/// `None` if the user ended it.
pub(in crate::runs) fn prove(
    file: &LoopFile,
    request: Request,
    interrupts: &Interrupts,
) -> Result<Option<Proof>> {
    let proof = delegate::prove_unless_ended(file, request, A_DAY, interrupts)?;
    if let Some(proof) = &proof
        && proof.trees.is_empty()
        && !proof.problem.is_empty()
    {
        bail!("could not run the criteria: {}", proof.problem);
    }
    Ok(proof)
}

/// Settles a loop whose criteria have run, once a reviewer has judged what would be refused. If there is no verdict, the
/// settlement is to have it judged.
pub(in crate::runs) fn settled(
    file: &LoopFile,
    proof: &Proof,
    is_first: bool,
    is_last: bool,
    question: Option<&str>,
    judge: impl Fn(&LoopState, &Refused) -> Option<(bool, String)>,
) -> Result<(Settlement, LoopState)> {
    loop {
        let settled = file.update(|state| {
            let may_judge = Settings::from_state(state).review().may_judge();
            let at = SettleAt { now: clock::now(), is_first, is_last, may_judge, question };
            (rules::settle(state, proof, at), state.clone())
        });
        let (settlement, state) = settled.map_err(bad_state)?.context("the loop is gone")?;
        let Settlement::Judge(refused) = &settlement else { return Ok((settlement, state)) };
        let Some((holds, why)) = judge(&state, refused) else { return Ok((settlement, state)) };
        file.update(|state| request::judge(state, refused, holds, &why)).map_err(bad_state)?;
    }
}

/// The user has ended the run while criteria ran or reviewers read.
fn interrupted() -> BuildEnd {
    RunEnd::pause(PauseCause::Person, "ended by Ctrl-C", Exit::Interrupted)
}
