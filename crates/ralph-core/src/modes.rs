//! modes

pub mod arguments;
pub mod build;
pub mod loop_prompt;
pub mod mode;
pub mod orchestration;
pub mod parallel;
pub mod ralplan;
pub mod refine;
pub mod start;
