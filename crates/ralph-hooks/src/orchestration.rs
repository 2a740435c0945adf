//! An orchestrated session in a conversation, or driven by a program: who begins it, which tool runs, what the end
//! of an agent counts for, what comes next, and when it is over.
//!
//! The rules are in `ralph_core::modes::session` and the guard. Here they are given what they need, under the lock of the
//! state and that of the session's folder, always in this order. None of this is in a hook executable: they hand
//! these events to `ralph`.

mod after;
mod artefact;
mod begin;
mod ends;
mod look;
mod stop;
mod tool;
mod who;

pub(crate) use after::first_look;
pub use after::{after_a_tool, reported, woken};
pub use begin::begin;
pub use ends::{StepResult, ends};
pub use look::{as_driven, driving, use_up};
pub use stop::stopped;
pub use tool::before_a_tool;
pub(crate) use tool::is_granted;
