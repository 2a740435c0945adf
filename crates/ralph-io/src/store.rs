//! store

pub mod archive;
pub mod atomic;
pub mod beads;
pub mod checks;
pub mod digest;
#[cfg(fuzzing)]
pub mod fuzzing;
pub mod home;
pub mod idle;
pub mod journal;
pub mod lifecycle;
pub mod lock;
pub mod mailbox;
pub mod manifest;
pub mod places;
pub mod planning;
pub mod receipts;
pub mod refine;
#[cfg(feature = "session-files")]
pub mod sessions;
pub mod store;
