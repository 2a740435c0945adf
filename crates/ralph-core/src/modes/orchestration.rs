//! Orchestration: the router, and the rules around it.
//!
//! A planner, a questioner, executors and reviewers work in a folder of files. The router derives
//! the next step from these files alone, so it depends on no conversation's memory and on no
//! agent's word. `machine::next` returns the step and the orchestration with the changes that come
//! before it, and [`rules`] limit each agent to its own files. This module opens no file: it takes
//! a `snapshot::Snapshot` and returns texts.
//!
//! Where each rule is:
//!
//! | rule | where |
//! |---|---|
//! | an orchestration is named `<YYMMDD>-<hhmmss>`, without separators or dots | [`id`] |
//! | the orchestration meant if none is named | [`which`] |
//! | the artefacts, their paths and their owners | [`files`] |
//! | `progress.md` alone holds statuses: marks, sections, table of iterations | [`progress`], `validate` |
//! | `metadata.yaml`, `iterations/<N>/metadata.yaml`: members, timing | `metadata` |
//! | both are changed together or not at all | `change` |
//! | guardrails and their defaults | `guardrails` |
//! | state and iteration from the metadata, else inferred | `snapshot` |
//! | feedback for the next iteration begins it, in any state | `machine`, `feedback` |
//! | malformed files lead to REPAIR_STATE, with their lines | `validate`, `machine` |
//! | what is kept, read back and rendered | [`record`] |
//! | what the program repairs of a folder of which it keeps nothing | `repair` |
//! | INITIALIZING; PLANNING, cycles, `planning.max_cycles` | `machine/planning.rs` |
//! | REPLANNING: analysis, research, update, rebreakdown; reopens `[F]` | `machine/planning.rs` |
//! | BATCHING: waves from `depends_on`; cycles and missing files | `waves`, `machine/batches.rs` |
//! | EXECUTING_BATCH: limits, stale `[/]`, dependencies, attempt numbers | `machine/batches.rs`, `attempts` |
//! | REVIEWING_BATCH: one task for each reviewer; rework in the next batch | `machine/batches.rs` |
//! | a failed task is retried as often as the guardrails allow; then its dependents are skipped | `attempts`, `waves` |
//! | SESSION_REVIEW: assessment to status; COMPLETE: success or feedback | `machine/planning.rs` |
//! | every iteration's plan is kept and never changed again | `change`, [`rules`] |
//! | executors run in parallel, reviewers run in parallel, all others run alone | `machine` |
//! | timeouts: again, 30 s, 60 s, 60 s, then split or give up | [`recovery`], `machine` |
//! | signals: four words, and which agents receive them | [`signal`] |
//! | a PAUSE or a STOP holds the orchestration in every state | [`signal`], `machine` |
//! | one mode or one task for each call; the prompt must be the given one | [`invocation`], [`rules`] |
//! | what ends it; what the orchestrating session is told | [`in_session`] |
//! | the orchestrator writes nothing; task files and kept plans do not change | [`rules`] |
//! | what is reported: a mark, that calls were made, that a call ended | `change`, `machine/step.rs` |
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
pub mod record;
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
mod calls_tests;
#[cfg(test)]
mod documents_tests;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod folder_tests;
#[cfg(test)]
mod router_tests;
