//! A loop and what a look at its project adds to what its state says.
//!
//! Only a live loop's project is looked at: what an ended one left is no longer its own. Where the
//! tree cannot be looked at, the receipts alone speak.

use crate::command::select_loop::FoundLoop;
use crate::verify;
use jiff::Timestamp;
use ralph_core::evidence::receipt::{self, Proof, ReceiptStatus};
use ralph_core::state::{Criterion, LoopState, PauseCause};
use ralph_io::store::loop_file::LoopFile;
use ralph_io::store::mailbox::Mailbox;
use ralph_io::{client, client::transcript, project::test_files};
use std::path::{Path, PathBuf};

/// A loop, as it is now.
pub(in crate::cli) struct LoopView {
    pub(in crate::cli) file: LoopFile,
    /// With the changed test files as they are now.
    pub(in crate::cli) state: LoopState,
    /// None where the tree was not, or could not be, looked at.
    proof: Option<Proof>,
}

impl LoopView {
    /// Looks.
    pub(in crate::cli) fn at(found: FoundLoop) -> LoopView {
        let FoundLoop { file, mut state, .. } = found;
        if state.is_live() {
            state.changed_tests = test_files::changed(Path::new(&state.project_root), &state);
            ralph_io::project::meaning::note(&mut state);
        }
        let asks = |one: &Criterion| one.receipt.is_some();
        let proof = (state.is_live() && state.acceptance_criteria.iter().any(asks))
            .then(|| verify::look(&file, &state).ok())
            .flatten();
        LoopView { file, state, proof }
    }

    /// The state alone: to look at the tree is too much for who looks every moment.
    pub(in crate::cli) fn glimpsed(found: FoundLoop) -> LoopView {
        LoopView { file: found.file, state: found.state, proof: None }
    }

    /// What a criterion's receipt is worth.
    pub(in crate::cli) fn standing(&self, criterion: &Criterion) -> ReceiptStatus {
        match &self.proof {
            Some(proof) => proof.standing(criterion),
            None => receipt::standing(criterion, None),
        }
    }

    /// The files by which a receipt became stale, the first few.
    pub(in crate::cli) fn changed(&self, criterion: &Criterion) -> &[String] {
        let changed = self.proof.as_ref().and_then(|proof| proof.changed.get(&criterion.id));
        changed.map_or(&[], Vec::as_slice)
    }

    /// Whether the criterion is proven: now, or for an ended loop when it ended or was verified last.
    pub(super) fn is_proven(&self, criterion: &Criterion) -> bool {
        match self.state.ending {
            Some(_) => criterion.verified,
            None => {
                receipt::is_of_proof(criterion) && self.standing(criterion) == ReceiptStatus::Holds
            }
        }
    }

    /// How the turn was cut, if no event has told of it yet: the client fires no hook for Esc.
    pub(in crate::cli) fn cut(&self) -> Option<PauseCause> {
        let turn = self.state.turn.as_ref().filter(|_| self.state.is_running())?;
        transcript::cut_by(&transcript_of(&self.state)?, Some(turn.at))
    }

    /// Whole minutes from the start to the end, or to now; none if it was never started.
    pub(super) fn minutes(&self, now: Timestamp) -> Option<u64> {
        let until = self.state.ending.as_ref().map_or(now, |ending| ending.at);
        let minutes = until.duration_since(self.state.started_at?).as_mins();
        Some(u64::try_from(minutes).unwrap_or(0))
    }

    /// How many signals the conversation has not heard.
    pub(in crate::cli) fn signals_waiting(&self) -> usize {
        Mailbox::of(&self.file, &self.state).waiting().len()
    }

    /// The number of the last checkpoint; none where none was, or could be, made.
    pub(super) fn checkpoint_number(&self) -> Option<u32> {
        let reference = &self.state.checkpoint.as_ref()?.reference;
        reference.rsplit('/').next()?.parse().ok()
    }
}

/// The transcript of the loop's session: the one that its tokens were counted from, else where the
/// client keeps it.
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
