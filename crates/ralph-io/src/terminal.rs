//! The user's terminal and desktop: the full-screen page, notifications, tmux.

pub mod alt_screen;
pub mod notify;
pub mod tmux;
