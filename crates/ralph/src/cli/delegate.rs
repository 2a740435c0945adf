//! `ralph delegate` and `ralph supervise`: what Ralph itself starts, with its order on standard input.
//!
//! Not for people. The caller holds standard input open: when it ends, the work here ends too.
//! Exceptions: no hook waits for a notification, and the shell of a command in the client's sandbox
//! asks for the report about it.

use crate::check::{self, CheckOrder, Pace as CheckPace, beside};
use crate::command::exit::Exit;
use crate::command::{notify, screen};
use crate::setup::doctor::settings::hooks_in;
use crate::verify::{self, CriteriaChoice, Pace, Silent, VerifyOrder};
use anyhow::{Context, Result, bail};
use ralph_core::evidence::pinned;
use ralph_core::evidence::receipt::Proof;
use ralph_core::evidence::tests_run::Scanner;
use ralph_core::project::check::answer;
use ralph_core::project::check::choice::CheckSettings;
use ralph_core::project::settings::Settings;
use ralph_core::protocol::registration::Origin;
use ralph_core::protocol::sandbox;
use ralph_core::state::{CriterionRunner, LoopState};
use ralph_core::text::truncate::bounded;
use ralph_core::views::notice::{Notice, NoticeEvent};
use ralph_io::client::client_settings::ClientSettings;
use ralph_io::client::{self, given};
use ralph_io::process::command::{self, CommandEnd, CommandOrder};
use ralph_io::process::{self, bounds, clock, elsewhere, programs};
use ralph_io::project::{environment, settings};
use ralph_io::store::checks::{self, Surroundings};
use ralph_io::store::home::Home;
use ralph_io::store::loop_file::{Loaded, LoopFile};
use ralph_io::store::{lifecycle, notice, receipts};
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[derive(clap::Subcommand)]
pub(super) enum DelegateCommand {
    /// Run the criteria that no receipt proves or disproves
    Criteria(CriteriaArgs),
    /// Run the commands of a task
    Task(TaskArgs),
    /// Check edited files
    Checks(ChecksArgs),
    /// Report what a command leaves running in the client's sandbox
    LeftRunning(LeftRunningArgs),
    /// Call the user for an event of a loop
    Notify(NotifyArgs),
}

pub(super) fn run(command: &DelegateCommand) -> Result<Exit> {
    match command {
        DelegateCommand::Criteria(args) => run_criteria(args),
        DelegateCommand::Task(args) => run_task(args),
        DelegateCommand::Checks(args) => run_checks(args),
        DelegateCommand::LeftRunning(args) => report_left_running(args),
        DelegateCommand::Notify(args) => notify(args),
    }
}

// `ralph delegate criteria`: when completion is requested, runs the criteria that no receipt
// proves or disproves, and prints the value of all receipts. The stop hook and Ralph's own drivers
// call it in the same way.

#[derive(clap::Args)]
pub(in crate::cli) struct CriteriaArgs {
    /// Its state file
    state: PathBuf,
    /// Observe what the criteria are worth: completion is requested
    #[arg(long, hide = true)]
    observe: bool,
    /// The variables that were given their recorded values
    #[arg(long, hide = true)]
    restored: Option<String>,
}

fn run_criteria(args: &CriteriaArgs) -> Result<Exit> {
    let Some(by) = verify::requester() else {
        bail!(
            "`ralph delegate criteria` answers Ralph's own stop hook; `ralph verify` runs the criteria"
        );
    };
    // On failure nothing is proven, and the refusal gives the reason.
    let proof = prove(args, by)
        .unwrap_or_else(|error| Proof { problem: format!("{error:#}"), ..Proof::default() });
    screen::print(&serde_json::to_string(&proof)?)
}

fn prove(args: &CriteriaArgs, by: CriterionRunner) -> Result<Proof> {
    let file = LoopFile::at(&args.state);
    let surroundings = ready(&file, by, args.restored.as_deref())?;
    let state = file.read()?.context("the loop is gone")?.state;
    let order = VerifyOrder {
        file: &file,
        ids: &[],
        which: CriteriaChoice::WithoutProof,
        // One after another, so that each runs once: a criterion that fails
        // beside others runs again.
        pace: Pace::InTurn,
        by,
        surroundings,
        observes: args.observe,
        clean: true,
        within: (by == CriterionRunner::Hook).then(|| Settings::from_state(&state).to_settle()),
    };
    Ok(verify::run(&order, &Silent)?.proof)
}

/// Makes this process ready to run commands, in the environment of the loop.
fn ready(
    file: &LoopFile,
    by: CriterionRunner,
    restored: Option<&str>,
) -> Result<environment::Surroundings> {
    // `prepare_environment` may start this program again, which needs standard input untouched.
    let surroundings = verify::prepare_environment(file, by, restored)?;
    given::end_with_input();
    let _ = command::adopt_orphans();
    Ok(surroundings)
}

// `ralph delegate task`: runs the commands of a task that a round marked done, and prints the first
// failure as JSON, or `null`. Ralph's own drivers call it.

/// How much of a command's output the next round reads, in UTF-16 units.
const TAIL: usize = 500;

#[derive(clap::Args)]
pub(in crate::cli) struct TaskArgs {
    /// The state file of its loop
    state: PathBuf,
    /// The id of the task
    id: String,
    /// The variables that were given their recorded values
    #[arg(long, hide = true)]
    restored: Option<String>,
}

fn run_task(args: &TaskArgs) -> Result<Exit> {
    let Some(by) = verify::requester() else {
        bail!("`ralph delegate task` answers Ralph's own drivers; `ralph verify` runs criteria");
    };
    let file = LoopFile::at(&args.state);
    ready(&file, by, args.restored.as_deref())?;
    let failed = failed(&file, &args.id).unwrap_or_else(|error| Some(format!("{error:#}")));
    screen::print(&serde_json::to_string(&failed)?)
}

/// The first command that does not hold, with the end of its output.
fn failed(file: &LoopFile, id: &str) -> Result<Option<String>> {
    let state = file.read()?.context("the loop is gone")?.state;
    if !pinned::is_as_frozen(&state) {
        bail!("its commands are not those that the person agreed to, so none was run");
    }
    let task = state.task_graph.iter().find(|task| task.id == id).context("the task is gone")?;
    let outputs = receipts::outputs(file.folder())?;
    let ralph = programs::running()?;
    for command in &task.verify {
        let output = outputs.join(receipts::output_name(id, clock::now()));
        let run = command::run(&CommandOrder {
            ralph: &ralph,
            command,
            folder: Path::new(&state.project_root),
            output: &output,
            deadline: Settings::from_state(&state).per_command(),
            bounds: state.bounds.as_ref(),
        })?;
        let how = match &run.ended {
            CommandEnd::Exited(0) => continue,
            CommandEnd::Exited(code) => format!("exits with {code}"),
            CommandEnd::Deadline => format!("still runs after {} s", run.duration().as_secs()),
            CommandEnd::Signalled(signal) => format!("was ended by signal {signal}"),
            CommandEnd::NotStarted(why) => format!("cannot start: {why}"),
            CommandEnd::Stopped | CommandEnd::SupervisorLost => "was ended".to_owned(),
        };
        let words = match run.tail.trim() {
            "" => String::new(),
            tail => format!(": {}", bounded(tail, TAIL)),
        };
        return Ok(Some(format!("`{command}` {how}{words}")));
    }
    Ok(None)
}

// `ralph delegate checks`: checks edited files, after the edit or at the end of a turn. Prints
// what the model should read, or nothing.

/// Time limit, at the end of a turn, for the checks that were too slow for the edits.
const LATE: Duration = Duration::from_secs(240);

#[derive(clap::Args)]
pub(in crate::cli) struct ChecksArgs {
    /// The state file of the loop
    #[arg(long)]
    state: Option<PathBuf>,
    /// What the edits of this turn have left
    #[arg(long, requires = "state")]
    late: bool,
    /// Run what takes longer than the edits wait, beside the work
    #[arg(long, requires = "state", conflicts_with = "late")]
    beside: bool,
    /// One run of the runner beside the work
    #[arg(long, requires = "state", conflicts_with_all = ["late", "beside"])]
    once: bool,
    /// The subagent that edited the files
    #[arg(long, default_value = "")]
    agent: String,
    /// The edited files
    files: Vec<PathBuf>,
}

fn run_checks(args: &ChecksArgs) -> Result<Exit> {
    let home = Home::from_env()?;
    let file = args.state.as_ref().map(LoopFile::at);
    let Some(choice) = choice(&home, file.as_ref(), &args.files)? else { return Ok(Exit::Done) };
    let budget = choice.budget(registered_timeout());
    if let Some(file) = file.as_ref().filter(|_| args.beside) {
        return beside::serve(file, budget).map(|()| Exit::Done);
    }
    given::end_with_input();
    let _ = command::adopt_orphans();
    let mut order = CheckOrder {
        home: &home,
        files: &args.files,
        choice: &choice,
        of_loop: file.as_ref().map(LoopFile::folder),
        pace: CheckPace::AfterEdit(budget),
        only: None,
    };
    let said = match &file {
        Some(file) if args.once => {
            once(&order, file, budget)?;
            Vec::new()
        }
        Some(file) if args.late => late(&order, file, budget)?,
        Some(file) => {
            // A state of another tool is in the project, where Ralph leaves nothing for a runner.
            let has_folder = file.folder().starts_with(home.loops());
            if let Some(wait) = choice.wait(budget).filter(|_| has_folder) {
                order.pace = CheckPace::WhileWaiting { budget, wait };
            }
            beside::after_edit(&order, file, &args.agent)?
        }
        None => answer::text(&check::run(&order)?.report).into_iter().collect(),
    };
    if !said.is_empty() {
        screen::print(&said.join("\n\n"))?;
    }
    Ok(Exit::Done)
}

fn once(order: &CheckOrder<'_>, file: &LoopFile, budget: Duration) -> Result<()> {
    let files = checks::beside(file.folder());
    let paths: Vec<PathBuf> = files.keys().cloned().collect();
    let only = beside::only(&files);
    let pace = CheckPace::Beside(budget);
    let order = CheckOrder { files: &paths, pace, only: only.as_ref(), ..*order };
    beside::once(&order, file.folder(), &files)
}

/// Waits for the runner beside the work, tells what it found, and runs the checks that are left.
fn late(order: &CheckOrder<'_>, file: &LoopFile, budget: Duration) -> Result<Vec<String>> {
    let folder = file.folder();
    // A runner that takes longer loses its files, and ends.
    let runner = checks::become_runner(folder, budget + beside::MARGIN);
    let mut said = beside::tell(order.home, folder, "");
    let files = checks::take_later(folder);
    drop(runner);
    let paths: Vec<PathBuf> = files.keys().cloned().collect();
    let only = beside::only(&files);
    let pace = CheckPace::Late(LATE);
    let order = CheckOrder { files: &paths, pace, only: only.as_ref(), ..*order };
    said.extend(answer::text(&check::run(&order)?.report));
    Ok(said)
}

/// The settings frozen into the loop. Without a loop, the project's current settings, if they ask
/// for checks in every session.
fn choice(
    home: &Home,
    file: Option<&LoopFile>,
    files: &[PathBuf],
) -> Result<Option<CheckSettings>> {
    if let Some(file) = file {
        let state = file.read()?.context("the loop is gone")?.state;
        return Ok(Some(Settings::from_state(&state).checks()));
    }
    let Some(first) = files.first().and_then(|file| file.canonicalize().ok()) else {
        return Ok(None);
    };
    let choice = settings::read(home, &Surroundings::root_of(&first)).0.checks();
    Ok(choice.always.unwrap_or(false).then_some(choice))
}

/// The hook's timeout where it is registered in settings files; the shortest if there are several.
fn registered_timeout() -> Option<Duration> {
    let project = client::project_dir().or_else(|| std::env::current_dir().ok())?;
    let settings = ClientSettings::for_project(&project);
    let hooks = settings.readable().flat_map(|(_, value)| hooks_in(value, Origin::Settings));
    let ours = hooks.filter(|hook| hook.event == "PostToolUse");
    ours.filter_map(|hook| hook.timeout_ms).min().map(Duration::from_millis)
}

// `ralph delegate left-running`: reports what the shell that starts it leaves running.

#[derive(clap::Args)]
pub(in crate::cli) struct LeftRunningArgs {
    /// The folders in `/proc` of those processes
    before: Vec<PathBuf>,
}

fn report_left_running(args: &LeftRunningArgs) -> Result<Exit> {
    let number = |folder: &PathBuf| folder.file_name()?.to_str()?.parse().ok();
    let before: Vec<u32> = args.before.iter().filter_map(number).collect();
    if let Some(report) = sandbox::left_running_report(&process::left_running::names(&before)) {
        screen::print(&report)?;
    }
    Ok(Exit::Done)
}

// `ralph delegate notify`: calls the user for one event of a loop, and notes in the loop's journal
// what became of it. Nothing waits for it.

#[derive(clap::Args)]
pub(in crate::cli) struct NotifyArgs {
    /// The event, as JSON
    event: String,
    /// The state file of the loop
    #[arg(long)]
    state: PathBuf,
    /// The command that continues the loop
    #[arg(long)]
    driver: Option<String>,
}

fn notify(args: &NotifyArgs) -> Result<Exit> {
    // The client may end its hook's process group, and a terminal its own.
    process::lead_own_session();
    let event: NoticeEvent =
        serde_json::from_str(&args.event).context("could not read the event")?;
    let home = Home::from_env()?;
    let Some((file, state)) = claim(&home, &args.state, &event)? else { return Ok(Exit::Done) };
    let began = Instant::now();
    let now = clock::now();
    // The client's secrets, which are not in this environment.
    let secrets: Vec<(String, String)> = std::io::read_to_string(std::io::stdin().lock())
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    let clean = |text: &str| notify::clean(text, &secrets);
    let notice = Notice::for_event(&state, &event, args.driver.as_deref(), now, clean);
    let sent = notify::send(&Settings::from_state(&state).notify(), &notice);
    let seen: Map<String, Value> =
        sent.iter().map(|one| (one.way.to_owned(), one.describe().into())).collect();
    let mut entry = notice::entry(&state, notice.what, Value::Object(seen));
    entry.took_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    lifecycle::note(&home, &file, &entry)?;
    Ok(Exit::Done)
}

/// Claims the event. `None` if another process has, or the loop has moved on. The loop may be
/// archived at this moment, so a folder that is gone is looked for again.
fn claim(home: &Home, path: &Path, event: &NoticeEvent) -> Result<Option<(LoopFile, LoopState)>> {
    let mut last_error = None;
    for _ in 0..3 {
        let Some((file, Loaded { state, .. })) = lifecycle::read(home, LoopFile::at(path))? else {
            return Ok(None);
        };
        let Some(key) = event.key(&state) else { return Ok(None) };
        match notice::claim(&file, &key) {
            Ok(true) => return Ok(Some((file, state))),
            Ok(false) => return Ok(None),
            Err(error) => last_error = Some(error),
        }
    }
    last_error.map_or(Ok(None), |error| Err(error).context("could not claim the event"))
}

// `ralph supervise`: the process between Ralph and one acceptance command.
//
// Not for people: it reads a request on standard input, runs the command and prints the report.
// When standard input ends it ends the command, so start it with a pipe.

/// Bytes of output searched for a test runner's summary, besides the end of the output. Parsing
/// every line of a flood would slow down the command that writes it.
const MOST_READ: usize = 64 << 20;

#[derive(clap::Args)]
pub(super) struct SuperviseArgs {
    /// The first process within the bounds of a loop
    #[arg(long, hide = true)]
    inside: bool,
    /// The process before a command that runs on other files, with its order
    #[arg(long, hide = true, requires = "program", conflicts_with = "inside")]
    elsewhere: Option<PathBuf>,
    /// What that process starts
    #[arg(last = true, hide = true, requires = "elsewhere")]
    program: Vec<OsString>,
}

pub(super) fn supervise(args: &SuperviseArgs) -> Result<Exit> {
    if args.inside {
        std::process::exit(bounds::run_inside()?);
    }
    if let Some(order) = &args.elsewhere {
        std::process::exit(elsewhere::run_inside(order, &args.program)?);
    }
    let request = command::receive()?;
    let mut scanner = Scanner::default();
    let mut read = 0;
    let mut report = command::supervise(&request, &mut |output| {
        if read < MOST_READ {
            scanner.feed(output);
        }
        read += output.len();
    });
    if read >= MOST_READ {
        scanner.feed(b"\n");
        scanner.feed(report.tail.as_bytes());
    }
    report.tests = scanner.summarise();
    // The caller may be gone, which is why the command was ended; then the report has no reader.
    let _ = command::send(&report);
    Ok(Exit::Done)
}
