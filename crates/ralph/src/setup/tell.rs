//! Lines on standard output, for a person who may stop reading.
//!
//! `println!` panics when the reader of a pipe is gone; `ralph install | head` must still install.

use crate::command::screen;
use std::fmt::Arguments;
use std::io::Write;

/// Writes a line, whether or not anyone reads it.
pub(crate) fn line(text: Arguments<'_>) {
    // Nobody is left to be told that nobody is left.
    let text = text.to_string();
    let _ = writeln!(std::io::stdout().lock(), "{}", screen::harmless(&text));
}

/// `println!` for readers that may be gone.
macro_rules! tell {
    ($($text:tt)*) => { $crate::setup::tell::line(format_args!($($text)*)) };
}

pub(crate) use tell;
