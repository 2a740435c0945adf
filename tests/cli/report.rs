//! `ralph report`: its Markdown and its page, through the real executable and in a real browser.

mod browser;
mod command;
mod kept;
mod page;
mod pictures;
mod project;
mod refined;
mod story;
