//! What a person reads: messages, the status line, the report.

pub mod messages;
#[cfg(feature = "session-files")]
pub mod report;
pub mod statusline;
