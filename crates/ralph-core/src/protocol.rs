//! Claude Code's hook interface: event payloads, accepted replies, registrations in its settings,
//! and permission rules.

pub mod agents;
pub mod client_version;
pub mod edited;
pub mod event;
pub mod permission;
pub mod plugins;
pub mod registration;
pub mod reply;
pub mod sandbox;
pub mod wall;
pub mod watched;
