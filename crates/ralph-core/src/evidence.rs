//! evidence

pub mod completion_feedback;
pub mod environment;
pub mod meaning;
pub mod pinned;
pub mod receipt;
pub mod tests_run;
