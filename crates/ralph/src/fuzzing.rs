//! The functions that read or show untrusted text, exposed to the fuzz targets.
//!
//! Compiled only with `--cfg fuzzing`, which a fuzzer's build sets; the product has no such module.

use crate::command::screen;
use crate::setup::install::extras::{Extras, WorkerBase};
use crate::setup::install::merge::{self, Merged};
use ralph_core::protocol::registration::{Location, settings_hooks};

/// A settings text with our hooks added, and whether anything changed; `None` if it is refused.
pub fn put_in(text: &str, cap: Option<u32>) -> Option<(String, bool)> {
    let wanted = settings_hooks(Location::Folder("/opt/ralph/bin"));
    merge::put_in(text, &wanted, &extras(cap)).ok().map(with_changed)
}

/// A settings text without our hooks, and whether anything changed; `None` if it is refused.
pub fn take_out(text: &str, cap: Option<u32>) -> Option<(String, bool)> {
    merge::take_out(text, &extras(cap)).ok().map(with_changed)
}

/// With a cap, every extra that can be requested except a status line.
fn extras(block_cap: Option<u32>) -> Extras {
    Extras {
        block_cap,
        worker_base: block_cap.map(|_| WorkerBase::Head),
        statusline: None,
        lets_ralph_out: block_cap.is_some_and(|cap| cap % 2 == 1),
    }
}

fn with_changed(merged: Merged) -> (String, bool) {
    (merged.text, !merged.changes.is_empty())
}

/// Makes a text safe for a terminal, on one line.
pub fn visible(text: &str) -> String {
    screen::visible(text)
}

/// Makes a text safe for a terminal, and keeps its lines.
pub fn visible_lines(text: &str) -> String {
    screen::visible_lines(text)
}
