//! Whether a criterion is proven: receipts and their status, the criteria that the user agreed to,
//! test counts from runner output, and the answer to a refused completion.

pub mod completion_feedback;
pub mod environment;
pub mod harness;
pub mod literals;
pub mod observed;
pub mod pinned;
pub mod receipt;
pub mod request;
pub mod review;
pub mod tests_run;
