//! What the modes do in a hook, one folder for each.

pub mod orchestration;
pub mod ralplan;
pub mod refine;
