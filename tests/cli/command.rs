//! Acceptance commands that hang, flood, leave daemons or kill their parent, through the real
//! executables: what came of them, and that nothing of them is left.
//!
//! Each caller is a process of its own, this test binary started again, so that it can have an
//! environment with secrets in it, can adopt orphans, and can be killed.

mod caller;
mod deadline;
mod endings;
mod interrupted;
mod leftovers;
mod output;
mod secrets;
mod world;

pub(crate) use world::wait_until;
