//! Displays rounds: a line for each, and a summary line if several run at once. Terminals redraw
//! the lines; elsewhere they are plain lines with the round's name in front.
//!
//! All of it goes to standard error, since standard output is the command's answer.

use super::display::{RoundDisplay, THINKS, answer_user};
use crate::command::screen::{self, visible};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use ralph_core::text::plural::{grouped, noun};
use ralph_core::text::truncate::bounded;
use ralph_io::process::interrupts::InterruptRequest;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

/// How often a line is redrawn to update the time on it.
const TICK: Duration = Duration::from_millis(250);

/// The width of a round's name in front of its activity.
const LABEL: usize = 18;

pub(crate) struct Screen {
    lines: MultiProgress,
    /// `None` if one round runs after another.
    whole: Option<ProgressBar>,
    told_of_whole: RefCell<String>,
    rounds: RefCell<BTreeMap<String, RoundLine>>,
}

struct RoundLine {
    bar: ProgressBar,
    label: String,
    last: String,
    tokens: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Whole {
    pub(crate) n_done: usize,
    pub(crate) n_tasks: usize,
    pub(crate) n_merged: usize,
    pub(crate) n_running: usize,
    pub(crate) most: usize,
    /// Tokens used before this run, and by clients that have ended.
    pub(crate) tokens: u64,
}

impl Screen {
    pub(crate) fn one() -> Screen {
        let lines = MultiProgress::new();
        Screen { lines, whole: None, told_of_whole: RefCell::default(), rounds: RefCell::default() }
    }

    pub(crate) fn many(label: &str) -> Screen {
        let mut screen = Screen::one();
        let whole = screen.lines.add(bar("{prefix}  {elapsed}  {wide_msg}"));
        whole.set_prefix(visible(label));
        screen.whole = Some(whole);
        screen
    }

    /// Adds a line for a round, above the summary line. The name in front is its task's.
    pub(crate) fn add(&self, round: &str, label: &str, about: &str) {
        let label = visible(label);
        let bar = match &self.whole {
            Some(whole) => {
                let line = bar("{prefix} {elapsed:>4}  {wide_msg}");
                let line = self.lines.insert_before(whole, line);
                line.set_prefix(format!(
                    "{:LABEL$}",
                    bounded(&format!("{label} {}", visible(about)), LABEL)
                ));
                line
            }
            None => {
                let line = self.lines.add(bar("{prefix}  {spinner} {elapsed}  {wide_msg}"));
                line.set_prefix(label.clone());
                line
            }
        };
        let last = String::new();
        self.rounds
            .borrow_mut()
            .insert(round.to_owned(), RoundLine { bar, label, last, tokens: 0 });
        self.now(round, "begins", None);
    }

    pub(crate) fn now(&self, round: &str, what: &str, tokens: Option<u64>) {
        let mut rounds = self.rounds.borrow_mut();
        let Some(line) = rounds.get_mut(round) else { return };
        line.tokens = tokens.unwrap_or(line.tokens);
        let what = visible(what);
        line.bar.set_message(match (&self.whole, tokens) {
            (Some(_), _) => format!("{:>7}  {what}", short(line.tokens)),
            (None, Some(tokens)) => {
                format!("{what}  {} {}", grouped(tokens), noun(tokens, "token", "tokens"))
            }
            (None, None) => what.clone(),
        });
        if line.bar.is_hidden() && what != THINKS && line.last != what {
            screen::tell(&format!("{}: {what}", line.label));
            line.last = what;
        }
    }

    /// Prints a permanent line about a round.
    pub(crate) fn say(&self, round: &str, words: &str) {
        self.tell(&format!("{}: {}", self.label(round), visible(words)));
    }

    /// Shows what Ctrl-C does to the displayed rounds.
    pub(crate) fn answer_user(&self, asked: InterruptRequest) {
        let shown: Vec<String> = self.rounds.borrow().keys().cloned().collect();
        for round in shown {
            answer_user(asked, |words| self.say(&round, words));
        }
    }

    /// The label of a displayed round.
    pub(crate) fn label(&self, round: &str) -> String {
        self.rounds.borrow().get(round).map(|line| line.label.clone()).unwrap_or_default()
    }

    /// Prints permanent lines above the redrawn ones.
    pub(crate) fn tell(&self, text: &str) {
        self.lines.suspend(|| screen::tell(&screen::visible_lines(text)));
    }

    pub(crate) fn remove(&self, round: &str) {
        if let Some(line) = self.rounds.borrow_mut().remove(round) {
            line.bar.finish_and_clear();
            self.lines.remove(&line.bar);
        }
    }

    /// Removes all lines.
    pub(crate) fn clear(&mut self) {
        self.rounds.get_mut().values().for_each(|line| line.bar.finish_and_clear());
        self.whole.iter().for_each(ProgressBar::finish_and_clear);
    }

    /// Updates the summary line, with any activity besides the rounds.
    pub(crate) fn whole(&self, at: &Whole, what: &str) {
        self.whole_in_words(whole(at, what), at.tokens);
    }

    /// Like [`Screen::whole()`], in the words of another kind of run. `tokens` are those of ended
    /// rounds.
    pub(crate) fn whole_in_words(&self, words: String, tokens: u64) {
        let Some(whole) = &self.whole else { return };
        let at_work: u64 = self.rounds.borrow().values().map(|line| line.tokens).sum();
        let tokens = tokens.saturating_add(at_work);
        let noun = noun(tokens, "token", "tokens");
        whole.set_message(format!("{words}  {} {noun}", grouped(tokens)));
        if whole.is_hidden() && *self.told_of_whole.borrow() != words {
            screen::tell(&words);
            self.told_of_whole.replace(words);
        }
    }
}

/// Displays the only round.
impl RoundDisplay for Screen {
    fn now(&self, what: &str, tokens: Option<u64>) {
        self.now("", what, tokens);
    }

    fn say(&self, words: &str) {
        self.say("", words);
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.clear();
    }
}

fn whole(at: &Whole, what: &str) -> String {
    let what = if what.is_empty() { String::new() } else { format!("; {}", visible(what)) };
    format!(
        "{}/{} tasks done, {} merged, {}/{} at work{what}",
        at.n_done, at.n_tasks, at.n_merged, at.n_running, at.most
    )
}

fn bar(template: &str) -> ProgressBar {
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner());
    let bar = ProgressBar::new_spinner().with_style(style);
    bar.enable_steady_tick(TICK);
    bar
}

/// A number of tokens in at most seven characters.
fn short(tokens: u64) -> String {
    match tokens {
        0..10_000 => format!("{tokens}t"),
        10_000..10_000_000 => format!("{}kt", tokens / 1_000),
        _ => format!("{}Mt", tokens / 1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_is_one_line() {
        let at = Whole { n_done: 3, n_tasks: 6, n_merged: 2, n_running: 4, most: 4, tokens: 9 };
        assert_eq!(whole(&at, ""), "3/6 tasks done, 2 merged, 4/4 at work");
        assert!(whole(&at, "merging T-1\u{1b}[2J").ends_with("; merging T-1\\u{1b}[2J"));
    }

    #[test]
    fn names_and_numbers_keep_their_columns() {
        assert_eq!(bounded("T-1 write the lexer and more", LABEL).chars().count(), LABEL);
        assert_eq!(bounded("T-1 ä", LABEL), "T-1 ä");
        let shown = [0, 9_999, 10_000, 9_999_999, 10_000_000].map(short);
        assert_eq!(shown, ["0t", "9999t", "10kt", "9999kt", "10Mt"]);
    }
}
