//! tasks

pub mod beads;
pub mod graph;
pub mod plan;
