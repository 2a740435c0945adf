//! Finds shared loops whose references may be left over. It reads what this clone last heard, and does
//! not ask the remote.

use super::check::{Check, warn};
use super::states::Loops;
use crate::setup::places::InstallPaths;
use ralph_core::tasks::shared::text::Name;
use ralph_core::views::phrases::spaced;
use ralph_core::views::shared as view;
use ralph_io::git::shared::{self, KnownLoop};
use ralph_io::project;

const NAME: &str = "shared loops";

/// One line for each loop that ended, or that the remote no longer has.
pub(super) fn check(loops: &Loops, places: &InstallPaths) -> Vec<Check> {
    let root = project::root(None, &places.current);
    let known = shared::known(&places.ralph, &root);
    // A share that was refused leaves the loop planned.
    let is_here = |id: &Name| loops.states.iter().any(|state| state.loop_id == id.as_str());
    known.iter().filter(|one| !is_here(&one.loop_id)).filter_map(judge).collect()
}

fn judge(known: &KnownLoop) -> Option<Check> {
    let id = &known.loop_id;
    let clean = view::clean(id, known.remote.as_deref().unwrap_or(view::ORIGIN));
    match &known.ledger {
        None => Some(warn(
            NAME,
            format!("the remote no longer has loop {id}"),
            format!("`{clean}` removes what this clone keeps of it"),
        )),
        Some(Ok(ledger)) => ledger.end.as_ref().map(|end| {
            let how = spaced(end.ending.as_str());
            let detail = format!("loop {id} has ended: {how}; its references slow every push down");
            warn(NAME, detail, format!("`{clean}` deletes them"))
        }),
        Some(Err(error)) => {
            let detail = format!("loop {id} cannot be read: {error:#}");
            Some(warn(NAME, detail, format!("update Ralph; `{clean} --force` deletes the loop")))
        }
    }
}
