//! Installs and removes Ralph, and finds what is wrong with an installation.

pub(crate) mod doctor;
pub(crate) mod install;
pub(crate) mod places;
pub(crate) mod uninstall;

use crate::command::screen;
use std::fmt::Arguments;
use std::io::Write;

/// Writes a line to standard output, whether or not anyone reads it.
pub(crate) fn print_line(text: Arguments<'_>) {
    // A write error means that the reader is gone, so there is no one to report it to.
    let text = text.to_string();
    let _ = writeln!(std::io::stdout().lock(), "{}", screen::harmless(&text));
}

/// `println!` for a reader who may be gone, at which that one panics: `ralph install | head` must still
/// install.
macro_rules! tell {
    ($($text:tt)*) => { $crate::setup::print_line(format_args!($($text)*)) };
}

pub(crate) use tell;
