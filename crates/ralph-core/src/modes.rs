//! What each kind of loop does differently. Each mode has a folder here, a folder of the same name
//! in the `ralph` crate, and a row in the table in [`mode`].

pub mod arguments;
pub mod build;
pub mod loop_prompt;
pub mod mode;
pub mod orchestration;
pub mod parallel;
mod plain;
pub mod ralplan;
pub mod refine;
pub mod start;
