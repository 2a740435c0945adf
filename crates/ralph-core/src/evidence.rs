//! evidence

pub mod environment;
pub mod frozen;
pub mod meaning;
pub mod receipt;
pub mod refusal;
pub mod tests_run;
