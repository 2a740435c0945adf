//! Why nothing was done with a bead, and what to do instead.

use std::fmt;

/// Why. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BeadError {
    /// bd knows no such id.
    NoSuchBead {
        /// As given.
        id: String,
    },
    /// It is somebody else's.
    Held {
        /// The bead.
        id: String,
        /// Whose.
        by: String,
    },
    /// It depends on one that is not closed.
    Waits {
        /// The bead.
        id: String,
        /// The first that it waits for.
        on: String,
    },
    /// It cannot be begun or ended as it stands.
    Closed {
        /// The bead.
        id: String,
        /// bd's word for it.
        status: String,
    },
    /// Nothing can be claimed now.
    NothingReady,
    /// A reason is missing.
    NoReason,
    /// bd said no.
    ByBd {
        /// What it was to do.
        task: &'static str,
        /// Its words.
        words: String,
    },
    /// bd has nothing of the kind.
    NotWithBd {
        /// What was wanted.
        what: &'static str,
        /// Why not, and what to do.
        instead: &'static str,
    },
}

impl fmt::Display for BeadError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BeadError::NoSuchBead { id } => {
                write!(
                    to,
                    "there is no bead `{id}`; `ralph task list --all --tracker bd` shows them"
                )
            }
            BeadError::Held { id, by } => write!(
                to,
                "{id} is claimed by {by}; take another, or `ralph task release {id} --tracker bd`"
            ),
            BeadError::Waits { id, on } => {
                write!(to, "{id} waits for {on}, which is not closed; finish {on} first")
            }
            BeadError::Closed { id, status } if status == "closed" => {
                write!(to, "{id} is already closed; `bd reopen {id}` opens it again")
            }
            BeadError::Closed { id, status } => write!(
                to,
                "{id} is {status}; `ralph task release {id} --tracker bd` makes it open again"
            ),
            BeadError::NothingReady => to.write_str(
                "no bead is ready; `ralph task list --tracker bd` shows what is open and what it \
                 waits for",
            ),
            BeadError::NoReason => to.write_str("the reason is missing; say it in words"),
            BeadError::ByBd { task, words } => write!(to, "`bd {task}` refused: {words}"),
            BeadError::NotWithBd { what, instead } => {
                write!(to, "{what} cannot be had with `--tracker bd`: {instead}")
            }
        }
    }
}

impl std::error::Error for BeadError {}
