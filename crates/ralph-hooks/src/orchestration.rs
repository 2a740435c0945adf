//! An orchestrated session in a conversation, or driven by a program: who begins it, which tool runs, what the end
//! of an agent counts for, what comes next, and when it is over.
//!
//! The rules are in `ralph_core::modes::session` and the guard. Here they are given what they need, under the lock of the
//! state and that of the session's folder, always in this order.

mod after;
mod artefact;
mod begin;
mod ends;
mod look;
mod stop;
mod tool;
mod who;

pub(crate) use after::{after_a_tool, first_look, reported, woken};
pub(crate) use begin::begin;
pub use ends::{StepResult, ends};
pub use look::{as_driven, driving, use_up};
pub(crate) use stop::stopped;
pub(crate) use tool::{before_a_tool, is_granted};
