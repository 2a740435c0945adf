//! Refinement: a plan, or a list of beads, is gone over again and again until it no longer changes.
//!
//! Each round is a client of its own and says how much it changed; what really changed is measured
//! beside it. Neither is believed alone: refinement is over when both have become small.

pub mod contract;
