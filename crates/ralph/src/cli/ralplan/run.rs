//! `ralph ralplan run`: a planning without a session, where the program calls the agents.
//!
//! Each agent is a client of its own, to whose session the planning is bound meanwhile: the hooks take its
//! report and keep its wall there, as they do for an agent of a session. The client's words are not asked.

mod gate;
mod told;

use super::super::context_dir::Here;
use super::super::exit::{Exit, bad_state, refused};
use super::super::journal::note;
use super::super::rounds::{self, ClientOptions};
use super::super::screen;
use super::super::select_loop::FoundLoop;
use crate::driver::{self, ClientRound, RoundOutcome};
use crate::parallel::run::held_by_client;
use anyhow::{Context, Result};
use gate::Passed;
use ralph_core::modes::arguments::LoopRequest;
use ralph_core::modes::ralplan::driven::{self, Due};
use ralph_core::modes::ralplan::{self as rules, AgentInput, NextPlanStep, Role};
use ralph_core::protocol::permission::Need;
use ralph_core::state::{EndingKind, LoopState, Mode, PauseCause, StartedBy};
use ralph_core::views::messages;
use ralph_hooks::begin::{self, StartOutcome, StartRequest};
use ralph_hooks::ralplan;
use ralph_io::process::interrupts::Interrupts;
use ralph_io::store::loop_file::{Loaded, LoopFile};
use ralph_io::{
    client, process::clock, process::random, project::user_files, store::lifecycle, store::lock,
};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is planned, and how the client is called.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to plan; none goes on with the planning of this project
    #[arg(value_name = "TASK")]
    task: Option<String>,
    #[command(flatten)]
    client: ClientOptions,
}

/// Drives a planning to the person's decision.
pub(super) fn run(here: &Here, args: &Args) -> Result<Exit> {
    super::is_a_person(here)?;
    let logs = rounds::logs(here, "ralplan");
    if args.client.dry_run {
        return show(here, args, &logs);
    }
    driver::client()?;
    args.client.tell(here, &[Need::Bash("ralph ralplan status".to_owned())])?;
    let interrupts = Interrupts::catch()?;
    let (found, is_new) = match super::of_project(here) {
        Some(found) if args.task.is_some() => return Err(is_live(&found.state)),
        Some(found) => (found, false),
        None => (begin(here, args)?, true),
    };
    let _alone = alone(&found.file)?;
    driver::wait_for_earlier(&held_by_client(&found.file))?;
    let state = if is_new { found.state } else { take_up(here, &found)? };
    user_files::make_folders(&logs, 0o700)?;
    screen::tell(&screen::visible_lines(&format!(
        "planning {} at iteration {}; logs in {}\nTask: {}",
        state.loop_id,
        state.ralplan().map(rules::position).unwrap_or_default(),
        logs.display(),
        state.prompt
    )));
    let prefix = prefix(Path::new(&state.project_root));
    let driver = Driver { here, client: &args.client, file: found.file, state, logs, prefix };
    driver.all(&interrupts)
}

/// The command of the first round.
fn show(here: &Here, args: &Args, logs: &Path) -> Result<Exit> {
    let (plan, root) = match (super::of_project(here), &args.task) {
        (Some(found), None) => (
            found.state.ralplan().cloned().unwrap_or_default(),
            PathBuf::from(found.state.project_root),
        ),
        (Some(found), Some(_)) => return Err(is_live(&found.state)),
        (None, task) => {
            (rules::begin(task.as_deref().unwrap_or_default(), here.now), here.root.clone())
        }
    };
    match rules::next(&plan, prefix(&root)) {
        NextPlanStep::Call(call) => {
            let about = About { number: 1, session: "ID", root: &root };
            let round = of_agent(here, &args.client, logs, &call, &about);
            screen::print(&screen::visible_lines(&driver::command_line(&round)?))?;
        }
        other => screen::print(&screen::visible_lines(&other.to_string()))?,
    }
    Ok(Exit::Done)
}

/// Begins one as the typed command does, or takes up what another tool has left.
fn begin(here: &Here, args: &Args) -> Result<FoundLoop> {
    let request = LoopRequest { task: task(args)?, ..LoopRequest::default() };
    let begun = begin::begin(&StartRequest {
        mode: Mode::Ralplan,
        home: &here.home,
        request: &request,
        session_id: &random::uuid(),
        prompt_id: "",
        project_root: here.root.clone(),
        started_by: StartedBy::Person,
        via: None,
    })?;
    let state = match begun {
        StartOutcome::Started(state, told) => {
            told.iter().for_each(|line| screen::tell(&screen::visible(line)));
            state
        }
        StartOutcome::Continues(state) => state,
        StartOutcome::Refused(why) => return Err(refused(Exit::No, why)),
        StartOutcome::Answered | StartOutcome::Planned(_) => {
            anyhow::bail!("could not begin: another process has just done so")
        }
    };
    let found = FoundLoop::of(here, &state.loop_id)?;
    note(here, &found.file, &found.state, ("ralplan run", "started"), STARTED);
    Ok(found)
}

const STARTED: &str = "a person started it in a terminal";

fn task(args: &Args) -> Result<Option<String>> {
    match args.task.as_deref().map(str::trim) {
        Some("") => Err(refused(Exit::Usage, "say what to plan: `ralph ralplan run \"TASK\"`")),
        task => Ok(task.map(str::to_owned)),
    }
}

/// Nobody else drives it in the meantime.
fn alone(file: &LoopFile) -> Result<lock::Lock> {
    lock::take(&file.folder().join("ralplan-run"), Duration::ZERO)
        .map_err(|_| refused(Exit::No, "another `ralph ralplan run` drives this planning"))
}

/// One that a session left, or that another driver did.
fn take_up(here: &Here, found: &FoundLoop) -> Result<LoopState> {
    let state = &found.state;
    // Its wall stands in that session, and would not any more.
    if state.round.is_none() && state.client.as_ref().is_some_and(client::is_alive) {
        return Err(refused(
            Exit::No,
            format!(
                "planning {} belongs to a session that is open; type /ralplan there, or close it first",
                state.loop_id
            ),
        ));
    }
    let now = clock::now();
    let taken = found.file.update(|state| {
        rules::take_up(state, now);
        state.clone()
    });
    let state = taken.map_err(bad_state)?.context("the planning is gone")?;
    note(here, &found.file, &state, ("ralplan run", "continued"), STARTED);
    Ok(state)
}

fn is_live(state: &LoopState) -> anyhow::Error {
    refused(
        Exit::No,
        format!(
            "planning {} is live in this project; `ralph ralplan run` without a task goes on with it, `ralph cancel \
             --loop {}` ends it",
            state.loop_id, state.loop_id
        ),
    )
}

/// What its agents are called before their names: those of a plugin have its name there.
fn prefix(root: &Path) -> &'static str {
    let file = format!("agents/{}.md", Role::Critic.agent());
    let places = [client::config_dir(), Some(root.join(".claude"))];
    match places.into_iter().flatten().any(|place| place.join(&file).exists()) {
        true => "",
        false => "ralph:",
    }
}

/// What a round is besides the call.
struct About<'a> {
    number: u32,
    session: &'a str,
    root: &'a Path,
}

fn of_agent(
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
struct Driver<'a> {
    here: &'a Here,
    client: &'a ClientOptions,
    file: LoopFile,
    /// As it was when this began; the file says how it is.
    state: LoopState,
    logs: PathBuf,
    prefix: &'static str,
}

impl Driver<'_> {
    /// Until the person has decided, or something stands in the way.
    fn all(&self, interrupts: &Interrupts) -> Result<Exit> {
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
            let came = driver::run_apart(
                &round,
                &held_by_client(&self.file),
                interrupts,
                &self.client.policy(),
            )?;
            rounds::tell(&round.label, &came);
            self.tell(&round.label, &session, &before, &came)?;
            if matches!(came.outcome, RoundOutcome::Finished { .. }) && !self.was_heard()? {
                return self.leave(PauseCause::BlockedOnHuman, UNHEARD, Exit::MissingProgram);
            }
            crashes =
                if matches!(came.outcome, RoundOutcome::Crashed { .. }) { crashes + 1 } else { 0 };
            if let Some((cause, why)) = rounds::rests(&came, interrupts, crashes) {
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
        came: &driver::RoundResult,
    ) -> Result<()> {
        let Some(loaded) = self.file.read().map_err(bad_state)? else { return Ok(()) };
        let state = loaded.state;
        let log = |state: &LoopState| state.ralplan().cloned().unwrap_or_default().log;
        let after = log(&state);
        let news = driven::news(&log(before), &after);
        let done = match news.is_empty() {
            false => news.join("; "),
            true => told::nothing(self.file.folder(), session),
        };
        screen::tell(&screen::visible(&format!("{label}: {done}")));
        let number = before.round.as_ref().map_or(0, |round| round.number);
        let why = rounds::told(number, &done, came);
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
        let phase = state.ralplan().map_or("", |plan| plan.phase.as_str());
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
