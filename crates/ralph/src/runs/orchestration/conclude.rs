//! The end of a run: the criteria run, and the router's answer becomes the ending of the loop.

use super::DriveState;
use crate::command::context_dir::note;
use crate::command::exit::{Exit, bad_state};
use crate::command::screen;
use crate::runs::build;
use crate::runs::engine::{self, LoopOwner};
use anyhow::Result;
use ralph_core::modes::orchestration::in_session::{self, RouterEnding};
use ralph_core::state::{EndingKind, LoopState, PauseCause};
use ralph_core::stop::Routed;
use ralph_hooks::delegate::Request;
use ralph_hooks::modes::orchestration;
use ralph_io::process::clock;
use ralph_io::store::loop_file::LoopFile;

impl<'a> LoopOwner<'a> for DriveState<'a> {
    const PAUSED: Exit = Exit::Done;

    fn file(&self) -> &'a LoopFile {
        &self.plan.file
    }

    fn decided(&mut self, routed: Routed) -> Result<Exit> {
        let (plan, interrupts) = (self.plan, self.runner.interrupts);
        let state = plan.file.read().map_err(bad_state)?.map(|loaded| loaded.state);
        let Some(state) = state else { return self.over() };
        let mut proof = None;
        if in_session::wants_proof(&state, &routed) {
            self.runner.screen.tell("running the criteria");
            proof = build::prove(&plan.file, Request::Completion, interrupts)?;
            if proof.is_none() {
                let why = "ended by Ctrl-C";
                return engine::rest(self, PauseCause::Person, why, Exit::Interrupted);
            }
        }
        let now = clock::now();
        let left = self.left.look()?.question;
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
            return engine::rest(self, PauseCause::BlockedOnHuman, &why, Exit::No);
        }
        if let Some(state) = ended.map_err(bad_state)?
            && let Some(ending) = &state.ending
        {
            let why = format!("{}: {}", ending.kind, ending.detail);
            note(&plan.place.here, &plan.file, &state, "session run", "ended", &why);
            let sessions = &plan.place.sessions;
            orchestration::use_up(sessions, &plan.id, &routed.heard).map_err(bad_state)?;
        }
        self.over()
    }

    fn failed(&mut self, error: anyhow::Error) -> Result<Exit> {
        let why = format!("{error:#}");
        let paused = self.plan.file.update(|state| self.pause(state, PauseCause::Crashed, &why));
        paused.map_err(bad_state)?;
        Err(error)
    }

    fn paused_line(&mut self, _: &LoopState, why: &str) -> String {
        let id = &self.plan.id;
        format!("session {id} is paused: {why}; `ralph session run --id {id}` continues")
    }

    fn over(&mut self) -> Result<Exit> {
        let id = &self.plan.id;
        let exit = engine::over(&self.plan.place.here, &self.plan.file)?;
        if exit != Exit::Done {
            screen::say(&format!("In a terminal: `ralph session run --id {id}` continues"))?;
        }
        Ok(exit)
    }
}
