//! How a run ends, and what stands in the way of one.

use super::Plan;
use crate::cli::exit::Exit;
use ralph_core::state::PauseCause;
use ralph_io::lifecycle;

/// Why no worker is started any more.
pub(crate) enum Ended {
    /// The loop has ended.
    Over,
    /// Somebody let it rest.
    Paused,
    /// A bound of it is reached.
    Bound,
    /// All tasks are done and merged: the criteria decide.
    Criteria,
    /// Something failed that is not the work: the disk, git, a program. The loop stays as it is.
    Failed(anyhow::Error),
    /// It rests, for this reason.
    Rest {
        /// The cause.
        cause: PauseCause,
        /// In words.
        why: String,
        /// How the command ends.
        exit: Exit,
    },
}

impl Ended {
    pub(super) fn rest(cause: PauseCause, why: &str, exit: Exit) -> Ended {
        Ended::Rest { cause, why: why.to_owned(), exit }
    }
}

/// True if whoever ended the loop lets those finish that are at work.
pub(super) fn lets_finish(plan: &Plan<'_>) -> bool {
    let id = plan.file.folder().file_name().and_then(|name| name.to_str());
    let file = id.and_then(|id| lifecycle::by_id(&plan.here.home, id));
    let state = file.and_then(|file| file.read().ok().flatten());
    state.is_some_and(|loaded| loaded.state.let_finish)
}
