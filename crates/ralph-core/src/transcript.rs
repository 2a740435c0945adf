//! transcript

pub mod activity;
pub mod background_watch;
pub mod cutoff;
pub mod row;
pub mod stream;
pub mod tokens;
