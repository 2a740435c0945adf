//! Optional settings beside the hooks, each written only on request.
//!
//! A new block cap replaces the old one. The base of workers and the sandbox's exceptions are also
//! settings of the client's own, which the user may have made: an existing value is kept.

use super::merge::{Members, SettingsChange, not_a, object, parse};
use super::statusline::{self, Statusline};
use anyhow::Result;
use ralph_core::protocol::registration::Location;
use ralph_core::protocol::sandbox::EXCLUDED;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The client's limit on consecutive blocked stops, as an entry of `env`.
pub(crate) const BLOCK_CAP: &str = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP";

/// The object and the key of the commit that the client's new worktrees start from, and the value for the
/// one that is checked out.
const WORKTREE: &str = "worktree";
const BASE: &str = "baseRef";
const HEAD: &str = "head";

/// The object and the list of what runs outside of the client's sandbox.
pub(super) const SANDBOX: &str = "sandbox";
pub(super) const OUTSIDE: &str = "excludedCommands";

/// The extras that Ralph has written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Extras {
    block_cap: Option<u32>,
    pub(super) worker_base: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    statusline: Option<Statusline>,
    /// True if Ralph's commands may run outside of the client's sandbox.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    lets_ralph_out: bool,
}

/// The extras that the user asks for.
#[derive(Debug, Clone, Default)]
pub(crate) struct AskedExtras {
    pub(crate) block_cap: Option<u32>,
    pub(crate) named: Vec<Extra>,
}

/// A setting that a user can ask for by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Extra {
    /// A plain `ralph` line of the model runs outside of your sandbox
    Sandbox,
    /// Show the session's loop in the client's status line
    Statusline,
    /// Workers begin from the checked-out commit
    WorkerBase,
}

impl Extra {
    /// The word on the command line.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Sandbox => "sandbox",
            Self::Statusline => "statusline",
            Self::WorkerBase => "worker-base",
        }
    }
}

/// Writes the requested extras. Returns all of Ralph's that are there now.
pub(super) fn put_in(
    settings: &mut Members,
    location: Location<'_>,
    asked: &AskedExtras,
    known: &Extras,
    changes: &mut Vec<SettingsChange>,
) -> Result<Extras> {
    let mut extras = still_there(settings, known);
    if let Some(cap) = asked.block_cap {
        let env = object(settings, "env")?;
        let value = Value::from(cap.to_string());
        if env.get(BLOCK_CAP) != Some(&value) {
            env.insert(BLOCK_CAP.to_owned(), value);
            changes.push(SettingsChange::new("set the block cap", cap));
        }
        extras.block_cap = Some(cap);
    }
    if asked.named.contains(&Extra::WorkerBase) {
        let worktree = object(settings, WORKTREE)?;
        if !worktree.contains_key(BASE) {
            worktree.insert(BASE.to_owned(), HEAD.into());
            changes.push(SettingsChange::new("start workers from", HEAD));
            extras.worker_base = Some(HEAD.to_owned());
        }
    }
    if asked.named.contains(&Extra::Sandbox) {
        let list = object(settings, SANDBOX)?.entry(OUTSIDE).or_insert_with(|| json!([]));
        let no_list = || not_a(&format!("{SANDBOX}.{OUTSIDE}"), "a list");
        let list = list.as_array_mut().ok_or_else(no_list)?;
        if !list.iter().any(|one| one == EXCLUDED || one == "ralph:*") {
            list.push(EXCLUDED.into());
            changes.push(SettingsChange::new("let run outside of the client's sandbox", EXCLUDED));
            extras.lets_ralph_out = true;
        }
    }
    let ours = statusline::ours(location);
    let is_asked = asked.named.contains(&Extra::Statusline);
    let known = extras.statusline.take();
    extras.statusline = statusline::put_in(settings, &ours, is_asked, known, changes)?;
    Ok(extras)
}

/// Removes the extras that still have the value that Ralph wrote.
pub(super) fn take_out(
    settings: &mut Members,
    written: &Extras,
    changes: &mut Vec<SettingsChange>,
) {
    let there = still_there(settings, written);
    if there.block_cap.is_some() {
        remove(settings, "env", BLOCK_CAP);
        changes.push(SettingsChange::new("remove the block cap", BLOCK_CAP));
    }
    if there.worker_base.is_some() {
        remove(settings, WORKTREE, BASE);
        changes.push(SettingsChange::new("remove the setting", "worktree.baseRef"));
    }
    if there.lets_ralph_out {
        if let Some(list) = settings[SANDBOX][OUTSIDE].as_array_mut() {
            list.retain(|one| one != EXCLUDED);
            if list.is_empty() {
                remove(settings, SANDBOX, OUTSIDE);
            }
        }
        let what = "let no longer run outside of the client's sandbox";
        changes.push(SettingsChange::new(what, EXCLUDED));
    }
    if let Some(line) = &there.statusline {
        statusline::take_out(settings, line, changes);
    }
}

/// The base of new worktrees in this text, no matter who set it.
pub(super) fn worker_base_of(text: &str) -> Result<Option<Value>> {
    Ok(parse(text)?.get(WORKTREE).and_then(|worktree| worktree.get(BASE)).cloned())
}

/// Those of the extras that have not been changed since.
fn still_there(settings: &Members, written: &Extras) -> Extras {
    let member = |object: &str, key: &str| settings.get(object).and_then(|object| object.get(key));
    let cap = |cap: &u32| member("env", BLOCK_CAP).is_some_and(|value| *value == cap.to_string());
    let base = |base: &String| member(WORKTREE, BASE).is_some_and(|value| value == base);
    let outside = member(SANDBOX, OUTSIDE).and_then(Value::as_array);
    Extras {
        block_cap: written.block_cap.filter(cap),
        worker_base: written.worker_base.clone().filter(base),
        statusline: written.statusline.clone().filter(|line| statusline::is_there(settings, line)),
        lets_ralph_out: written.lets_ralph_out
            && outside.is_some_and(|list| list.iter().any(|one| one == EXCLUDED)),
    }
}

/// Removes a key, and the object if it is empty then.
fn remove(settings: &mut Members, name: &str, key: &str) {
    let Some(object) = settings.get_mut(name).and_then(Value::as_object_mut) else { return };
    object.shift_remove(key);
    if object.is_empty() {
        settings.shift_remove(name);
    }
}
