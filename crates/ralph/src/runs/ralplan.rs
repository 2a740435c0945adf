//! The rounds of `ralph ralplan run`: each agent is a client of its own.
//!
//! The planning is bound to each client's session meanwhile: the hooks take its report and keep its wall
//! there, as they do for an agent of a session. The client's words are not asked.

mod gate;
mod told;

use crate::cli::context_dir::Here;
use crate::cli::exit::{Exit, bad_state};
use crate::cli::journal::note;
use crate::cli::screen;
use crate::runs::client::{ClientRound, RoundOutcome, RoundResult};
use crate::runs::options::{self, ClientOptions};
use crate::runs::parallel::held_by_client;
use crate::runs::single::run_apart;
use anyhow::{Context, Result};
use gate::Passed;
use ralph_core::modes::ralplan::driven::{self, Due};
use ralph_core::modes::ralplan::{AgentInput, Role};
use ralph_core::state::{EndingKind, LoopState, PauseCause};
use ralph_core::views::messages;
use ralph_hooks::ralplan;
use ralph_io::process::interrupts::Interrupts;
use ralph_io::store::loop_file::{Loaded, LoopFile};
use ralph_io::{process::clock, process::random, store::lifecycle};
use std::path::{Path, PathBuf};

pub(crate) use gate::take;

/// What a round is besides the call.
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
        resume: None,
        // By this the hooks take all that the session says for that agent's.
        env: vec![("RALPH_ROUND".to_owned(), agent.to_owned())],
        extra_args,
        permission_mode: client.permission_mode(here),
        log: logs.join(format!("round-{}.jsonl", about.number)),
        folder: Some(about.root.to_owned()),
        label: format!("round {}, {agent}", about.number),
    }
}

/// Drives one planning.
pub(crate) struct Driver<'a> {
    pub(crate) here: &'a Here,
    pub(crate) client: &'a ClientOptions,
    pub(crate) file: LoopFile,
    /// As it was when this began; the file says how it is.
    pub(crate) state: LoopState,
    pub(crate) logs: PathBuf,
    pub(crate) prefix: &'static str,
}

impl Driver<'_> {
    /// Until the person has decided, or something stands in the way.
    pub(crate) fn all(&self, interrupts: &Interrupts) -> Result<Exit> {
        let (mut number, mut crashes) = (1, 0);
        loop {
            let session = random::uuid();
            let bound = ralplan::RoundSession { session_id: &session, number, prefix: self.prefix };
            let step = ralplan::drive(&self.here.home, &self.file, bound).map_err(bad_state)?;
            let Some((due, before)) = step else { return self.over() };
            let call = match due {
                Due::Round(_, call) => call,
                Due::Over => return self.over(),
                Due::Rest(why) => return self.leave(PauseCause::BlockedOnHuman, &why, Exit::No),
                Due::Person => match gate::wait(self, interrupts)? {
                    Passed::GoesOn => continue,
                    Passed::Over => return self.over(),
                    Passed::Left => {
                        return self.leave(PauseCause::Person, "nobody has decided yet", Exit::No);
                    }
                },
            };
            let root = Path::new(&before.project_root);
            let about = About { number, session: &session, root };
            let round = of_agent(self.here, self.client, &self.logs, &call, &about);
            let came =
                run_apart(&round, &held_by_client(&self.file), interrupts, &self.client.policy())?;
            options::tell(&round.label, &came);
            self.tell(&round.label, &session, &before, &came)?;
            if matches!(came.outcome, RoundOutcome::Finished { .. }) && !self.was_heard()? {
                return self.leave(PauseCause::BlockedOnHuman, UNHEARD, Exit::MissingProgram);
            }
            crashes =
                if matches!(came.outcome, RoundOutcome::Crashed { .. }) { crashes + 1 } else { 0 };
            if let Some((cause, why)) = options::rests(&came, interrupts, crashes) {
                return self.leave(cause, &why, Exit::MissingProgram);
            }
            number += 1;
        }
    }

    /// False where no hook of the round's session has called.
    fn was_heard(&self) -> Result<bool> {
        let loaded = self.file.read().map_err(bad_state)?;
        // One that is gone was ended, and it is a hook or a person that did so.
        Ok(loaded.is_none_or(|loaded| loaded.state.via.is_some() || !loaded.state.is_live()))
    }

    /// What a round brought, by the log and the journal.
    fn tell(
        &self,
        label: &str,
        session: &str,
        before: &LoopState,
        came: &RoundResult,
    ) -> Result<()> {
        let Some(loaded) = self.file.read().map_err(bad_state)? else { return Ok(()) };
        let state = loaded.state;
        let log = |state: &LoopState| state.ralplan.clone().unwrap_or_default().log;
        let after = log(&state);
        let news = driven::news(&log(before), &after);
        let done = match news.is_empty() {
            false => news.join("; "),
            true => told::nothing(self.file.folder(), session),
        };
        screen::tell(&screen::visible(&format!("{label}: {done}")));
        let number = before.round.as_ref().map_or(0, |round| round.number);
        let why = options::told(number, &done, came);
        note(self.here, &self.file, &state, ("ralplan run", "round ended"), &why);
        Ok(())
    }

    /// Leaves it as it is. One that is over meanwhile is over.
    fn leave(&self, cause: PauseCause, why: &str, exit: Exit) -> Result<Exit> {
        let now = clock::now();
        let left = self.file.update(|state| {
            if state.ending.is_none() {
                driven::leave(state, cause, why, now);
            }
            state.clone()
        });
        let Some(state) = left.map_err(bad_state)?.filter(|state| state.ending.is_none()) else {
            return self.over();
        };
        note(self.here, &self.file, &state, ("ralplan run", "paused"), why);
        let phase = state.ralplan.as_ref().map_or("", |plan| plan.phase.as_str());
        screen::print(&screen::visible_lines(&format!(
            "planning {} rests in {phase}: {why}; `ralph ralplan run` goes on",
            state.loop_id
        )))?;
        Ok(exit)
    }

    /// How it has ended, wherever it stands now.
    fn over(&self) -> Result<Exit> {
        let home = &self.here.home;
        let found = lifecycle::read_by_id(home, &self.state.loop_id).map_err(bad_state)?;
        let (file, Loaded { state, .. }) = found.context("the planning is gone")?;
        if state.ending.is_some() {
            lifecycle::let_go(home, &file, &state)?;
        }
        let is_approved =
            state.ending.as_ref().is_some_and(|ending| ending.kind == EndingKind::Approved);
        screen::print(&screen::visible_lines(&messages::ended(&state)))?;
        Ok(if is_approved { Exit::Done } else { Exit::No })
    }
}

const UNHEARD: &str = "no hook of Ralph was called in this round; `ralph install` registers them, and \
                       `ralph doctor` says what is missing";
