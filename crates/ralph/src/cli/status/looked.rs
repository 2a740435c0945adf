//! A loop with what its project adds to its state.
//!
//! Only a live loop's project is examined: after the end its files may be anyone's. If the tree
//! cannot be examined, the receipts count as they are.

use crate::command::select_loop::FoundLoop;
use crate::verify;
use jiff::Timestamp;
use ralph_core::evidence::receipt::{self, Proof, ReceiptStatus};
use ralph_core::protocol::client_version::ClientVersion;
use ralph_core::state::{Criterion, LoopState, PauseCause};
use ralph_io::store::loop_file::LoopFile;
use ralph_io::store::mailbox::Mailbox;
use ralph_io::{client, client::transcript};
use std::path::{Path, PathBuf};

pub(in crate::cli) struct LoopView {
    pub(in crate::cli) file: LoopFile,
    pub(in crate::cli) state: LoopState,
    /// `None` if the tree was not, or could not be, examined.
    proof: Option<Proof>,
}

impl LoopView {
    /// Examines the project of a live loop.
    pub(in crate::cli) fn at(found: FoundLoop) -> LoopView {
        let FoundLoop { file, state, .. } = found;
        let asks = |one: &Criterion| one.receipt.is_some();
        let proof = (state.is_live() && state.acceptance_criteria.iter().any(asks))
            .then(|| verify::look(&file, &state).ok())
            .flatten();
        LoopView { file, state, proof }
    }

    /// Reads the state alone: examining the tree costs too much for a display that refreshes often.
    pub(in crate::cli) fn glimpsed(found: FoundLoop) -> LoopView {
        LoopView { file: found.file, state: found.state, proof: None }
    }

    pub(in crate::cli) fn standing(&self, criterion: &Criterion) -> ReceiptStatus {
        match &self.proof {
            Some(proof) => proof.standing(criterion),
            None => receipt::standing(criterion, None),
        }
    }

    /// The first few files that made a receipt stale.
    pub(in crate::cli) fn changed(&self, criterion: &Criterion) -> &[String] {
        let changed = self.proof.as_ref().and_then(|proof| proof.changed.get(&criterion.id));
        changed.map_or(&[], Vec::as_slice)
    }

    /// Whether the criterion is proven: now, or for an ended loop when it ended
    /// or was last verified.
    pub(super) fn is_proven(&self, criterion: &Criterion) -> bool {
        match self.state.ending {
            Some(_) => criterion.verified,
            None => receipt::is_of_proof(criterion) && self.standing(criterion).is_met(),
        }
    }

    /// How the turn was interrupted, if no event has reported it yet: the client fires
    /// no hook for Esc.
    pub(in crate::cli) fn cut(&self) -> Option<PauseCause> {
        let turn = self.state.turn.as_ref().filter(|_| self.state.is_running())?;
        transcript::cut_by(&transcript_of(&self.state)?, Some(turn.at))
    }

    /// The version of the client of a live loop's session, if its transcript tells it.
    pub(in crate::cli) fn client(&self) -> Option<ClientVersion> {
        self.state.is_live().then(|| transcript::client_version(&transcript_of(&self.state)?))?
    }

    /// Whole minutes of working time; none for a loop that never started.
    pub(super) fn minutes(&self, now: Timestamp) -> Option<u64> {
        let until = self.state.ending.as_ref().map_or(now, |ending| ending.at);
        self.state.started_at.map(|_| self.state.worked_seconds(until) / 60)
    }

    /// How many signals the model has not received.
    pub(in crate::cli) fn signals_waiting(&self) -> usize {
        Mailbox::of(&self.file, &self.state).waiting().len()
    }

    /// The number of the last checkpoint; none if none was, or could be, made.
    pub(super) fn checkpoint_number(&self) -> Option<u32> {
        let reference = &self.state.checkpoint.as_ref()?.reference;
        reference.rsplit('/').next()?.parse().ok()
    }
}

/// The transcript of the loop's session: the file that its tokens were counted from, else the
/// client's usual place.
pub(in crate::cli) fn transcript_of(state: &LoopState) -> Option<PathBuf> {
    if state.session_id.is_empty() {
        return None;
    }
    let is_of = |path: &&String| {
        Path::new(path).file_stem().is_some_and(|stem| stem == state.session_id.as_str())
    };
    let counted = state.usage.sources.keys().find(is_of).map(PathBuf::from);
    counted.or_else(|| client::transcript(Path::new(&state.project_root), &state.session_id))
}
