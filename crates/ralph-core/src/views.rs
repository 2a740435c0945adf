//! views

pub mod messages;
pub mod report;
pub mod statusline;
