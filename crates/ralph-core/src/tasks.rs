//! The tasks of a loop: their graph, their import from a plan, and the same tasks in `bd`.

pub mod beads;
pub mod graph;
pub mod plan;
