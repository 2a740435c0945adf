//! The checks after an edit with the real tools: where they are, and a project with them.

pub mod project;
pub mod tools;
