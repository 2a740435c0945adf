//! An orchestrated session in a conversation, or driven by a program: who begins it, which tool runs, what the end
//! of an agent counts for, what comes next, and when it is over.
//!
//! The rules are in `ralph_core::session` and the guard. Here they are given what they need, under the lock of the
//! state and that of the session's folder, always in this order. None of this is in a hook executable: they hand
//! these events to `ralph`.

mod begin;
mod ends;

pub use begin::begin;
pub use ends::{Ended, ends};
