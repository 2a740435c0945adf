//! How the list for people is laid out.

use ralph_core::text::wrap::wrap;

/// Lines are as long as this, whatever the terminal: what is printed to a file is the same.
pub(super) const WIDTH: usize = 80;

/// The text in lines of whole words; the first begins in one column, the others in another.
pub(super) fn wrapped(text: &str, first: usize, others: usize) -> String {
    let lines = wrap(text, WIDTH.saturating_sub(first), WIDTH.saturating_sub(others));
    lines.join(&format!("\n{:others$}", ""))
}
