//! Chooses the loop for a command: the named one, the session's own, or the project's only one.
//!
//! If several remain, the user is asked; without a terminal the command changes nothing.

use crate::command::complete;
use crate::command::context_dir::Here;
use crate::command::exit::bad_state;
use crate::command::screen;
use anyhow::{Context, Result, bail};
use clap_complete::engine::ArgValueCandidates;
use jiff::SignedDuration;
use ralph_core::modes::mode;
use ralph_core::state::{LoopState, Phase};
use ralph_io::store::loop_file::{Loaded, LoopFile};
use ralph_io::{project, store::lifecycle, store::notice};
use std::path::Path;

/// The loop that a command acts on.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct LoopArgs {
    /// The loop of this Claude Code session
    #[arg(long, value_name = "ID", conflicts_with = "loop_id", add = ArgValueCandidates::new(complete::sessions))]
    pub(crate) session: Option<String>,
    /// The loop with this id
    #[arg(long = "loop", value_name = "ID", id = "loop_id", add = ArgValueCandidates::new(complete::loops))]
    pub(crate) loop_id: Option<String>,
}

impl LoopArgs {
    /// These, or the id of a loop that was given without `--loop`.
    pub(crate) fn or(mut self, positional: Option<&String>) -> LoopArgs {
        self.loop_id = self.loop_id.or_else(|| positional.cloned());
        self
    }

    /// True if the options name a loop.
    pub(crate) fn is_named(&self) -> bool {
        self.session.is_some() || self.loop_id.is_some()
    }
}

/// The loop that a command shows, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct ViewArgs {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) which: LoopArgs,
}

/// A loop that was found.
#[derive(Debug)]
pub(crate) struct FoundLoop {
    pub(crate) file: LoopFile,
    /// The state at the time of the search.
    pub(crate) state: LoopState,
    /// The file's bytes at that time, or empty if they were not kept. With them, a following change
    /// need not read a large state again.
    text: Vec<u8>,
}

impl FoundLoop {
    /// The loop with this id.
    pub(crate) fn by_id(here: &Here, loop_id: &str) -> Result<FoundLoop> {
        let found = lifecycle::read_by_id(&here.home, loop_id).map_err(bad_state)?;
        let (file, loaded) = found.context("the loop is gone")?;
        Ok(FoundLoop::at(file, loaded))
    }

    /// A loop whose file content was not kept.
    pub(crate) fn seen(file: LoopFile, state: LoopState) -> FoundLoop {
        FoundLoop { file, state, text: Vec::new() }
    }

    fn at(file: LoopFile, loaded: Loaded) -> FoundLoop {
        // The file does not contain the last good copy.
        let text = if loaded.warning.is_none() { loaded.text } else { Vec::new() };
        FoundLoop { file, state: loaded.state, text }
    }

    /// Changes the state in one step, as it is then.
    pub(crate) fn update<T>(self, change: impl FnOnce(&mut LoopState) -> T) -> Result<Option<T>> {
        if self.text.is_empty() {
            return self.file.update(change);
        }
        let seen = Loaded { state: self.state, warning: None, text: self.text };
        self.file.update_seen(seen, change)
    }
}

/// Which loops a command can work with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoopFilter {
    /// Running or paused.
    Live,
    /// Running or paused; otherwise the project's planned loop.
    LiveOrPlanned,
    /// Like `LiveOrPlanned`, but only loops with tasks, which a refinement lacks.
    WithTasks,
    /// The project's planned loop.
    Planned,
}

impl LoopFilter {
    fn is_meant(self, state: &LoopState) -> bool {
        match self {
            LoopFilter::Live => state.is_live(),
            LoopFilter::LiveOrPlanned => state.is_live() || state.phase == Phase::Planned,
            LoopFilter::WithTasks => has_tasks(state) || state.phase == Phase::Planned,
            LoopFilter::Planned => state.phase == Phase::Planned,
        }
    }
}

/// True for a live loop with tasks of its own. A refinement works on the project's tasks.
pub(crate) fn has_tasks(state: &LoopState) -> bool {
    state.is_live() && mode::rules(&state.mode).has_tasks()
}

/// The loop for the command.
pub(crate) fn one(here: &Here, which: &LoopArgs, wanted: LoopFilter) -> Result<FoundLoop> {
    let what = match wanted {
        LoopFilter::Live => "no loop is live",
        LoopFilter::LiveOrPlanned | LoopFilter::WithTasks => "no loop is live or planned",
        LoopFilter::Planned => "no loop is planned",
    };
    if_any(here, which, wanted)?.with_context(|| nothing(here, what))
}

/// Like [`one`], but `None` if no loop is named and there is none.
pub(crate) fn if_any(
    here: &Here,
    which: &LoopArgs,
    wanted: LoopFilter,
) -> Result<Option<FoundLoop>> {
    if let Some(found) = named(here, which)? {
        return usable(found, wanted).map(Some);
    }
    if let Some(session) = &here.session
        && let Some(found) = of_session(here, session)?
        && found.state.is_live()
        && wanted.is_meant(&found.state)
    {
        return Ok(Some(found));
    }
    // Searched in one pass: with ten thousand tasks, reading a loop twice would take most of the
    // time.
    let found = of_project(here, |state| wanted.is_meant(state));
    let (mut live, planned): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|found| found.state.is_live());
    match live.len() {
        0 => next_of(here, planned),
        1 => Ok(Some(live.remove(0))),
        _ => choose(live).map(Some),
    }
}

/// The loop for a planner: the named one, else the session's live one, else the project's planned
/// one. A planner must not touch loops of other sessions.
pub(crate) fn to_plan(here: &Here, which: &LoopArgs) -> Result<Option<FoundLoop>> {
    if let Some(found) = named(here, which)? {
        return usable(found, LoopFilter::LiveOrPlanned).map(Some);
    }
    if let Some(session) = &here.session
        && let Some(found) = of_session(here, session)?
        && has_tasks(&found.state)
    {
        return Ok(Some(found));
    }
    planned(here)
}

/// The loop to look back at: the named one, else this session's, else the project's only live one,
/// else its most recent one, ended or not.
pub(crate) fn recent(here: &Here, which: &LoopArgs) -> Result<FoundLoop> {
    if let Some(found) = named(here, which)? {
        return Ok(found);
    }
    if let Some(session) = &here.session
        && let Some(found) = of_session(here, session)?
    {
        return Ok(found);
    }
    let mut live = of_project(here, LoopState::is_live);
    if live.len() == 1 {
        return Ok(live.remove(0));
    }
    let file = lifecycle::of_project(&here.home, &here.root).map_err(bad_state)?;
    let recent = file.map(|file| file.read().map(|loaded| (file, loaded))).transpose();
    match recent.map_err(bad_state)? {
        Some((file, Some(loaded))) => {
            notice::call_for_killed_run(&file, &loaded.state);
            Ok(FoundLoop::at(file, loaded))
        }
        _ => bail!(nothing(here, "there is no loop")),
    }
}

/// How long every screen shows the project's last loop after its end.
pub(crate) const SHOWN_FOR: SignedDuration = SignedDuration::from_hours(24);

/// The project's last loop, if it ended in the last 24 hours: a user who returns wants to know how
/// it went.
pub(crate) fn last_ended(here: &Here) -> Option<FoundLoop> {
    let file = lifecycle::of_project(&here.home, &here.root).ok()??;
    let loaded = file.read().ok()??;
    let ending = loaded.state.ending.as_ref()?;
    notice::call_for_killed_run(&file, &loaded.state);
    (here.now.duration_since(ending.at) < SHOWN_FOR).then(|| FoundLoop::at(file, loaded))
}

/// The loop of `--session` or `--loop`, in any phase; `None` if neither is given.
pub(crate) fn named(here: &Here, which: &LoopArgs) -> Result<Option<FoundLoop>> {
    if let Some(session) = &which.session {
        let found = of_session(here, session)?;
        let none =
            || format!("session `{}` has no loop; {}", screen::visible(session), known(here));
        return found.with_context(none).map(Some);
    }
    let Some(id) = &which.loop_id else { return Ok(None) };
    let found = lifecycle::read_by_id(&here.home, id).map_err(bad_state)?;
    let Some((file, loaded)) = found else {
        bail!("there is no loop `{}`; {}", screen::visible(id), known(here));
    };
    Ok(Some(FoundLoop::at(file, in_project(here, loaded))))
}

/// The loop of a session, by its manifest entry.
pub(crate) fn of_session(here: &Here, session: &str) -> Result<Option<FoundLoop>> {
    let file = lifecycle::of_session(&here.home, session).map_err(bad_state)?;
    let Some(file) = file else { return Ok(None) };
    let loaded = lifecycle::read_named(&here.home, &file).map_err(bad_state)?;
    let Some(loaded) = loaded.map(|loaded| in_project(here, loaded)) else { return Ok(None) };
    let ours = loaded.state.session_id == session;
    Ok(ours.then(|| FoundLoop::at(file, loaded)))
}

/// The project's loops that match, without the loops of its workers. A broken loop is reported, not
/// hidden.
pub(crate) fn of_project(here: &Here, is_meant: impl Fn(&LoopState) -> bool) -> Vec<FoundLoop> {
    let identity = here.project();
    let mut found = Vec::new();
    for (file, loaded) in all_loaded(here) {
        match loaded {
            Ok(loaded) if loaded.state.parent.is_none() && is_meant(&loaded.state) => {
                if project::identity(Path::new(&loaded.state.project_root)) == identity {
                    found.push(FoundLoop::at(file, loaded));
                }
            }
            Ok(_) => {}
            Err(error) => screen::tell(&screen::visible(&format!("ralph: {error:#}"))),
        }
    }
    found
}

/// All loops that are not archived, including one elsewhere that a single manifest names.
pub(crate) fn everything(here: &Here) -> Vec<(LoopFile, Result<LoopState>)> {
    all_loaded(here).into_iter().map(|(file, loaded)| (file, loaded.map(|it| it.state))).collect()
}

fn all_loaded(here: &Here) -> Vec<(LoopFile, Result<Loaded>)> {
    let mut all = lifecycle::all_loaded(&here.home);
    if here.home.single_manifest().is_some() {
        // Every session then has the same entry, so any session id will do.
        let named = lifecycle::of_session(&here.home, "any").ok().flatten();
        let others = named.filter(|file| all.iter().all(|(known, _)| known != file));
        all.extend(others.and_then(|file| match lifecycle::read_named(&here.home, &file) {
            Ok(loaded) => loaded.map(|loaded| (file, Ok(in_project(here, loaded)))),
            Err(error) => Some((file, Err(error))),
        }));
    }
    all
}

/// A state that another tool wrote may name no project. It then belongs to the current one.
fn in_project(here: &Here, mut loaded: Loaded) -> Loaded {
    if loaded.state.project_root.is_empty() {
        loaded.state.project_root = here.root.to_string_lossy().into_owned();
        // The file's content no longer matches the state.
        loaded.text = Vec::new();
    }
    loaded
}

fn usable(found: FoundLoop, wanted: LoopFilter) -> Result<FoundLoop> {
    let state = &found.state;
    let phase = screen::visible(state.phase.as_str());
    let (is_live, is_planned) = (state.is_live(), state.phase == Phase::Planned);
    match wanted {
        LoopFilter::Planned if is_planned => return Ok(found),
        LoopFilter::Planned => {
            bail!("loop {} is {phase}, not planned", state.loop_id);
        }
        _ if is_live || (wanted != LoopFilter::Live && is_planned) => return Ok(found),
        _ => {}
    }
    let next = match state.phase {
        Phase::Planned => "; type /ralph in Claude Code to start it",
        _ => "; `ralph status --all` lists all loops",
    };
    bail!("loop {} is {phase}, not live{next}", state.loop_id)
}

fn planned(here: &Here) -> Result<Option<FoundLoop>> {
    next_of(here, of_project(here, |state| state.phase == Phase::Planned))
}

/// The project's planned loop that `/ralph` would start; if that one is gone, the only other.
fn next_of(here: &Here, mut planned: Vec<FoundLoop>) -> Result<Option<FoundLoop>> {
    if let Some(next) = lifecycle::of_project(&here.home, &here.root).map_err(bad_state)? {
        if let Some(at) = planned.iter().position(|found| found.file == next) {
            return Ok(Some(planned.swap_remove(at)));
        }
        // An unreadable loop may be the planned one, so report the error instead of ignoring it.
        if let Some(loaded) = next.read().map_err(bad_state)? {
            notice::call_for_killed_run(&next, &loaded.state);
        }
    }
    match planned.len() {
        0 => Ok(None),
        1 => Ok(Some(planned.remove(0))),
        _ => choose(planned).map(Some),
    }
}

fn nothing(here: &Here, what: &str) -> String {
    let is_any_live = everything(here).iter().any(|(_, state)| {
        state.as_ref().is_ok_and(|state| state.is_live() || state.phase == Phase::Planned)
    });
    let next = match is_any_live {
        true => "`ralph status --all` lists those of other projects",
        false => START_ONE,
    };
    format!("{what} in `{}`; {next}", here.root.display())
}

/// Where the loops are listed, if there are any.
fn known(here: &Here) -> &'static str {
    let is_any = !everything(here).is_empty() || !lifecycle::ended(&here.home).is_empty();
    if is_any { "`ralph status --all` lists all loops" } else { START_ONE }
}

const START_ONE: &str = "type `/ralph \"TASK\"` in Claude Code to start one";

fn choose(mut candidates: Vec<FoundLoop>) -> Result<FoundLoop> {
    let rows: Vec<String> = candidates
        .iter()
        .enumerate()
        .map(|(at, found)| format!("{:>3}  {}", at + 1, row(&found.state)))
        .collect();
    screen::tell(&rows.join("\n"));
    if !screen::can_ask() {
        bail!("{} loops could be meant; name one: `--loop ID`", candidates.len());
    }
    let answer = screen::ask("Which one? Its number:")?;
    let place = answer.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let place = place.filter(|place| *place < candidates.len());
    let place = place.context("no loop has this number; nothing was changed")?;
    Ok(candidates.remove(place))
}

fn row(state: &LoopState) -> String {
    let session = if state.session_id.is_empty() { "none" } else { &state.session_id };
    format!(
        "{}  {} {}  session {}  {}",
        screen::visible(&state.loop_id),
        screen::visible(state.phase.as_str()),
        state.position(),
        screen::visible(session),
        screen::visible(&state.prompt.chars().take(60).collect::<String>())
    )
}
