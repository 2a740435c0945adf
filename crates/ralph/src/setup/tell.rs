//! Prints lines to standard output for a reader who may stop reading.
//!
//! `println!` panics if the reader of a pipe is gone; `ralph install | head` must still install.

use crate::command::screen;
use std::fmt::Arguments;
use std::io::Write;

/// Writes a line, whether or not anyone reads it.
pub(crate) fn line(text: Arguments<'_>) {
    // A write error means that the reader is gone, so there is no one to report it to.
    let text = text.to_string();
    let _ = writeln!(std::io::stdout().lock(), "{}", screen::harmless(&text));
}

/// `println!` for a reader who may be gone.
macro_rules! tell {
    ($($text:tt)*) => { $crate::setup::tell::line(format_args!($($text)*)) };
}

pub(crate) use tell;
