//! Starts and continues a planning run. The typed command and the headless driver share this code.

use super::inspect_plan;
use crate::begin::{StartOutcome, StartRequest, answered, facts, live_in_project, own, run};
use anyhow::Result;
use jiff::Timestamp;
use ralph_core::modes::ralplan::{self, export};
use ralph_core::modes::{mode, start};
use ralph_core::state::{LoopState, Mode, RalplanState, StartedBy};
use ralph_io::store::home::Home;
use ralph_io::store::lifecycle;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::store::wall_flag::WallFlag;
use ralph_io::{client, process::clock, project, project::settings, store::plan_files};
use std::path::Path;

/// Starts a planning run, or continues the session's own.
pub(super) fn begin(asked: &StartRequest<'_>) -> Result<StartOutcome> {
    let now = clock::now();
    if let Some((file, state)) = own(asked.home, asked.session_id)? {
        return go_on(asked, &file, &state, now);
    }
    // The two would share one document.
    let mut live = live_in_project(asked.home, &asked.project_root);
    if let Some(other) = live.find(|state| state.mode == Mode::Ralplan) {
        let id = &other.loop_id;
        let (place, go_on) = match other.client {
            Some(_) => (format!("in session {}", other.session_id), "Continue there"),
            None => {
                ("and has no session".to_owned(), "Continue with `ralph ralplan run` in a terminal")
            }
        };
        return Ok(StartOutcome::Refused(format!(
            "planning {id} is live in this project, {place}; a project has one planning at a time. \
             {go_on}, or end it with `ralph cancel --loop {id}`"
        )));
    }
    create(asked, now)
}

fn go_on(
    asked: &StartRequest<'_>,
    file: &LoopFile,
    state: &LoopState,
    now: Timestamp,
) -> Result<StartOutcome> {
    if start::answered(state, asked.prompt_id) {
        return answered(asked, Some(file));
    }
    let refused = |why: String| Ok(StartOutcome::Refused(why));
    if state.mode != Mode::Ralplan {
        return refused(format!(
            "a loop is live in this session at {}: end it with /ralph-cancel before you plan",
            state.position()
        ));
    }
    let row = mode::rules(&state.mode);
    if let Some(why) = row.blocks_start(state, true).filter(|_| asked.request.task.is_some()) {
        return refused(why);
    }
    if plan_files::is_gone(state) {
        return refused(
            "the document of this planning was removed, which cancels it: /ralph-cancel ends it"
                .into(),
        );
    }
    let updated = file.update(|state| {
        state.ending.is_none().then(|| {
            row.resume(state, now);
            run(state, asked.session_id, asked.prompt_id, asked.via, now);
            state.clone()
        })
    })?;
    match updated.flatten() {
        Some(state) => Ok(StartOutcome::Continues(state)),
        None => refused("the planning has just ended".into()),
    }
}

fn create(asked: &StartRequest<'_>, now: Timestamp) -> Result<StartOutcome> {
    let root = &asked.project_root;
    let mut told = Vec::new();
    let left = document_of_another(asked.home, root)?.map(|text| export::read(&text, now));
    let plan = match (&asked.request.task, left) {
        (None, Some(Ok(Some(plan)))) => looked_at(plan, root),
        (None, Some(Err(why))) => {
            return Ok(StartOutcome::Refused(format!(
                "could not continue `{}`: {why}; type /ralplan \"what to plan\"",
                ralplan::MIRROR
            )));
        }
        (None, _) => {
            let why = "nothing is being planned here: type /ralplan \"what to plan\"";
            return Ok(StartOutcome::Refused(why.to_owned()));
        }
        (Some(task), left) => {
            if left.is_some_and(|read| read != Ok(None)) {
                let aside = plan_files::put_aside(root, now)?.display().to_string();
                told.push(format!("the document of another planning is kept in {aside}"));
            }
            ralplan::begin(task, now)
        }
    };
    settings::refuse_mistakes(root)?;
    let (settings, problems) = settings::read(asked.home, root);
    let facts = facts(root, Vec::new(), StartedBy::Person, now)?;
    let mut state =
        start::new_loop(&plan.task, &asked.request.options, |state| settings.apply(state), facts);
    state.mode = plan.into();
    run(&mut state, asked.session_id, asked.prompt_id, asked.via, now);
    told.extend(problems);
    // The wall stands around what begins after it.
    told.extend(client::process().iter().flat_map(client::running_shells).map(|(pid, _)| {
        format!("a command that began before runs on without the wall: end process {pid} if it may change anything")
    }));
    plan_files::prepare(root)?;
    // Write the document first: a planning run without one counts as cancelled.
    plan_files::show(&state)?;
    let file = lifecycle::create(asked.home, &mut state)?;
    // Also for what runs before the first tool call; where the session's shell has no line, nobody asks for it.
    if !asked.session_id.is_empty() {
        WallFlag::for_session(asked.home, asked.session_id)?.raise(Some(&file))?;
    }
    plan_files::show(&state)?;
    Ok(StartOutcome::Started(state, told))
}

/// The document, unless it shows a planning of this home that has ended: a cut between the end and its
/// document leaves one that looks live, which is written anew from the state.
fn document_of_another(home: &Home, root: &Path) -> Result<Option<String>> {
    let Some(text) = plan_files::found(root)? else { return Ok(None) };
    let shown = export::loop_id(&text).and_then(|id| lifecycle::read_by_id(home, &id).ok()?);
    let is_ours = |state: &LoopState| {
        let top = Path::new(&state.project_root);
        !state.is_live() && project::identity(top) == project::identity(root)
    };
    match shown.map(|(_, loaded)| loaded.state).filter(is_ours) {
        Some(ended) => plan_files::show(&ended).map(|()| None),
        None => Ok(Some(text)),
    }
}

/// Reads a plan that another tool wrote, so that its planner is asked for the missing parts.
fn looked_at(mut plan: RalplanState, root: &Path) -> RalplanState {
    plan.failed_gates = match inspect_plan(root, &plan.plan_path) {
        _ if plan.plan_path.is_empty() => Vec::new(),
        Some(seen) => seen.gates,
        None => vec![format!("`{}` is not there; write the plan to this file.", plan.plan_path)],
    };
    plan
}
