//! views

#[cfg(feature = "session-files")]
pub mod report;
pub mod say;
pub mod statusline;
