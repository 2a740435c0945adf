//! `ralph session validate` and `repair`: what is wrong with an orchestration's files, and how much
//! of it can be repaired.

use super::{OrchestrationArg, OrchestrationContext};
use crate::command::exit::Exit;
use crate::command::screen::{self, visible, visible_lines};
use anyhow::Result;
use ralph_core::modes::orchestration::finding::OrchestrationFinding;
use ralph_core::modes::orchestration::repair::repair as mended;
use ralph_core::modes::orchestration::validate::{is_invalid, validate as findings};
use ralph_io::process::clock;

/// Which session.
#[derive(Debug, clap::Args)]
pub(crate) struct Validate {
    #[command(flatten)]
    which: OrchestrationArg,
}

/// Which session.
#[derive(Debug, clap::Args)]
pub(crate) struct Repair {
    #[command(flatten)]
    which: OrchestrationArg,
}

pub(super) fn validate(place: &OrchestrationContext, args: &Validate) -> Result<Exit> {
    let id = place.find(args.which.id.as_deref())?;
    let found = findings(&place.read(&id)?);
    match found.is_empty() {
        true => screen::print(&format!("session {id}: nothing is wrong"))?,
        false => screen::print(&visible_lines(&lines(&found)))?,
    }
    Ok(code(&found))
}

pub(super) fn repair(place: &OrchestrationContext, args: &Repair) -> Result<Exit> {
    let id = place.find(args.which.id.as_deref())?;
    let now = place.here.now;
    let changed = place.update(&id, |seen| {
        let mended = mended(seen, clock::local(now));
        // Keeps the files as they were: damaged or not, they are a person's work.
        let kept = place.sessions.keep(seen, &mended.after, now)?;
        Ok((mended.after, (mended.done, mended.left, kept)))
    })?;
    let (done, left, kept) = changed.what;
    let mut text = match done.is_empty() {
        true => format!("session {id}: there was nothing to put right"),
        false => format!("put right:\n{}", lines(&done)),
    };
    if let Some(folder) = kept {
        text.push_str(&format!("\nas it was: `{}`", visible(&folder.display().to_string())));
    }
    if !left.is_empty() {
        text.push_str(&format!("\nleft:\n{}", lines(&left)));
    }
    screen::print(&visible_lines(&text))?;
    Ok(code(&left))
}

fn lines(found: &[OrchestrationFinding]) -> String {
    found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// `No` if the orchestration must be repaired before it can continue.
fn code(found: &[OrchestrationFinding]) -> Exit {
    if is_invalid(found) { Exit::No } else { Exit::Done }
}
