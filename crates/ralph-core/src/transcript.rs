//! What Claude Code writes while it works: the rows of a transcript, the tokens they report, how a turn
//! was cut off, which background work is still running, and the stream of a headless client.

pub mod activity;
pub mod background_watch;
pub mod cutoff;
pub mod row;
pub mod stream;
pub mod tokens;
