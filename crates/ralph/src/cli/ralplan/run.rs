//! `ralph ralplan run`: a planning without a session, in which this program calls the agents.
//!
//! Begins a planning or continues one; the rounds are in [`crate::runs::ralplan`].

use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::journal::note;
use crate::command::screen;
use crate::command::select_loop::FoundLoop;
use crate::runs::client as runner;
use crate::runs::engine::{self, ClientRunner, wait_for_earlier};
use crate::runs::options::{self, ClientOptions};
use crate::runs::parallel::held_by_client;
use crate::runs::ralplan::{About, Driver, of_agent};
use anyhow::{Context, Result};
use ralph_core::modes::arguments::LoopRequest;
use ralph_core::modes::ralplan::{self as rules, NextPlanStep, Role};
use ralph_core::protocol::permission::Need;
use ralph_core::state::{LoopState, Mode};
use ralph_hooks::begin::{self, StartOutcome};
use ralph_io::process::interrupts::Interrupts;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::{client, process::clock, process::random, project::user_files, store::lock};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is planned, and how the client is called.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to plan [default: continue this project's planning]
    #[arg(value_name = "TASK")]
    task: Option<String>,
    #[command(flatten)]
    client: ClientOptions,
}

/// Drives a planning until the user must decide.
pub(super) fn run(here: &Here, args: &Args) -> Result<Exit> {
    super::is_a_person(here)?;
    let logs = options::logs(here, "ralplan");
    if let Some(found) = super::of_project(here) {
        args.client.keep(here, &found.state);
    }
    if args.client.dry_run {
        return show(here, args, &logs);
    }
    runner::client()?;
    let needs = [Need::Bash("ralph ralplan status".to_owned())];
    args.client.check(here, Role::Planner.agent(), &needs)?;
    let interrupts = Interrupts::catch()?;
    let (found, is_new) = match super::of_project(here) {
        Some(found) if args.task.is_some() => return Err(is_live(&found.state)),
        Some(found) => (found, false),
        None => (begin(here, args)?, true),
    };
    let _alone = alone(&found.file)?;
    wait_for_earlier(&held_by_client(&found.file))?;
    let state = if is_new { bind(here, &found, args)? } else { take_up(here, &found, args)? };
    user_files::make_folders(&logs, 0o700)?;
    screen::tell(&screen::visible_lines(&format!(
        "planning {}, plan {}; logs in {}\nTask: {}",
        state.loop_id,
        state.ralplan().map(rules::position).unwrap_or_default(),
        logs.display(),
        state.prompt
    )));
    let prefix = prefix(Path::new(&state.project_root));
    let file = &found.file;
    let runner = ClientRunner::one(here, Some(file), &interrupts, "ralplan run")?;
    let client = &args.client;
    engine::run(Driver { runner, client, file, logs, prefix, number: 0, before: state })
}

/// Prints the command of the first round.
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
            options::show(&round)?;
        }
        other => screen::print(&screen::visible_lines(&other.to_string()))?,
    }
    Ok(Exit::Done)
}

/// Begins a planning as the typed command does, or continues what another tool has left.
fn begin(here: &Here, args: &Args) -> Result<FoundLoop> {
    let request = LoopRequest { task: task(args)?, ..LoopRequest::default() };
    let begun = begin::begin(&here.asks(Mode::Ralplan, &request, &random::uuid()))?;
    let state = match begun {
        StartOutcome::Started(state, told) => {
            told.iter().for_each(|line| screen::tell(&screen::visible(line)));
            state
        }
        StartOutcome::Continues(state) => state,
        StartOutcome::Refused(why) => return Err(refused(Exit::No, why)),
        StartOutcome::Answered | StartOutcome::Planned(..) => {
            anyhow::bail!("could not begin: another process has just done so")
        }
    };
    let found = FoundLoop::of(here, &state.loop_id)?;
    note(here, &found.file, &found.state, "ralplan run", "started", STARTED);
    Ok(found)
}

const STARTED: &str = "a person started it in a terminal";

fn task(args: &Args) -> Result<Option<String>> {
    match args.task.as_deref().map(str::trim) {
        Some("") => Err(refused(Exit::Usage, "say what to plan: `ralph ralplan run \"TASK\"`")),
        task => Ok(task.map(str::to_owned)),
    }
}

/// Keeps other drivers away from this planning.
fn alone(file: &LoopFile) -> Result<lock::Lock> {
    lock::take(&file.folder().join("ralplan-run"), Duration::ZERO)
        .map_err(|_| refused(Exit::No, "another `ralph ralplan run` drives this planning"))
}

/// Freezes the bounds of a new planning.
fn bind(here: &Here, found: &FoundLoop, args: &Args) -> Result<LoopState> {
    let bound = found.file.update(|state| {
        args.client.bind(here, state);
        state.clone()
    });
    bound.map_err(bad_state)?.context("the planning is gone")
}

/// Continues a planning that a session or another driver left.
fn take_up(here: &Here, found: &FoundLoop, args: &Args) -> Result<LoopState> {
    let state = &found.state;
    // The hooks of that session guard the planning, and would stop doing so while it is open.
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
        args.client.bind(here, state);
        state.clone()
    });
    let state = taken.map_err(bad_state)?.context("the planning is gone")?;
    note(here, &found.file, &state, "ralplan run", "continued", STARTED);
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

/// The prefix of the agents' names: agents from a plugin carry the plugin's name.
fn prefix(root: &Path) -> &'static str {
    let file = format!("agents/{}.md", Role::Critic.agent());
    let places = [client::config_dir(), Some(root.join(".claude"))];
    match places.into_iter().flatten().any(|place| place.join(&file).exists()) {
        true => "",
        false => "ralph:",
    }
}
