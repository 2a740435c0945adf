//! Gathers what a report shows of a refinement: its rounds and the versions of its plan.

use super::{session, show, versions};
use crate::command::context_dir::Here;
use crate::command::exit::bad_state;
use anyhow::Result;
use ralph_core::modes::refine::state::Refinement;
use ralph_core::state::LoopState;
use ralph_core::views::report::{RefinementSeen, Report, VersionSeen, of_refinement};
use ralph_io::store::refine::{KeptVersion, RefineStore, What};
use std::path::Path;

/// The report of the refinement with this name.
pub(in crate::cli) fn of(here: &Here, name: &str) -> Result<Report> {
    let place = RefineStore::of(&here.home, &here.root);
    let (name, found) = session::one(&place, Some(name), |_| true)?;
    let mut versions = seen(&place, &name)?;
    if found.status.is_over() {
        // Leaves out what a person restored later, so that the report of a finished refinement
        // stays the same.
        versions.retain(|version| version.round > 0 || Some(version.at) <= found.ended_at);
    }
    Ok(of_refinement(&RefinementSeen {
        name: &name,
        word: &session::word(&name),
        session: &found,
        versions,
        activity: show::activity(here, &place, &name, &found),
        now: here.now,
    }))
}

/// The names of the project's refinements, the latest last.
pub(in crate::cli) fn names(here: &Here) -> Vec<String> {
    let document = RefineStore::of(&here.home, &here.root).document().unwrap_or_default();
    document.sessions().map(|(name, _)| name.to_owned()).collect()
}

/// What a session has refined in this loop; none if it cannot be read, since the loop has its
/// report all the same.
pub(in crate::cli) fn of_loop(
    here: &Here,
    state: &LoopState,
) -> Option<(Refinement, Vec<VersionSeen>)> {
    let name = &state.refining()?.name;
    let place = RefineStore::of(&here.home, Path::new(&state.project_root));
    let session = place.document().ok()?.session(name).ok()??;
    Some((session, seen(&place, name).unwrap_or_default()))
}

fn seen(place: &RefineStore, name: &str) -> Result<Vec<VersionSeen>> {
    let list = place.versions(name).list().map_err(bad_state)?;
    let seen = |version: &KeptVersion| VersionSeen {
        number: version.number,
        round: version.round,
        is_written: matches!(version.what, What::Round | What::Aside),
        what: versions::of(version),
        at: version.at,
    };
    Ok(list.iter().map(seen).collect())
}
