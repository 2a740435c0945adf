//! `ralph session validate` and `repair`: what is wrong with the files, and what of it can be put right.

use super::{SessionArg, SessionContext};
use crate::command::exit::Exit;
use crate::command::screen::{self, visible, visible_lines};
use anyhow::Result;
use ralph_core::modes::orchestration::finding::SessionFinding;
use ralph_core::modes::orchestration::repair::repair as mended;
use ralph_core::modes::orchestration::validate::{is_invalid, validate as findings};
use ralph_io::process::clock;

/// Which session.
#[derive(Debug, clap::Args)]
pub(crate) struct Validate {
    #[command(flatten)]
    which: SessionArg,
}

/// Which session.
#[derive(Debug, clap::Args)]
pub(crate) struct Repair {
    #[command(flatten)]
    which: SessionArg,
}

pub(super) fn validate(place: &SessionContext, args: &Validate) -> Result<Exit> {
    let id = place.find(args.which.id.as_deref())?;
    let found = findings(&place.read(&id)?);
    match found.is_empty() {
        true => screen::print(&format!("session {id}: nothing is wrong"))?,
        false => screen::print(&visible_lines(&lines(&found)))?,
    }
    Ok(code(&found))
}

pub(super) fn repair(place: &SessionContext, args: &Repair) -> Result<Exit> {
    let id = place.find(args.which.id.as_deref())?;
    let now = place.here.now;
    let changed = place.update(&id, |seen| {
        let mended = mended(seen, clock::local(now));
        // What was there is a person's work, damaged or not.
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

fn lines(found: &[SessionFinding]) -> String {
    found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// No, where the session has to be repaired before it can go on.
fn code(found: &[SessionFinding]) -> Exit {
    if is_invalid(found) { Exit::No } else { Exit::Done }
}
