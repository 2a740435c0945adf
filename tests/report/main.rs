//! `ralph report`: its Markdown and its page, through the real executable and in a real browser.
#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

mod browser;
mod command;
#[allow(unreachable_pub)]
#[path = "../support/executables.rs"]
mod executables;
mod kept;
mod page;
mod pictures;
mod place;
mod refined;
mod story;

use executables::executables;
