//! A loop that machines share: how it stands on the remote.

use super::text;
use crate::command::context_dir::Here;
use crate::command::exit::Exit;
use crate::command::screen::{self, Colour};
use anyhow::Result;
use ralph_core::state::EndingKind;
use ralph_core::tasks::shared::view::View;
use ralph_core::views::shared::{BranchStanding, SharedLoop};
use ralph_io::git::shared::{SharedPlace, Trusted};

pub(super) fn run(here: &Here, json: bool, place: &SharedPlace) -> Result<Exit> {
    let view = place.read()?;
    let shared = look(here, place, &view)?;
    match json {
        true => screen::print_json(&shared.document())?,
        false => screen::print(&describe(&shared))?,
    }
    Ok(Exit::Done)
}

/// The loop as of the last fetch.
pub(in crate::cli) fn look<'a>(
    here: &Here,
    place: &'a SharedPlace,
    view: &'a View,
) -> Result<SharedLoop<'a>> {
    let digest = place.digest(&view.ledger)?;
    let trusted = place.trusted(&here.home, &view.ledger, &digest);
    Ok(SharedLoop {
        space: place.space(),
        remote: place.remote(),
        view,
        branch: branch(place, view)?,
        digest,
        is_trusted: trusted == Trusted::Yes,
        replaced: if let Trusted::Another(before) = trusted { Some(before) } else { None },
    })
}

fn branch(place: &SharedPlace, view: &View) -> Result<BranchStanding> {
    let (records, merged) = (place.records(), &view.ledger.branch);
    let Some(proven) = &view.ledger.tree else { return Ok(BranchStanding::Empty) };
    let tree = records.tree(merged)?;
    if tree != *proven {
        return Ok(BranchStanding::OtherTree(tree));
    }
    let Some(tip) = records.snapshot()?.branch else { return Ok(BranchStanding::Missing) };
    Ok(if tip == *merged {
        BranchStanding::Proven
    } else if records.contains(&tip, merged)? {
        BranchStanding::Ahead
    } else if records.contains(merged, &tip)? {
        BranchStanding::Behind
    } else {
        BranchStanding::Replaced
    })
}

pub(in crate::cli) fn describe(shared: &SharedLoop<'_>) -> String {
    let colour = match &shared.view.ledger.end {
        Some(end) if end.ending == EndingKind::Complete => Colour::Green,
        Some(_) => Colour::Red,
        None if shared.view.ledger.pause.is_some() => Colour::Yellow,
        None => Colour::Green,
    };
    let state = screen::coloured(&screen::visible(&shared.state()), colour);
    let mut shown = format!("{}  {state}  {}", shared.space.loop_id(), shared.position());
    for (label, value) in shared.rows() {
        shown.push_str(&text::row(label, &value));
    }
    shown
}
