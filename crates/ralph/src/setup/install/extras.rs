//! Optional settings beside the hooks, each written only on request: two strings, with their places
//! in the file, an item of a list, and the status line.
//!
//! A new block cap replaces the old one. The base of workers is also a setting of the client's own,
//! which the user may have made: an existing value is kept.

use super::json_text;
use super::merge::{Merged, SettingsChange, not_a, remove_key};
use super::sandbox;
use super::statusline::{self, Statusline};
use anyhow::Result;
use jsonc_parser::cst::CstObject;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The client's limit on consecutive blocked stops, as an entry of `env`.
pub(crate) const BLOCK_CAP: &str = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP";

const CAP: Spot = Spot { object: "env", key: BLOCK_CAP };
const BASE: Spot = Spot { object: "worktree", key: "baseRef" };

/// The extras that are requested, or that were written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Extras {
    pub(crate) block_cap: Option<u32>,
    /// The commit that the client's new worktrees start from.
    pub(crate) worker_base: Option<WorkerBase>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) statusline: Option<Statusline>,
    /// True if Ralph's commands may run outside of the client's sandbox.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) lets_ralph_out: bool,
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

/// From which commit the client makes a worker's work tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WorkerBase {
    /// The one that is checked out
    Head,
}

impl WorkerBase {
    /// The client's name for it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Head => "head",
        }
    }
}

/// A string in an object of the settings.
struct Spot {
    object: &'static str,
    key: &'static str,
}

/// Writes the requested extras.
pub(super) fn put_in(settings: &CstObject, wanted: &Extras) -> Result<Vec<SettingsChange>> {
    let mut changes = Vec::new();
    if let Some(cap) = wanted.block_cap
        && CAP.number(settings) != Some(cap)
    {
        CAP.set(settings, &cap.to_string())?;
        changes.push(SettingsChange::CapSet(cap));
    }
    if let Some(base) = wanted.worker_base
        && !BASE.is_there(settings)?
    {
        BASE.set(settings, base.as_str())?;
        changes.push(SettingsChange::BaseSet(base));
    }
    if wanted.lets_ralph_out && sandbox::put_in(settings)? {
        changes.push(SettingsChange::LetOut);
    }
    if let Some(line) = &wanted.statusline
        && statusline::put_in(settings, line)
    {
        changes.push(SettingsChange::LineSet(line.command.clone()));
    }
    Ok(changes)
}

/// Removes the extras that still have the value that Ralph wrote.
pub(super) fn take_out(settings: &CstObject, written: &Extras) -> Vec<SettingsChange> {
    let mut changes = Vec::new();
    if written.block_cap.is_some() && written.block_cap == CAP.number(settings) {
        CAP.remove(settings);
        changes.push(SettingsChange::CapRemoved);
    }
    if let Some(base) = written.worker_base
        && BASE.string(settings).as_deref() == Some(base.as_str())
    {
        BASE.remove(settings);
        changes.push(SettingsChange::BaseRemoved);
    }
    if written.lets_ralph_out && sandbox::take_out(settings) {
        changes.push(SettingsChange::KeptIn);
    }
    if let Some(line) = &written.statusline
        && statusline::take_out(settings, line)
    {
        changes.push(match &line.before {
            Some(_) => SettingsChange::LineRestored,
            None => SettingsChange::LineRemoved,
        });
    }
    changes
}

/// The base of new worktrees in this text, no matter who set it.
pub(super) fn worker_base_of(text: &str) -> Result<Option<Value>> {
    let (_, settings) = json_text::parse(text)?;
    Ok(BASE.value(&settings))
}

/// What Ralph may remove later: the values written now, and earlier ones that are still there.
pub(super) fn to_record(merged: &Merged, wanted: &Extras, known: &Extras) -> Result<Extras> {
    let wrote = |base: &WorkerBase| merged.changes.contains(&SettingsChange::BaseSet(*base));
    let value = worker_base_of(&merged.text)?;
    let is_still = |base: &WorkerBase| value.as_ref().is_some_and(|value| value == base.as_str());
    let (_, settings) = json_text::parse(&merged.text)?;
    let known_line = known.statusline.as_ref().filter(|line| statusline::holds(&settings, line));
    Ok(Extras {
        block_cap: wanted.block_cap.or(known.block_cap),
        worker_base: wanted.worker_base.filter(wrote).or(known.worker_base.filter(is_still)),
        statusline: wanted.statusline.as_ref().or(known_line).cloned(),
        lets_ralph_out: merged.changes.contains(&SettingsChange::LetOut)
            || known.lets_ralph_out && sandbox::is_written(&settings),
    })
}

impl Spot {
    fn value(&self, settings: &CstObject) -> Option<Value> {
        settings.object_value(self.object)?.get(self.key)?.value()?.to_serde_value()
    }

    fn string(&self, settings: &CstObject) -> Option<String> {
        self.value(settings)?.as_str().map(str::to_owned)
    }

    fn number(&self, settings: &CstObject) -> Option<u32> {
        self.string(settings)?.parse().ok()
    }

    /// Whether any value is set.
    fn is_there(&self, settings: &CstObject) -> Result<bool> {
        self.check_shape(settings)?;
        Ok(self.value(settings).is_some())
    }

    fn set(&self, settings: &CstObject, text: &str) -> Result<()> {
        self.check_shape(settings)?;
        let object = settings.object_value_or_set(self.object);
        let value = json_text::input(&Value::String(text.to_owned()));
        match object.get(self.key) {
            Some(property) => property.set_value(value),
            None => {
                object.append(self.key, value);
            }
        }
        Ok(())
    }

    fn remove(&self, settings: &CstObject) {
        let Some(object) = settings.object_value(self.object) else { return };
        if let Some(property) = object.get(self.key) {
            property.remove();
        }
        if object.properties().is_empty() {
            remove_key(settings, self.object);
        }
    }

    fn check_shape(&self, settings: &CstObject) -> Result<()> {
        let is_other =
            settings.get(self.object).is_some() && settings.object_value(self.object).is_none();
        if is_other { Err(not_a(self.object, "an object")) } else { Ok(()) }
    }
}
