//! Asks the router what comes next, on what the conversation knows of its own calls.
//!
//! What was heard of a person is moved by the router as soon as it is told, and told is not called: so the words
//! stay with the call that was given until it is made.

use anyhow::{Result, anyhow};
use jiff::Timestamp;
use ralph_core::session::change::apply;
use ralph_core::session::conversation::{Due, Routed};
use ralph_core::session::id::SessionId;
use ralph_core::session::invocation::{Invocation, Key};
use ralph_core::session::machine::{self, Act};
use ralph_core::session::recovery::Ended;
use ralph_core::session::snapshot::Snapshot;
use ralph_core::state::{LoopState, SessionCall};
use ralph_io::clock;
use ralph_io::home::Home;
use ralph_io::sessions::Sessions;
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
pub(super) struct Looked {
    /// The calls to be made now, as they are said.
    pub calls: Vec<Invocation>,
    /// The same in few words.
    pub routed: Routed,
}

/// The sessions of a loop's project, and which one it drives.
pub(super) fn sessions(home: &Home, state: &LoopState) -> Result<(Sessions, SessionId)> {
    let name = state.session.as_ref().map_or("", |session| session.id.as_str());
    let id = SessionId::parse(name)
        .map_err(|_| anyhow!("the state does not say which session the loop drives"))?;
    Ok((Sessions::of(Path::new(&state.project_root), home)?, id))
}

/// Asks the router, and keeps in the state what it gives; none where the session's folder is gone.
pub(super) fn look(
    home: &Home,
    state: &mut LoopState,
    now: Timestamp,
    writes: Writes,
) -> Result<Option<Looked>> {
    let (sessions, id) = sessions(home, state)?;
    let Some(session) = &mut state.session else { return Ok(None) };
    let running = session.running();
    let changed = sessions.update(&id, |found| {
        let mut seen = found.clone();
        seen.running = Some(running.clone());
        let step = machine::next(&seen, now).resting(&seen);
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
    let calls: Vec<Invocation> =
        calls.into_iter().map(|call| still_told(&session.given, call)).collect();
    if routed.due == Due::Call {
        session.given =
            calls.iter().map(|call| SessionCall::given(&call.key, call.prompt())).collect();
    } else if writes == Writes::Always && routed.due != Due::Paused {
        // What a pause finds given is given again after it, with all that it was to be told.
        session.given.clear();
    }
    session.says.clone_from(&routed.says);
    Ok(Some(Looked { calls, routed }))
}

/// The call with what was told of the person's words when it was given first.
fn still_told(given: &[SessionCall], call: Invocation) -> Invocation {
    let before = given.iter().find(|one| one.is(&call.key));
    let said = before.map(|one| Invocation::signal_of(&one.prompt)).unwrap_or_default();
    match call.input("SIGNAL") {
        None => call.with("SIGNAL", &said),
        Some(now) if said.is_empty() || said == now => call,
        Some(now) => {
            let both = format!("{said}\n{now}");
            let mut call = call;
            call.inputs.retain(|(name, _)| *name != "SIGNAL");
            call.with("SIGNAL", &both)
        }
    }
}

/// Says which calls are under way from now on.
pub(super) fn note_running(home: &Home, state: &LoopState) -> Result<()> {
    let (sessions, id) = sessions(home, state)?;
    let running = state.session.as_ref().map(|session| session.running());
    sessions
        .update(&id, |found| Ok((Snapshot { running: running.clone(), ..found.clone() }, ())))?;
    Ok(())
}

/// A call has ended: what it was made for is there, or it counts as failed. It is no more under way.
pub(super) fn ended(
    home: &Home,
    state: &mut LoopState,
    which: impl Fn(&SessionCall) -> bool,
    now: Timestamp,
) -> Result<Vec<(Key, Ended)>> {
    let (sessions, id) = sessions(home, state)?;
    let Some(session) = &mut state.session else { return Ok(Vec::new()) };
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
            let is_met = machine::met(found, &Invocation::again(key.clone(), &call.prompt));
            let how = if is_met { Ended::Met } else { Ended::Failed };
            after.tries.ended(&key, how, now);
            ends.push((key, how));
        }
        Ok((after, ends))
    })?;
    Ok(changed.map(|changed| changed.what).unwrap_or_default())
}
