//! `ralph ralplan …`: a planner writes a plan, a critic judges it, and a person approves it.

use crate::command::context_dir::{Here, note};
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::screen::{self, visible, visible_lines};
use crate::command::select_loop::{self, FoundLoop, LoopArgs};
use crate::runs::client::{self as runner, ClientRound};
use crate::runs::engine::{self, ClientRunner, wait_for_earlier};
use crate::runs::options::{self, ClientOptions};
use crate::runs::parallel::held_by_client;
use crate::runs::ralplan::{Driver, of_agent, take};
use anyhow::{Context, Result};
use ralph_core::modes::arguments::LoopRequest;
use ralph_core::modes::ralplan::{self, NextPlanStep, Role, position, short};
use ralph_core::modes::{flow, mode};
use ralph_core::protocol::permission::Need;
use ralph_core::state::{DecisionKind, LoopState, Mode, RalplanState};
use ralph_core::views::messages;
use ralph_hooks::begin::{self, StartOutcome};
use ralph_io::client;
use ralph_io::process::wait_any::Interrupts;
use ralph_io::process::{clock, random};
use ralph_io::project::user_files;
use ralph_io::store::lifecycle::ManifestFate;
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

fn is_live(state: &LoopState) -> bool {
    state.ralplan().is_some() && state.is_live()
}

/// The live planning to use: the named one, else the session's own, else the project's.
fn live(here: &Here, which: &LoopArgs) -> Result<FoundLoop> {
    if let Some(found) = select_loop::named(here, which)? {
        let id = found.state.loop_id.clone();
        return Some(found).filter(|found| is_live(&found.state)).ok_or_else(|| {
            let why =
                format!("loop {id} is not a live planning; `ralph status --all` lists all loops");
            refused(Exit::No, why)
        });
    }
    let of_session = match &here.session {
        Some(session) => select_loop::of_session(here, session)?,
        None => None,
    };
    let found = of_session.filter(|found| is_live(&found.state)).or_else(|| of_project(here));
    found.ok_or_else(|| {
        let root = here.root.display();
        let why = format!(
            "no planning is live in `{root}`; `/ralplan \"what to plan\"` in Claude Code begins one"
        );
        refused(Exit::No, why)
    })
}

/// The project's live planning; a project has at most one.
fn of_project(here: &Here) -> Option<FoundLoop> {
    select_loop::of_project(here, is_live).pop()
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

/// Drives a planning until the user has decided.
fn plan(here: &Here, args: &RunArgs) -> Result<Exit> {
    is_a_person(here)?;
    let logs = options::logs(here, "ralplan");
    let live = of_project(here);
    if let Some(FoundLoop { state, .. }) = &live {
        if args.task.is_some() {
            let id = &state.loop_id;
            let why = format!(
                "planning {id} is live in this project; `ralph ralplan run` without a task goes on with it, `ralph \
                 cancel --loop {id}` ends it"
            );
            return Err(refused(Exit::No, why));
        }
        args.client.keep(here, state);
    }
    if args.client.dry_run {
        return show(here, args, live.map(|found| found.state), &logs);
    }
    runner::CLIENT.program()?;
    let needs = [Need::Bash("ralph ralplan status".to_owned())];
    args.client.check(here, Role::Planner.agent(), &needs)?;
    let interrupts = Interrupts::catch()?;
    let (found, word) = match live {
        Some(found) => (found, "continued"),
        None => (begin(here, args)?, "started"),
    };
    let file = &found.file;
    // Keeps other drivers away from this planning.
    let _alone = lock::take(&file.folder().join("ralplan-run"), Duration::ZERO)
        .map_err(|_| refused(Exit::No, "another `ralph ralplan run` drives this planning"))?;
    wait_for_earlier(&held_by_client(file))?;
    let state = take_up(here, &found, args)?;
    note(here, file, &state, "ralplan run", word, "the user started it in a terminal");
    user_files::make_folders(&logs, 0o700)?;
    screen::tell(&visible_lines(&format!(
        "planning {}, plan {}; logs in {}\nTask: {}",
        state.loop_id,
        state.ralplan().map(position).unwrap_or_default(),
        logs.display(),
        state.prompt
    )));
    let prefix = prefix(Path::new(&state.project_root));
    let runner = ClientRunner::one(here, Some(file), &interrupts, "ralplan run")?;
    let client = &args.client;
    engine::run(Driver { runner, client, file, logs, prefix, number: 0 })
}

/// Prints the command of the first round.
fn show(here: &Here, args: &RunArgs, live: Option<LoopState>, logs: &Path) -> Result<Exit> {
    let state = live.unwrap_or_else(|| {
        let plan = ralplan::begin(args.task.as_deref().unwrap_or_default(), here.now);
        let project_root = here.root.to_string_lossy().into_owned();
        LoopState { project_root, mode: plan.into(), ..LoopState::default() }
    });
    let root = PathBuf::from(&state.project_root);
    match next_step(&state, prefix(&root)) {
        NextPlanStep::Call(call) => options::show(&ClientRound {
            session_id: Some("ID".to_owned()),
            folder: Some(root),
            ..of_agent(here, &args.client, logs, &call, 1)
        }),
        other => screen::print(&visible_lines(&other.to_string())),
    }
}

/// Begins a planning as the typed command does, or continues what another tool has left.
fn begin(here: &Here, args: &RunArgs) -> Result<FoundLoop> {
    let task = args.task.as_deref().map(|task| task.trim().to_owned());
    if task.as_deref() == Some("") {
        return Err(refused(Exit::Usage, "say what to plan: `ralph ralplan run \"TASK\"`"));
    }
    let request = LoopRequest { task, ..LoopRequest::default() };
    let state = match begin::begin(&here.asks(Mode::Ralplan, &request, &random::uuid()))? {
        StartOutcome::Started(state, told) => {
            told.iter().for_each(|line| screen::tell(&visible(line)));
            state
        }
        StartOutcome::Refused(why) => return Err(refused(Exit::No, why)),
        _ => anyhow::bail!("could not begin: another process has just done so"),
    };
    FoundLoop::by_id(here, &state.loop_id)
}

/// Freezes the bounds of the planning and sets it running, if it is new or was left.
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
    taken.map_err(bad_state)?.context("the planning is gone")
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

fn next_step(state: &LoopState, prefix: &str) -> NextPlanStep {
    state.ralplan().map_or(NextPlanStep::Nothing, |plan| ralplan::next(plan, prefix))
}

pub(super) fn next(here: &Here, which: &LoopArgs, json: bool) -> Result<Exit> {
    let state = live(here, which)?.state;
    let next = next_step(&state, flow::prefix(&state));
    if !json {
        return screen::print(&visible_lines(&next.to_string()));
    }
    let phase = state.ralplan().map(|plan| &plan.phase);
    screen::print_json(&json!({"schema_version": 1, "phase": phase, "next": next}))
}

// How far a planning is, and everything that agents and
// the user have said.
//
// Prompts for agents may be shortened; this output is complete.

pub(super) fn status(here: &Here, which: &LoopArgs, json: bool) -> Result<Exit> {
    let state = live(here, which)?.state;
    let Some(plan) = state.ralplan() else { return Ok(Exit::Done) };
    let now = plan_files::plan_hash(Path::new(&state.project_root), &plan.plan_path);
    let next = ralplan::next(plan, flow::prefix(&state));
    if json {
        return screen::print_json(&json!({
            "schema_version": 1, "loop_id": state.loop_id, "session_id": state.session_id,
            "phase": state.phase, "pause": state.pause, "ralplan": plan, "plan_hash_now": now, "next": next,
        }));
    }
    screen::print(&visible_lines(&format!("{}\n\n{next}", described(&state, plan, &now))))
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
    let decided =
        decided.map_err(|why| refused(Exit::No, format!("nothing was decided: {why}")))?;
    let state = &decided.state;
    // Nothing wakes a session that waits for a person. A planning that a driver runs or ran has no
    // client of its own.
    let next = match state.round.is_some() || state.client.is_none() {
        _ if state.ending.is_some() => String::new(),
        true => "\n`ralph ralplan run` goes on with it.".to_owned(),
        false => format!("\nType /ralplan in session {} to continue.", state.session_id),
    };
    screen::say(&visible_lines(&format!("{}{next}", decided.why)))
}
