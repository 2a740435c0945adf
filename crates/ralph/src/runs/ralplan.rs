//! The rounds of `ralph ralplan run`: each agent is a client of its own.
//!
//! The planning is bound to each client's session in turn, so the hooks take the agent's report and
//! guard its tools as they do for an agent inside a session. The client's words do not count.

mod gate;
mod told;

use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state};
use crate::runs::client::{ClientRound, RoundOutcome, RoundResult};
use crate::runs::engine::{self, ClientRunner, LoopOwner, MemberExit, Owner, RunEnd, Then};
use crate::runs::options::ClientOptions;
use crate::runs::parallel::held_by_client;
use anyhow::Result;
use gate::GateOutcome;
use ralph_core::modes::ralplan::driven::{self, DueRound};
use ralph_core::modes::ralplan::{self as planning, AgentInput, Role};
use ralph_core::state::{LoopState, PauseCause};
use ralph_hooks::modes::ralplan;
use ralph_io::store::loop_file::{Loaded, LoopFile};
use ralph_io::{process::clock, process::random, store::lifecycle};
use std::convert::Infallible;
use std::path::{Path, PathBuf};

pub(crate) use gate::take;

/// The parts of a round that are not in the call.
pub(crate) struct About<'a> {
    pub(crate) number: u32,
    pub(crate) session: &'a str,
    pub(crate) root: &'a Path,
}

pub(crate) fn of_agent(
    here: &Here,
    client: &ClientOptions,
    logs: &Path,
    call: &AgentInput,
    about: &About<'_>,
) -> ClientRound {
    let agent = Role::of(&call.subagent_type).map_or("", Role::agent);
    let mut extra_args = vec!["--agent".into(), call.subagent_type.clone().into()];
    extra_args.extend(client.args.iter().cloned());
    ClientRound {
        prompt: call.prompt.clone(),
        session_id: Some(about.session.to_owned()),
        extra_args,
        folder: Some(about.root.to_owned()),
        label: format!("round {}, {agent}", about.number),
        // The agent's name tells the hooks that the session acts as this agent.
        ..client.round(here, agent, logs.join(format!("round-{}.jsonl", about.number)))
    }
}

pub(crate) struct Driver<'a> {
    pub(crate) runner: ClientRunner<'a, Infallible>,
    pub(crate) client: &'a ClientOptions,
    pub(crate) file: &'a LoopFile,
    pub(crate) logs: PathBuf,
    pub(crate) prefix: &'static str,
    /// How many rounds have ended.
    pub(crate) number: u32,
    /// The planning as it was before the current round.
    pub(crate) before: LoopState,
}

impl Driver<'_> {
    /// Returns false if no hook of the round's session ran.
    fn was_heard(&self) -> Result<bool> {
        let loaded = self.file.read().map_err(bad_state)?;
        // If the planning is gone, a hook or the user has ended it.
        Ok(loaded.is_none_or(|loaded| loaded.state.via.is_some() || !loaded.state.is_live()))
    }

    /// Shows what a round achieved, in the lines of the planning that no session shows.
    fn show_end(&self, session: &str, came: &RoundResult) -> Result<()> {
        let Some(news) = self.file.update(planning::to_tell).map_err(bad_state)? else {
            self.runner.remove(session, came);
            return Ok(());
        };
        let done = match news.is_empty() {
            false => news.replace('\n', "; "),
            true => told::nothing(self.file.folder(), session),
        };
        let became = format!("{}: {done}", self.runner.screen.label(session));
        let number = self.before.round.as_ref().map_or(0, |round| round.number);
        self.runner.show_end(session, &became, &format!("round {number}: {done}"), came);
        Ok(())
    }
}

impl<'a> Owner<'a> for Driver<'a> {
    type Verdict = Infallible;

    fn runner(&mut self) -> &mut ClientRunner<'a, Infallible> {
        &mut self.runner
    }

    fn go_on(&mut self, _: Option<&LoopState>) -> Result<Then> {
        let (session, number) = (random::uuid(), self.number + 1);
        let bound = ralplan::RoundSession { session_id: &session, number, prefix: self.prefix };
        let home = &self.runner.here.home;
        let step = ralplan::drive(home, self.file, bound).map_err(bad_state)?;
        let end = match step {
            Some((DueRound::Round(_, call), before)) => {
                let root = Path::new(&before.project_root);
                let about = About { number, session: &session, root };
                let round = of_agent(self.runner.here, self.client, &self.logs, &call, &about);
                self.before = before;
                self.runner.start(&session, "", round, &held_by_client(self.file))?;
                return Ok(Then::Again);
            }
            None | Some((DueRound::Over, _)) => RunEnd::Over,
            Some((DueRound::Rest(why), _)) => {
                RunEnd::rest(PauseCause::BlockedOnHuman, &why, Exit::No)
            }
            Some((DueRound::Person, _)) => match gate::wait(self, self.runner.interrupts)? {
                GateOutcome::GoesOn => return Ok(Then::Again),
                GateOutcome::Over => RunEnd::Over,
                GateOutcome::Left => {
                    RunEnd::rest(PauseCause::Person, "nobody has decided yet", Exit::Interrupted)
                }
            },
        };
        self.runner.stop(end);
        Ok(Then::Again)
    }

    fn gone(&mut self, session: &str, gone: MemberExit) -> Result<()> {
        let came = gone.result()?;
        self.show_end(session, &came)?;
        self.number += 1;
        if matches!(came.outcome, RoundOutcome::Finished { .. }) && !self.was_heard()? {
            let cause = PauseCause::BlockedOnHuman;
            self.runner.stop(RunEnd::rest(cause, UNHEARD, Exit::MissingProgram));
        }
        self.runner.learn(&came);
        Ok(())
    }
}

impl<'a> LoopOwner<'a> for Driver<'a> {
    fn file(&self) -> &'a LoopFile {
        self.file
    }

    fn decided(&mut self, verdict: Infallible) -> Result<Exit> {
        match verdict {}
    }

    fn pause(&self, state: &mut LoopState, cause: PauseCause, why: &str) {
        driven::leave(state, cause, why, clock::now());
    }

    fn paused_line(&mut self, state: &LoopState, why: &str) -> String {
        let phase = state.ralplan().map_or("", |plan| plan.phase.as_str());
        format!(
            "planning {} is paused in {phase}: {why}; `ralph ralplan run` continues",
            state.loop_id
        )
    }

    fn over(&mut self) -> Result<Exit> {
        let home = &self.runner.here.home;
        let found = lifecycle::read_by_id(home, &self.before.loop_id).map_err(bad_state)?;
        // A decision from another terminal leaves the manifest entry of the round's session to this
        // run.
        if let Some((file, Loaded { state, .. })) = found
            && state.ending.is_some()
        {
            lifecycle::let_go(home, &file, &state)?;
        }
        engine::over(self.runner.here, self.file)
    }
}

const UNHEARD: &str = "no hook of Ralph was called in this round; `ralph install` registers them, and \
                       `ralph doctor` says what is missing";
