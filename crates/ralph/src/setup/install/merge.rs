//! Adds Ralph's hooks and extras to a settings text, and removes them. Everything else keeps its value and
//! its order.
//!
//! An entry is Ralph's if it has the executable's name and the last argument `settings`, wherever
//! its path leads, so an upgrade replaces the entries of an older installation. Other entries stay
//! where they are, even inside a shared group. A changed text is laid out as the client lays it out,
//! with the indentation of the file.

use super::extras::{self, AskedExtras, Extras};
use crate::command::exit::{Exit, refused};
use anyhow::Result;
use ralph_core::protocol::registration::{self, Location, Origin, settings_hooks};
use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Map, Value, json};
use std::fmt::Display;

/// The members of a settings file.
pub(super) type Members = Map<String, Value>;

/// A settings text after the change.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Merged {
    /// The whole text.
    pub(crate) text: String,
    /// The changes made; if empty, the text is unchanged.
    pub(crate) changes: Vec<SettingsChange>,
    /// The extras in the text that Ralph has written, now or earlier.
    pub(crate) extras: Extras,
}

/// One change to a settings text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SettingsChange {
    /// What is done, as the user reads it behind "would".
    pub(crate) what: &'static str,
    /// The event, or the value.
    pub(crate) detail: String,
}

impl SettingsChange {
    pub(super) fn new(what: &'static str, detail: impl Display) -> SettingsChange {
        SettingsChange { what, detail: detail.to_string() }
    }
}

/// What is done at an event that had no hook of Ralph's.
pub(super) const REGISTER: &str = "register hooks";

/// Adds the hooks and the extras.
pub(crate) fn put_in(
    text: &str,
    location: Location<'_>,
    asked: &AskedExtras,
    known: &Extras,
) -> Result<Merged> {
    let mut settings = parse(text)?;
    let wanted = serde_json::to_value(settings_hooks(location))?;
    let mut changes = register(&mut settings, &wanted)?;
    let extras = extras::put_in(&mut settings, location, asked, known, &mut changes)?;
    Ok(Merged { text: text_of(&settings, &changes, text)?, changes, extras })
}

/// Removes all of Ralph's hooks, and those extras that still have the value that Ralph wrote.
pub(crate) fn take_out(text: &str, written: &Extras) -> Result<Merged> {
    let mut settings = parse(text)?;
    let mut changes = register(&mut settings, &Value::Null)?;
    extras::take_out(&mut settings, written, &mut changes);
    let extras = Extras::default();
    Ok(Merged { text: text_of(&settings, &changes, text)?, changes, extras })
}

/// Whether an entry of a group is Ralph's, registered with this origin, in exec form or as a shell line.
pub(crate) fn is_ours(entry: &Value, origin: Origin) -> bool {
    let Some(command) = entry["command"].as_str() else { return false };
    match entry["args"].as_array() {
        Some(args) => registration::is_ours(command, args.iter().filter_map(Value::as_str), origin),
        None => {
            let mut words = command.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
            words.next().is_some_and(|first| registration::is_ours(first, words, origin))
        }
    }
}

/// The events at which Ralph's entries are not the wanted ones.
pub(crate) fn differing(hooks: &Value, wanted: &Value, origin: Origin) -> Vec<String> {
    let names = [wanted, hooks].into_iter().filter_map(Value::as_object).flat_map(Map::keys);
    let mut events: Vec<&String> = Vec::new();
    for event in names {
        let same = ours_at(&hooks[event], origin) == ours_at(&wanted[event], origin);
        if !same && !events.contains(&event) {
            events.push(event);
        }
    }
    events.into_iter().cloned().collect()
}

/// Ralph's entries at an event with their matchers; together they decide what the entries do.
fn ours_at(groups: &Value, origin: Origin) -> Vec<(Option<&Value>, &Value)> {
    let groups = groups.as_array().into_iter().flatten();
    let entries = groups.flat_map(|group| {
        let entries = group["hooks"].as_array().into_iter().flatten();
        entries.map(|entry| (group.get("matcher"), entry))
    });
    entries.filter(|(_, entry)| is_ours(entry, origin)).collect()
}

/// Leaves of Ralph's entries exactly the wanted ones.
fn register(settings: &mut Members, wanted: &Value) -> Result<Vec<SettingsChange>> {
    if wanted.is_null() && !settings.get("hooks").is_some_and(Value::is_object) {
        return Ok(Vec::new());
    }
    let hooks = object(settings, "hooks")?;
    let is_no_list = |event: &&String| hooks.get(*event).is_some_and(|groups| !groups.is_array());
    if let Some(event) = wanted.as_object().into_iter().flat_map(Map::keys).find(is_no_list) {
        return Err(not_a(&format!("hooks.{event}"), "a list"));
    }
    let mut changes = Vec::new();
    for event in differing(&Value::Object(hooks.clone()), wanted, Origin::Settings) {
        let wanted = wanted[&event].as_array().map_or(&[][..], Vec::as_slice);
        let groups = hooks.entry(event.as_str()).or_insert_with(|| json!([]));
        let had_ours = !ours_at(groups, Origin::Settings).is_empty();
        let Value::Array(groups) = groups else { continue };
        groups.retain_mut(keeps_entries_of_others);
        groups.extend_from_slice(wanted);
        let what = match (had_ours, wanted.is_empty()) {
            (_, true) => "remove hooks",
            (true, false) => "replace older hooks of Ralph",
            (false, false) => REGISTER,
        };
        if groups.is_empty() {
            hooks.shift_remove(&event);
        }
        changes.push(SettingsChange::new(what, event));
    }
    if hooks.is_empty() && !changes.is_empty() {
        settings.shift_remove("hooks");
    }
    Ok(changes)
}

/// Removes Ralph's entries from a group; false if that leaves none.
fn keeps_entries_of_others(group: &mut Value) -> bool {
    let Some(entries) = group.get_mut("hooks").and_then(Value::as_array_mut) else { return true };
    let n_before = entries.len();
    entries.retain(|entry| !is_ours(entry, Origin::Settings));
    entries.len() == n_before || !entries.is_empty()
}

/// The object of this name, which is added if it is missing.
///
/// # Errors
/// If there is something else; nothing has been written then.
pub(super) fn object<'a>(settings: &'a mut Members, name: &str) -> Result<&'a mut Members> {
    let value = settings.entry(name).or_insert_with(|| json!({}));
    value.as_object_mut().ok_or_else(|| not_a(name, "an object"))
}

pub(super) fn not_a(what: &str, kind: &str) -> anyhow::Error {
    let message = format!("`{what}` is not {kind}: mend it first; nothing was changed");
    refused(Exit::BadState, message)
}

/// Parses a settings file as strictly as the client does: without comments.
pub(super) fn parse(text: &str) -> Result<Members> {
    // An empty file, as `touch` creates it, holds nothing to lose.
    let text = if text.trim().is_empty() { "{}" } else { text };
    serde_json::from_str(text).map_err(|error| {
        let why = match error.is_data() {
            true => "the settings are not a JSON object".to_owned(),
            false => {
                let (line, column) = (error.line(), error.column());
                format!("not valid JSON at line {line}, column {column}: {error}")
            }
        };
        refused(Exit::BadState, format!("{why}; nothing was changed"))
    })
}

/// The settings with the indentation and the line ends of the file; without a change, its own text.
fn text_of(settings: &Members, changes: &[SettingsChange], file: &str) -> Result<String> {
    if changes.is_empty() {
        return Ok(file.to_owned());
    }
    let indent = |line: &str| line[..line.len() - line.trim_start().len()].to_owned();
    let indents = file.lines().map(indent).find(|indent| !indent.is_empty());
    let indent = indents.unwrap_or_else(|| "  ".to_owned());
    let mut text = Vec::new();
    let formatter = PrettyFormatter::with_indent(indent.as_bytes());
    settings.serialize(&mut Serializer::with_formatter(&mut text, formatter))?;
    if file.trim().is_empty() || file.ends_with('\n') {
        text.push(b'\n');
    }
    let text = String::from_utf8(text)?;
    // A line end inside of a string is escaped.
    Ok(if file.contains("\r\n") { text.replace('\n', "\r\n") } else { text })
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
