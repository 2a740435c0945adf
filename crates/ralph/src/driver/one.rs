//! One round on the screen: a line that is redrawn on a terminal, plain lines elsewhere.

use super::shown::{RoundDisplay, THINKS};
use crate::cli::screen::{self, visible};
use indicatif::{ProgressBar, ProgressStyle};
use ralph_core::text::plural::{grouped, noun};
use std::cell::RefCell;
use std::time::Duration;

/// The line of a round.
pub(crate) struct RoundBar {
    bar: ProgressBar,
    label: String,
    /// What was said last, so that it is not said again.
    last: RefCell<String>,
}

impl RoundBar {
    pub(crate) fn begin(label: &str) -> RoundBar {
        let style = ProgressStyle::with_template("{prefix}  {spinner} {elapsed}  {wide_msg}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        let bar = ProgressBar::new_spinner().with_style(style);
        let label = visible(label);
        bar.set_prefix(label.clone());
        bar.enable_steady_tick(Duration::from_millis(120));
        RoundBar { bar, label, last: RefCell::default() }
    }
}

impl RoundDisplay for RoundBar {
    fn now(&self, what: &str, tokens: Option<u64>) {
        let tokens = tokens
            .map(|tokens| format!("  {} {}", grouped(tokens), noun(tokens, "token", "tokens")));
        self.bar.set_message(format!("{what}{}", tokens.unwrap_or_default()));
        if self.bar.is_hidden() && what != THINKS && *self.last.borrow() != what {
            self.say(what);
            self.last.replace(what.to_owned());
        }
    }

    fn say(&self, words: &str) {
        self.bar.suspend(|| screen::tell(&format!("{}: {words}", self.label)));
    }

    fn end(&self) {
        self.bar.finish_and_clear();
    }
}
