//! The tasks of a loop: their graph, their import from a plan of ours or of another tool, and the same tasks in `bd`.

pub mod beads;
pub mod foreign;
pub mod graph;
pub mod plan;
