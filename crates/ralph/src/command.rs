//! Shared by all commands: where they run, exit codes, output, journal lines, and the choice of the
//! loop.

pub(crate) mod complete;
pub(crate) mod context_dir;
pub(crate) mod exit;
pub(crate) mod notify;
pub(crate) mod number;
pub(crate) mod plan_import;
pub(crate) mod screen;
pub(crate) mod select_loop;
pub(crate) mod select_shared;
pub(crate) mod select_target;
