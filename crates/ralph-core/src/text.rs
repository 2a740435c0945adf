//! text

pub mod counted;
pub mod from_json;
pub mod globs;
pub mod plain;
pub mod redact;
pub mod secrets;
pub mod squeeze;
pub mod token;
