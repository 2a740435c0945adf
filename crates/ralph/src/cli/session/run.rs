//! `ralph team run`: an orchestration in a terminal, in which this program calls the agents.
//!
//! Asks the router, starts a client as the agent for each call, and reads the result from the
//! orchestration's folder. Remembers nothing that the orchestration's files do not hold.

use super::{OrchestrationArg, OrchestrationContext};
use crate::command::context_dir::{Here, note};
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::select_loop::FoundLoop;
use crate::command::{number, screen};
use crate::runs::client as runner;
use crate::runs::options::{self, ClientOptions};
use crate::runs::orchestration::{self, OrchestrationRun};
use anyhow::Result;
use ralph_core::modes::arguments::{self, LoopRequest, Options};
use ralph_core::modes::orchestration::agents::AgentRole;
use ralph_core::modes::orchestration::id::OrchestrationId;
use ralph_core::modes::orchestration::machine;
use ralph_core::modes::orchestration::snapshot::Snapshot;
use ralph_core::protocol::permission::Need;
use ralph_core::state::{Criterion, LimitFlag, LoopState, Mode};
use ralph_hooks::begin::{self, StartOutcome};
use ralph_hooks::modes::orchestration::driving;
use ralph_io::client::{self, given};
use ralph_io::process::clock;
use ralph_io::process::wait_any::Interrupts;
use ralph_io::project::{environment, user_files};
use std::path::{Path, PathBuf};

/// What is done, how far, and how the client is called.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to do; `-` reads standard input [default: continue one]
    #[arg(value_name = "TASK")]
    task: Option<String>,
    #[command(flatten)]
    which: OrchestrationArg,
    /// Maximum number of agent calls [default: 200]
    #[arg(short = 'n', long, value_name = "N", value_parser = number::limit::<u32>(LimitFlag::MaxIterations), allow_hyphen_values = true)]
    max_iterations: Option<u32>,
    /// Limit of working time, in minutes [default: 480]
    #[arg(long, value_name = "N", value_parser = number::limit::<u64>(LimitFlag::MaxMinutes), allow_hyphen_values = true)]
    max_minutes: Option<u64>,
    /// Token limit, all agents together [default: no limit]
    #[arg(long, value_name = "N", value_parser = number::limit::<u64>(LimitFlag::MaxTokens), allow_hyphen_values = true)]
    max_tokens: Option<u64>,
    /// A criterion and the command that proves it; repeatable
    #[arg(long = "ac", value_name = "DESCRIPTION=COMMAND", value_parser = criterion)]
    criteria: Vec<Criterion>,
    #[command(flatten)]
    client: ClientOptions,
}

fn criterion(text: &str) -> Result<Criterion, String> {
    arguments::parse_criterion(text).map_err(|refusal| refusal.to_string())
}

/// Drives an orchestration until it ends or needs a person.
pub(super) fn run(place: &OrchestrationContext, args: &Args) -> Result<Exit> {
    let here = &place.here;
    let task = task(args)?;
    task.as_deref().map_or(Ok(()), super::is_new)?;
    let logs = options::logs(here, "session");
    if task.is_none() {
        keep(place, args);
    }
    if args.client.dry_run {
        return show(place, args, task.as_deref(), &logs);
    }
    runner::CLIENT.program()?;
    args.client.check(here, AgentRole::Executor.name(), &needs())?;
    let prefix = agents(&here.root)?;
    let lacking = begin::cannot_start(&args.criteria, &here.root);
    if !lacking.is_empty() {
        return Err(refused(Exit::No, format!("{}; nothing was started", lacking.join("; "))));
    }
    let id = match &task {
        Some(task) => super::begin(place, task.trim(), args.which.id.as_deref())?,
        None => place.find(args.which.id.as_deref())?,
    };
    // Comes before any lock, since the orchestration must exist.
    let seen = place.read(&id)?;
    let alone = place.sessions.drive(&id).map_err(bad_state)?;
    let _alone = alone.ok_or_else(|| {
        refused(Exit::No, format!("another `ralph team run` drives orchestration {id}"))
    })?;
    orchestration::take_up(place, &id)?;
    let found = begin(here, &id, args)?;
    user_files::make_folders(&logs, 0o700)?;
    screen::tell(&screen::visible_lines(&announcement(&found, &id, &logs, &seen)));
    let plan = OrchestrationRun { place, id, file: found.file, client: &args.client, logs, prefix };
    let interrupts = Interrupts::catch()?;
    orchestration::all(&plan, &interrupts)
}

/// Keeps to the bounds of the loop that drives the orchestration already.
fn keep(place: &OrchestrationContext, args: &Args) {
    let here = &place.here;
    // Without an orchestration, the run refuses later by itself.
    let Ok(id) = place.find(args.which.id.as_deref()) else { return };
    if let Some((_, state)) = driving(&here.home, &here.root, &id) {
        args.client.keep(here, &state);
    }
}

fn task(args: &Args) -> Result<Option<String>> {
    let task = match args.task.as_deref() {
        Some("-") => Some(given::stdin()?),
        task => task.map(str::to_owned),
    };
    match task.as_deref().map(str::trim) {
        Some("") => Err(refused(Exit::Usage, "say what to do: `ralph team run \"TASK\"`")),
        task => Ok(task.map(str::to_owned)),
    }
}

fn announcement(found: &FoundLoop, id: &OrchestrationId, logs: &Path, seen: &Snapshot) -> String {
    let mut text = format!(
        "session {id} as loop {}; logs in {}\nTask: {}",
        found.state.loop_id,
        logs.display(),
        seen.request
    );
    for criterion in &found.state.acceptance_criteria {
        text.push_str(&format!("\n{}: {}", criterion.id, criterion.decided_by()));
    }
    text
}

/// A sample of each call that the agents make, to test the permissions.
fn needs() -> Vec<Need> {
    let edits = ["Edit", "Write"].map(|tool| Need::Edits(tool.to_owned()));
    let calls = [Need::Bash("ralph session mark task-1 started".to_owned())];
    edits.into_iter().chain(calls).collect()
}

/// The prefix of the agents' names: agents from a plugin carry the plugin's name.
fn agents(root: &Path) -> Result<&'static str> {
    let places: Vec<PathBuf> =
        [client::config_dir(), Some(root.join(".claude"))].into_iter().flatten().collect();
    let is_there = |agent: &&AgentRole| {
        let file = format!("agents/{agent}.md");
        places.iter().any(|place| place.join(&file).exists())
    };
    let (there, missing): (Vec<AgentRole>, Vec<AgentRole>) =
        AgentRole::ALL.iter().copied().partition(|agent| is_there(&agent));
    match (there.is_empty(), missing.is_empty()) {
        (_, true) => Ok(""),
        (true, _) => {
            screen::tell(
                "the agents Ralph-v2-… are not among yours or the project's; those of the plugin are called, and \
                 `ralph install` copies them",
            );
            Ok("ralph:")
        }
        (false, false) => {
            let names: Vec<String> = missing.iter().map(|agent| format!("`{agent}`")).collect();
            let message = format!(
                "could not find the agents {}; `ralph install` copies them",
                names.join(", ")
            );
            Err(refused(Exit::MissingProgram, message))
        }
    }
}

/// Prints the command of each call that would be made now, or why there is none.
fn show(
    place: &OrchestrationContext,
    args: &Args,
    task: Option<&str>,
    logs: &Path,
) -> Result<Exit> {
    let here = &place.here;
    let seen = match (task, &args.which.id) {
        (Some(task), name) => {
            let id = match name {
                Some(name) => super::named(name)?,
                None => place.sessions.name_of(here.now).map_err(bad_state)?,
            };
            Snapshot::new(id, task.trim())
        }
        (None, _) => place.read(&place.find(args.which.id.as_deref())?)?,
    };
    let seen = Snapshot { running: Some(Vec::new()), ..seen };
    let step = machine::next(&seen, clock::now());
    if step.act.calls().is_empty() {
        return screen::print(&screen::visible_lines(&step.act.to_string()));
    }
    let prefix = agents(&here.root)?;
    for (call, number) in step.act.calls().iter().zip(1..) {
        let about = orchestration::About { number, session: "ID", prefix, id: &seen.id };
        let round = orchestration::round(here, &args.client, logs, call, &about)?;
        options::show(&round)?;
    }
    Ok(Exit::Done)
}

// The loop that stands for an orchestration while it is driven. It holds the limits, the criteria
// and the usage, and `ralph status`, `cancel` and `pause` find it.

/// Default number of agents that may be called.
const CALLS: u32 = 200;

/// Begins the loop, or continues the existing one.
fn begin(here: &Here, id: &OrchestrationId, args: &Args) -> Result<FoundLoop> {
    let request = LoopRequest {
        task: Some(id.to_string()),
        options: options(args),
        ..LoopRequest::default()
    };
    let asked = here.asks(Mode::Orchestration, &request, "");
    let begun = begin::begin(&asked).map_err(bad_state)?;
    let (state, how) = match begun {
        StartOutcome::Started(state, _) => (state, "started"),
        StartOutcome::Continues(state) => (state, "continued"),
        StartOutcome::Refused(why) => return Err(refused(Exit::No, why)),
        StartOutcome::Answered | StartOutcome::Planned(..) => {
            anyhow::bail!("could not begin: another process has just done so")
        }
    };
    let found = FoundLoop::by_id(here, &state.loop_id)?;
    let us = client::this_process();
    let mine = |state: &mut LoopState| {
        environment::take(state);
        args.client.bind(here, state);
        state.client = Some(us.clone());
    };
    found.file.update(mine).map_err(bad_state)?;
    let why = "the user started it in a terminal";
    note(here, &found.file, &found.state, "session run", how, why);
    Ok(found)
}

fn options(args: &Args) -> Options {
    let mut criteria = args.criteria.clone();
    arguments::number_criteria(&mut criteria);
    Options {
        max_iterations: Some(args.max_iterations.unwrap_or(CALLS)),
        max_minutes: args.max_minutes,
        max_tokens: args.max_tokens,
        criteria,
        ..Options::default()
    }
}
