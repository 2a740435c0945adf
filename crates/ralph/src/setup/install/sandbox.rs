//! The one line in the client's settings that lets Ralph's commands work where the user's sandbox is
//! on: a plain `ralph` line runs outside of it.
//!
//! It widens what a sandboxed session may do, so it is written only when the user agrees to it, and
//! an entry that the user made is theirs to remove.

use super::extras::Extra;
use super::merge::not_a;
use super::record::InstallRecord;
use super::scope::{self, InstallScope, ScopeArgs};
use super::{command_with, json_text};
use crate::command::screen;
use crate::setup::places::InstallPaths;
use anyhow::Result;
use jsonc_parser::cst::{CstArray, CstNode, CstObject};
use ralph_core::protocol::sandbox::EXCLUDED;
use ralph_io::project;
use serde_json::Value;

const OBJECT: &str = "sandbox";
const LIST: &str = "excludedCommands";

/// Asks on a terminal whether to write the line; false without one.
pub(super) fn is_agreed(scope: &InstallScope) -> Result<bool> {
    if !screen::can_ask() {
        return Ok(false);
    }
    let question = format!(
        "Your settings switch the client's sandbox on, where the model's `ralph` commands fail.\n\
         Add `\"{LIST}\": [\"{EXCLUDED}\"]` to `{}`? A plain `ralph` line then runs outside; \
         it can change only its own loop. [y/N]",
        scope.settings.display()
    );
    let answer = screen::ask(&question)?;
    Ok(matches!(answer.to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// The command that writes the line.
pub(super) fn offer(scope: &InstallScope) -> String {
    format!(
        "your settings switch the client's sandbox on, where the model's `ralph` commands fail; `{}` \
         lets a plain `ralph` line run outside",
        command_with(Extra::Sandbox, scope)
    )
}

/// What lets Ralph's commands work in the user's sandbox: for an installation in settings, the command
/// that repeats it; for another, the entry, since the command would register the hooks a second time.
pub(crate) fn cure(places: &InstallPaths) -> String {
    let record = InstallRecord::read(places.ralph.root()).ok();
    let is_installed = |args: &ScopeArgs| {
        let scope = scope::resolve(args, places).ok()?;
        record.as_ref()?.of(&scope.settings)?;
        Some(format!("run `{}`", command_with(Extra::Sandbox, &scope)))
    };
    let project = project::root(None, &places.current);
    let scopes = [ScopeArgs::default(), ScopeArgs::of(Some(project))];
    scopes.iter().find_map(is_installed).unwrap_or_else(|| {
        format!("add `\"{LIST}\": [\"{EXCLUDED}\"]` below `\"{OBJECT}\"` in your settings")
    })
}

/// Adds the entry. Returns false if one of that meaning is there.
pub(super) fn put_in(settings: &CstObject) -> Result<bool> {
    if settings.get(OBJECT).is_some() && settings.object_value(OBJECT).is_none() {
        return Err(not_a(OBJECT, "an object"));
    }
    let sandbox = settings.object_value_or_set(OBJECT);
    if sandbox.get(LIST).is_some() && sandbox.array_value(LIST).is_none() {
        return Err(not_a(&format!("{OBJECT}.{LIST}"), "a list"));
    }
    let list = sandbox.array_value_or_set(LIST);
    if list.elements().iter().any(|one| is_text(one, EXCLUDED) || is_text(one, "ralph:*")) {
        return Ok(false);
    }
    list.append(json_text::input(&Value::from(EXCLUDED)));
    Ok(true)
}

/// Removes the entry, and a list or object that is empty then. Returns false if there is none.
pub(super) fn take_out(settings: &CstObject) -> bool {
    let Some(entry) = entry(settings) else { return false };
    entry.remove();
    let Some(sandbox) = settings.object_value(OBJECT) else { return true };
    if sandbox.array_value(LIST).is_some_and(|list| list.elements().is_empty()) {
        super::merge::remove_key(&sandbox, LIST);
    }
    if sandbox.properties().is_empty() {
        super::merge::remove_key(settings, OBJECT);
    }
    true
}

pub(super) fn is_written(settings: &CstObject) -> bool {
    entry(settings).is_some()
}

fn entry(settings: &CstObject) -> Option<CstNode> {
    let list: CstArray = settings.object_value(OBJECT)?.array_value(LIST)?;
    list.elements().into_iter().find(|one| is_text(one, EXCLUDED))
}

fn is_text(node: &CstNode, text: &str) -> bool {
    node.to_serde_value().is_some_and(|value| value == text)
}
