//! What the user sees of a round while it runs, wherever it is displayed.
//!
//! All of it goes to standard error, since standard output is the command's answer. Names and
//! commands come from a model, so control characters in them are escaped.

use super::client::RoundOutcome;
use crate::command::screen::visible;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use ralph_core::stop::rounds::{Busy, Showed};
use ralph_core::text::plural::noun;
use ralph_core::transcript::stream::Account;
use ralph_io::process::wait_any::InterruptRequest;

/// More of a command is not needed to recognize it.
const LONGEST: usize = 100;

/// The client's activity if no tool is in use.
pub(crate) const THINKS: &str = "thinks";

pub(crate) trait RoundDisplay {
    /// Shows the current activity, and the tokens so far if known.
    fn now(&self, what: &str, tokens: Option<u64>);
    fn say(&self, words: &str);
    /// Takes the time until which the round waits for the usage limit. Only a display that passes it
    /// to the run needs it.
    fn limited(&self, _until: Timestamp) {}
    /// Shows what Ctrl-C does. A display of several rounds shows it once for all.
    fn answer_person(&self, words: &str) {
        self.say(words);
    }
}

impl dyn RoundDisplay + '_ {
    /// Shows the tool in use and the tokens so far.
    pub(crate) fn works(&self, account: &Account) {
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
                self.now(&words, tokens);
            }
            (None, Some((name, about))) => {
                self.now(&format!("{} {}", visible(name), short(about)), tokens)
            }
            (None, None) => self.now(THINKS, tokens),
        }
    }

    /// Shows a denied call.
    pub(crate) fn denied(&self, tool: &str, why: &str) {
        self.say(&format!("{} was denied: {}", visible(tool), short(why)));
    }

    /// Shows a warning of the client.
    pub(crate) fn warns(&self, text: &str) {
        self.say(&short(text));
    }

    pub(crate) fn asked(&self, asked: InterruptRequest) {
        answer_user(asked, |words| self.answer_person(words));
    }

    /// Shows why the round waits, and until when.
    pub(crate) fn waits(&self, showed: &Showed, until: Timestamp) {
        let why = match showed {
            Showed::Limited(_) => "the usage limit is reached",
            Showed::Busy(Busy::RateLimited) => "there were too many requests",
            _ => "the API is overloaded or out of reach",
        };
        let at = until.to_zoned(TimeZone::system()).strftime("%F %H:%M:%S").to_string();
        self.say(&format!("{why}: waiting until {at}; Ctrl-C ends the wait"));
        if let Showed::Limited(_) = showed {
            self.limited(until);
        }
        self.now(&format!("waits until {at}"), None);
    }

    pub(crate) fn finish(&self, outcome: &RoundOutcome) {
        let words = match outcome {
            // The run shows what a round has achieved; its end alone tells the user nothing.
            RoundOutcome::Finished { is_error: false, .. } => return,
            RoundOutcome::Finished { result, .. }
            | RoundOutcome::Unanswered { why: result, .. } => {
                format!("failed: {}", short(result))
            }
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
            RoundOutcome::Ended => "ended by you".to_owned(),
        };
        self.say(&words);
    }
}

pub(crate) fn answer_user(asked: InterruptRequest, say: impl FnOnce(&str)) {
    match asked {
        InterruptRequest::Nothing => {}
        InterruptRequest::Finish => {
            say("this round will be finished, and no other begun; Ctrl-C again ends it at once");
        }
        InterruptRequest::End => say("ending the client"),
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
