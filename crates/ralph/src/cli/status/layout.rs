//! Line layout of the list for people.

use ralph_core::text::wrap::wrap;

/// Fixed, whatever the terminal, so that output to a file is the same.
pub(super) const WIDTH: usize = 80;

/// Wraps the text at words; the first line begins in column `first`, the others in `others`.
pub(super) fn wrapped(text: &str, first: usize, others: usize) -> String {
    let lines = wrap(text, WIDTH.saturating_sub(first), WIDTH.saturating_sub(others));
    lines.join(&format!("\n{:others$}", ""))
}
