//! Parses the text typed after `/ralph`: a task and the flags of `ralph start`.
//!
//! This is not a shell. A quote groups words only if it opens at the start of a word and closes at
//! the end of one, so an apostrophe is plain text. Nothing is expanded, so a task may contain
//! `$(…)`, backticks, `$HOME` and `~`.

mod refusal;
mod words;

pub use refusal::ArgumentError;

use crate::modes::parallel::TaskSource;
use crate::shell::vacuous;
use crate::state::{Completion, Criterion, LimitFlag, LoopState, REVIEW_PREFIX};
use words::ArgumentWord;

/// All flags of `ralph start`, as typed.
pub const FLAGS: [&str; 10] = [
    "--max-iterations",
    "--max-minutes",
    "--max-tokens",
    "--stall-limit",
    "--workers",
    "--completion",
    "--ac",
    "--tests-may-change",
    "--session",
    "--baseline",
];

#[derive(Debug, Clone, PartialEq, Default)]
pub struct LoopRequest {
    /// The task as typed. `None` continues the loop or starts the planned one.
    pub task: Option<String>,
    pub options: Options,
    /// For a parallel loop: where its tasks come from.
    pub parallel: Option<TaskSource>,
}

/// The flags given. A flag that was not given keeps the default of the loop's state.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Options {
    pub max_iterations: Option<u32>,
    pub max_minutes: Option<u64>,
    /// Input and output tokens together.
    pub max_tokens: Option<u64>,
    /// Cost in US dollars, as headless clients report it.
    pub max_cost: Option<f64>,
    /// Consecutive stops without progress after which the loop ends.
    pub stall_limit: Option<u32>,
    /// Maximum number of workers running at once.
    pub max_workers: Option<u32>,
    /// The rule that decides completion.
    pub completion: Option<Completion>,
    /// Acceptance criteria in the order given, numbered from `AC-1`.
    pub criteria: Vec<Criterion>,
    /// Test files that the work may change, as globs from the top of the repository.
    pub tests_may_change: Vec<String>,
    /// The session to bind the loop to.
    pub session: Option<String>,
    /// Whether to run the criteria once before the work begins.
    pub baseline: bool,
}

impl Options {
    /// Copies the given values into a loop that is being prepared and leaves the other values
    /// unchanged. The caller handles the session and the baseline.
    pub fn fill(&self, state: &mut LoopState) {
        if let Some(max_iterations) = self.max_iterations {
            state.max_iterations = max_iterations;
        }
        if let Some(max_minutes) = self.max_minutes {
            state.limits.max_minutes = max_minutes;
        }
        if self.max_tokens.is_some() {
            state.limits.max_tokens = self.max_tokens;
        }
        if self.max_cost.is_some() {
            state.limits.max_cost = self.max_cost;
        }
        if let Some(stall_limit) = self.stall_limit {
            state.stall_limit = stall_limit;
        }
        if let Some(max_workers) = self.max_workers {
            state.limits.max_workers = max_workers;
        }
        if let Some(completion) = &self.completion {
            state.completion = completion.clone();
        }
        if !self.criteria.is_empty() {
            state.acceptance_criteria.clone_from(&self.criteria);
        }
        if !self.tests_may_change.is_empty() {
            state.tests_may_change.clone_from(&self.tests_may_change);
        }
    }
}

/// Parses the value of a flag that limits a loop.
pub fn parse_number(number: LimitFlag, text: &str) -> Result<u64, ArgumentError> {
    number.parse(text).ok_or_else(|| ArgumentError::Number { number, given: text.to_owned() })
}

pub fn parse_completion(text: &str) -> Result<Completion, ArgumentError> {
    match Completion::from(text.to_owned()) {
        Completion::Other(given) => Err(ArgumentError::Completion { given }),
        known => Ok(known),
    }
}

/// Parses the value of `--ac`: a description, `=`, and the command that proves it, or `review:` and
/// a question. Splits at the first `=`, because commands contain `=` more often than descriptions do.
pub fn parse_criterion(text: &str) -> Result<Criterion, ArgumentError> {
    let Some((description, command)) = text.split_once('=') else {
        return Err(ArgumentError::CriterionWithoutCommand { given: text.to_owned() });
    };
    let (description, command) = (description.trim(), command.trim());
    if let Some(question) = command.strip_prefix(REVIEW_PREFIX).map(str::trim) {
        if question.is_empty() {
            return Err(ArgumentError::EmptyQuestion { given: text.to_owned() });
        }
        return Ok(Criterion {
            description: if description.is_empty() { question } else { description }.to_owned(),
            review: Some(question.to_owned()),
            ..Criterion::default()
        });
    }
    if let Some(why) = vacuous::refuse(command) {
        return Err(ArgumentError::Criterion { given: text.to_owned(), why });
    }
    Ok(Criterion {
        description: if description.is_empty() { command } else { description }.to_owned(),
        verification_command: command.to_owned(),
        ..Criterion::default()
    })
}

/// Numbers criteria from `AC-1`, in the order they were given.
pub fn number_criteria(criteria: &mut [Criterion]) {
    for (at, criterion) in criteria.iter_mut().enumerate() {
        criterion.id = format!("AC-{}", at + 1);
    }
}

/// Parses everything typed after the command's name.
pub fn parse(text: &str) -> Result<LoopRequest, ArgumentError> {
    let mut reader =
        ArgumentReader { words: words::split(text), at: 0, options: Options::default() };
    let mut pieces = Vec::new();
    while let Some(word) = reader.next() {
        if word.is("--") {
            let rest = reader.words.split_off(reader.at);
            pieces.extend(rest);
            break;
        }
        match flag_name(&word)? {
            Some(name) => reader.flag(name, &word)?,
            None => pieces.push(word),
        }
    }
    number_criteria(&mut reader.options.criteria);
    Ok(LoopRequest { task: task(text, &pieces)?, options: reader.options, parallel: None })
}

/// Joins the words that are not flags, as typed. Quotes are removed only from a task that is a
/// single quoted word; otherwise they belong to the text.
fn task(text: &str, pieces: &[ArgumentWord]) -> Result<Option<String>, ArgumentError> {
    let typed = match pieces {
        [] => return Ok(None),
        [only] => only.value.to_owned(),
        several => words::join(text, several),
    };
    if typed.trim().is_empty() { Err(ArgumentError::EmptyTask) } else { Ok(Some(typed)) }
}

/// Returns the flag that a word names, if any. Refuses a flag typed with one hyphen, or with the
/// dash that word processors make of two: as part of a task it would silently do nothing.
fn flag_name(word: &ArgumentWord) -> Result<Option<&'static str>, ArgumentError> {
    let typed = word.name;
    if word.quoted || !typed.starts_with(DASHES) {
        return Ok(None);
    }
    if typed == "--max-workers" {
        // The former name.
        return Ok(Some("--workers"));
    }
    let known =
        FLAGS.iter().find(|flag| flag.trim_start_matches('-') == typed.trim_start_matches(DASHES));
    match known {
        Some(flag) if *flag == typed => Ok(Some(flag)),
        Some(flag) => Err(ArgumentError::Misspelled { typed: typed.to_owned(), flag }),
        None if typed.starts_with("--") => Err(ArgumentError::Unknown { flag: typed.to_owned() }),
        None => Ok(None),
    }
}

/// Hyphen, en dash, em dash.
const DASHES: [char; 3] = ['-', '\u{2013}', '\u{2014}'];

struct ArgumentReader<'a> {
    words: Vec<ArgumentWord<'a>>,
    at: usize,
    options: Options,
}

impl<'a> ArgumentReader<'a> {
    fn next(&mut self) -> Option<ArgumentWord<'a>> {
        let word = self.words.get(self.at).copied();
        self.at += usize::from(word.is_some());
        word
    }

    fn flag(&mut self, name: &'static str, word: &ArgumentWord<'a>) -> Result<(), ArgumentError> {
        match name {
            "--max-iterations" => {
                let value = self.number(LimitFlag::MaxIterations, word)?;
                // The value is in range, and the range fits in `u32`.
                once(
                    name,
                    &mut self.options.max_iterations,
                    u32::try_from(value).unwrap_or(u32::MAX),
                )
            }
            "--stall-limit" => {
                let value = self.number(LimitFlag::StallLimit, word)?;
                once(name, &mut self.options.stall_limit, u32::try_from(value).unwrap_or(u32::MAX))
            }
            "--workers" => {
                let value = self.number(LimitFlag::MaxWorkers, word)?;
                once(name, &mut self.options.max_workers, u32::try_from(value).unwrap_or(u32::MAX))
            }
            "--max-minutes" => {
                let value = self.number(LimitFlag::MaxMinutes, word)?;
                once(name, &mut self.options.max_minutes, value)
            }
            "--max-tokens" => {
                let value = self.number(LimitFlag::MaxTokens, word)?;
                once(name, &mut self.options.max_tokens, value)
            }
            "--completion" => {
                let value = parse_completion(self.value(name, word)?)?;
                once(name, &mut self.options.completion, value)
            }
            "--session" => {
                let value = self.value(name, word)?.to_owned();
                once(name, &mut self.options.session, value)
            }
            "--ac" => {
                let criterion = parse_criterion(self.value(name, word)?)?;
                self.options.criteria.push(criterion);
                Ok(())
            }
            "--tests-may-change" => {
                let glob = self.value(name, word)?.to_owned();
                self.options.tests_may_change.push(glob);
                Ok(())
            }
            // `--baseline`, the only flag without a value.
            _ => self.baseline(name, word),
        }
    }

    fn number(&mut self, number: LimitFlag, word: &ArgumentWord<'a>) -> Result<u64, ArgumentError> {
        parse_number(number, self.value(number.flag(), word)?)
    }

    /// Returns the text after `=`, or else the next word, which must not be a flag.
    fn value(
        &mut self,
        flag: &'static str,
        word: &ArgumentWord<'a>,
    ) -> Result<&'a str, ArgumentError> {
        let given = match word.attached {
            Some(value) => Some(value),
            None => self
                .next()
                .filter(|next| next.quoted || !next.value.starts_with("--"))
                .map(|next| next.value),
        };
        given.filter(|value| !value.trim().is_empty()).ok_or(ArgumentError::NoValue { flag })
    }

    fn baseline(
        &mut self,
        flag: &'static str,
        word: &ArgumentWord<'a>,
    ) -> Result<(), ArgumentError> {
        if let Some(value) = word.attached {
            return Err(ArgumentError::UnwantedValue { flag, value: value.to_owned() });
        }
        if std::mem::replace(&mut self.options.baseline, true) {
            return Err(ArgumentError::Repeated { flag });
        }
        Ok(())
    }
}

fn once<T>(flag: &'static str, place: &mut Option<T>, value: T) -> Result<(), ArgumentError> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(ArgumentError::Repeated { flag }),
    }
}

#[cfg(test)]
mod tests;
