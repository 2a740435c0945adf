//! `ralph team …`: an orchestration, whose router is this program. It decides which agent is
//! called next and with what; a model, a script or the user makes the call.

pub(super) mod next;
mod run;

use super::next::{MarkArgs, NewStatus};
use super::task::{Format, in_format};
use crate::command::complete;
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::screen::{self, visible, visible_lines};
use crate::orchestration::{NONE, OrchestrationContext, missing, named};
use anyhow::Result;
use clap_complete::engine::ArgValueCandidates;
use ralph_core::modes::orchestration::files::folder;
use ralph_core::modes::orchestration::finding::OrchestrationFinding;
use ralph_core::modes::orchestration::id::{OrchestrationId, REFUSED};
use ralph_core::modes::orchestration::repair::repair as mended;
use ralph_core::modes::orchestration::signal::SignalKeyword;
use ralph_core::modes::orchestration::snapshot::Picture;
use ralph_core::modes::orchestration::task::TaskFile;
use ralph_core::modes::orchestration::validate::{is_invalid, validate as findings};
use ralph_core::modes::orchestration::which;
use ralph_core::state::EndingKind;
use ralph_core::text::plural::noun;
use ralph_core::views::report::{self, Report};
use ralph_hooks::modes::orchestration;
use ralph_io::client::given;
use ralph_io::process::clock;
use ralph_io::store::lifecycle;
use ralph_io::store::orchestration::OrchestrationStore;

/// What to do about a session.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum OrchestrationCommand {
    /// Begin an orchestration
    New(NewArgs),
    /// Create a feedback file for the next iteration
    Feedback(OrchestrationArg),
    /// Check the files of an orchestration
    Validate(OrchestrationArg),
    /// Repair the files of a damaged orchestration
    Repair(OrchestrationArg),
    /// Run an orchestration, each call in a fresh client
    Run(run::Args),
}

pub(crate) fn run(command: &OrchestrationCommand) -> Result<Exit> {
    let place = OrchestrationContext::gather(&Here::gather()?)?;
    match command {
        OrchestrationCommand::New(args) => new(&place, args),
        OrchestrationCommand::Feedback(args) => feedback(&place, args),
        OrchestrationCommand::Validate(args) => validate(&place, args),
        OrchestrationCommand::Repair(args) => repair(&place, args),
        OrchestrationCommand::Run(args) => run::run(&place, args),
    }
}

/// Refuses to go on in the session in which the user cancelled this orchestration: a notification wakes
/// the model there, which has its instructions.
fn refuse_cancelled(place: &OrchestrationContext, id: &OrchestrationId) -> Result<()> {
    let (here, Some(session)) = (&place.here, &place.here.session) else { return Ok(()) };
    if orchestration::driving(&here.home, &here.root, id).is_some() {
        return Ok(());
    }
    let ended = lifecycle::ended(&here.home).into_iter().filter_map(|(_, state)| state.ok());
    let endings = ended
        .filter(|state| state.session_id == *session)
        .filter(|state| state.orchestration().is_some_and(|one| one.id == id.as_str()))
        .filter_map(|state| state.ending);
    match endings.max_by_key(|ending| ending.at) {
        Some(ending) if ending.kind == EndingKind::Cancelled => Err(refused(
            Exit::No,
            format!("session {id} was cancelled; `/ralph-v2 {id}` continues it"),
        )),
        _ => Ok(()),
    }
}

/// The orchestration that a command acts on.
#[derive(Debug, clap::Args)]
pub(crate) struct OrchestrationArg {
    /// The orchestration [default: the only unfinished one]
    #[arg(long, value_name = "ID", add = ArgValueCandidates::new(complete::orchestrations))]
    id: Option<String>,
}

/// The report of one orchestration.
pub(super) fn report(place: &OrchestrationContext, id: Option<&str>) -> Result<Report> {
    let step = next::decided(&place.here, &place.read(&place.find(id)?)?);
    Ok(report::of_session(&step, place.here.now))
}

// `ralph team new`: creates the folder of an orchestration, with the request.

/// What is asked for.
#[derive(Debug, clap::Args)]
pub(crate) struct NewArgs {
    /// What to do; `-` reads standard input
    #[arg(required = true)]
    task: Vec<String>,
    /// Id in the form YYMMDD-hhmmss [default: the local time]
    #[arg(long, value_name = "ID")]
    id: Option<String>,
}

fn new(place: &OrchestrationContext, args: &NewArgs) -> Result<Exit> {
    let task = match args.task.as_slice() {
        [dash] if dash == "-" => given::stdin()?,
        words => words.join(" "),
    };
    if task.trim().is_empty() {
        return Err(refused(Exit::Usage, "the task is missing; type `ralph team new TASK`"));
    }
    is_new(&task)?;
    let id = begin(place, task.trim(), args.id.as_deref())?;
    let next =
        format!("orchestration {id} begun in `{}`\n`ralph team next` says what to do", folder(&id));
    screen::print(&next)
}

/// Refuses a sentence that continues an orchestration: it is no task for a new one.
fn is_new(task: &str) -> Result<()> {
    let Some(said) = which::continued(task) else { return Ok(()) };
    let Some(id) = said.id else { return Err(refused(Exit::Usage, REFUSED)) };
    let what = format!(
        "this continues orchestration {id}: `ralph team feedback --id {id}` takes the feedback, `ralph team run --id {id}` \
         goes on"
    );
    Err(refused(Exit::Usage, what))
}

/// Begins an orchestration under the given name, or under one made from the current second.
fn begin(place: &OrchestrationContext, task: &str, name: Option<&str>) -> Result<OrchestrationId> {
    let Some(name) = name else {
        return place.sessions.begin_now(task, place.here.now).map_err(bad_state);
    };
    let id = named(name)?;
    if place.sessions.begin(&id, task).map_err(bad_state)? {
        return Ok(id);
    }
    Err(refused(
        Exit::No,
        format!("orchestration {id} exists; `ralph next --id {id}` continues it"),
    ))
}

/// Whether this project has an orchestration.
pub(super) fn is_any(here: &Here) -> bool {
    OrchestrationStore::open(&here.root, &here.home).is_ok_and(|store| !store.list().is_empty())
}

// One line for each orchestration of the project.

pub(super) fn list(here: &Here) -> Result<Exit> {
    let place = OrchestrationContext::gather(here)?;
    let mut lines = Vec::new();
    for id in place.sessions.list() {
        // An unreadable orchestration does not hide the others.
        lines.push(match place.read(&id) {
            Ok(seen) => {
                let said = next::decided(here, &seen).output();
                let tasks = said.tasks_summary;
                format!(
                    "{id}  {}  iteration {}  {} of {} {} done  {}",
                    said.current_state,
                    said.iteration,
                    tasks.completed,
                    tasks.total,
                    noun(tasks.total, "task", "tasks"),
                    said.status
                )
            }
            Err(error) => format!("{id}  {}", visible(&format!("{error:#}"))),
        });
    }
    screen::print(if lines.is_empty() { NONE.to_owned() } else { lines.join("\n") }.as_str())
}

/// Sets the status of one task, and the counts in the metadata.
pub(super) fn mark(here: &Here, id: Option<&str>, args: &MarkArgs) -> Result<Exit> {
    let place = &OrchestrationContext::gather(here)?;
    let id = place.find(id)?;
    refuse_cancelled(place, &id)?;
    let NewStatus::Mark(status) = args.status()? else {
        return Err(refused(
            Exit::Usage,
            "a task of an orchestration cannot be blocked or renewed",
        ));
    };
    let task = args.task()?;
    if args.note.as_ref().is_some_and(|note| note.contains(['\n', '\r'])) {
        return Err(refused(Exit::Usage, "a note is one line; write more into the task's report"));
    }
    let is_driven = orchestration::driving(&here.home, &here.root, &id).is_some();
    let changed = place.update(&id, |seen| {
        // If nobody drives the orchestration, nobody else writes the changes that
        // belong before the mark.
        let seen = match is_driven {
            true => seen.clone(),
            false => next::decided(here, seen).after,
        };
        let after = seen.marked(task, status, args.note.as_deref(), clock::local(here.now));
        Ok((after.map_err(|why| refused(Exit::No, why))?, ()))
    })?;
    let counts = changed.after.counts();
    screen::say(&format!(
        "{} {status}; {} of {} {} done",
        visible(task),
        counts.completed,
        counts.total,
        noun(counts.total, "task", "tasks")
    ))
}

// The tasks in the order in which they are carried out, listed or drawn.

const NO_TASKS: &str = "there are no tasks yet; the planner writes them";

pub(super) fn waves(here: &Here, id: Option<&str>) -> Result<Exit> {
    let place = OrchestrationContext::gather(here)?;
    let seen = place.read(&place.find(id)?)?;
    let picture = Picture::from_snapshot(&seen);
    let with_mark = |task: &TaskFile| match picture.status(&task.id) {
        Some(status) => format!("{status} {}", task.id),
        None => task.id.clone(),
    };
    let waves = picture.waves().into_iter().zip(1..);
    let mut rows: Vec<String> = waves
        .map(|(wave, number)| {
            let tasks: Vec<String> = wave.into_iter().map(with_mark).collect();
            format!("wave {number}: {}", tasks.join(", "))
        })
        .collect();
    let flaws = picture.dependency_flaws().into_iter();
    rows.extend(flaws.map(|(task, flaw)| format!("tasks/{task}.md: {flaw}")));
    let text = if rows.is_empty() { NO_TASKS.to_owned() } else { rows.join("\n") };
    screen::print(&visible_lines(&text))
}

pub(super) fn drawing(here: &Here, id: Option<&str>, format: Format) -> Result<Exit> {
    let place = OrchestrationContext::gather(here)?;
    let seen = place.read(&place.find(id)?)?;
    in_format(format, &Picture::from_snapshot(&seen).graph_tasks(), here.now, NO_TASKS)
}

// Messages from the user to an orchestration.

pub(super) fn send(here: &Here, id: Option<&str>, word: SignalKeyword, text: &str) -> Result<Exit> {
    let place = OrchestrationContext::gather(here)?;
    let id = place.find(id)?;
    let sent = place.sessions.send(&id, word, text, place.here.now).map_err(bad_state)?;
    sent.ok_or_else(|| missing(&id))?;
    let when = match word {
        SignalKeyword::Pause => "nothing new is begun until something else is said",
        SignalKeyword::Stop => "no agent is called any more, and it ends",
        SignalKeyword::Steer | SignalKeyword::Info => "the agents that are called next are told",
    };
    screen::say(&format!("{} sent to session {id}; {when}", word.as_str()))
}

fn feedback(place: &OrchestrationContext, args: &OrchestrationArg) -> Result<Exit> {
    let id = place.find(args.id.as_deref())?;
    let next = Picture::from_snapshot(&place.read(&id)?).iteration + 1;
    let path = place.sessions.feedback(&id, next, place.here.now).map_err(bad_state)?;
    let path = path.ok_or_else(|| missing(&id))?;
    screen::say(&format!(
        "write what iteration {next} is to do into `{path}`, and put logs and pictures beside it\n`ralph \
         next` takes it up once it asks for something"
    ))
}

// `ralph team validate` and `repair`: what is wrong with an orchestration's files, and how much
// of it can be repaired.

fn validate(place: &OrchestrationContext, args: &OrchestrationArg) -> Result<Exit> {
    let id = place.find(args.id.as_deref())?;
    let found = findings(&place.read(&id)?);
    match found.is_empty() {
        true => screen::print(&format!("session {id}: nothing is wrong"))?,
        false => screen::print(&visible_lines(&lines(&found)))?,
    };
    Ok(code(&found))
}

fn repair(place: &OrchestrationContext, args: &OrchestrationArg) -> Result<Exit> {
    let id = place.find(args.id.as_deref())?;
    let now = place.here.now;
    let changed = place.update(&id, |seen| {
        let mended = mended(seen, clock::local(now));
        // Keeps the files as they were: damaged or not, they are a person's work.
        let kept = place.sessions.keep(seen, &mended.after, now)?;
        Ok((mended.after, (mended.done, mended.left, kept)))
    })?;
    let (done, left, kept) = changed.what;
    let mut text = match done.is_empty() {
        true => format!("session {id}: there was nothing to put right"),
        false => format!("put right:\n{}", lines(&done)),
    };
    if let Some(folder) = kept {
        text.push_str(&format!("\nas it was: `{}`", visible(&folder.display().to_string())));
    }
    if !left.is_empty() {
        text.push_str(&format!("\nleft:\n{}", lines(&left)));
    }
    screen::print(&visible_lines(&text))?;
    Ok(code(&left))
}

fn lines(found: &[OrchestrationFinding]) -> String {
    found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// `No` if the orchestration must be repaired before it can continue.
fn code(found: &[OrchestrationFinding]) -> Exit {
    if is_invalid(found) { Exit::No } else { Exit::Done }
}
