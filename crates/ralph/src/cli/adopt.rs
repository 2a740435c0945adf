//! `ralph adopt`: frees a loop whose client is gone, or imports an old state file.
//!
//! The loop is only freed: `/ralph` in any session of the project then continues it. A loop whose
//! client may still run is left alone, since two sessions would drive it.

use crate::command::context_dir::{Here, note};
use crate::command::exit::{Exit, ExitError, bad_state, must_exist, refused};
use crate::command::select_loop::{self, FoundLoop, LoopArgs, LoopFilter, of_session};
use crate::command::{complete, number, screen};
use anyhow::{Context, Result, bail};
use clap_complete::engine::ArgValueCandidates;
use jiff::Timestamp;
use ralph_core::state::{Bound, LoopState, PauseCause, Phase, SCHEMA_VERSION, StartedBy};
use ralph_core::tasks::plan::Plan;
use ralph_core::text::plural::counted;
use ralph_hooks::begin::{self, PlannedFrom, planned_from};
use ralph_io::client;
use ralph_io::project::trusted_read;
use ralph_io::store::lifecycle;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// An old state file or manifest, or the official plugin's file
    #[arg(conflicts_with_all = ["loop_id", "session", "force"])]
    file: Option<PathBuf>,
    /// The loop with this id
    #[arg(long = "loop", value_name = "ID", id = "loop_id", add = ArgValueCandidates::new(complete::loops))]
    loop_id: Option<String>,
    /// Bind the loop to this Claude Code session, paused
    #[arg(long, value_name = "ID", value_parser = number::session_id)]
    session: Option<String>,
    /// Take it over even if its client still runs; requires --loop
    #[arg(long, requires = "loop_id")]
    force: bool,
}

pub(crate) fn run(args: &Args) -> Result<Exit> {
    let here = Here::gather()?;
    if let Some(path) = &args.file {
        must_exist(path)?;
        return import(&here, path);
    }
    let found = find(&here, args)?;
    client_is_gone(&found.state, args.force)?;
    if let Some(session) = &args.session {
        is_free(&here, session)?;
    }
    let state = rebind(&here, &found, args.session.as_deref())?;
    note(
        &here,
        &found.file,
        &state,
        "adopt",
        "adopted",
        "the user took it over on the command line",
    );
    let go_on = match &args.session {
        Some(session) => format!("paused in session {session}; type /ralph there to continue"),
        None => "free; type /ralph in any session of this project to continue".to_owned(),
    };
    let (id, position) = (&state.loop_id, state.position());
    screen::say(&screen::visible(&format!("loop {id} adopted at {position}: {go_on}")))
}

fn find(here: &Here, args: &Args) -> Result<FoundLoop> {
    let named = LoopArgs { session: None, loop_id: args.loop_id.clone() };
    if named.is_named() {
        return select_loop::one(here, &named, LoopFilter::Live);
    }
    // Prefers the only loop whose client is gone; otherwise `one` picks a live loop or
    // explains why it cannot.
    let mut live = select_loop::of_project(here, LoopState::is_live);
    let gone = |found: &FoundLoop| client_liveness(&found.state) == ClientLiveness::Gone;
    if live.iter().filter(|found| gone(found)).count() == 1 {
        live.retain(gone);
        return Ok(live.remove(0));
    }
    select_loop::one(here, &LoopArgs::default(), LoopFilter::Live)
}

#[derive(Debug, PartialEq, Eq)]
enum ClientLiveness {
    Runs,
    Gone,
    Unknown,
}

fn client_liveness(state: &LoopState) -> ClientLiveness {
    match &state.client {
        Some(process) if client::is_alive(process) => ClientLiveness::Runs,
        Some(_) => ClientLiveness::Gone,
        None => ClientLiveness::Unknown,
    }
}

fn client_is_gone(state: &LoopState, force: bool) -> Result<()> {
    let why = match client_liveness(state) {
        ClientLiveness::Gone => return Ok(()),
        _ if force => return Ok(()),
        ClientLiveness::Runs => "its client is still running: close it first",
        ClientLiveness::Unknown => "its client may still be running: close it first",
    };
    let id = screen::visible(&state.loop_id);
    bail!("loop {id} was left alone; {why}, or give `--loop {id} --force`");
}

fn is_free(here: &Here, session: &str) -> Result<()> {
    let bound = of_session(here, session)?.filter(|found| found.state.is_live());
    bound.map_or(Ok(()), |found| {
        let id = screen::visible(&found.state.loop_id);
        bail!("that session has the live loop {id}; end it first: `ralph cancel --loop {id}`")
    })
}

/// Writes the state before the manifest: the state's `lineage` names each former session, so their
/// manifest entries are ignored until they are removed.
fn rebind(here: &Here, found: &FoundLoop, session: Option<&str>) -> Result<LoopState> {
    here.home.prepare()?;
    let is_in_place = lifecycle::is_in_place(&here.home, &found.file);
    let adopted = found.file.update(|state| {
        // The loop may have ended since `find` read it.
        state.is_live().then(|| {
            if is_in_place {
                lifecycle::complete(&found.file, state, &here.root);
            }
            free(state, "adopted", here.now);
            if let Some(session) = session {
                hold(state, session, here.now);
            }
            state.clone()
        })
    });
    let state = adopted
        .map_err(bad_state)?
        .flatten()
        .context("the loop has just ended; nothing was changed")?;
    lifecycle::point_project_at(&here.home, &found.file, &state.project_root)?;
    // An interrupted earlier adoption may have left an entry too. One for all sessions stays.
    for former in &state.lineage {
        if former.session_id != state.session_id && here.home.single_manifest().is_none() {
            lifecycle::release(&here.home, &found.file, &former.session_id)?;
        }
    }
    lifecycle::bind(&here.home, &found.file, &state.session_id)?;
    Ok(state)
}

/// Makes the loop planned and unbound; it continues in the phase it had.
fn free(state: &mut LoopState, why: &str, now: Timestamp) {
    if state.is_running() {
        state.resume_phase = Some(state.phase.clone());
    }
    let session_id = std::mem::take(&mut state.session_id);
    if !session_id.is_empty() {
        state.lineage.push(Bound { session_id, until: now, why: why.to_owned() });
    }
    state.phase = Phase::Planned;
    state.pause = None;
    state.turn = None;
    state.client = None;
    state.via = None;
}

/// Binds a freed loop to the session, paused.
fn hold(state: &mut LoopState, session: &str, now: Timestamp) {
    state.session_id = session.to_owned();
    state.rounds = 0;
    state.phase = state.resume_phase.take().unwrap_or(Phase::Implementation);
    state.pause(PauseCause::Person, "adopted on the command line", now);
}

fn import(here: &Here, path: &std::path::Path) -> Result<Exit> {
    let OldLoop { mut state, still_acts } = read_old_file(path, here)?;
    let file = lifecycle::create(&here.home, &mut state)?;
    note(here, &file, &state, "adopt", "imported", &format!("from `{}`", path.display()));
    screen::say(&screen::visible(&format!(
        "loop {} planned from `{}` at {}; that file was left as it is. Type /ralph in Claude Code, \
         in `{}`, to continue",
        state.loop_id,
        path.display(),
        state.position(),
        state.project_root
    )))?;
    if still_acts {
        screen::say(&screen::visible(&format!(
            "its own plugin acts on that file as long as it is there: type /cancel-ralph, or remove \
             `{}`, before you type /ralph",
            path.display()
        )))?;
    }
    Ok(Exit::Done)
}

// Reads old loop files: a manifest in a shared folder, a state file, or
// the official plugin's file.
//
// Anyone can put a file into a shared folder, so each must be a regular file that the user owns
// and nobody else can write. Hooks never look here.

pub(super) struct OldLoop {
    pub(super) state: LoopState,
    /// Whether the tool that wrote the file still acts on it.
    pub(super) still_acts: bool,
}

/// Reads the loop of an old file as planned: unbound, not paused, clock not
/// started. Keeps the rest.
pub(super) fn read_old_file(path: &Path, here: &Here) -> Result<OldLoop> {
    let bytes = trusted(path).map_err(bad_state)?;
    if is_plugin_file(&bytes) {
        let read = read_plugin_file(&bytes, path, here);
        let state =
            read.map_err(|error| if error.is::<ExitError>() { error } else { bad_state(error) })?;
        return Ok(OldLoop { state: planned(state, here), still_acts: true });
    }
    let state = named_state(bytes, path).map_err(bad_state)?;
    if state.phase == Phase::Ended {
        bail!("the loop of `{}` has ended; there is nothing to take over", path.display());
    }
    let state = sound(planned(state, here), path)?;
    Ok(OldLoop { state, still_acts: false })
}

/// Applies the checks of `ralph task import`: a criterion that proves nothing would hold at once.
fn sound(state: LoopState, path: &Path) -> Result<LoopState> {
    let name = path.display();
    let problems = match begin::adopted(state) {
        Ok(state) => return Ok(state),
        Err(problems) => problems,
    };
    problems.iter().for_each(|problem| screen::tell(&screen::visible(problem)));
    let count = counted(problems.len(), "problem", "problems");
    bail!("`{name}` has {count}; nothing was imported: correct the file, then adopt it again");
}

fn named_state(bytes: Vec<u8>, path: &Path) -> Result<LoopState> {
    if bytes.trim_ascii_start().starts_with(b"{") {
        return parse_state(&bytes, path);
    }
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
    let named = PathBuf::from(OsStr::from_bytes(line));
    if !named.is_absolute() || line.contains(&0) {
        bail!("`{}` holds neither a state nor the absolute path of one", path.display());
    }
    let bytes = trusted(&named).with_context(|| format!("`{}` names it", path.display()))?;
    parse_state(&bytes, &named)
}

fn trusted(path: &Path) -> Result<Vec<u8>> {
    trusted_read::read(path)?.with_context(|| format!("there is no `{}`", path.display()))
}

fn parse_state(bytes: &[u8], path: &Path) -> Result<LoopState> {
    let name = path.display();
    let state: LoopState = serde_json::from_slice(bytes)
        .with_context(|| format!("`{name}` is not the state of a loop"))?;
    if state.schema_version > SCHEMA_VERSION {
        bail!("`{name}` was written by a newer Ralph; it was left unchanged: update Ralph");
    }
    Ok(state)
}

fn planned(mut state: LoopState, here: &Here) -> LoopState {
    free(&mut state, "imported", here.now);
    if !Path::new(&state.project_root).is_absolute() {
        state.project_root = here.root.to_string_lossy().into_owned();
    }
    if state.created_at == jiff::Timestamp::UNIX_EPOCH {
        state.created_at = here.now;
    }
    state.updated_at = here.now;
    // The wall clock starts when the loop continues: it has not run all the time since.
    state.started_at = None;
    state.touched = false;
    state
}

// Reads the state file of the official plugin `ralph-loop`: `.claude/ralph-loop.local.md`, a few
// lines of front matter with the prompt below them.
//
// The plugin's promise becomes the completion token, since the prompt mentions it. The project's
// own commands decide whether the loop is complete, as for a loop typed without criteria. A loop
// without an iteration limit gets Ralph's default.

/// In bytes; longer than any phrase that a model would print alone on a line.
const LONGEST_PROMISE: usize = 200;

/// Whether the text starts with front matter; no other file that can be adopted does.
pub(super) fn is_plugin_file(bytes: &[u8]) -> bool {
    bytes.starts_with(b"---\n") || bytes.starts_with(b"---\r\n")
}

#[derive(Debug, PartialEq, Eq)]
struct PluginState {
    active: bool,
    iteration: u32,
    /// `None` for a loop without a limit.
    max_iterations: Option<u32>,
    promise: Option<String>,
    session_id: String,
    prompt: String,
}

/// Builds the loop of a plugin file, without writing it.
pub(super) fn read_plugin_file(bytes: &[u8], path: &Path, here: &Here) -> Result<LoopState> {
    let name = path.display();
    let text = str::from_utf8(bytes).with_context(|| format!("`{name}` is not UTF-8"))?;
    let said = parse_plugin_file(text).with_context(|| format!("could not use `{name}`"))?;
    if !said.active {
        let message = format!("the loop of `{name}` is not active; there is nothing to take over");
        return Err(refused(Exit::No, message));
    }
    let root = project(path).unwrap_or_else(|| here.root.clone());
    let from = PlannedFrom {
        home: &here.home,
        root: &root,
        goal: &said.prompt,
        started_by: StartedBy::Person,
    };
    let mut state = planned_from(&from, Plan::default())?;
    if let Some(most) = said.max_iterations {
        // The plugin's first turn is iteration 1; Ralph counts how often the loop continued.
        (state.max_iterations, state.iteration) =
            (most, said.iteration.saturating_sub(1).min(most));
    }
    state.completion_token = said.promise.unwrap_or(state.completion_token);
    state.session_id = said.session_id;
    Ok(state)
}

/// The project folder of `PROJECT/.claude/ralph-loop.local.md`.
fn project(path: &Path) -> Option<PathBuf> {
    let folder = path.canonicalize().ok()?.parent()?.to_owned();
    let is_settings = folder.file_name()? == ".claude";
    is_settings.then(|| folder.parent().map(Path::to_owned))?
}

fn parse_plugin_file(text: &str) -> Result<PluginState> {
    let text = text.replace("\r\n", "\n");
    let inner = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
    let (front, prompt) = inner.context("its front matter does not end")?;
    let value = |name: &str| {
        let line = front.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        Some(line.trim().trim_matches('"').to_owned())
    };
    let number = |name: &str| -> Result<u32> {
        let text = value(name).with_context(|| format!("it has no `{name}`"))?;
        text.parse().with_context(|| format!("its `{name}` is `{text}`, which is no number"))
    };
    let max_iterations = Some(number("max_iterations")?).filter(|most| *most > 0);
    let promise = value("completion_promise").filter(|promise| {
        !["", "null"].contains(&promise.as_str()) && promise.len() <= LONGEST_PROMISE
    });
    let prompt = prompt.trim();
    if prompt.is_empty() {
        bail!("it has no prompt");
    }
    Ok(PluginState {
        active: value("active").is_none_or(|active| active == "true"),
        iteration: number("iteration")?,
        max_iterations,
        promise,
        session_id: value("session_id").unwrap_or_default(),
        prompt: prompt.to_owned(),
    })
}

#[cfg(test)]
mod plugin_file_tests {
    use super::*;

    const HEAD: &str = "---\nactive: true\niteration: 7\nmax_iterations: 20\n";

    #[test]
    fn all_that_it_says_is_read() {
        let text = format!(
            "{HEAD}completion_promise: \"ALL DONE\"\nsession_id: s\n---\n\nFix it.\n---\nAll.\n"
        );
        let said = parse_plugin_file(&text).unwrap();
        assert_eq!((said.active, said.iteration, said.max_iterations), (true, 7, Some(20)));
        assert_eq!(said.promise.as_deref(), Some("ALL DONE"));
        assert_eq!((said.session_id.as_str(), said.prompt.as_str()), ("s", "Fix it.\n---\nAll."));
        assert_eq!(parse_plugin_file(&text.replace('\n', "\r\n")).unwrap(), said);
    }

    #[test]
    fn no_bound_and_no_promise_are_none() {
        let text = "---\niteration: 1\nmax_iterations: 0\ncompletion_promise: null\n---\nFix it.";
        let said = parse_plugin_file(text).unwrap();
        assert_eq!((said.max_iterations, said.promise), (None, None));
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let wrong = |text: &str| format!("{:#}", parse_plugin_file(text).unwrap_err());
        assert_eq!(wrong("---\niteration: 1\n"), "its front matter does not end");
        assert_eq!(wrong("---\niteration: 1\n---\nx"), "it has no `max_iterations`");
        assert!(wrong(&HEAD.replace('7', "seven")).contains("does not end"));
        let seven = format!("{}---\nx", HEAD.replace('7', "seven"));
        assert!(wrong(&seven).starts_with("its `iteration` is `seven`, which is no number"));
        assert_eq!(wrong(&format!("{HEAD}---\n \n")), "it has no prompt");
    }
}
