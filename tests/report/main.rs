//! `ralph report`: its Markdown and its page, through the real executable and in a real browser.
#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

mod browser;
mod command;
mod kept;
mod page;
mod pictures;
mod place;
mod refined;
mod story;

use ralph_test_support::executables;
