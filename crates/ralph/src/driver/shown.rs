//! What a person sees of a round while it goes on, wherever it is shown.
//!
//! All of it is on standard error: standard output is the command's answer. Names and commands come
//! from a model, so nothing in them may act on the terminal.

use super::RoundOutcome;
use crate::cli::screen::visible;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use ralph_core::stop::rounds::{Busy, Showed};
use ralph_core::text::plural::noun;
use ralph_core::transcript::stream::Account;
use ralph_io::process::interrupts::InterruptRequest;

/// More of a command is not needed to recognise it.
const LONGEST: usize = 100;

/// What the client is said to do where no tool is in use.
pub(crate) const THINKS: &str = "thinks";

/// Where a round is shown.
pub(crate) trait RoundDisplay {
    /// What goes on now, and the tokens so far where they are known.
    fn now(&self, what: &str, tokens: Option<u64>);
    /// Something that stays.
    fn say(&self, words: &str);
    /// What a person's Ctrl-C does. Where several rounds are shown, it is said once for all.
    fn answer_person(&self, words: &str) {
        self.say(words);
    }
    /// Nothing more will come.
    fn end(&self);
}

/// A round that is shown.
pub(super) struct DisplayedRound<'a> {
    place: &'a dyn RoundDisplay,
}

impl<'a> DisplayedRound<'a> {
    pub(super) fn begin(place: &'a dyn RoundDisplay) -> DisplayedRound<'a> {
        place.now("begins", None);
        DisplayedRound::on(place)
    }

    /// One that has begun elsewhere.
    pub(super) fn on(place: &'a dyn RoundDisplay) -> DisplayedRound<'a> {
        DisplayedRound { place }
    }

    /// The tool in use and the tokens so far.
    pub(super) fn works(&self, account: &Account) {
        let tokens = Some(account.tokens().total());
        match (&account.retry, &account.tool) {
            (Some(retry), _) => {
                let seconds = retry.after.as_secs_f64();
                let words = format!(
                    "{}: the client tries again in {seconds:.0} s ({} of {})",
                    visible(&retry.error),
                    retry.attempt,
                    retry.most
                );
                self.place.now(&words, tokens);
            }
            (None, Some((name, about))) => {
                self.place.now(&format!("{} {}", visible(name), short(about)), tokens)
            }
            (None, None) => self.place.now(THINKS, tokens),
        }
    }

    /// A call that did not happen.
    pub(super) fn denied(&self, tool: &str, why: &str) {
        self.place.say(&format!("{} was denied: {}", visible(tool), short(why)));
    }

    /// The client's own warning.
    pub(super) fn warns(&self, text: &str) {
        self.place.say(&short(text));
    }

    /// What a person's Ctrl-C does.
    pub(super) fn asked(&self, asked: InterruptRequest) {
        match asked {
            InterruptRequest::Nothing => {}
            InterruptRequest::Finish => {
                self.place.answer_person(
                    "this round will be finished, and no other begun; Ctrl-C again ends it at once",
                );
            }
            InterruptRequest::End => self.place.answer_person("ending the client"),
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
        self.place.say(&format!("{why}: waiting until {at}; Ctrl-C ends the wait"));
        self.place.now(&format!("waits until {at}"), None);
    }

    /// The last line.
    pub(super) fn end(&self, outcome: &RoundOutcome) {
        let words = match outcome {
            RoundOutcome::Finished { is_error: false, .. } => "finished".to_owned(),
            RoundOutcome::Finished { result, .. } => format!("failed: {}", short(result)),
            RoundOutcome::RateLimited { until: Some(until) } => {
                format!("usage limit until {until}")
            }
            RoundOutcome::RateLimited { until: None } => "refused by a limit".to_owned(),
            RoundOutcome::Overloaded { attempts } => {
                format!(
                    "the API did not answer in {attempts} {}",
                    noun(*attempts, "attempt", "attempts")
                )
            }
            RoundOutcome::Crashed { why } => short(why),
            RoundOutcome::Ended => "ended by a person".to_owned(),
        };
        self.place.say(&words);
        self.place.end();
    }
}

impl Drop for DisplayedRound<'_> {
    fn drop(&mut self) {
        self.place.end();
    }
}

fn short(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let shown: String = line.chars().take(LONGEST).collect();
    let more = shown.len() < text.trim().len();
    format!("{}{}", visible(&shown), if more { " …" } else { "" })
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
}
