//! Starts and continues loops of every mode. Typed commands and the command line share this code.

use crate::modes::{self, ralplan};
use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use ralph_core::modes::arguments::{LoopRequest, Options};
use ralph_core::modes::mode;
use ralph_core::modes::shared;
use ralph_core::modes::start::{self, Facts, StartDecision, StartInputs};
use ralph_core::protocol::client_version::ClientFeature;
use ralph_core::protocol::event::HookEvent;
use ralph_core::state::{
    Criterion, DrivenTurn, Ending, EndingKind, LoopError, LoopState, Mode, Obeyed, Phase,
    Registration, StartedBy,
};
use ralph_core::tasks::plan::{self, Plan, Problem};
use ralph_core::{evidence::pinned, project, views::messages};
use ralph_io::store::home::Home;
use ralph_io::store::lifecycle::{self, ManifestFate};
use ralph_io::store::loop_file::LoopFile;
use ralph_io::{
    client, client::plugins, client::transcript, git::tree, git::tree_id, process::clock,
    process::programs, project::environment, project::identity, project::reader::DiskReader,
    project::settings, store::checks, store::digest, store::journal,
};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A request to start a loop, and its origin.
#[derive(Debug)]
pub struct StartRequest<'a> {
    pub mode: Mode,
    pub home: &'a Home,
    /// The options and the task.
    pub request: &'a LoopRequest,
    /// The session to bind the loop to. If empty, the loop is only planned.
    pub session_id: &'a str,
    /// The client's id of the prompt; empty outside a hook.
    pub prompt_id: &'a str,
    pub project_root: PathBuf,
    pub started_by: StartedBy,
    /// The registration of the hook that asks.
    pub via: Option<Registration>,
}

/// The result of a [`StartRequest`].
#[derive(Debug)]
pub enum StartOutcome {
    /// Another copy of the hook has answered.
    Answered,
    /// A new loop, and notes for the user.
    Started(LoopState, Vec<String>),
    /// A loop that existed before and continues.
    Continues(LoopState),
    /// A planned loop that is not bound to a session yet, and notes for the user.
    Planned(LoopState, Vec<String>),
    /// Nothing was started, for this reason.
    Refused(String),
}

/// Decides what the request means, and carries it out.
///
/// Takes one request at a time. Two registrations start two copies of the prompt hook for one
/// prompt, often at the same moment, and the second must find the loop that the first has started.
///
/// # Errors
/// When the state or the project's files cannot be read or written. No loop was started then.
pub fn begin(asked: &StartRequest<'_>) -> Result<StartOutcome> {
    lifecycle::check_session_id(asked.session_id)?;
    let mode = modes::hooks(&asked.mode);
    if let Some(why) = mode.refused_options(&asked.request.options) {
        return Ok(StartOutcome::Refused(why.to_owned()));
    }
    if let Some(why) = client_is_too_old(asked).or_else(|| foreign_agent(&asked.project_root)) {
        return Ok(StartOutcome::Refused(why));
    }
    let lacking = cannot_start(&options_of(asked)?.criteria, &asked.project_root);
    if !lacking.is_empty() {
        return Ok(StartOutcome::Refused(format!("{}; nothing was started", lacking.join("; "))));
    }
    if let Some(why) = unusable(asked.home, asked.session_id) {
        return Ok(StartOutcome::Refused(why));
    }
    let _starting = lifecycle::lock_starts(asked.home)?;
    let beside = beside(asked);
    let mut begun = mode.begin(asked)?;
    if let StartOutcome::Started(_, told) | StartOutcome::Planned(_, told) = &mut begun {
        told.extend(beside);
        // A round's client starts without mods.
        let is_conversation = asked.via.is_some() && client::round().is_none();
        let mods =
            is_conversation.then(|| client::plugins::overruling(&asked.project_root)).flatten();
        told.extend(mods.map(|mods| format!("{mods} {OVERRULES}")));
        let is_unknown = asked.via.is_some() && client::version().is_none();
        told.extend(is_unknown.then(|| UNKNOWN_VERSION.to_owned()));
    }
    Ok(begun)
}

const OVERRULES: &str = "can end this loop and lift its refusals before a hook is asked; `ralph run` starts without mods, \
    and `ralph doctor` says where each lies";

const UNKNOWN_VERSION: &str = "Claude Code did not report its version (AI_AGENT is not set); run \
    `ralph doctor` to check that it is recent enough";

/// Why the session's client must not start a loop. In another terminal only the session's transcript
/// may tell the version; what is unknown is not refused, since the session's own hooks know it.
fn client_is_too_old(asked: &StartRequest<'_>) -> Option<String> {
    if asked.session_id.is_empty() {
        return None;
    }
    let recorded = || {
        let path = client::transcript(&asked.project_root, asked.session_id)?;
        transcript::client_version(&path)
    };
    let feature = match client::round() {
        Some(_) => ClientFeature::Headless,
        None => ClientFeature::Conversation,
    };
    let is_own = asked.via.is_some() || client::session_id().as_deref() == Some(asked.session_id);
    let own = client::version().filter(|_| is_own);
    let why = feature.refusal(own.or_else(recorded)?)?;
    Some(format!("{why}; nothing was started"))
}

/// Why nothing starts in a project that has put its own agent in the place of one of Ralph's.
pub(crate) fn foreign_agent(root: &Path) -> Option<String> {
    Some(format!("{}; nothing was started", plugins::foreign_agent(root)?))
}

/// The loops that are live, in whichever session, but for those of workers and of other machines.
fn live(home: &Home) -> impl Iterator<Item = LoopState> + use<> {
    let all = lifecycle::all(home).into_iter().filter_map(|(_, state)| state.ok());
    all.filter(|state| {
        state.is_live() && state.parent.is_none() && shared::read_membership(state).is_none()
    })
}

/// Those of this project.
pub(crate) fn live_in_project(home: &Home, root: &Path) -> impl Iterator<Item = LoopState> + use<> {
    let here = identity(root);
    live(home).filter(move |state| identity(Path::new(&state.project_root)) == here)
}

/// Starts or continues a plain loop.
pub(crate) fn begin_plain(asked: &StartRequest<'_>) -> Result<StartOutcome> {
    let bound_file = file_of(asked.home, asked.session_id)?;
    let bound = bound_file.as_ref().map(|file| lifecycle::read_named(asked.home, file));
    let bound = bound.transpose()?.flatten().map(|loaded| loaded.state);
    if let Some(why) = bound.as_ref().and_then(|state| cannot_take_over(state, asked)) {
        return Ok(StartOutcome::Refused(why));
    }
    let mut project_file = lifecycle::of_project(asked.home, &asked.project_root)?;
    let mut project = read(project_file.as_ref())?;
    if let Some(planning) = project.as_ref().filter(|state| is_agreed(state, asked)) {
        // The process that took the user's consent died before it planned the loop.
        if let Err(why) = ralplan::plan_the_loop(asked.home, planning) {
            let why = format!("the plan that was agreed to cannot be carried out: {why:#}");
            return Ok(StartOutcome::Refused(why));
        }
        project_file = lifecycle::of_project(asked.home, &asked.project_root)?;
        project = read(project_file.as_ref())?;
    }
    if asked.request.task.is_none()
        && project.as_ref().is_none_or(|state| state.phase != Phase::Planned)
    {
        let live = live_in_project(asked.home, &asked.project_root);
        project = live.max_by_key(|state| state.created_at).or(project);
    }
    let seen = StartInputs {
        bound: bound.as_ref(),
        project: project.as_ref(),
        prompt_id: asked.prompt_id,
    };
    match start::decide(asked.request, seen) {
        StartDecision::Answered => answered(asked, bound_file.as_ref()),
        StartDecision::Refuse(why) => Ok(StartOutcome::Refused(why)),
        StartDecision::New(task) => create(asked, &task),
        StartDecision::Replace(task) => match replace(asked, bound_file.as_ref())? {
            true => create(asked, &task),
            false => Ok(StartOutcome::Refused(
                "the loop of this session has just begun; end it with /ralph-cancel before you \
                 start another"
                    .to_owned(),
            )),
        },
        StartDecision::Planned => take_up(asked, project_file.as_ref(), true),
        StartDecision::Continue => take_up(asked, bound_file.as_ref(), false),
    }
}

/// Why nothing can be started in this session: it has a loop that cannot be used. A second loop
/// would hide that one.
pub(crate) fn unusable(home: &Home, session_id: &str) -> Option<String> {
    if session_id.is_empty()
        || !lifecycle::is_bound(home, session_id)
        || lifecycle::by_its_state(home, session_id).is_some()
    {
        return None;
    }
    let why = match home.check().and_then(|()| lifecycle::of_session(home, session_id)) {
        Err(_) if !home.root().exists() => return None,
        Err(error) => format!("{error:#}"),
        Ok(None) => return None,
        // The loop had ended.
        Ok(Some(file)) if file.path().starts_with(home.archive()) => return None,
        Ok(Some(file)) => match file.read() {
            Err(error) => format!("{error:#}"),
            Ok(None) => format!("the state file `{}` is gone", file.path().display()),
            Ok(Some(loaded)) => not_its(home, &file, &loaded.state, session_id)?,
        },
    };
    Some(messages::no_start(&why, &home.root().to_string_lossy()))
}

fn not_its(home: &Home, file: &LoopFile, state: &LoopState, session_id: &str) -> Option<String> {
    let path = file.path().display();
    if let Some(what) = state.strangeness() {
        return Some(format!("the state `{path}` cannot be understood: {what}"));
    }
    let is_over = state.ending.is_some() || state.phase == Phase::Ended;
    if state.is_of(session_id) || is_over || home.single_manifest().is_some() {
        return None;
    }
    let has_left = lifecycle::has_left(home, file, state, session_id);
    (!has_left).then(|| format!("the state `{path}` names another session"))
}

/// The live loop of a session.
pub(crate) fn own(home: &Home, session_id: &str) -> Result<Option<(LoopFile, LoopState)>> {
    let Some(file) = file_of(home, session_id)? else { return Ok(None) };
    let state = read(Some(&file))?;
    let is_own = |state: &LoopState| state.is_live() && state.session_id == session_id;
    Ok(state.filter(is_own).map(|state| (file, state)))
}

fn file_of(home: &Home, session_id: &str) -> Result<Option<LoopFile>> {
    match lifecycle::of_session(home, session_id)? {
        None => find_lost(home, session_id),
        found => Ok(found),
    }
}

/// Finds a live loop whose state names a session without an entry, and binds it again. The entry is
/// missing if a process died after it wrote the state.
fn find_lost(home: &Home, session_id: &str) -> Result<Option<LoopFile>> {
    if session_id.is_empty() {
        return Ok(None);
    }
    let is_of_session = |state: &LoopState| state.is_live() && state.session_id == session_id;
    let mut all = lifecycle::all(home).into_iter();
    let lost = all.find(|(_, state)| state.as_ref().is_ok_and(is_of_session));
    let Some((file, _)) = lost else { return Ok(None) };
    lifecycle::bind(home, &file, session_id)?;
    Ok(Some(file))
}

/// One message for each criterion whose command cannot start, with what to do about it.
pub fn cannot_start(criteria: &[Criterion], project_root: &Path) -> Vec<String> {
    let lacks = |criterion: &Criterion| {
        let why = programs::cannot_start(&criterion.verification_command, project_root)?;
        Some(format!("{}: {why}", criterion.id))
    };
    criteria.iter().filter_map(lacks).collect()
}

/// True if the user agreed to this plan, no loop followed it, and the request names no other task.
fn is_agreed(state: &LoopState, asked: &StartRequest<'_>) -> bool {
    let is_approved = |ending: &Ending| ending.kind == EndingKind::Approved;
    asked.request.task.is_none()
        && state.ralplan().is_some()
        && state.ending.as_ref().is_some_and(is_approved)
}

/// Why a typed `/ralph` cannot take over the loop that one manifest file names for all sessions.
fn cannot_take_over(state: &LoopState, asked: &StartRequest<'_>) -> Option<String> {
    let is_anothers = state.session_id != asked.session_id;
    if asked.session_id.is_empty() || !state.is_live() || (state.frozen.is_some() && !is_anothers) {
        return None;
    }
    let is_free = match &state.client {
        Some(client) => !client::is_alive(client),
        // Another tool wrote it.
        None => state.frozen.is_none(),
    };
    let root = Path::new(&state.project_root);
    let is_elsewhere = root != Path::new("") && identity(root) != identity(&asked.project_root);
    if is_anothers && (asked.request.task.is_some() || is_elsewhere || !is_free) {
        return Some(format!(
            "the manifest file already names a live loop of another session, {} at {}: end that one \
             first (`ralph cancel --loop {0}`), or unset RALPH_MANIFEST so that each session has an \
             entry of its own",
            state.loop_id,
            state.position()
        ));
    }
    let problems = adopted(state.clone()).err()?.join("; ");
    Some(format!("{problems}; nothing was started: correct the state file"))
}

/// The state as it can be adopted.
///
/// # Errors
/// What prevents that, each with its place.
pub fn adopted(state: LoopState) -> Result<LoopState, Vec<String>> {
    let told = |problems: Vec<Problem>| -> Vec<String> {
        problems.iter().map(ToString::to_string).collect()
    };
    let state = plan::adopted(state).map_err(told)?;
    let lacking = cannot_start(&state.acceptance_criteria, Path::new(&state.project_root));
    if lacking.is_empty() { Ok(state) } else { Err(lacking) }
}

fn read(file: Option<&LoopFile>) -> Result<Option<LoopState>> {
    Ok(file.map(LoopFile::read).transpose()?.flatten().map(|loaded| loaded.state))
}

/// Another copy of the hook has answered the same prompt.
pub(crate) fn answered(asked: &StartRequest<'_>, file: Option<&LoopFile>) -> Result<StartOutcome> {
    if let (Some(file), Some(via)) = (file, asked.via) {
        file.update(|state| state.via = state.via.max(Some(via)))?;
    }
    Ok(StartOutcome::Answered)
}

/// Ends a loop that had no event since its start, to make room for another task. Returns false if
/// the loop has begun since it was read.
fn replace(asked: &StartRequest<'_>, file: Option<&LoopFile>) -> Result<bool> {
    let Some(file) = file else { return Ok(true) };
    let now = clock::now();
    let outcome = file.update(|state| {
        // A loop that has ended meanwhile keeps that ending.
        let ends = state.ending.is_none() && !state.touched;
        if ends {
            state.end(EndingKind::Cancelled, REPLACED, now);
        }
        (ends.then(|| state.clone()), !state.is_live())
    })?;
    let (ended, is_over) = outcome.unwrap_or((None, true));
    if let Some(state) = ended {
        let away = lifecycle::put_away(asked.home, file, &state, ManifestFate::Remove)?;
        note_replaced(asked, &away.file, &state, now);
    }
    Ok(is_over)
}

const REPLACED: &str = "replaced before it had begun";

/// Writes to the journal of the old loop; the new loop's journal does not mention it. A write error
/// is ignored.
fn note_replaced(asked: &StartRequest<'_>, file: &LoopFile, state: &LoopState, began: Timestamp) {
    let event = match asked.via {
        Some(_) => HookEvent::UserPromptExpansion.name(),
        None => "ralph start".to_owned(),
    };
    let task = asked.request.task.as_deref().unwrap_or_default();
    let entry: journal::JournalEntry = journal::JournalEntry {
        at: clock::now(),
        event,
        decision: "ended".to_owned(),
        why: format!("{}: {REPLACED}", EndingKind::Cancelled),
        position: state.position(),
        prompt_id: asked.prompt_id.to_owned(),
        input: digest::of_bytes(task.as_bytes()),
        seen: Value::Null,
        record: None,
        took_us: u64::try_from(clock::now().duration_since(began).as_micros()).unwrap_or(0),
    };
    let _ = journal::append(file.folder(), &entry);
}

fn create(asked: &StartRequest<'_>, task: &str) -> Result<StartOutcome> {
    let (mut state, problems) = plan(asked, task)?;
    for problem in problems {
        note_problem(&mut state, problem);
    }
    let is_bound = !asked.session_id.is_empty();
    state.baseline_pending = wants_baseline(&state, &asked.request.options);
    if let Some(work) = &asked.request.parallel {
        work.apply(&mut state);
    }
    if is_bound {
        let now = clock::now();
        pinned::freeze(&mut state, now);
        run(&mut state, asked.session_id, asked.prompt_id, asked.via, now);
    }
    let file = lifecycle::create(asked.home, &mut state)?;
    if is_bound {
        note_start(&file, asked);
    }
    let outcome = if is_bound { StartOutcome::Started } else { StartOutcome::Planned };
    Ok(outcome(state, Vec::new()))
}

/// Warns of a loop that works in the same folder.
fn beside(asked: &StartRequest<'_>) -> Option<String> {
    let other = live(asked.home).find(|other| {
        other.session_id != asked.session_id
            && other.project_root == asked.project_root.to_string_lossy()
    })?;
    Some(format!(
        "Loop {} is live in this folder, too: the edits of one make what the other has proven out \
         of date; a `git worktree` for one of them keeps them apart.",
        other.loop_id
    ))
}

/// Records what the checks after an edit compare with. Without the record they compare with `HEAD`.
pub(crate) fn note_start(file: &LoopFile, asked: &StartRequest<'_>) {
    let _ = checks::note_start(file.folder(), &asked.project_root);
    // A folder outside a repository may hold any number of files, and a prompt must not wait for a
    // full listing. If the tree was not recorded here, the first run of a criterion records it.
    if tree::repository_root(&asked.project_root).is_none() {
        return;
    }
    let _ = tree_id::note_begun(&file.folder().join("begun"), &asked.project_root);
}

fn note_problem(state: &mut LoopState, message: String) {
    let at = state.created_at;
    state.errors.push(LoopError { at, message });
}

/// The loop that the request would start, without writing it.
///
/// # Errors
/// When the project's path is not valid UTF-8.
pub fn preview(asked: &StartRequest<'_>) -> Result<LoopState> {
    Ok(plan(asked, asked.request.task.as_deref().unwrap_or_default())?.0)
}

/// The new loop, and the problems found in its settings or in the project's commands.
fn plan(asked: &StartRequest<'_>, task: &str) -> Result<(LoopState, Vec<String>)> {
    settings::refuse_mistakes(&asked.project_root)?;
    let (settings, mut problems) = settings::read(asked.home, &asked.project_root);
    let options = options_of(asked)?;
    let discovered = discovered(asked, options);
    // The user did not ask for these commands, so a missing program does not refuse the task.
    problems.extend(cannot_start(&discovered, &asked.project_root));
    let started_by = asked.started_by.clone();
    let facts = facts(&asked.project_root, discovered, started_by, clock::now())?;
    Ok((start::new_loop(task, options, |state| settings.apply(state), facts), problems))
}

/// Only a person may set criteria: a request that the model passes on cannot carry any.
pub(crate) fn options_of<'a>(asked: &'a StartRequest<'_>) -> Result<&'a Options> {
    let options = &asked.request.options;
    if asked.started_by == StartedBy::Model && !options.criteria.is_empty() {
        bail!(
            "--ac counts only when the user types it and Ralph's prompt hook is registered: run \
             `ralph install`, or start without --ac and take the project's own commands"
        );
    }
    Ok(options)
}

/// What a new loop is built from, apart from the request.
pub(crate) fn facts(
    root: &Path,
    discovered: Vec<Criterion>,
    started_by: StartedBy,
    now: Timestamp,
) -> Result<Facts> {
    let project_root = root.to_str().context("the project's path is not valid UTF-8")?.to_owned();
    Ok(Facts { now, project_root, discovered, started_by })
}

/// The source of a plan that becomes a loop.
#[derive(Debug)]
pub struct PlannedFrom<'a> {
    pub home: &'a Home,
    pub root: &'a Path,
    pub goal: &'a str,
    pub started_by: StartedBy,
}

/// Builds a planned loop and does not write it. A plan without criteria takes the project's
/// commands.
///
/// # Errors
/// When the project's path is not valid UTF-8.
pub fn planned_from(from: &PlannedFrom<'_>, mut plan: Plan) -> Result<LoopState> {
    if plan.criteria.is_empty() {
        plan.criteria = project::criteria(&DiskReader::new(from.root));
    }
    let (settings, problems) = settings::read(from.home, from.root);
    let now = clock::now();
    let facts = facts(from.root, Vec::new(), from.started_by.clone(), now)?;
    let mut state =
        start::new_loop(from.goal, &Options::default(), |state| settings.apply(state), facts);
    plan.fill(&mut state);
    state.errors.extend(problems.into_iter().map(|message| LoopError { at: now, message }));
    Ok(state)
}

fn discovered(asked: &StartRequest<'_>, options: &Options) -> Vec<Criterion> {
    match options.criteria.is_empty() {
        true => project::criteria(&DiskReader::new(&asked.project_root)),
        false => Vec::new(),
    }
}

pub(crate) fn wants_baseline(state: &LoopState, options: &Options) -> bool {
    options.baseline && !state.acceptance_criteria.is_empty()
}

/// Makes the loop run in this session.
pub(crate) fn run(
    state: &mut LoopState,
    session_id: &str,
    prompt_id: &str,
    via: Option<Registration>,
    now: Timestamp,
) {
    state.session_id = session_id.to_owned();
    state.started_at.get_or_insert(now);
    if state.phase == Phase::Planned {
        state.phase = state.resume_phase.take().unwrap_or(Phase::Implementation);
    }
    state.via = via;
    state.client = client::process();
    // A shell command has the shell's environment, not the client's.
    if via.is_some() && state.environment.is_none() {
        state.environment = Some(environment::record());
    }
    // The prompt of a round is Ralph's.
    let may_be_typed = !prompt_id.is_empty() && client::round().is_none();
    state.obeyed = may_be_typed.then(|| Obeyed {
        prompt_id: prompt_id.to_owned(),
        words: mode::rules(&state.mode).resume_command(state).to_owned(),
        planning: None,
    });
    state.turn = match prompt_id {
        "" => None,
        id => Some(DrivenTurn::typed(id, now)),
    };
}

/// Starts the project's planned loop in this session, or continues the session's own loop.
fn take_up(
    asked: &StartRequest<'_>,
    file: Option<&LoopFile>,
    is_planned: bool,
) -> Result<StartOutcome> {
    let Some(file) = file else { bail!("the loop is gone") };
    if is_planned && asked.session_id.is_empty() {
        let Some(state) = read(Some(file))? else { bail!("the loop is gone") };
        return Ok(StartOutcome::Planned(state, Vec::new()));
    }
    let options = options_of(asked)?;
    let now = clock::now();
    let taken = file.update(|state| {
        // Since the loop was read, another session may have taken it, or the user may have ended it
        // from a terminal.
        if (is_planned && state.phase != Phase::Planned) || state.ending.is_some() {
            return None;
        }
        let is_in_place = lifecycle::is_in_place(asked.home, file);
        if is_in_place {
            lifecycle::complete(file, state, &asked.project_root);
        }
        let was_begun = state.started_at.is_some() && (state.frozen.is_some() || !is_in_place);
        state.resume(now);
        options.fill(state);
        if !was_begun || !options.criteria.is_empty() {
            pinned::freeze(state, now);
        }
        state.baseline_pending |= wants_baseline(state, options);
        // A plain /ralph works on the tasks itself.
        state.parallel = asked.request.parallel.is_some() || (state.parallel && was_begun);
        run(state, asked.session_id, asked.prompt_id, asked.via, now);
        Some((state.clone(), was_begun))
    })?;
    let Some((state, was_begun)) = taken.flatten() else {
        let why = match is_planned {
            true => "the planned loop was started in another session, or cancelled",
            false => "the loop has just ended",
        };
        return Ok(StartOutcome::Refused(why.to_owned()));
    };
    lifecycle::bind(asked.home, file, asked.session_id)?;
    if !was_begun {
        note_start(file, asked);
    }
    Ok(if was_begun {
        StartOutcome::Continues(state)
    } else {
        StartOutcome::Started(state, Vec::new())
    })
}

#[cfg(test)]
mod tests;
