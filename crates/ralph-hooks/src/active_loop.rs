//! The loop that a call belongs to, if any.

use crate::hook_runner::HookCall;
use anyhow::{Error, Result, bail};
use ralph_core::state::{Glance, LoopState, Phase, StateView, Via};
use ralph_core::text::redact;
use ralph_io::store::journal::JournalEntry;
use ralph_io::store::loop_file::{Loaded, LoopFile};
use ralph_io::{client, process::ancestry, process::clock, store::digest, store::lifecycle};
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt;

/// The state that an entry names is not there.
#[derive(Debug)]
struct MissingState {
    path: String,
}

impl std::fmt::Display for MissingState {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "the state file `{}` is gone", self.path)
    }
}

impl std::error::Error for MissingState {}

/// A loop bound to the session that called.
#[derive(Debug)]
pub struct Bound<S = LoopState> {
    /// Its state file.
    pub file: LoopFile,
    /// Its state at the time of the call.
    pub state: S,
    /// What was wrong with the state file, if the last good copy stands in for it.
    pub warning: Option<String>,
    /// The state file as it was read.
    text: Vec<u8>,
}

/// The event was sent by another process than the client of the live loop that it is about.
#[derive(Debug)]
pub struct NotFromClient;

impl fmt::Display for NotFromClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .write_str("ignored an event that does not come from the client of this session's loop")
    }
}

impl std::error::Error for NotFromClient {}

/// For an event that is handed over before its loop is looked at. What is wrong with the state is told by whoever
/// acts on it.
///
/// # Errors
/// When the event does not come from the client of the session's live loop.
pub fn check_sender(call: &HookCall) -> Result<()> {
    match Bound::<Glance>::find(call) {
        Err(error) if error.is::<NotFromClient>() => Err(error),
        _ => Ok(()),
    }
}

/// Looks at the process that sent the event: a program that the model starts can write any event to any hook.
fn is_believed<S: StateView>(call: &HookCall, state: &S) -> bool {
    let Some(client) = state.live_client() else { return true };
    let drives = || state.orchestrated().is_some() && client::session_call().is_some();
    *call.believed.get_or_init(|| ancestry::is_from(client, drives()))
}

impl Bound {
    /// Changes the state that was found, in one step; none if the loop is gone by now.
    pub fn update<T>(self, change: impl FnOnce(&mut LoopState) -> T) -> Result<Option<T>> {
        let seen = Loaded { state: self.state, warning: self.warning, text: self.text };
        self.file.update_seen(seen, change)
    }

    /// As [`Bound::update`], and returns the loop as it is then.
    pub(crate) fn change<T>(
        self,
        change: impl FnOnce(&mut LoopState) -> T,
    ) -> Result<Option<(Bound, T)>> {
        let (file, warning) = (self.file.clone(), self.warning.clone());
        let changed = self.update(|state| {
            let outcome = change(state);
            (state.clone(), outcome)
        })?;
        let now = |state| Bound { file, state, warning, text: Vec::new() };
        Ok(changed.map(|(state, outcome)| (now(state), outcome)))
    }
}

/// This session is bound to a loop, and the loop cannot be used: the session may only read.
#[derive(Debug)]
pub struct Unreadable {
    /// What is wrong, in words.
    pub why: String,
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str(&self.why)
    }
}

impl std::error::Error for Unreadable {}

impl<S: StateView> Bound<S> {
    /// Finds the loop. None if the session has none: then the call is none of our business.
    ///
    /// # Errors
    /// When there is an entry for this session, but it or the state cannot be trusted or read: an
    /// [`Unreadable`] where the session is certainly ours.
    pub fn find(call: &HookCall) -> Result<Option<Bound<S>>> {
        Bound::look(call).or_else(|error| {
            if error.is::<NotFromClient>() {
                return Err(error);
            }
            let session_id = &call.input.session_id;
            // The entry, or what it names, is damaged; a state of ours may name the session all the same.
            if let Some(bound) = Bound::by_its_state(call)? {
                return Ok(Some(bound));
            }
            let why = format!("{error:#}");
            match lifecycle::is_bound(&call.home, session_id) {
                true => Err(Error::new(Unreadable { why })),
                false if error.is::<MissingState>() => Ok(None),
                false => Err(error),
            }
        })
    }

    fn look(call: &HookCall) -> Result<Option<Bound<S>>> {
        let session_id = &call.input.session_id;
        let Some(first) = lifecycle::of_session(&call.home, session_id)? else { return Ok(None) };
        // A state in place may be older than Ralph's own folder.
        if !lifecycle::is_in_place(&call.home, &first) || call.home.root().exists() {
            call.home.check()?;
        }
        let mut found = (first.view::<S>()?, first);
        if found.0.is_none() {
            // It may have been put away between the two looks.
            let again = lifecycle::of_session(&call.home, session_id)?;
            let Some(file) = again else { return Ok(None) };
            found = (file.view::<S>()?, file);
        }
        let (Some(loaded), file) = found else {
            let (_, file) = found;
            return match file.path().starts_with(call.home.archive()) {
                // It had ended; a person has thrown the record away since.
                true => Ok(None),
                false => Err(Error::new(MissingState { path: file.path().display().to_string() })),
            };
        };
        let loaded = Bound::<S>::taken_in(call, &file, loaded)?;
        let Loaded { state, warning, text } = loaded;
        if let Some(what) = state.strangeness() {
            bail!("the state `{}` cannot be understood: {what}", file.path().display());
        }
        if state.is_of(session_id) || state.is_of_driven(client::session_call) {
            // What was planned when the copy was made has been started since.
            if warning.is_some() && *state.phase() == Phase::Planned {
                bail!("the last good copy of `{}` is too old", file.path().display());
            }
            if !is_believed(call, &state) {
                return Err(NotFromClient.into());
            }
            return Ok(Some(Bound { file, state, warning, text }));
        }
        // A single manifest file names one loop for all sessions; only its own may be touched.
        let has_left = || {
            let whole = file.read().ok().flatten();
            whole.is_some_and(|whole| {
                lifecycle::has_left(&call.home, &file, &whole.state, session_id)
            })
        };
        match call.home.single_manifest().is_some() || has_left() || *state.phase() == Phase::Ended
        {
            true => Ok(None),
            false => bail!("the state `{}` names another session", file.path().display()),
        }
    }

    /// A state that another tool wrote and a single manifest names has no id: it gets what it lacks.
    fn taken_in(call: &HookCall, file: &LoopFile, loaded: Loaded<S>) -> Result<Loaded<S>> {
        let is_named = !loaded.state.loop_id().is_empty();
        if is_named
            || !loaded.state.is_of(&call.input.session_id)
            || *loaded.state.phase() == Phase::Ended
            || !lifecycle::is_in_place(&call.home, file)
        {
            return Ok(loaded);
        }
        lifecycle::take_in(file, &call.project())?;
        Ok(file.view()?.unwrap_or(loaded))
    }

    fn by_its_state(call: &HookCall) -> Result<Option<Bound<S>>> {
        let found = lifecycle::by_its_state(&call.home, &call.input.session_id);
        let Some(file) = found else { return Ok(None) };
        let Ok(Some(loaded)) = file.view::<S>() else { return Ok(None) };
        let Loaded { state, warning, text } = loaded;
        if !is_believed(call, &state) {
            return Err(NotFromClient.into());
        }
        let is_usable = state.strangeness().is_none();
        Ok(is_usable.then_some(Bound { file, state, warning, text }))
    }

    /// True in a client that a driver has started for one call of an orchestrated session: its conversation is that
    /// agent, and what becomes of the loop its driver knows.
    pub fn is_driven(&self) -> bool {
        self.state.orchestrated().is_some() && client::session_call().is_some()
    }

    /// True when a registration of higher rank has been seen: its copy answers, this one is silent.
    pub fn is_outranked(&self, via: Via) -> bool {
        self.state.outranks(via)
    }

    /// Writes one line of the journal. A journal that cannot be written stops nothing.
    pub fn note(&self, call: &HookCall, decision: &str, why: &str, seen: Value) {
        note(&self.file, call, &self.state.position(), decision, why, seen);
    }
}

/// Writes one line of the journal of a loop.
pub fn note(
    file: &LoopFile,
    call: &HookCall,
    position: &str,
    decision: &str,
    why: &str,
    seen: Value,
) {
    let said = JournalLine { position, decision, why, seen };
    keep(file, call, said, None::<()>);
}

/// What a line of the journal says.
#[derive(Debug)]
pub struct JournalLine<'a> {
    /// Where the loop stood after it.
    pub position: &'a str,
    /// What was decided.
    pub decision: &'a str,
    /// Why.
    pub why: &'a str,
    /// What of the event explains it to a reader.
    pub seen: Value,
}

/// As `note`, with all that the decision was made from.
pub fn keep<R: Serialize>(
    file: &LoopFile,
    call: &HookCall,
    said: JournalLine<'_>,
    record: Option<R>,
) {
    let JournalLine { position, decision, why, mut seen } = said;
    // What a model says or calls may quote an output.
    without_secrets(&mut seen);
    let entry = JournalEntry {
        at: clock::now(),
        event: call.input.hook_event_name.name().to_owned(),
        decision: decision.to_owned(),
        why: redact::by_shape(why),
        position: position.to_owned(),
        prompt_id: call.input.prompt_id.clone(),
        input: digest::of_bytes(&call.raw),
        seen,
        record,
        took_us: u64::try_from(call.began.elapsed().as_micros()).unwrap_or(u64::MAX),
    };
    let _ = lifecycle::note(&call.home, file, &entry);
}

fn without_secrets(seen: &mut Value) {
    match seen {
        Value::String(text) => *text = redact::by_shape(text),
        Value::Array(items) => items.iter_mut().for_each(without_secrets),
        Value::Object(members) => members.values_mut().for_each(without_secrets),
        _ => {}
    }
}

/// The fields of a call that explain a decision about a tool.
pub fn tool(call: &HookCall) -> Value {
    json!({"tool": call.input.tool_name, "agent": call.input.agent_type})
}
