//! Claude Code's hook interface: event payloads, accepted replies, registrations in its settings,
//! and permission rules.

pub mod client_version;
pub mod event;
pub mod loaded;
pub mod permission;
pub mod registration;
pub mod reply;
pub mod sandbox;
pub mod wall;
