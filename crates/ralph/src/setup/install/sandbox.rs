//! The one line in the client's settings that lets Ralph's commands work where the user's sandbox is
//! on: a plain `ralph` line runs outside of it.
//!
//! It widens what a sandboxed session may do, so it is written only when the user agrees to it, and
//! an entry that the user made is theirs to remove.

use super::extras::{Extra, OUTSIDE, SANDBOX};
use super::record::InstallRecord;
use super::scope::{self, InstallScope, ScopeArgs};
use crate::command::screen;
use crate::setup::places::InstallPaths;
use anyhow::Result;
use ralph_core::protocol::sandbox::EXCLUDED;
use ralph_io::project;

/// Asks on a terminal whether to write the line; false without one.
pub(super) fn is_agreed(scope: &InstallScope) -> Result<bool> {
    if !screen::can_ask() {
        return Ok(false);
    }
    let question = format!(
        "Your settings switch the client's sandbox on, where the model's `ralph` commands fail.\n\
         Add `\"{OUTSIDE}\": [\"{EXCLUDED}\"]` to `{}`? A plain `ralph` line then runs outside; \
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
        scope.args.command(Some(Extra::Sandbox))
    )
}

/// What lets Ralph's commands work in the user's sandbox: for an installation in settings, the command
/// that repeats it; for another, the entry, since the command would register the hooks a second time.
pub(crate) fn cure(places: &InstallPaths) -> String {
    let record = InstallRecord::read(places.ralph.root()).ok();
    let is_installed = |args: &ScopeArgs| {
        let scope = scope::resolve(args, places).ok()?;
        record.as_ref()?.of(&scope.settings)?;
        Some(format!("run `{}`", scope.args.command(Some(Extra::Sandbox))))
    };
    let project = project::root(None, &places.current);
    let scopes = [ScopeArgs::default(), ScopeArgs::of(Some(project))];
    scopes.iter().find_map(is_installed).unwrap_or_else(|| {
        format!("add `\"{OUTSIDE}\": [\"{EXCLUDED}\"]` below `\"{SANDBOX}\"` in your settings")
    })
}
