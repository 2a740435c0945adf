//! The hook executables from end to end: a payload on standard input, and the whole of what comes
//! out.
//!
//! Each test owns a `World`: a project, a private home, and the environment that the client gives
//! its hooks. Nothing reads the machine it runs on, and nothing needs a model or the network.
// A test that cannot go on should fail where it stands, in a support function as in the test itself.
#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

mod backpressure;
mod bad_disk;
mod bad_input;
mod bad_state;
mod beside;
mod cancelled;
mod changed_payloads;
mod fixtures;
mod foreign;
mod guard;
mod in_place;
mod interrupted;
mod journal;
mod left_running;
mod mods;
mod notify;
mod old_clients;
mod person;
mod places;
mod project_bad;
mod project_facts;
mod protocol;
mod ralplan;
mod receipts;
mod refine;
mod reviewed;
mod session;
mod sessions;
mod signals;
mod spec;
mod stall;
mod step_details;
mod tampered;
mod twice;
mod upgrade;
mod waiting;
mod worked;
mod workers;
mod worth;

use ralph_test_support::{executables, orchestrated, planning, session as world};
