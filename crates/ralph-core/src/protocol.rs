//! Claude Code's side of the contract: the payloads of its hook events, the replies it accepts, the
//! registrations in its settings, and its permission rules.

pub mod edited;
pub mod event;
pub mod permission;
pub mod registration;
pub mod reply;
