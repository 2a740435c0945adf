//! An orchestration (ralph-v2) in a conversation or driven by a program: who starts it, which tool
//! calls run, how an agent's end counts, what comes next, and when it is over.
//!
//! The rules are in `ralph_core::modes::orchestration` and the guard. Where both locks are needed,
//! the order is always the same: the state's, then the orchestration folder's. A stop without an
//! agent under way asks the router under the folder's lock alone.

mod after;
mod artefact;
mod begin;
mod look;
mod stop;
mod tool;
mod who;

pub(crate) use after::{after_a_tool, first_look, reported, woken};
pub(crate) use begin::begin;
pub use look::{as_driven, driving, use_up};
pub(crate) use stop::stopped;
pub(crate) use tool::{before_a_tool, is_granted};
