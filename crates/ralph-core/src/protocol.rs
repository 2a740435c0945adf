//! protocol

pub mod edited;
pub mod event;
pub mod permission;
pub mod registration;
pub mod reply;
