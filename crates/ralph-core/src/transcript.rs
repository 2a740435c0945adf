//! Reads what Claude Code writes while it works: transcript rows, token usage, cut turns, running
//! background work, and the stream of a headless client.

pub mod background_watch;
pub mod cutoff;
pub mod readable;
pub mod row;
pub mod stream;
