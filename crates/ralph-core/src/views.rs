//! Output for people: messages, the status line, the report.

pub mod messages;
pub mod report;
pub mod statusline;
