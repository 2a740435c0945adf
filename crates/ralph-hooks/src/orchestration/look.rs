//! Asks the router what comes next, on what is known of the calls that were made.
//!
//! Every answer comes from here: a hook's, the guard's and that of `ralph session next`. To ask uses up nothing that a
//! person said: that does the call which carries it, or the end of the loop, through [`made`] and [`use_up`].

use anyhow::{Result, anyhow};
use jiff::Timestamp;
use ralph_core::modes::orchestration::attempts;
use ralph_core::modes::orchestration::change::apply;
use ralph_core::modes::orchestration::id::SessionId;
use ralph_core::modes::orchestration::in_session::{self, Due, Routed};
use ralph_core::modes::orchestration::invocation::{CallKey, Invocation};
use ralph_core::modes::orchestration::machine::{self, Act};
use ralph_core::modes::orchestration::recovery::CallEnd;
use ralph_core::modes::orchestration::snapshot::Snapshot;
use ralph_core::state::{LoopState, Mode, Orchestrated, SessionCall};
use ralph_io::store::home::Home;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::store::orchestration::Sessions;
use ralph_io::{process::clock, project, store::lifecycle};
use std::path::Path;

/// When what comes before the calls is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writes {
    /// Always: this is where the session goes on, rests or ends.
    Always,
    /// Only where calls are to be made. What ends or rests the session is left to its next stop.
    ForCalls,
}

/// What the router says.
pub(super) struct RoutedCalls {
    /// The calls to be made now, as they are said.
    pub calls: Vec<Invocation>,
    /// The same in few words.
    pub routed: Routed,
}

/// The sessions of a loop's project, and which one it drives.
pub(super) fn sessions(home: &Home, state: &LoopState) -> Result<(Sessions, SessionId)> {
    let name = in_session::id(state);
    let id = SessionId::parse(name)
        .map_err(|_| anyhow!("`{name}`, which the loop drives, is not the id of a session"))?;
    Ok((Sessions::of(Path::new(&state.project_root), home)?, id))
}

/// Asks the router, and keeps in the state what it gives; none where the session's folder is gone.
pub(super) fn look(
    home: &Home,
    state: &mut LoopState,
    now: Timestamp,
    writes: Writes,
) -> Result<Option<RoutedCalls>> {
    let (sessions, id) = sessions(home, state)?;
    let Some(session) = state.orchestration_mut() else { return Ok(None) };
    let running = session.running();
    let changed = sessions.update(&id, |found| {
        let seen = Snapshot { running: Some(running.clone()), ..found.clone() };
        let step = machine::next(&seen, now);
        if writes == Writes::ForCalls && !matches!(step.act, Act::Invoke(_)) {
            let routed = step.routed(&seen);
            return Ok((seen, (step.act, routed)));
        }
        let after =
            apply(&seen, &step.changes, clock::local(now)).map_err(|why| anyhow!("{why}"))?;
        let routed = step.routed(&after);
        Ok((after, (step.act, routed)))
    })?;
    let Some(changed) = changed else { return Ok(None) };
    let (act, routed) = changed.what;
    let calls = match act {
        Act::Invoke(calls) => calls,
        _ => Vec::new(),
    };
    if routed.due == Due::Call {
        session.given =
            calls.iter().map(|call| SessionCall::given(&call.key, call.prompt())).collect();
    } else if writes == Writes::Always && routed.due != Due::Paused {
        session.given.clear();
    }
    session.says.clone_from(&routed.says);
    Ok(Some(RoutedCalls { calls, routed }))
}

/// The session as the router is asked about it: the loop that drives it knows which calls are under way. Where none
/// does, whoever had made calls is gone.
pub fn as_driven(home: &Home, root: &Path, found: &Snapshot) -> Snapshot {
    let running = match driving(home, root, &found.id) {
        Some((_, state)) if !state.session_id.is_empty() => {
            state.orchestration().map(Orchestrated::running)
        }
        // A program that drives it notes its calls with the session.
        Some(_) => found.running.clone(),
        None => found.running.as_ref().map(|_| Vec::new()),
    };
    Snapshot { running, ..found.clone() }
}

/// The live loop that drives a session of the project.
pub fn driving(home: &Home, root: &Path, id: &SessionId) -> Option<(LoopFile, LoopState)> {
    let identity = project::identity(root);
    let is_it = |state: &LoopState| {
        let drives = state.mode == Mode::Session && in_session::id(state) == id.as_str();
        drives && state.is_live() && project::identity(Path::new(&state.project_root)) == identity
    };
    let all = lifecycle::all(home).into_iter();
    all.filter_map(|(file, state)| Some((file, state.ok()?))).find(|(_, state)| is_it(state))
}

/// A call is made: it is under way from now on, and has what the person said.
pub(super) fn made(
    home: &Home,
    state: &mut LoopState,
    call: &Invocation,
    note: SessionCall,
    now: Timestamp,
) -> Result<()> {
    let (sessions, id) = sessions(home, state)?;
    let Some(session) = state.orchestration_mut() else { return Ok(()) };
    let running = session.running();
    sessions.update(&id, |found| {
        let seen = Snapshot { running: Some(running.clone()), ..found.clone() };
        let step = machine::next(&seen, now);
        let after = step.made(&seen, std::slice::from_ref(call), now, clock::local(now));
        Ok((after.map_err(|why| anyhow!("{why}"))?, ()))
    })?;
    session.given.retain(|given| !given.is(&call.key));
    session.calls.push(note);
    Ok(())
}

/// Signals that have taken effect are used up.
///
/// # Errors
/// When they cannot be moved.
pub fn use_up(sessions: &Sessions, id: &SessionId, heard: &[String]) -> Result<()> {
    if heard.is_empty() {
        return Ok(());
    }
    sessions.update(id, |found| {
        let mut after = found.clone();
        after.signals.retain(|signal| !heard.contains(&signal.name));
        Ok((after, ()))
    })?;
    Ok(())
}

/// A call has ended: what it was made for is there, or it counts as failed. It is no more under way.
pub(super) fn ended(
    home: &Home,
    state: &mut LoopState,
    which: impl Fn(&SessionCall) -> bool,
    now: Timestamp,
) -> Result<Vec<(CallKey, CallEnd)>> {
    let (sessions, id) = sessions(home, state)?;
    let Some(session) = state.orchestration_mut() else { return Ok(Vec::new()) };
    let (over, left): (Vec<SessionCall>, Vec<SessionCall>) =
        session.calls.drain(..).partition(|call| which(call));
    session.calls = left;
    let running = session.running();
    if over.is_empty() {
        return Ok(Vec::new());
    }
    let changed = sessions.update(&id, |found| {
        let mut after = found.clone();
        after.running = Some(running.clone());
        let mut ends = Vec::new();
        for call in &over {
            let Some(key) = call.key() else { continue };
            let made = Invocation::again(key.clone(), &call.prompt);
            let how = if machine::met(found, &made) { CallEnd::Met } else { CallEnd::Failed };
            after.tries.ended(&key, how, now);
            attempts::note_end(&mut after, &made, now);
            ends.push((key, how));
        }
        Ok((after, ends))
    })?;
    Ok(changed.map(|changed| changed.what).unwrap_or_default())
}
