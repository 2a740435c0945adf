//! The hook executables. Each one gathers what a rule needs, asks the rule, and carries out the
//! answer.
//!
//! All of them run through [`hook_runner`], which reads standard input, prints at most one JSON
//! object, fails open and always exits 0. Only [`background_watch`] may exit with another code,
//! because that code wakes the session.

/// Serves a short call from one mapping; the C library's takes a page, and two calls of the system,
/// for each size of object.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

pub mod active_loop;
pub mod background_watch;
pub mod backpressure;
pub mod begin;
pub mod cancel;
pub mod delegate;
pub mod hook_runner;
pub mod modes;
mod obeyed;
mod permission_request;
pub mod pre_tool_use;
mod project_facts;
pub mod session_context;
pub mod signals;
mod step_details;
pub mod stop;
mod tampered;
pub mod typed;
mod unnamed;
mod unreadable;
pub mod user_prompt;
pub mod wall;
mod widening;
mod workers;
