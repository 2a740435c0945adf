//! Beginning and continuing a planning: what the typed command and the headless driver have in common.

use super::look;
use crate::begin::{facts, find_lost, run, unusable};
use anyhow::Result;
use jiff::Timestamp;
use ralph_core::modes::arguments::LoopRequest;
use ralph_core::modes::ralplan::{self, export};
use ralph_core::modes::start;
use ralph_core::state::{LoopState, Mode, Ralplan, StartedBy, Via};
use ralph_io::store::home::Home;
use ralph_io::store::lifecycle;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::{process::clock, project, project::settings, store::plan_files};
use std::path::{Path, PathBuf};

/// A request to plan, and from where it came.
#[derive(Debug)]
pub struct PlanningRequest<'a> {
    /// Where Ralph keeps its state.
    pub home: &'a Home,
    /// What is to be planned, and the bounds.
    pub request: &'a LoopRequest,
    /// The session to bind the planning to.
    pub session_id: &'a str,
    /// The client's id of the prompt; empty outside a hook.
    pub prompt_id: &'a str,
    /// The project's folder.
    pub project_root: PathBuf,
    /// The registration of the hook that asks.
    pub via: Option<Via>,
}

/// What came of it.
#[derive(Debug)]
pub enum PlanningStart {
    /// Another copy of the hook has answered.
    Answered,
    /// A planning was started; with what the person has to know besides.
    Started(Box<LoopState>, Vec<String>),
    /// One goes on.
    Continues(Box<LoopState>),
    /// Nothing was started, for this reason.
    Refused(String),
}

/// Decides what the request means, and carries it out.
///
/// # Errors
/// When the state or the project's document cannot be written. Nothing was started then.
pub fn begin(asked: &PlanningRequest<'_>) -> Result<PlanningStart> {
    lifecycle::check_session_id(asked.session_id)?;
    let options = &asked.request.options;
    if !options.criteria.is_empty() || options.baseline {
        return Ok(PlanningStart::Refused(
            "a plan brings its own criteria: leave out --ac and --baseline".to_owned(),
        ));
    }
    if let Some(why) = unusable(asked.home, asked.session_id) {
        return Ok(PlanningStart::Refused(why));
    }
    // One request at a time: a prompt may start two copies of the hook.
    let _starting = lifecycle::lock_starts(asked.home)?;
    let now = clock::now();
    if let Some((file, state)) = own(asked)? {
        return go_on(asked, &file, &state, now);
    }
    if let Some(other) = of_project(asked) {
        let id = &other.loop_id;
        let (place, go_on) = match other.client {
            Some(_) => (format!("in session {}", other.session_id), "Go on there"),
            None => {
                ("and has no session".to_owned(), "Go on with `ralph ralplan run` in a terminal")
            }
        };
        return Ok(PlanningStart::Refused(format!(
            "planning {id} is live in this project, {place}: a project has one planning at a time. {go_on}, or end \
             it with `ralph cancel --loop {id}`"
        )));
    }
    create(asked, now)
}

/// The live loop of this session.
fn own(asked: &PlanningRequest<'_>) -> Result<Option<(LoopFile, LoopState)>> {
    let found = match lifecycle::of_session(asked.home, asked.session_id)? {
        None => find_lost(asked.home, asked.session_id)?,
        found => found,
    };
    let Some(file) = found else { return Ok(None) };
    let state = file.read()?.map(|loaded| loaded.state);
    let is_own = |state: &LoopState| state.is_live() && state.session_id == asked.session_id;
    Ok(state.filter(is_own).map(|state| (file, state)))
}

/// Another live planning of this project: they would have one document.
fn of_project(asked: &PlanningRequest<'_>) -> Option<LoopState> {
    let identity = project::identity(&asked.project_root);
    let is_it = |state: &LoopState| {
        let is_planning = state.mode == Mode::Ralplan && state.is_live();
        is_planning && project::identity(Path::new(&state.project_root)) == identity
    };
    lifecycle::all(asked.home).into_iter().filter_map(|(_, state)| state.ok()).find(is_it)
}

fn go_on(
    asked: &PlanningRequest<'_>,
    file: &LoopFile,
    state: &LoopState,
    now: Timestamp,
) -> Result<PlanningStart> {
    if start::answered(state, asked.prompt_id) {
        file.update(|state| state.via = state.via.max(asked.via))?;
        return Ok(PlanningStart::Answered);
    }
    if state.mode != Mode::Ralplan {
        return Ok(PlanningStart::Refused(format!(
            "a loop is live in this session at {}: end it with /ralph-cancel before you plan",
            state.position()
        )));
    }
    if asked.request.task.is_some() {
        return Ok(PlanningStart::Refused(
            "a planning is live in this session: type /ralplan to go on with it, or /ralph-cancel to end it \
             before you plan something else"
                .to_owned(),
        ));
    }
    if plan_files::is_gone(state) {
        return Ok(PlanningStart::Refused(
            "the document of this planning was removed, which cancels it: /ralph-cancel ends it"
                .to_owned(),
        ));
    }
    let updated = file.update(|state| {
        if state.ending.is_some() {
            return None;
        }
        ralplan::take_up(state, now);
        run(state, (asked.session_id, asked.prompt_id), asked.via, now);
        Some(state.clone())
    })?;
    Ok(match updated.flatten() {
        Some(state) => PlanningStart::Continues(Box::new(state)),
        None => PlanningStart::Refused("the planning has just ended".to_owned()),
    })
}

fn create(asked: &PlanningRequest<'_>, now: Timestamp) -> Result<PlanningStart> {
    let root = &asked.project_root;
    let (mut told, left) = (Vec::new(), plan_files::found(root)?);
    let left = left.map(|text| export::read(&text, now));
    let plan = match (&asked.request.task, left) {
        (None, Some(Ok(export::ImportedState::UnderWay(plan)))) => looked_at(*plan, root),
        (None, Some(Err(why))) => {
            return Ok(PlanningStart::Refused(format!(
                "`{}` cannot be taken up: {why}; type /ralplan \"what to plan\"",
                ralplan::MIRROR
            )));
        }
        (None, _) => {
            return Ok(PlanningStart::Refused(
                "nothing is being planned here: type /ralplan \"what to plan\"".to_owned(),
            ));
        }
        (Some(task), left) => {
            if matches!(left, Some(Ok(export::ImportedState::UnderWay(_)) | Err(_))) {
                let aside = plan_files::put_aside(root, now)?;
                told.push(format!(
                    "the document of another planning is kept in {}",
                    aside.display()
                ));
            }
            ralplan::begin(task, now)
        }
    };
    let (mut state, problems) = new(asked, plan, now)?;
    told.extend(problems);
    plan_files::prepare(root)?;
    // The document first: a planning without one counts as cancelled.
    plan_files::show(&state)?;
    lifecycle::create(asked.home, &mut state)?;
    plan_files::show(&state)?;
    Ok(PlanningStart::Started(Box::new(state), told))
}

/// A plan that another tool has written is read at once, so that its planner is asked for what it lacks.
fn looked_at(mut plan: Ralplan, root: &Path) -> Ralplan {
    plan.failed_gates = match look(root, &plan.plan_path) {
        _ if plan.plan_path.is_empty() => Vec::new(),
        Some(seen) => seen.gates,
        None => vec![format!("`{}` is not there; write the plan to this file.", plan.plan_path)],
    };
    plan
}

fn new(
    asked: &PlanningRequest<'_>,
    plan: Ralplan,
    now: Timestamp,
) -> Result<(LoopState, Vec<String>)> {
    let (settings, problems) = settings::read(asked.home, &asked.project_root);
    let facts = facts(&asked.project_root, Vec::new(), StartedBy::Person, now)?;
    let mut state = start::new_loop(&plan.task, &asked.request.options, &settings, facts);
    state.mode = plan.into();
    run(&mut state, (asked.session_id, asked.prompt_id), asked.via, now);
    Ok((state, problems))
}
