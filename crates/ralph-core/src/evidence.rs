//! Whether a criterion is proven: receipts and what each is worth, the criteria a person agreed to and
//! what their commands mean, the counts a test runner prints, and the answer to a refused completion.

pub mod completion_feedback;
pub mod environment;
pub mod meaning;
pub mod pinned;
pub mod receipt;
pub mod tests_run;
