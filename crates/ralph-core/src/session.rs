//! Orchestrated sessions: the router as code.
pub mod agents;
pub mod finding;
#[cfg(feature = "session-files")]
pub mod guardrails;
pub mod id;
pub mod invocation;
#[cfg(feature = "session-files")]
pub mod metadata;
pub mod place;
pub mod progress;
pub mod recovery;
pub mod state;
#[cfg(feature = "session-files")]
pub mod yaml;
