//! Orchestrated sessions: the router as code, and the rules around it.
//!
//! A planner, a questioner, executors and reviewers work in a folder of files. What comes next is told
//! from these files alone: no conversation remembers it, and nobody has to be trusted to.
//! `machine::next` answers, `change::apply` says what is written first, and [`rules`] keep each
//! agent to its own. Nothing here opens a file: a `snapshot::Snapshot` comes in, texts go out.
//!
//! Where each rule is:
//!
//! | rule | where |
//! |---|---|
//! | a session is named `<YYMMDD>-<hhmmss>`, without separators or dots | [`id`] |
//! | the one that is meant where none is named | [`which`] |
//! | the artefacts, their paths and their owners | [`files`] |
//! | `progress.md` alone holds statuses: marks, sections, table of iterations | [`progress`], `validate` |
//! | `metadata.yaml`, `iterations/<N>/metadata.yaml`: members, timing | `metadata` |
//! | both are changed together or not at all | `change::apply` |
//! | guardrails and their defaults | `guardrails` |
//! | state and iteration from the metadata, else inferred | `machine/resolve.rs` |
//! | feedback for the next iteration begins it, in any state | `machine/resolve.rs`, `feedback` |
//! | what is malformed goes to REPAIR_STATE, with its lines | `validate`, `machine/resolve.rs` |
//! | what the program mends by itself, and what it leaves | `repair`, [`progress::repair`] |
//! | INITIALIZING; PLANNING, cycles, `planning.max_cycles` | `machine/planning.rs` |
//! | REPLANNING: analysis, research, update, rebreakdown; `[F]` is open again | `machine/replanning.rs` |
//! | BATCHING: waves from `depends_on`; circles and missing files | `waves`, `machine/batches.rs` |
//! | EXECUTING_BATCH: limits, stale `[/]`, dependencies, attempt numbers | `machine/batches.rs`, `report` |
//! | REVIEWING_BATCH: one task for each reviewer; rework in the next batch | `machine/batches.rs` |
//! | a failed task is tried again as often as the guardrails let; then those behind it are skipped | `attempts`, `waves` |
//! | SESSION_REVIEW: assessment to status; COMPLETE: success or feedback | `machine/closing.rs` |
//! | every iteration's plan is kept, and never again changed | `change::Change::KeepPlan`, [`rules`] |
//! | executors side by side, reviewers side by side, all others alone | `machine/alone.rs` |
//! | timeouts: again, 30 s, 60 s, 60 s, then split or give up | [`recovery`], `machine/give.rs` |
//! | signals: four words, and which agents are told | [`signal`] |
//! | a PAUSE or a STOP holds the session in every state | [`signal`], `machine/held.rs` |
//! | one mode or one task for each call; the prompt is the one that was given | [`invocation`], [`rules`] |
//! | what ends it; what a conversation that orchestrates is told | [`in_session`] |
//! | the orchestrator writes nothing; task files, plans as they were | [`rules`] |
//! | input and output of the router | `snapshot`, `machine::Output` |

pub mod agents;
pub mod attempts;
pub mod change;
pub mod feedback;
pub mod files;
pub mod finding;
pub mod guardrails;
pub mod id;
pub mod in_session;
pub mod invocation;
pub mod local_time;
pub mod machine;
pub mod metadata;
pub mod progress;
pub mod recovery;
pub mod repair;
pub mod report;
pub mod rules;
pub mod signal;
pub mod snapshot;
pub mod state;
pub mod task;
pub mod validate;
pub mod waves;
pub mod which;
pub mod yaml;

#[cfg(test)]
mod fixture;
