//! `ralph ralplan …`: a planner writes a plan, a critic judges it, and a person approves it.

use crate::command::context_dir::{Here, note};
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::screen::{self, visible, visible_lines};
use crate::command::select_loop::{self, FoundLoop, LoopArgs};
use crate::runs::client as runner;
use crate::runs::engine::{self, ClientRunner, wait_for_earlier};
use crate::runs::options::{self, ClientOptions};
use crate::runs::parallel::held_by_client;
use crate::runs::ralplan::{About, Driver, of_agent, take};
use anyhow::{Context, Result};
use ralph_core::modes::arguments::LoopRequest;
use ralph_core::modes::ralplan as rules;
use ralph_core::modes::ralplan::{self, NextPlanStep, Role, position, short};
use ralph_core::modes::{flow, mode};
use ralph_core::protocol::permission::Need;
use ralph_core::state::{DecisionKind, LoopState, Mode, RalplanState};
use ralph_core::views::messages;
use ralph_hooks::begin::{self, StartOutcome};
use ralph_hooks::modes::ralplan::Decided;
use ralph_io::client;
use ralph_io::process::wait_any::Interrupts;
use ralph_io::process::{clock, random};
use ralph_io::project::user_files;
use ralph_io::store::lifecycle::ManifestFate;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::store::{lock, plan_files};
use serde_json::json;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What to do about a plan.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum RalplanCommand {
    /// Make and review a plan, each agent in a fresh client
    Run(RunArgs),
    /// Approve the plan; /ralph then starts it as a loop
    Approve(LoopArgs),
    /// Return the plan to the planner with changes to make
    Adjust(AdjustArgs),
    /// End the planning; the plan file stays
    Discard(LoopArgs),
}

pub(crate) fn run(command: &RalplanCommand) -> Result<Exit> {
    let here = Here::gather()?;
    match command {
        RalplanCommand::Run(args) => plan(&here, args),
        RalplanCommand::Approve(which) => decide(&here, which, DecisionKind::Proceed, ""),
        RalplanCommand::Adjust(args) => {
            decide(&here, &args.which, DecisionKind::Adjust, &args.text.join(" "))
        }
        RalplanCommand::Discard(which) => decide(&here, which, DecisionKind::Discard, ""),
    }
}

/// The live planning to use: the named one, else the session's own, else the project's.
fn live(here: &Here, which: &LoopArgs) -> Result<FoundLoop> {
    let is_live = |state: &LoopState| state.ralplan().is_some() && state.is_live();
    if let Some(found) = select_loop::named(here, which)? {
        return match is_live(&found.state) {
            true => Ok(found),
            false => Err(refused(
                Exit::No,
                format!(
                    "loop {} is not a live planning; `ralph status --all` lists all loops",
                    found.state.loop_id
                ),
            )),
        };
    }
    if let Some(session) = &here.session
        && let Some(found) = select_loop::of_session(here, session)?
        && is_live(&found.state)
    {
        return Ok(found);
    }
    of_project(here).ok_or_else(|| {
        let message = format!(
            "no planning is live in `{}`; `/ralplan \"what to plan\"` in Claude Code begins one",
            here.root.display()
        );
        refused(Exit::No, message)
    })
}

/// The project's live planning; a project has at most one.
fn of_project(here: &Here) -> Option<FoundLoop> {
    select_loop::of_project(here, |state| state.ralplan().is_some() && state.is_live()).pop()
}

/// Refuses in every session, not only the planning's own: in a session's shell a model types.
fn is_a_person(here: &Here) -> Result<()> {
    if here.session.is_none() {
        return Ok(());
    }
    Err(refused(
        Exit::No,
        "only you approve a plan: type this in a terminal outside of Claude Code, or answer the question in the \
         session",
    ))
}

// `ralph ralplan run`: a planning without a session, in which this program calls the agents.
//
// Begins a planning or continues one; the rounds are in [`crate::runs::ralplan`].

/// What is planned, and how the client is called.
#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// What to plan [default: continue this project's planning]
    #[arg(value_name = "TASK")]
    task: Option<String>,
    #[command(flatten)]
    client: ClientOptions,
}

/// Drives a planning until the user must decide.
fn plan(here: &Here, args: &RunArgs) -> Result<Exit> {
    is_a_person(here)?;
    let logs = options::logs(here, "ralplan");
    if let Some(found) = of_project(here) {
        args.client.keep(here, &found.state);
    }
    if args.client.dry_run {
        return show(here, args, &logs);
    }
    runner::CLIENT.program()?;
    let needs = [Need::Bash("ralph ralplan status".to_owned())];
    args.client.check(here, Role::Planner.agent(), &needs)?;
    let interrupts = Interrupts::catch()?;
    let (found, is_new) = match of_project(here) {
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
fn show(here: &Here, args: &RunArgs, logs: &Path) -> Result<Exit> {
    let (plan, root) = match (of_project(here), &args.task) {
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
            options::show(&round)
        }
        other => screen::print(&screen::visible_lines(&other.to_string())),
    }
}

/// Begins a planning as the typed command does, or continues what another tool has left.
fn begin(here: &Here, args: &RunArgs) -> Result<FoundLoop> {
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
    let found = FoundLoop::by_id(here, &state.loop_id)?;
    note(here, &found.file, &found.state, "ralplan run", "started", STARTED);
    Ok(found)
}

const STARTED: &str = "a person started it in a terminal";

fn task(args: &RunArgs) -> Result<Option<String>> {
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
fn bind(here: &Here, found: &FoundLoop, args: &RunArgs) -> Result<LoopState> {
    let bound = found.file.update(|state| {
        args.client.bind(here, state);
        state.clone()
    });
    bound.map_err(bad_state)?.context("the planning is gone")
}

/// Continues a planning that a session or another driver left.
fn take_up(here: &Here, found: &FoundLoop, args: &RunArgs) -> Result<LoopState> {
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
        mode::rules(&state.mode).resume(state, now);
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

// The next step of a planning, for the session that carries it out.

pub(super) fn next(here: &Here, which: &LoopArgs, json: bool) -> Result<Exit> {
    let state = live(here, which)?.state;
    let prefix = flow::prefix(&state);
    let plan = state.ralplan().cloned().unwrap_or_default();
    let next = ralplan::next(&plan, prefix);
    match json {
        true => {
            screen::print_json(&json!({"schema_version": 1, "phase": plan.phase, "next": next}))
        }
        false => screen::print(&visible_lines(&next.to_string())),
    }
}

// How far a planning is, and everything that agents and
// the user have said.
//
// Prompts for agents may be shortened; this output is complete.

pub(super) fn status(here: &Here, which: &LoopArgs, json: bool) -> Result<Exit> {
    let state = live(here, which)?.state;
    let plan = &state.ralplan().cloned().unwrap_or_default();
    let now = plan_files::plan_hash(Path::new(&state.project_root), &plan.plan_path);
    let next = ralplan::next(plan, flow::prefix(&state));
    if json {
        let document = json!({
            "schema_version": 1, "loop_id": state.loop_id, "session_id": state.session_id,
            "phase": state.phase, "pause": state.pause, "ralplan": plan, "plan_hash_now": now, "next": next,
        });
        screen::print_json(&document)?;
    } else {
        screen::print(&visible_lines(&described(&state, plan, &now)))?;
        screen::print(&visible_lines(&format!("\n{next}")))?;
    }
    Ok(Exit::Done)
}

fn described(state: &LoopState, plan: &RalplanState, now: &str) -> String {
    let mut text = format!(
        "planning {}  {}  plan {}",
        visible(&state.loop_id),
        visible(plan.phase.as_str()),
        position(plan)
    );
    if state.pause.is_some() && !state.awaits_decision() {
        let _ = write!(text, "\n{}", messages::paused(state));
    }
    let _ = write!(text, "\nTask: {}", plan.task);
    if !plan.plan_path.is_empty() {
        let _ = write!(text, "\nPlan: {}{}", plan.plan_path, version(plan, now));
    }
    if let Some(verdict) = &plan.verdict {
        let word = if verdict.okay { "OKAY" } else { "REJECT" };
        let _ = write!(text, "\nVerdict: {word} on {}", short(&verdict.plan_hash));
    }
    for (head, items) in [
        ("Criteria", &plan.criteria),
        ("Tasks", &plan.tasks),
        ("Left open by the critic", &plan.concerns),
        ("Failed gates", &plan.failed_gates),
        ("Questions for the architect", &plan.questions),
        ("Answers of the architect", &plan.answers),
    ] {
        for (at, item) in items.iter().enumerate() {
            let head = if at == 0 { format!("\n{head}:") } else { String::new() };
            let _ = write!(text, "{head}\n  {}. {item}", at + 1);
        }
    }
    for (head, said) in [("Feedback for the planner", &plan.feedback), ("Gaps", &plan.gaps)] {
        if !said.is_empty() {
            let _ = write!(text, "\n{head}:\n  {}", said.replace('\n', "\n  "));
        }
    }
    for (at, line) in plan.log.iter().enumerate() {
        let _ = write!(text, "{}\n  {line}", if at == 0 { "\nLog:" } else { "" });
    }
    text
}

/// Which version of the plan is meant, and whether the file has changed since.
fn version(plan: &RalplanState, now: &str) -> String {
    let judged = if plan.plan_hash.is_empty() { &plan.ready_hash } else { &plan.plan_hash };
    match (judged.as_str(), now) {
        (_, "") => " (not there)".to_owned(),
        ("", now) => format!(" ({})", short(now)),
        (judged, now) if judged == now => format!(" ({})", short(now)),
        (judged, now) => format!(" ({}; changed since, it is {} now)", short(judged), short(now)),
    }
}

// `ralph ralplan approve`, `adjust` and `discard`: the user's decision about a
// plan, in a terminal.

/// What should change.
#[derive(Debug, clap::Args)]
pub(crate) struct AdjustArgs {
    /// Changes for the planner to make
    #[arg(value_name = "TEXT")]
    text: Vec<String>,
    #[command(flatten)]
    which: LoopArgs,
}

fn decide(here: &Here, which: &LoopArgs, kind: DecisionKind, text: &str) -> Result<Exit> {
    is_a_person(here)?;
    let found = live(here, which)?;
    let decided = take(here, &found, kind, text, ManifestFate::KeepAsTombstone)?;
    let (_, why) = decided.describe();
    match &decided {
        Decided::Refused(why) => Err(refused(Exit::No, format!("nothing was decided: {why}"))),
        Decided::Adjusted(state) => print_text(&format!("{why}{}", goes_on(state))),
        Decided::Approved { .. } | Decided::Discarded { .. } => print_text(&why),
    }
}

fn print_text(text: &str) -> Result<Exit> {
    screen::say(&visible_lines(text))
}

/// How to continue: nothing wakes a session that waits for a person. A planning that a driver runs
/// or ran has no client of its own.
fn goes_on(state: &LoopState) -> String {
    match state.round.is_some() || state.client.is_none() {
        true => "\n`ralph ralplan run` goes on with it.".to_owned(),
        false => format!("\nType /ralplan in session {} to continue.", state.session_id),
    }
}
