//! Asks the router what comes next, given the calls made so far.
//!
//! Every answer comes from here: a hook's, the guard's and that of `ralph session next`. Asking
//! does not consume the user's messages. The call that carries them does, through [`made`], or the
//! loop's end, through [`use_up`].

use anyhow::{Result, anyhow};
use jiff::Timestamp;
use ralph_core::modes::orchestration::attempts;
use ralph_core::modes::orchestration::change::apply;
use ralph_core::modes::orchestration::id::OrchestrationId;
use ralph_core::modes::orchestration::in_session;
use ralph_core::modes::orchestration::invocation::{CallKey, Invocation};
use ralph_core::modes::orchestration::machine::{self, Act};
use ralph_core::modes::orchestration::recovery::CallEnd;
use ralph_core::modes::orchestration::snapshot::Snapshot;
use ralph_core::state::{LoopState, Mode, OrchestrationCall, OrchestrationState};
use ralph_core::stop::{Routed, RouterStep};
use ralph_io::store::home::Home;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::store::orchestration::OrchestrationStore;
use ralph_io::{process::clock, project, store::lifecycle};
use std::path::Path;

/// When to write the changes that precede the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writes {
    /// Always: the orchestration continues, pauses or ends here.
    Always,
    /// Only if calls follow. A pause or an end is left to the next stop.
    ForCalls,
}

/// The router's answer.
pub(super) struct RoutedCalls {
    /// The calls to make now, in full.
    pub calls: Vec<Invocation>,
    /// The same in short.
    pub routed: Routed,
}

/// The project's orchestrations, and the id of the one that the loop drives.
pub(super) fn sessions(
    home: &Home,
    state: &LoopState,
) -> Result<(OrchestrationStore, OrchestrationId)> {
    let name = in_session::id(state);
    let id = OrchestrationId::parse(name).map_err(|_| {
        anyhow!("`{name}`, which the loop drives, is not the id of an orchestration")
    })?;
    Ok((OrchestrationStore::of(Path::new(&state.project_root), home)?, id))
}

/// Asks the router and stores the due calls in the state. Returns `None` if the folder is
/// gone.
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
    if routed.due == RouterStep::Call {
        session.given =
            calls.iter().map(|call| OrchestrationCall::given(&call.key, call.prompt())).collect();
    } else if writes == Writes::Always && routed.due != RouterStep::Paused {
        session.given.clear();
    }
    session.says.clone_from(&routed.says);
    Ok(Some(RoutedCalls { calls, routed }))
}

/// The snapshot with the calls under way, which the driving loop knows. Without a driving loop, the
/// processes that made calls are gone.
pub fn as_driven(home: &Home, root: &Path, found: &Snapshot) -> Snapshot {
    let running = match driving(home, root, &found.id) {
        Some((_, state)) if !state.session_id.is_empty() => {
            state.orchestration().map(OrchestrationState::running)
        }
        // A driving program records its calls in the orchestration's folder.
        Some(_) => found.running.clone(),
        None => found.running.as_ref().map(|_| Vec::new()),
    };
    Snapshot { running, ..found.clone() }
}

/// The live loop that drives an orchestration of the project.
pub fn driving(home: &Home, root: &Path, id: &OrchestrationId) -> Option<(LoopFile, LoopState)> {
    let identity = project::identity(root);
    let is_it = |state: &LoopState| {
        let drives = state.mode == Mode::Orchestration && in_session::id(state) == id.as_str();
        drives && state.is_live() && project::identity(Path::new(&state.project_root)) == identity
    };
    let all = lifecycle::all(home).into_iter();
    all.filter_map(|(file, state)| Some((file, state.ok()?))).find(|(_, state)| is_it(state))
}

/// Records a call as made: it is now under way and carries the user's messages.
pub(super) fn made(
    home: &Home,
    state: &mut LoopState,
    call: &Invocation,
    note: OrchestrationCall,
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

/// Removes signals that have taken effect.
///
/// # Errors
/// When they cannot be moved.
pub fn use_up(sessions: &OrchestrationStore, id: &OrchestrationId, heard: &[String]) -> Result<()> {
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

/// Records that calls have ended. A call has failed unless its result exists.
pub(super) fn ended(
    home: &Home,
    state: &mut LoopState,
    which: impl Fn(&OrchestrationCall) -> bool,
    now: Timestamp,
) -> Result<Vec<(CallKey, CallEnd)>> {
    let (sessions, id) = sessions(home, state)?;
    let Some(session) = state.orchestration_mut() else { return Ok(Vec::new()) };
    let (over, left): (Vec<OrchestrationCall>, Vec<OrchestrationCall>) =
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
            attempts::note_end(&mut after, &made, how, now);
            ends.push((key, how));
        }
        Ok((after, ends))
    })?;
    Ok(changed.map(|changed| changed.what).unwrap_or_default())
}
