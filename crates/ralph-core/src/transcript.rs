//! transcript

pub mod at_work;
pub mod ending_marks;
pub mod row;
pub mod stream;
pub mod usage;
pub mod waiting;
