//! What every command has: where it runs, exit codes, output, its line in the journal, the loop that
//! it is about.

pub(crate) mod context_dir;
pub(crate) mod exit;
pub(crate) mod journal;
pub(crate) mod number;
pub(crate) mod screen;
pub(crate) mod select_loop;
