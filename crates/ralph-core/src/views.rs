//! Output for people: messages, the status line, the report.

pub mod messages;
pub mod notice;
pub mod phrases;
pub mod report;
pub mod shared;
