//! Displays rounds: a line for each, and below them one about the whole run, with a bar by tasks.
//! Terminals redraw the lines; elsewhere they are plain lines with the round's name in front.
//!
//! All of it goes to standard error, since standard output is the command's answer.

use super::worker::THINKS;
use crate::command::screen::{self, Colour, visible};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use ralph_core::text::plural;
use ralph_core::text::truncate::bounded;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

/// How often a line is redrawn to update the time on it.
const TICK: Duration = Duration::from_millis(250);

/// The width of a round's name in front of its activity.
const LABEL: usize = 18;

pub(crate) struct Screen {
    lines: MultiProgress,
    /// True if several rounds run at once.
    is_many: bool,
    /// True if nothing is shown.
    is_quiet: bool,
    /// The line about the whole run, once something is known about it.
    whole: RefCell<Option<WholeLine>>,
    rounds: RefCell<BTreeMap<String, RoundLine>>,
}

struct RoundLine {
    bar: ProgressBar,
    label: String,
    /// The label in the first plain line, with the number of rounds.
    first: String,
    last: String,
    tokens: u64,
}

struct WholeLine {
    bar: ProgressBar,
    words: String,
    /// The tokens of ended rounds.
    tokens: u64,
    /// The cost of ended rounds in US dollars.
    cost: f64,
}

/// How far a run is.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Whole {
    pub(crate) n_done: usize,
    /// 0 if nobody knows how many tasks there will be.
    pub(crate) n_tasks: usize,
    pub(crate) words: String,
    /// Tokens used before this run, and by clients that have ended.
    pub(crate) tokens: u64,
    /// The cost of the same clients in US dollars, as they reported it.
    pub(crate) cost: f64,
}

impl Screen {
    pub(crate) fn one() -> Screen {
        Screen::new(false)
    }

    pub(crate) fn many() -> Screen {
        Screen::new(true)
    }

    /// Shows nothing: the caller has a display of its own.
    pub(crate) fn quiet() -> Screen {
        let mut screen = Screen::new(true);
        screen.is_quiet = true;
        screen
    }

    fn new(is_many: bool) -> Screen {
        Screen {
            lines: MultiProgress::new(),
            is_many,
            is_quiet: false,
            whole: RefCell::default(),
            rounds: RefCell::default(),
        }
    }

    /// Adds a line for a round, above the summary line. The name in front is its task's. `about` is
    /// the task of one of several rounds, and `of 5` behind the number of the only one.
    pub(crate) fn add(&self, round: &str, label: &str, about: &str) {
        if self.is_quiet {
            return;
        }
        let label = visible(label);
        let (template, prefix) = match self.is_many {
            true => {
                let name = bounded(&format!("{label} {}", visible(about)), LABEL);
                ("{prefix} {elapsed:>4}  {wide_msg}", format!("{name:LABEL$}"))
            }
            false => {
                let room = (screen::width() / 3).max(LABEL + 2);
                let name = bounded(&numbered(&label, &visible(about)), room);
                ("{prefix}  {spinner} {elapsed}  {wide_msg}", name)
            }
        };
        let bar = match &*self.whole.borrow() {
            Some(whole) => self.lines.insert_before(&whole.bar, bar(template)),
            None => self.lines.add(bar(template)),
        };
        bar.set_prefix(prefix);
        bar.enable_steady_tick(TICK);
        let last = String::new();
        let first = if self.is_many { label.clone() } else { numbered(&label, &visible(about)) };
        let line = RoundLine { bar, label, first, last, tokens: 0 };
        self.rounds.borrow_mut().insert(round.to_owned(), line);
        self.now(round, "begins", None);
    }

    pub(crate) fn now(&self, round: &str, what: &str, tokens: Option<u64>) {
        let mut rounds = self.rounds.borrow_mut();
        let Some(line) = rounds.get_mut(round) else { return };
        line.tokens = tokens.unwrap_or(line.tokens);
        let what = visible(what);
        line.bar.set_message(match (self.is_many, line.tokens) {
            (true, used) => format!("{:>7}  {what}", plural::rounded(used)),
            (false, 0) => what.clone(),
            // The tokens stay in sight where a long command is cut off.
            (false, used) => format!("{}  {what}", plural::tokens(used)),
        });
        if line.bar.is_hidden() && what != THINKS && line.last != what {
            let name = if line.last.is_empty() { &line.first } else { &line.label };
            screen::tell(&format!("{name}: {what}"));
            line.last = what;
        }
        let at_work = rounds.values().map(|line| line.tokens).sum();
        if let Some(whole) = &*self.whole.borrow() {
            whole.show(at_work);
        }
    }

    /// Prints a permanent line about a round.
    pub(crate) fn say(&self, round: &str, words: &str) {
        self.tell(&format!("{}: {}", self.label(round), visible(words)));
    }

    /// The label of a displayed round.
    pub(crate) fn label(&self, round: &str) -> String {
        self.rounds.borrow().get(round).map(|line| line.label.clone()).unwrap_or_default()
    }

    /// Prints permanent lines above the redrawn ones.
    pub(crate) fn tell(&self, text: &str) {
        if !self.is_quiet {
            self.lines.suspend(|| screen::tell(&screen::visible_lines(text)));
        }
    }

    /// Prints a line, with its [`head`] in colour.
    pub(crate) fn tell_in(&self, colour: Colour, text: &str) {
        if !self.is_quiet {
            let text = visible(text);
            self.lines.suspend(|| screen::tell_begun(&text, head(&text), colour));
        }
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
        self.whole.get_mut().iter().for_each(|whole| whole.bar.finish_and_clear());
    }

    /// Updates the line about the whole run.
    pub(crate) fn whole(&self, at: &Whole) {
        let mut whole = self.whole.borrow_mut();
        let line = whole.get_or_insert_with(|| {
            let template = match at.n_tasks {
                0 => "{elapsed}  {wide_msg}",
                _ if self.is_many => "{bar:20.green} {elapsed}  {wide_msg}",
                // The cost stays in sight at 60 columns.
                _ => "{bar:10.green} {elapsed}  {wide_msg}",
            };
            let bar = self.lines.add(bar(template));
            bar.enable_steady_tick(TICK);
            WholeLine { bar, words: String::new(), tokens: 0, cost: 0.0 }
        });
        line.bar.set_length(at.n_tasks as u64);
        line.bar.set_position(at.n_done as u64);
        let words = visible(&at.words);
        if line.bar.is_hidden() && line.words != words {
            screen::tell(&words);
        }
        (line.words, line.tokens, line.cost) = (words, at.tokens, at.cost);
        line.show(self.rounds.borrow().values().map(|line| line.tokens).sum());
    }
}

impl WholeLine {
    fn show(&self, at_work: u64) {
        let tokens = self.tokens.saturating_add(at_work);
        let used = format!("{}{}", plural::tokens(tokens), plural::dollars(self.cost));
        self.bar.set_message(format!("{}  {used}", self.words));
    }
}

/// The length of a line's first part: what happened, without reasons and numbers.
pub(crate) fn head(text: &str) -> usize {
    let from = text.find(": ").map_or(0, |at| at + 2);
    text[from..].find([':', ';', '(', '.', '\n']).map_or(text.len(), |at| from + at)
}

/// `round 2 of 5, T-2 lexer`: the label of a round with `of 5` behind its number.
fn numbered(label: &str, of: &str) -> String {
    match (label.split_once(", "), of) {
        (_, "") => label.to_owned(),
        (Some((round, task)), of) => format!("{round} {of}, {task}"),
        (None, of) => format!("{label} {of}"),
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.clear();
    }
}

/// A bar that does not tick yet: before it is among the lines, it would draw a line of its own.
fn bar(template: &str) -> ProgressBar {
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner());
    ProgressBar::new_spinner().with_style(style.progress_chars("━━─"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_rounds_stands_behind_the_number_of_the_round() {
        assert_eq!(numbered("round 2, T-2 lexer", "of 5"), "round 2 of 5, T-2 lexer");
        assert_eq!(numbered("round 2", "of 5"), "round 2 of 5");
        assert_eq!(numbered("planner", ""), "planner");
    }

    #[test]
    fn names_keep_their_columns() {
        assert_eq!(bounded("T-1 write the lexer and more", LABEL).chars().count(), LABEL);
        assert_eq!(bounded("T-1 ä", LABEL), "T-1 ä");
    }
}
