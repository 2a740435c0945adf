//! Narrates the demo, line by line: the loop's position, who acts, and what happens.
//!
//! Quotations are shortened to fit, never reworded.

use crate::command::screen::{self, Colour};
use crate::demo::scripted::StepAnswer;
use crate::demo::{StoryAction, StoryExpectation, StoryStep};
use crate::setup::tell;
use ralph_core::evidence::{observed, receipt};
use ralph_core::state::{LoopState, Receipt};
use ralph_core::text::plural::noun;
use ralph_core::text::truncate::bounded;
use ralph_core::text::wrap::wrap;
use std::path::Path;

const WIDTH: usize = 80;
const GUTTER: usize = 13;
/// Lines quoted from one answer.
const QUOTED_LINES: usize = 3;
/// Lines quoted from a command's output.
const PRINTED_LINES: usize = 2;

/// The narrator's state.
#[derive(Debug)]
pub(super) struct Account {
    /// Whether the scratch folder stays on disk.
    keep: bool,
    /// The loop's position, such as `1/5`.
    position: String,
    /// What the agent did unhindered since its last line.
    done: Vec<String>,
}

impl Account {
    /// Prints the introduction.
    pub(super) fn begin(keep: bool) -> Account {
        tell!("A Ralph loop in a scratch repository: real hooks, scripted agent.");
        tell!("1/5: continued once, of at most 5 times. --ac: criterion=command that shows it.\n");
        Account { keep, position: String::new(), done: Vec::new() }
    }

    /// Narrates a step whose answer is what the story needs.
    pub(super) fn tell(&mut self, step: StoryStep, answer: &StepAnswer, state: Option<&LoopState>) {
        if step.needs == StoryExpectation::Allowed && step.does.is_the_agents() {
            self.done.push(deed(step.does));
            return;
        }
        self.tell_deed(step.does, state);
        let words = answer.words.as_str();
        match step.needs {
            StoryExpectation::Started => self.ralph(Colour::Cyan, "starts", first_line(words)),
            StoryExpectation::Denied => self.ralph(Colour::Yellow, "denies it", sentence(words)),
            StoryExpectation::GoesOn => self.ralph(Colour::Cyan, "not yet", first_line(words)),
            StoryExpectation::Refused => {
                // The reasons follow with the next tool call.
                self.tell_refusal(state.map_or("", |state| &state.details_due));
            }
            StoryExpectation::Passed => {
                let kept = state.and_then(kept).unwrap_or_default();
                self.ralph(Colour::Cyan, "dry run", &format!("{}{kept}", last_line(words)));
            }
            StoryExpectation::Completed => {
                self.ralph(Colour::Green, "ends it", &state.map(shown).unwrap_or_default());
                self.line("", &state.map(receipts).unwrap_or_default());
            }
            StoryExpectation::Shown => {
                // The first line names the loop, which is already known.
                let lines = words.lines().skip(1).take(PRINTED_LINES);
                lines.for_each(|line| self.line("", &cut(line.trim())));
            }
            StoryExpectation::Allowed => {
                self.line("ralph", "says nothing: that session has no loop")
            }
        }
    }

    /// Prints each reason in the words that the agent gets.
    fn tell_refusal(&self, words: &str) {
        // The failing tests come first; otherwise one sentence has the only reason.
        let only = words.split_once("refused: ").map(|(_, reason)| first_line(reason));
        self.ralph(Colour::Yellow, "refuses", only.unwrap_or_else(|| first_line(words)));
        let red = words.lines().filter(|line| line.contains(" is red now"));
        red.for_each(|line| self.line("", line));
    }

    /// Narrates a step whose answer is not what the story needs.
    pub(super) fn tell_broken(
        &mut self,
        step: StoryStep,
        answer: &StepAnswer,
        state: Option<&LoopState>,
    ) {
        self.tell_deed(step.does, state);
        let needed = match step.needs {
            StoryExpectation::Started => "a start",
            StoryExpectation::Allowed => "no answer at all",
            StoryExpectation::Denied => "a denial",
            StoryExpectation::GoesOn => "a turn that goes on",
            StoryExpectation::Refused => "a refused completion, with its reasons",
            StoryExpectation::Passed => "criteria that pass",
            StoryExpectation::Shown => "something to read",
            StoryExpectation::Completed => "the end of the loop as complete",
        };
        self.ralph(Colour::Red, answer.kind.describe(), &answer.words);
        tell!("\nThe demo failed here: expected {needed}.");
    }

    /// Prints the totals and the name of the archive.
    pub(super) fn close(&self, counted: &str, n_decisions: usize, folder: &Path) {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let fate = if self.keep { "" } else { " (removed; --keep keeps it)" };
        let lines = noun(n_decisions, "journal line", "journal lines");
        tell!("\n{counted}; archived, with {n_decisions} {lines}, as\n{name}{fate}");
    }

    fn tell_deed(&mut self, does: StoryAction, state: Option<&LoopState>) {
        self.position = state.map(LoopState::position).unwrap_or_default();
        let who = match does {
            StoryAction::Types(..) | StoryAction::Looks(_) => "person",
            StoryAction::StrangerSays(_) => "other",
            _ => "agent",
        };
        self.done.push(deed(does));
        let done = std::mem::take(&mut self.done);
        self.line(who, &done.join("; "));
    }

    /// Prints Ralph's answer: the verb in colour, then the quotation.
    fn ralph(&self, colour: Colour, verb: &str, quoted: &str) {
        let text = if quoted.is_empty() { verb.to_owned() } else { format!("{verb}: {quoted}") };
        for (index, line) in wrapped(&text).iter().enumerate() {
            match (index, line.strip_prefix(verb)) {
                (0, Some(rest)) => {
                    let painted = screen::coloured(verb, colour) + rest;
                    print(&self.position, "ralph", &painted);
                }
                _ => print("", "", line),
            }
        }
    }

    fn line(&self, who: &str, text: &str) {
        let position = if who == "ralph" { self.position.as_str() } else { "" };
        for (index, line) in wrapped(text).iter().enumerate() {
            match index {
                0 => print(position, who, line),
                _ => print("", "", line),
            }
        }
    }
}

fn print(position: &str, who: &str, text: &str) {
    tell!("{}", format!("{position:>4}  {who:<6} {text}").trim_end());
}

fn deed(does: StoryAction) -> String {
    match does {
        StoryAction::Types(name, args) => format!("/{name} {args}"),
        StoryAction::Asks(question) => format!("asks the person: \"{question}\""),
        StoryAction::Writes(name, text) => format!("writes {name}: `{}`", text.trim_end()),
        StoryAction::Runs(command) => format!("runs `{command}`"),
        StoryAction::Says(text) => match text.rsplit_once("\n\n") {
            Some((before, last)) => {
                format!("stops: \"{before}\" {last}")
            }
            None => format!("stops: \"{text}\""),
        },
        StoryAction::StrangerSays(text) => format!("a session without a loop stops: \"{text}\""),
        StoryAction::Looks(args) => format!("ralph {}", args.join(" ")),
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// What the criteria showed, in the figures of their runners.
fn shown(state: &LoopState) -> String {
    let ending = state.ending.as_ref().map(|ending| ending.kind.to_string()).unwrap_or_default();
    let criteria = state.acceptance_criteria.iter();
    let sentence = |one| observed::sentence(one, receipt::criterion_status(one, None));
    let sentences: Vec<String> = criteria.map(sentence).collect();
    format!("{ending}: {}.", sentences.join(". "))
}

/// The checkpoint that was made when all criteria held.
fn kept(state: &LoopState) -> Option<String> {
    let number = state.checkpoint.as_ref()?.reference.rsplit('/').next()?;
    Some(format!(" Kept as checkpoint {number}."))
}

/// The exit codes and the tree that the proof rests on.
fn receipts(state: &LoopState) -> String {
    let receipts = state.acceptance_criteria.iter().filter_map(|criterion| {
        let receipt = criterion.receipt.as_ref()?;
        Some((format!("{} exit code {}", criterion.id, receipt.exit_code?), receipt))
    });
    let (told, receipts): (Vec<String>, Vec<&Receipt>) = receipts.unzip();
    // No criterion of the story names paths, so all have the same tree.
    let tree = receipts.first().and_then(|receipt| receipt.tree_after.get(..8));
    let kept = kept(state).unwrap_or_default();
    format!("Receipts: {}, on tree {}.{kept}", told.join(", "), tree.unwrap_or_default())
}

fn last_line(text: &str) -> &str {
    text.trim_end().lines().last().unwrap_or_default()
}

/// The text up to the end of its first clause.
fn sentence(text: &str) -> &str {
    let end = text.find(['.', ';', '\n']).unwrap_or(text.len());
    &text[..end]
}

/// The text on one line, cut if it does not fit.
fn cut(line: &str) -> String {
    bounded(&line.split_whitespace().collect::<Vec<_>>().join(" "), WIDTH - GUTTER)
}

/// The text wrapped beside the gutter; the last line ends in an ellipsis if the text was cut.
fn wrapped(text: &str) -> Vec<String> {
    let indent = text.len() - text.trim_start().len();
    let room = WIDTH - GUTTER - indent;
    let mut lines = wrap(text, room, room);
    if lines.len() > QUOTED_LINES {
        let rest = lines.split_off(QUOTED_LINES - 1).join(" ");
        lines.push(bounded(&rest, room));
    }
    lines.iter().map(|line| format!("{:indent$}{line}", "")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_fits_and_a_cut_one_says_so() {
        let long = "word ".repeat(100);
        let lines = wrapped(&long);
        assert_eq!(lines.len(), QUOTED_LINES);
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH - GUTTER), "{lines:?}");
        assert!(lines.last().is_some_and(|line| line.ends_with('…')));
        assert_eq!(wrapped("short"), ["short"]);
    }

    #[test]
    fn a_long_answer_is_quoted_by_its_first_clause() {
        assert_eq!(sentence("One is denied; two. Three."), "One is denied");
        assert_eq!(sentence("One"), "One");
        assert_eq!(cut(&"x".repeat(200)).chars().count(), WIDTH - GUTTER);
        assert_eq!(cut("a   b"), "a b");
    }
}
