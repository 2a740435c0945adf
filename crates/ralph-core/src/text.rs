//! Text utilities: shorten and count text for a reader, strip control characters and secrets, match
//! globs. Every other folder uses this one.

pub mod globs;
pub mod hex;
pub mod json;
pub mod nearest;
pub mod plural;
pub mod sanitize;
pub mod secrets;
pub mod token;
pub mod truncate;
pub mod wrap;
