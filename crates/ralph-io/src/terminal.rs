//! terminal

pub mod alt_screen;
pub mod notify;
pub mod tmux;
