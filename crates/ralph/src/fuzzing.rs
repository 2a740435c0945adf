//! The functions that read or show untrusted text, exposed to the fuzz targets.
//!
//! Compiled only with `--cfg fuzzing`, which a fuzzer's build sets; the product has no such module.

use crate::command::screen;
use crate::setup::install::settings::{self, AskedExtras, Extra, Extras, Merged};
use ralph_core::protocol::registration::Location;

/// A settings text with our hooks added, and whether anything changed; `None` if it is refused.
pub fn put_in(text: &str, cap: Option<u32>) -> Option<(String, bool)> {
    merged(text, cap).map(|merged| (merged.text, !merged.changes.is_empty()))
}

/// A settings text without our hooks and those extras that [`put_in`] writes into `before`, and whether
/// anything changed; `None` if it is refused.
pub fn take_out(text: &str, before: &str, cap: Option<u32>) -> Option<(String, bool)> {
    let written = merged(before, cap).map(|merged| merged.extras).unwrap_or_default();
    let out = settings::take_out(text, &written).ok()?;
    Some((out.text, !out.changes.is_empty()))
}

/// With a cap, with every extra that can be requested except a status line.
fn merged(text: &str, block_cap: Option<u32>) -> Option<Merged> {
    let base = block_cap.map(|_| Extra::WorkerBase);
    let sandbox = block_cap.filter(|cap| cap % 2 == 1).map(|_| Extra::Sandbox);
    let asked = AskedExtras { block_cap, named: base.into_iter().chain(sandbox).collect() };
    settings::put_in(text, Location::Folder("/opt/ralph/bin"), &asked, &Extras::default()).ok()
}

/// Makes a text safe for a terminal, on one line.
pub fn visible(text: &str) -> String {
    screen::visible(text)
}

/// Makes a text safe for a terminal, and keeps its lines.
pub fn visible_lines(text: &str) -> String {
    screen::visible_lines(text)
}
