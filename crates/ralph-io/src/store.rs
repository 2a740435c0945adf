//! Ralph's own files: its home, the manifest of sessions, the archive of ended loops, and each
//! loop's state file with its lock, journal, inbox and receipts.

pub mod archive;
pub mod atomic;
pub mod beads;
pub mod checks;
pub mod digest;
mod document;
#[cfg(fuzzing)]
pub mod fuzzing;
pub mod home;
pub mod idle;
pub mod journal;
pub mod lifecycle;
pub mod lock;
pub mod loop_file;
pub mod mailbox;
pub mod manifest;
pub mod notice;
pub mod orchestration;
pub mod places;
pub mod plan_files;
pub mod receipts;
pub mod refine;
mod second_place;
pub mod wall_flag;
pub mod watched;
