//! What each kind of loop does differently. A mode has one folder here, one of the same name in the
//! `ralph` crate, and its row in the table.

pub mod arguments;
pub mod build;
pub mod loop_prompt;
pub mod mode;
pub mod orchestration;
pub mod parallel;
pub mod ralplan;
pub mod refine;
pub mod start;
