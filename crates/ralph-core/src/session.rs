//! Orchestrated sessions: the router as code.
pub mod agents;
pub mod id;
pub mod invocation;
pub mod place;
pub mod progress;
pub mod recovery;
