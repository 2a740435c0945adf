//! terminal

pub mod notify;
pub mod page;
pub mod tmux;
