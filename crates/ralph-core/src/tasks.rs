//! The tasks of a loop: their graph, their import from a plan of ours or of another tool, the same tasks in `bd`, and a loop that machines share.

pub mod beads;
pub mod foreign;
pub mod graph;
pub mod plan;
pub mod shared;
