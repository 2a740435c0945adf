//! Adds Ralph's hooks to a settings text, and removes them, without touching anything else.
//!
//! An entry is Ralph's if it has the executable's name and the last argument `settings`, wherever
//! its path leads, so an upgrade replaces the entries of an older installation. Other entries stay
//! where they are, even inside a shared group.

use super::extras::{self, Extras, WorkerBase};
use super::json_text;
use crate::command::exit::{Exit, refused};
use anyhow::Result;
use jsonc_parser::cst::{CstArray, CstNode, CstObject};
use ralph_core::protocol::registration::{self, Origin, Registered};
use serde_json::Value;

/// A settings text after the change.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Merged {
    /// The whole text.
    pub(crate) text: String,
    /// The changes made; if empty, the text is unchanged.
    pub(crate) changes: Vec<SettingsChange>,
}

/// One change to a settings text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SettingsChange {
    /// The event got Ralph's hook.
    Added(String),
    /// The event had an older entry of Ralph's.
    Replaced(String),
    /// The event no longer has Ralph's hook.
    Removed(String),
    CapSet(u32),
    CapRemoved,
    /// The base of workers was written.
    BaseSet(WorkerBase),
    /// The base of workers was removed.
    BaseRemoved,
    /// Plain `ralph` lines may run outside of the client's sandbox.
    LetOut,
    /// They may no longer.
    KeptIn,
    /// The status line was written.
    LineSet(String),
    /// The earlier status line was restored.
    LineRestored,
    /// The status line was removed.
    LineRemoved,
}

/// Adds the hooks and the extras.
pub(crate) fn put_in(text: &str, wanted: &Registered, extras: &Extras) -> Result<Merged> {
    let (root, settings) = json_text::parse(text)?;
    let mut changes = Vec::new();
    let hooks = match settings.get("hooks") {
        None => None,
        Some(_) => Some(settings.object_value("hooks").ok_or_else(|| not_a("hooks", "an object"))?),
    };
    if let Some(hooks) = &hooks {
        check_shape(hooks, wanted)?;
        changes.extend(take_out_strangers_to(hooks, wanted));
    }
    let hooks = hooks.unwrap_or_else(|| settings.object_value_or_set("hooks"));
    for (event, groups) in wanted.events() {
        let groups = serde_json::to_value(groups)?;
        changes.extend(put_event_in(&hooks, event, groups.as_array().map_or(&[], Vec::as_slice)));
    }
    changes.extend(extras::put_in(&settings, extras)?);
    Ok(finished(text, root.to_string(), changes))
}

/// Removes all of Ralph's hooks, and those extras that still have the value that Ralph wrote.
pub(crate) fn take_out(text: &str, written: &Extras) -> Result<Merged> {
    let (root, settings) = json_text::parse(text)?;
    let mut changes = Vec::new();
    if let Some(hooks) = settings.object_value("hooks") {
        for property in hooks.properties() {
            if let (Some(event), Some(groups)) = (property.decoded_name(), property.array_value())
                && take_out_of(&groups)
            {
                changes.push(SettingsChange::Removed(event));
                if groups.elements().is_empty() {
                    property.remove();
                }
            }
        }
        if !changes.is_empty() && hooks.properties().is_empty() {
            remove_key(&settings, "hooks");
        }
    }
    changes.extend(extras::take_out(&settings, written));
    Ok(finished(text, root.to_string(), changes))
}

/// Whether an entry of a group is Ralph's in a settings file, in exec form or as a shell line.
pub(crate) fn is_ours(entry: &Value) -> bool {
    is_ours_as(entry, Origin::Settings)
}

/// Whether an entry of a group is Ralph's, registered with this origin.
pub(crate) fn is_ours_as(entry: &Value, origin: Origin) -> bool {
    let Some(command) = entry["command"].as_str() else { return false };
    match entry["args"].as_array() {
        Some(args) => registration::is_ours(command, args.iter().filter_map(Value::as_str), origin),
        None => {
            let mut words = command.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
            words.next().is_some_and(|first| registration::is_ours(first, words, origin))
        }
    }
}

fn finished(before: &str, after: String, changes: Vec<SettingsChange>) -> Merged {
    let text = if changes.is_empty() { before.to_owned() } else { after };
    Merged { text, changes }
}

pub(super) fn not_a(what: &str, kind: &str) -> anyhow::Error {
    let message = format!("`{what}` is not {kind}: mend it first; nothing was changed");
    refused(Exit::BadState, message)
}

/// Checked before any change, so that a refusal leaves nothing half done.
fn check_shape(hooks: &CstObject, wanted: &Registered) -> Result<()> {
    for (event, _) in wanted.events() {
        if hooks.get(event).is_some() && hooks.array_value(event).is_none() {
            return Err(not_a(&format!("hooks.{event}"), "a list"));
        }
    }
    Ok(())
}

/// Removes Ralph's entries at events that are no longer in the table.
fn take_out_strangers_to(hooks: &CstObject, wanted: &Registered) -> Vec<SettingsChange> {
    let mut changes = Vec::new();
    for property in hooks.properties() {
        let Some(event) = property.decoded_name() else { continue };
        let is_wanted = wanted.events().any(|(name, _)| name == event);
        let groups = property.array_value().filter(|_| !is_wanted);
        if let Some(groups) = groups
            && take_out_of(&groups)
        {
            changes.push(SettingsChange::Removed(event));
            if groups.elements().is_empty() {
                property.remove();
            }
        }
    }
    changes
}

fn put_event_in(hooks: &CstObject, event: &str, wanted: &[Value]) -> Option<SettingsChange> {
    let present = hooks.array_value(event).map(|groups| ours_in(&groups)).unwrap_or_default();
    if present == ours_of(wanted) {
        return None;
    }
    let groups = hooks.array_value_or_set(event);
    let had_ours = take_out_of(&groups);
    for group in wanted {
        groups.append(json_text::input(group));
    }
    groups.ensure_multiline();
    let event = event.to_owned();
    Some(if had_ours { SettingsChange::Replaced(event) } else { SettingsChange::Added(event) })
}

/// Ralph's entries with their matchers; together they decide what the entries do.
fn ours_of(groups: &[Value]) -> Vec<(Option<Value>, Value)> {
    let under = |group: &Value| {
        let matcher = group.get("matcher").cloned();
        let entries = group["hooks"].as_array().cloned().unwrap_or_default();
        entries.into_iter().filter(is_ours).map(move |entry| (matcher.clone(), entry))
    };
    groups.iter().flat_map(|group| under(group).collect::<Vec<_>>()).collect()
}

fn ours_in(groups: &CstArray) -> Vec<(Option<Value>, Value)> {
    let values: Vec<Value> = groups.elements().iter().filter_map(CstNode::to_serde_value).collect();
    ours_of(&values)
}

/// Removes Ralph's entries from an event's groups, and any group left empty by that.
fn take_out_of(groups: &CstArray) -> bool {
    let mut found = false;
    for group in groups.elements() {
        let Some(entries) = group.as_object().and_then(|group| group.array_value("hooks")) else {
            continue;
        };
        let ours: Vec<CstNode> = entries
            .elements()
            .into_iter()
            .filter(|entry| entry.to_serde_value().is_some_and(|value| is_ours(&value)))
            .collect();
        if ours.is_empty() {
            continue;
        }
        found = true;
        if ours.len() == entries.elements().len() {
            group.remove();
        } else {
            ours.into_iter().for_each(CstNode::remove);
        }
    }
    found
}

pub(super) fn remove_key(settings: &CstObject, name: &str) {
    if let Some(property) = settings.get(name) {
        property.remove();
    }
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
