//! How a machine begins to take part: what it refuses, and the loop that is its part.

use super::{SharedOrder, take_part};
use crate::command::context_dir::{Here, note};
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::screen;
use crate::runs::options::{self, ClientOptions};
use crate::runs::{build, client, parallel};
use anyhow::{Context, Result};
use ralph_core::modes::arguments::Options;
use ralph_core::modes::shared::Membership;
use ralph_core::modes::{build as rules, shared as member};
use ralph_core::state::LoopState;
use ralph_core::tasks::shared::names::Namespace;
use ralph_core::tasks::shared::text::Name;
use ralph_core::tasks::shared::view::View;
use ralph_core::text::plural::counted;
use ralph_core::views::shared as views;
use ralph_hooks::begin;
use ralph_io::git::shared::{Follower, SharedPlace, Trusted};
use ralph_io::git::worker_base;
use ralph_io::process::wait_any::Interrupts;
use ralph_io::project::{environment, settings, user_files};
use ralph_io::store::lifecycle;
use ralph_io::store::loop_file::LoopFile;
use std::path::Path;

/// How this machine takes part.
pub(crate) struct SharedOptions<'a> {
    pub(crate) client: &'a ClientOptions,
    /// The most workers at once; `None` for the plan's limit.
    pub(crate) workers: Option<u32>,
    /// The most rounds; 0 means no limit.
    pub(crate) rounds: u32,
    /// The limits of this machine's part.
    pub(crate) limits: Options,
}

/// Takes part in a shared loop until it ends or this machine's part pauses.
pub(crate) fn run(here: &Here, place: SharedPlace, how: &SharedOptions<'_>) -> Result<Exit> {
    let view = match place.read() {
        Ok(view) => view,
        Err(error) => known_view(here, &place).ok_or(error)?,
    };
    let id = place.space().loop_id();
    if let Some(end) = &view.ledger.end {
        let reason = screen::visible(end.reason.as_str());
        screen::say(&format!("shared loop {id} has ended: {} ({reason})", end.ending))?;
        return Ok(if end.ending.is_completion() { Exit::Done } else { Exit::No });
    }
    is_trusted(here, &place, &view)?;
    let base = worker_base::inspect_repository(&here.root)?;
    base.map_err(|why| refused(Exit::No, why.to_string()))?;
    let lacking = begin::cannot_start(&view.ledger.plan.acceptance_criteria, &here.root);
    if !lacking.is_empty() {
        return Err(refused(Exit::No, format!("{}; nothing was started", lacking.join("; "))));
    }
    let settings = settings::read(&here.home, &here.root).0;
    let known = part_of(here, id.as_str());
    if let Some((_, state)) = &known {
        how.client.keep(here, state);
    }
    client::CLIENT.program()?;
    let mode = how.client.ready(here, "build", &build::needs())?;
    let _alone = place.lock_machine().map_err(|_| {
        let message = format!("another `ralph run --shared` of this clone takes part in loop {id}");
        refused(Exit::No, message)
    })?;
    let logs = options::logs(here, "shared");
    user_files::make_folders(&logs, 0o700)?;
    let file = match known {
        Some((file, _)) => file,
        None => create(here, &place, &view)?,
    };
    let freed = parallel::free(here, &file)?;
    let state = take_up(here, &file, how)?;
    build::announce(&state, &logs, &format!("taking part in shared loop {id} with"), &mode);
    for line in freed.into_iter().chain(parallel::kept(&state)) {
        screen::tell(&screen::visible(&line));
    }
    let workers = state.limits.max_workers.max(1) as usize;
    screen::tell(&format!(
        "machine {}, at most {}, {} of {} merged",
        place.machine()?,
        counted(workers, "worker", "workers"),
        view.ledger.merged.len(),
        counted(view.ledger.plan.task_graph.len(), "task", "tasks"),
    ));
    let interrupts = Interrupts::catch()?;
    let order = SharedOrder {
        here,
        file: &file,
        client: how.client,
        place,
        settings: settings.shared(),
        logs,
        workers,
        rounds: how.rounds,
    };
    take_part(&order, &interrupts)
}

/// The loop as this machine knows it, if it takes part: a remote that does not answer does not end
/// that.
fn known_view(here: &Here, place: &SharedPlace) -> Option<View> {
    part_of(here, place.space().loop_id().as_str())?;
    Follower::new(place.records()).into_view().ok()
}

/// The place of the loop in which this clone takes part, whether or not the remote answers. `id` may be
/// empty.
pub(crate) fn known_place(here: &Here, id: &str, remote: &str) -> Option<SharedPlace> {
    let mut parts = parts(here);
    parts.retain(|(_, _, of)| id.is_empty() || of.loop_id == id);
    let [(_, _, of)] = parts.as_slice() else { return None };
    let name = Name::try_from(of.loop_id.clone()).ok()?;
    let places = [false, true].map(|is_below_heads| {
        let space = Namespace::new(&name, is_below_heads);
        SharedPlace::new(&here.home, &here.root, remote, space)
    });
    places.into_iter().find(|place| Follower::new(place.records()).into_view().is_ok())
}

/// Refuses a plan whose commands the user has not read.
fn is_trusted(here: &Here, place: &SharedPlace, view: &View) -> Result<()> {
    let (id, digest) = (place.space().loop_id(), place.digest(&view.ledger)?);
    let why = match place.trusted(&here.home, &view.ledger, &digest) {
        Trusted::Yes => return Ok(()),
        Trusted::No => format!(
            "the plan of shared loop {id} runs commands on this machine, and you have not trusted it here"
        ),
        Trusted::Former => format!(
            "you trusted the plan of shared loop {id} with an earlier version of Ralph, without the commit \
             that it starts from"
        ),
        Trusted::Another(before) => views::replaced(id, &before),
    };
    let message =
        format!("{why}; `ralph trust --shared {id}` shows it and asks (its digest is {digest})");
    Err(refused(Exit::No, message))
}

/// This clone's part of a shared loop.
fn part_of(here: &Here, shared: &str) -> Option<(LoopFile, LoopState)> {
    let mut parts = parts(here).into_iter();
    parts.find(|(_, _, of)| of.loop_id == shared).map(|(file, state, _)| (file, state))
}

/// This clone's parts of shared loops.
fn parts(here: &Here) -> Vec<(LoopFile, LoopState, Membership)> {
    let identity = here.project();
    let all = lifecycle::all(&here.home).into_iter();
    all.filter_map(|(file, state)| {
        let state = state.ok().filter(LoopState::is_live)?;
        let of = member::read_membership(&state)?;
        let is_here = ralph_io::project::identity(Path::new(&state.project_root)) == identity;
        is_here.then_some((file, state, of))
    })
    .collect()
}

fn create(here: &Here, place: &SharedPlace, view: &View) -> Result<LoopFile> {
    let membership = Membership {
        loop_id: place.space().loop_id().to_string(),
        remote: place.remote().to_owned(),
        // Messages from before concern workers that this machine never had.
        messages: view.ledger.signals.len(),
    };
    let mut state = member::begin(view, &membership);
    let (max_iterations, limits) = (state.max_iterations, state.limits.clone());
    settings::read(&here.home, &here.root).0.apply(&mut state);
    (state.max_iterations, state.limits) = (max_iterations, limits);
    state.project_root = here.root.to_string_lossy().into_owned();
    state.created_at = here.now;
    let file = lifecycle::create(&here.home, &mut state)?;
    note(here, &file, &state, super::COMMAND, "joined", &membership.loop_id);
    Ok(file)
}

/// Starts or continues this machine's part.
fn take_up(here: &Here, file: &LoopFile, how: &SharedOptions<'_>) -> Result<LoopState> {
    let state = file.update(|state| {
        environment::take(state);
        rules::go_on(state, here.now);
        how.client.bind(here, state);
        state.session_id.clear();
        (state.turn, state.client, state.via) = (None, None, None);
        how.limits.fill(state);
        if let Some(most) = how.workers {
            state.limits.max_workers = most;
        }
        state.clone()
    });
    let state = state.map_err(bad_state)?.context("the loop is gone")?;
    note(here, file, &state, super::COMMAND, "started", "the user started it in a terminal");
    Ok(state)
}
