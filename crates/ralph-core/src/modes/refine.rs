//! Refinement: a plan or a list of beads is revised again and again until it no longer changes.
//!
//! Each round is a separate client that reports how much it changed; Ralph measures the actual
//! change as well. Refinement is over only when both numbers are small, because neither is reliable
//! alone.

pub mod chart;
pub mod contract;
mod difference;
pub mod ideas;
pub mod in_session;
pub mod measure;
pub mod prompt;
pub mod say;
mod settings;
pub mod state;
mod step;
pub mod trace;
mod words;

pub use difference::unified;
pub use settings::{MOST_IN_FOREGROUND, RefineSettings};
pub use step::{ArtefactAfter, streak};
pub use words::{Mode, PlanAfter, RoundEnd, Status};

#[cfg(test)]
mod texts_tests;

#[cfg(test)]
pub(crate) mod tests {
    /// A pseudo-random generator that yields the same values at each run.
    pub(crate) struct Dice(pub(crate) u64);

    impl Dice {
        pub(crate) fn roll(&mut self, sides: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            usize::try_from(self.0 % sides as u64).unwrap()
        }
    }
}
