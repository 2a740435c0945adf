//! What a person sees of a round while it goes on: one line that is redrawn on a terminal, plain
//! lines elsewhere.
//!
//! All of it is on standard error: standard output is the command's answer. Names and commands come
//! from a model, so nothing in them may act on the terminal.

use super::Outcome;
use crate::cli::screen::{self, visible};
use indicatif::{ProgressBar, ProgressStyle};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use ralph_core::rounds::{Busy, Showed};
use ralph_core::stream::Account;
use ralph_io::interrupts::Asked;
use std::cell::RefCell;
use std::time::Duration;

/// More of a command is not needed to recognise it.
const LONGEST: usize = 100;

/// A round that is shown.
pub(super) struct Shown {
    bar: ProgressBar,
    label: String,
    /// What was said last, so that it is not said again.
    last: RefCell<String>,
}

impl Shown {
    pub(super) fn begin(label: &str) -> Shown {
        let style = ProgressStyle::with_template("{prefix}  {spinner} {elapsed}  {wide_msg}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        let bar = ProgressBar::new_spinner().with_style(style);
        let label = visible(label);
        bar.set_prefix(label.clone());
        bar.enable_steady_tick(Duration::from_millis(120));
        let shown = Shown { bar, label, last: RefCell::default() };
        shown.now("begins".to_owned(), String::new());
        shown
    }

    /// The tool in use and the tokens so far.
    pub(super) fn works(&self, account: &Account) {
        let tokens = format!("{} tokens", thousands(account.tokens().total()));
        match (&account.retry, &account.tool) {
            (Some(retry), _) => {
                let seconds = retry.after.as_secs_f64();
                let words = format!(
                    "{}: the client tries again in {seconds:.0} s ({} of {})",
                    visible(&retry.error),
                    retry.attempt,
                    retry.most
                );
                self.now(words, tokens);
            }
            (None, Some((name, about))) => {
                self.now(format!("{} {}", visible(name), short(about)), tokens)
            }
            (None, None) if !self.bar.is_hidden() => self.now("thinks".to_owned(), tokens),
            (None, None) => {}
        }
    }

    /// A call that did not happen.
    pub(super) fn denied(&self, tool: &str, why: &str) {
        self.say(&format!("{} was denied: {}", visible(tool), short(why)));
    }

    /// The client's own warning.
    pub(super) fn warns(&self, text: &str) {
        self.say(&short(text));
    }

    /// What a person's Ctrl-C does.
    pub(super) fn asked(&self, asked: Asked) {
        match asked {
            Asked::Nothing => {}
            Asked::Finish => {
                self.say(
                    "this round will be finished, and no other begun; Ctrl-C again ends it at once",
                );
            }
            Asked::End => self.say("ending the client"),
        }
    }

    /// Why nothing happens for a while.
    pub(super) fn waits(&self, showed: &Showed, until: Timestamp) {
        let why = match showed {
            Showed::Limited(_) => "the usage limit is reached",
            Showed::Busy(Busy::RateLimited) => "there were too many requests",
            _ => "the API is overloaded or out of reach",
        };
        let at = until.to_zoned(TimeZone::system()).strftime("%F %H:%M:%S").to_string();
        self.say(&format!("{why}: waiting until {at}; Ctrl-C ends the wait"));
        self.now(format!("waits until {at}"), String::new());
    }

    /// The last line.
    pub(super) fn end(&self, outcome: &Outcome) {
        let words = match outcome {
            Outcome::Finished { is_error: false, .. } => "finished".to_owned(),
            Outcome::Finished { result, .. } => format!("failed: {}", short(result)),
            Outcome::RateLimited { until: Some(until) } => format!("usage limit until {until}"),
            Outcome::RateLimited { until: None } => "refused by a limit".to_owned(),
            Outcome::Overloaded { attempts } => {
                format!("the API did not answer in {attempts} attempts")
            }
            Outcome::Crashed { why } => short(why),
            Outcome::Ended => "ended by a person".to_owned(),
        };
        self.say(&words);
        self.bar.finish_and_clear();
    }

    /// What goes on now: on the line that is redrawn, or as a line where it is new.
    fn now(&self, what: String, tokens: String) {
        let parts = [what.as_str(), tokens.as_str()];
        let all: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        self.bar.set_message(all.join("  "));
        if self.bar.is_hidden() && *self.last.borrow() != what {
            self.say(&what);
            self.last.replace(what);
        }
    }

    fn say(&self, words: &str) {
        self.bar.suspend(|| screen::tell(&format!("{}: {words}", self.label)));
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn short(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let shown: String = line.chars().take(LONGEST).collect();
    let more = shown.len() < text.trim().len();
    format!("{}{}", visible(&shown), if more { " …" } else { "" })
}

fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_by_its_beginning_and_acts_on_nothing() {
        assert_eq!(short("cargo test"), "cargo test");
        assert_eq!(short(" a\nb"), "a …");
        assert_eq!(short("\u{1b}[2J"), "\\u{1b}[2J");
        assert_eq!(short(&"é".repeat(101)), "é".repeat(100) + " …");
    }

    #[test]
    fn numbers_are_read_in_threes() {
        let shown = [0, 999, 1000, 1_234_567].map(thousands);
        assert_eq!(shown, ["0", "999", "1,000", "1,234,567"]);
    }
}
