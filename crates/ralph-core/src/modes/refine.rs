//! Refinement: a plan, or a list of beads, is gone over again and again until it no longer changes.
//!
//! Each round is a client of its own and says how much it changed; what really changed is measured
//! beside it. Neither is believed alone: refinement is over when both have become small.

pub mod chart;
pub mod contract;
mod difference;
pub mod ideas;
pub mod in_session;
mod meanwhile;
pub mod measure;
mod plateau;
pub mod prompt;
pub mod say;
mod settings;
pub mod state;
mod step;
pub mod trace;
mod words;

pub use difference::unified;
pub use meanwhile::{Meanwhile, meanwhile};
pub use plateau::{Look, Plateau, look};
pub use settings::{MOST_IN_FOREGROUND, RefineSettings};
pub use step::{RefineEvent, RefineOutcome, RefineRefusal, step};
pub use words::{Mode, PlanAfter, RoundEnd, Status};

#[cfg(test)]
pub(crate) mod tests {
    /// Chance that is the same at each run.
    pub(crate) struct Dice(pub(crate) u64);

    impl Dice {
        /// A number below `sides`.
        pub(crate) fn roll(&mut self, sides: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            usize::try_from(self.0 % sides as u64).unwrap()
        }
    }
}
