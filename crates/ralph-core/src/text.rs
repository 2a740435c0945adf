//! Text, whatever it is about: cut and counted for a reader, freed of control characters and secrets,
//! matched against globs. Every other folder uses this one, and it uses none.

pub mod from_json;
pub mod globs;
pub mod hex;
pub mod json_truncate;
pub mod plural;
pub mod redact;
pub mod sanitize;
pub mod secrets;
pub mod token;
pub mod truncate;
pub mod wrap;
