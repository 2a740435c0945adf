//! modes

pub mod arguments;
pub mod build;
pub mod contract;
pub mod parallel;
pub mod ralplan;
pub mod refine;
pub mod session;
pub mod start;
