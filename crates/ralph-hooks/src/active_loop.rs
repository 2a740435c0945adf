//! The loop that a hook call belongs to.

use crate::hook_runner::HookCall;
use crate::{obeyed, tampered};
use anyhow::{Error, Result, bail};
use ralph_core::state::{LoopState, Phase, Registration};
use ralph_core::text::secrets;
use ralph_io::store::journal::JournalEntry;
use ralph_io::store::loop_file::{Loaded, LoopFile};
use ralph_io::{client, process::ancestry, process::clock, store::lifecycle};
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt;

/// The manifest entry names a state file that does not exist.
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

/// A loop bound to the session that called the hook.
#[derive(Debug)]
pub struct Bound {
    pub file: LoopFile,
    /// The state at the time of the call.
    pub state: LoopState,
    /// What was wrong with the state file, if the last good copy was used instead.
    pub warning: Option<String>,
    /// The bytes of the state file as read.
    text: Vec<u8>,
}

/// The event came from a process other than the client of the session's live loop.
#[derive(Debug)]
pub struct NotFromClient;

impl fmt::Display for NotFromClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .write_str("ignored an event that does not come from the client of this session's loop")
    }
}

impl std::error::Error for NotFromClient {}

/// Checks the sender before the event is handed over. Problems with the state are not reported
/// here; the code that acts on the state reports them.
///
/// # Errors
/// When the event does not come from the client of the session's live loop.
pub fn check_sender(call: &HookCall) -> Result<()> {
    match Bound::find(call) {
        Err(error) if error.is::<NotFromClient>() => Err(error),
        _ => Ok(()),
    }
}

/// Checks the process that sent the event: any program that the model starts can send any event to
/// any hook.
fn is_believed(call: &HookCall, state: &LoopState) -> bool {
    let Some(client) = state.live_client() else { return true };
    *call.believed.get_or_init(|| ancestry::is_from(client, is_driven(state)))
}

fn is_driven(state: &LoopState) -> bool {
    state.orchestrated().is_some() && client::session_call().is_some()
}

impl Bound {
    /// Changes the state in one step. Returns `None` if the loop no longer exists.
    pub fn update<T>(self, change: impl FnOnce(&mut LoopState) -> T) -> Result<Option<T>> {
        let seen = Loaded { state: self.state, warning: self.warning, text: self.text };
        self.file.update_seen(seen, change)
    }

    /// Like [`Bound::update`], but also returns the loop with the changed state.
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

/// The session is bound to a loop that cannot be used, so the session may only read.
#[derive(Debug)]
pub struct UnreadableLoop {
    pub why: String,
}

impl std::fmt::Display for UnreadableLoop {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str(&self.why)
    }
}

impl std::error::Error for UnreadableLoop {}

impl Bound {
    /// Finds the loop. Returns `None` if the session has no loop; Ralph then ignores the call.
    ///
    /// # Errors
    /// When the session has an entry, but the entry or the state cannot be trusted or read. The
    /// error is an [`UnreadableLoop`] if the session certainly belongs to Ralph.
    pub fn find(call: &HookCall) -> Result<Option<Bound>> {
        let mut found = Bound::find_or_recover(call)?;
        // First: to judge the giver may write the state, and one that is gone would be back before anybody missed it.
        let held = found.as_ref().filter(|bound| bound.state.is_running());
        if held.is_some_and(|bound| tampered::pause_if_changed(call, &bound.file)) {
            found = Bound::find_or_recover(call)?;
        }
        match found.as_ref().is_some_and(|bound| obeyed::judge_giver(call, bound)) {
            true => Bound::find_or_recover(call),
            false => Ok(found),
        }
    }

    fn find_or_recover(call: &HookCall) -> Result<Option<Bound>> {
        Bound::find_by_session(call).or_else(|error| {
            if error.is::<NotFromClient>() {
                return Err(error);
            }
            let session_id = &call.input.session_id;
            // The entry, or the file it names, is damaged, but another state file may still name
            // the session.
            if let Some(bound) = Bound::by_its_state(call)? {
                return Ok(Some(bound));
            }
            let why = format!("{error:#}");
            match lifecycle::is_bound(&call.home, session_id) {
                true => Err(Error::new(UnreadableLoop { why })),
                false if error.is::<MissingState>() => Ok(None),
                false => Err(error),
            }
        })
    }

    fn find_by_session(call: &HookCall) -> Result<Option<Bound>> {
        let session_id = &call.input.session_id;
        let Some(first) = lifecycle::of_session(&call.home, session_id)? else { return Ok(None) };
        // A single manifest may name a state before Ralph's own folder exists.
        if !lifecycle::is_in_place(&call.home, &first) || call.home.root().exists() {
            call.home.check()?;
        }
        let mut found = (first.view()?, first);
        if found.0.is_none() {
            // The loop may have been archived between the two reads.
            let again = lifecycle::of_session(&call.home, session_id)?;
            let Some(file) = again else { return Ok(None) };
            found = (file.view()?, file);
        }
        let (Some(loaded), file) = found else {
            let (_, file) = found;
            return match file.path().starts_with(call.home.archive()) {
                // The loop had ended, and the user has deleted the archive since.
                true => Ok(None),
                false => Err(Error::new(MissingState { path: file.path().display().to_string() })),
            };
        };
        let Loaded { state, warning, text } = loaded;
        let is_its = state.is_of(session_id) || state.is_of_driven(client::session_call);
        let is_shared = call.home.single_manifest().is_some();
        // Until a typed `/ralph` takes it over, the state of another tool belongs to no session.
        if is_shared && state.loop_id.is_empty() {
            return Ok(None);
        }
        if let Some(what) = state.strangeness().filter(|_| is_its || !is_shared) {
            bail!("could not read the state `{}`: {what}", file.path().display());
        }
        if is_its {
            // A loop that the last good copy shows as planned has been started since.
            if warning.is_some() && state.phase == Phase::Planned {
                bail!("the last good copy of `{}` is too old", file.path().display());
            }
            if !is_believed(call, &state) {
                return Err(NotFromClient.into());
            }
            return Ok(Some(Bound { file, state, warning, text }));
        }
        // A single manifest file names one loop for all sessions, but only that loop's own session
        // may touch it.
        match is_shared || has_left(call, &file) || state.phase == Phase::Ended {
            true => Ok(None),
            false => bail!("the state `{}` names another session", file.path().display()),
        }
    }

    #[inline(never)]
    fn by_its_state(call: &HookCall) -> Result<Option<Bound>> {
        let found = lifecycle::by_its_state(&call.home, &call.input.session_id);
        let Some(file) = found else { return Ok(None) };
        let Ok(Some(loaded)) = file.view() else { return Ok(None) };
        let Loaded { state, warning, text } = loaded;
        if !is_believed(call, &state) {
            return Err(NotFromClient.into());
        }
        let is_usable = state.strangeness().is_none();
        Ok(is_usable.then_some(Bound { file, state, warning, text }))
    }

    /// True in a client that a driver started for one call of an orchestration. The conversation is
    /// then that agent, and the driver decides about the loop.
    pub fn is_driven(&self) -> bool {
        is_driven(&self.state)
    }

    /// True if a registration of higher rank has been seen. That copy answers; this one stays
    /// silent.
    pub fn is_outranked(&self, via: Registration) -> bool {
        self.state.outranks(via)
    }

    /// Writes one line to the journal. A write error is ignored.
    pub fn note(&self, call: &HookCall, decision: &str, why: &str, seen: Value) {
        note(&self.file, call, &self.state.position(), decision, why, seen);
    }
}

#[inline(never)]
fn has_left(call: &HookCall, file: &LoopFile) -> bool {
    let whole = file.read().ok().flatten();
    whole.is_some_and(|whole| {
        lifecycle::has_left(&call.home, file, &whole.state, &call.input.session_id)
    })
}

/// Writes one line to a loop's journal.
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

/// One journal line.
#[derive(Debug)]
pub struct JournalLine<'a> {
    /// The loop's position after the decision.
    pub position: &'a str,
    pub decision: &'a str,
    pub why: &'a str,
    /// The parts of the event that explain the decision to a reader.
    pub seen: Value,
}

/// Like [`note`], but also keeps the inputs of the decision.
pub fn keep<R: Serialize>(
    file: &LoopFile,
    call: &HookCall,
    said: JournalLine<'_>,
    record: Option<R>,
) {
    let JournalLine { position, decision, why, mut seen } = said;
    // Text from the model, or a tool call, may quote command output with secrets in it.
    without_secrets(&mut seen);
    let entry = JournalEntry {
        at: clock::now(),
        event: call.input.hook_event_name.name(),
        decision: decision.to_owned(),
        why: secrets::by_shape(why),
        position: position.to_owned(),
        prompt_id: call.input.prompt_id.clone(),
        input: call.digest().to_owned(),
        seen,
        record,
        took_us: u64::try_from(call.began.elapsed().as_micros()).unwrap_or(u64::MAX),
    };
    let _ = lifecycle::note(&call.home, file, &entry);
}

fn without_secrets(seen: &mut Value) {
    match seen {
        Value::String(text) => *text = secrets::by_shape(text),
        Value::Array(items) => items.iter_mut().for_each(without_secrets),
        Value::Object(members) => members.values_mut().for_each(without_secrets),
        _ => {}
    }
}

/// The fields of a call that explain a decision about a tool.
pub fn tool(call: &HookCall) -> Value {
    json!({"tool": call.input.tool_name, "agent": call.input.agent_type})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook_runner::tests::TestLoop;
    use ralph_core::state::Mode;
    use std::cell::OnceCell;

    #[test]
    fn only_what_the_loops_own_client_sends_is_believed_and_only_that_is_judged_here() {
        let at = TestLoop::started(Mode::Plain, "task");
        at.change(|state| state.client = Some(client::this_process()));
        let check = |is_believed| {
            let call = at.call("Stop", json!({}));
            check_sender(&HookCall { believed: OnceCell::from(is_believed), ..call })
        };
        assert!(check(true).is_ok());
        let refused = check(false).unwrap_err();
        assert!(refused.is::<NotFromClient>());
        assert_eq!(
            refused.to_string(),
            "ignored an event that does not come from the client of this session's loop"
        );
        at.change(|state| state.client = None);
        assert!(check(false).is_ok(), "nobody knows the client");
        at.damage();
        assert!(check(true).is_ok(), "what acts on the state reports that");
        let found = Bound::find(&at.call("Stop", json!({}))).unwrap_err();
        assert!(found.is::<UnreadableLoop>(), "{found:#}");
    }

    #[test]
    fn a_session_is_bound_to_its_own_loop_and_to_what_its_entry_names() {
        let found = |at: &TestLoop| {
            let found = Bound::find(&at.call("Stop", json!({})));
            found.map(|bound| bound.is_some()).map_err(|error| {
                let is_unreadable = error.is::<UnreadableLoop>();
                (is_unreadable, error.to_string())
            })
        };
        let at = TestLoop::started(Mode::Plain, "task");
        let path = at.file.path().display().to_string();
        assert_eq!(found(&at), Ok(true));
        at.change(|state| state.phase = Phase::Other("later".to_owned()));
        let strange = format!("could not read the state `{path}`: its phase `later` is not known");
        assert_eq!(found(&at), Err((true, strange)));
        at.change(|state| state.phase = Phase::Implementation);
        at.change(|state| state.session_id = "another".to_owned());
        let named = format!("the state `{path}` names another session");
        assert_eq!(found(&at), Err((true, named)));
        at.change(|state| state.phase = Phase::Ended);
        assert_eq!(found(&at), Ok(false));
        at.change(|state| state.phase = Phase::Implementation);
        lifecycle::bind(&at.home, &at.file, "another").unwrap();
        assert_eq!(found(&at), Ok(false), "it has left");
        at.lose();
        let gone = format!("the state file `{path}` is gone");
        assert_eq!(found(&at), Err((true, gone)));
    }

    #[test]
    fn the_journal_names_the_tool_and_the_agent_and_keeps_no_secret() {
        let at = TestLoop::started(Mode::Plain, "task");
        let secret = format!("ghp_{}", "a1".repeat(18));
        let hidden = secrets::by_shape(&secret);
        assert!(!hidden.contains(&secret), "{hidden}");
        let call = at.call("PreToolUse", json!({"tool_name": "Bash", "agent_type": "Explore"}));
        let about = json!({"tool": "Bash", "agent": "Explore"});
        assert_eq!(tool(&call), about);
        let seen = |with: &str| json!({"tool": about, "said": [with, {"in": with}], "n": 1});
        at.bound().note(&call, "denied", &format!("it prints {secret}"), seen(&secret));
        let noted = at.noted();
        assert_eq!(
            (noted.event.as_str(), noted.decision.as_str(), noted.position.as_str()),
            ("PreToolUse", "denied", "0/25")
        );
        assert_eq!(noted.why, format!("it prints {hidden}"));
        assert_eq!((noted.seen, noted.record), (seen(&hidden), None));
        assert_eq!(noted.input, call.digest());
    }

    #[test]
    fn a_change_returns_the_loop_as_it_is_then() {
        let at = TestLoop::started(Mode::Plain, "task");
        let mut before = at.bound();
        before.warning = Some("the last good copy".to_owned());
        let changed = before.change(|state| {
            state.iteration = 3;
            "done"
        });
        let (bound, outcome) = changed.unwrap().unwrap();
        assert_eq!((bound.state.iteration, outcome), (3, "done"));
        assert_eq!(bound.warning.as_deref(), Some("the last good copy"));
        assert_eq!(at.state().iteration, 3);
        at.lose();
        assert!(bound.change(|_| ()).unwrap().is_none());
    }
}
