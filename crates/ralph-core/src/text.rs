//! text

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
