//! What each kind of loop does differently. A mode has its rules in a folder here, a row in the
//! table in [`mode`], and its state in `state::mode`. Its effects are in `ralph-hooks`, its command
//! in `cli` of the `ralph` crate, and its clients in `runs` there.

pub mod arguments;
pub mod build;
pub mod flow;
pub mod loop_prompt;
pub mod mode;
pub mod orchestration;
pub mod parallel;
mod plain;
pub mod ralplan;
pub mod refine;
pub mod shared;
pub mod start;
