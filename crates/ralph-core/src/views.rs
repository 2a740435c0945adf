//! views

pub mod messages;
#[cfg(feature = "session-files")]
pub mod report;
pub mod statusline;
