//! Why typed arguments were refused, in words for the person who typed them.
//!
//! Each message names the flag and says what to write instead; nothing was started.

use super::{FLAGS, Number};
use crate::shell::vacuous::Vacuous;
use std::fmt;

/// The reason for which nothing was started.
#[derive(Debug, Clone, PartialEq)]
pub enum ArgumentError {
    /// A word begins with `--` but is none of our flags.
    Unknown {
        /// As typed.
        flag: String,
    },
    /// One of our flags with other dashes than two hyphens.
    Misspelled {
        /// As typed.
        typed: String,
        /// As it is spelled.
        flag: &'static str,
    },
    /// A flag at the end, before another flag, or with an empty value.
    NoValue {
        /// Which.
        flag: &'static str,
    },
    /// A flag that takes no value was given one.
    UnwantedValue {
        /// Which.
        flag: &'static str,
        /// As typed.
        value: String,
    },
    /// A flag that counts once was given again.
    Repeated {
        /// Which.
        flag: &'static str,
    },
    /// Not plain decimal digits, or out of range.
    Number {
        /// Which.
        number: Number,
        /// As typed.
        given: String,
    },
    /// Not a rule of completion.
    Completion {
        /// As typed.
        given: String,
    },
    /// `--ac` without a `=`.
    CriterionWithoutCommand {
        /// As typed.
        given: String,
    },
    /// `--ac` with a command that proves nothing.
    Criterion {
        /// As typed.
        given: String,
        /// Why it proves nothing.
        why: Vacuous,
    },
    /// Quotes with nothing between them.
    EmptyTask,
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArgumentError::Unknown { flag } => write!(
                to,
                "unknown flag `{flag}`; the flags are {}. If it belongs to the task, put the task \
                 in quotes or `--` before it",
                FLAGS.join(", ")
            ),
            ArgumentError::Misspelled { typed, flag } => {
                write!(to, "`{typed}` is not a flag; write `{flag}`, with two hyphens")
            }
            ArgumentError::NoValue { flag } => {
                write!(to, "`{flag}` needs a value: write `{}`", example(flag))
            }
            ArgumentError::UnwantedValue { flag, value } => {
                write!(to, "`{flag}` takes no value; write `{flag}` without `={value}`")
            }
            ArgumentError::Repeated { flag } => {
                write!(to, "`{flag}` was given twice; give it once")
            }
            ArgumentError::Number { number, given } => write!(
                to,
                "`{}` needs a whole number from 1 to {} in plain digits, not `{given}`",
                number.flag(),
                number.most()
            ),
            ArgumentError::Completion { given } => {
                write!(to, "`--completion` is `verified` or `token`, not `{given}`")
            }
            ArgumentError::CriterionWithoutCommand { given } => write!(
                to,
                "`--ac` needs a description, `=` and a command, not `{given}`: write `{}`",
                example("--ac")
            ),
            ArgumentError::Criterion { given, why } => write!(
                to,
                "`--ac '{given}'` proves nothing: {why}; name a command that fails while the work \
                 is not done"
            ),
            ArgumentError::EmptyTask => write!(
                to,
                "the task is empty; say what to do, or give no task at all to go on with what was \
                 planned"
            ),
        }
    }
}

impl std::error::Error for ArgumentError {}

fn example(flag: &str) -> String {
    let value = match flag {
        "--completion" => "verified",
        "--ac" => "'all tests pass=npm test'",
        "--session" => "SESSION_ID",
        "--stall-limit" => "3",
        "--max-workers" => "4",
        "--max-minutes" => "480",
        "--max-tokens" => "2000000",
        _ => "25",
    };
    format!("{flag} {value}")
}
