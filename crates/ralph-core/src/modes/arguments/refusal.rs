//! Why typed arguments were refused, worded for the user.
//!
//! Each message names the flag and what to type instead. A refused request starts nothing.

use super::FLAGS;
use crate::shell::vacuous::Vacuous;
use crate::state::LimitFlag;
use crate::text::nearest::nearest;
use std::fmt;

/// Why the arguments were refused.
#[derive(Debug, Clone, PartialEq)]
pub enum ArgumentError {
    /// A word begins with `--` but is not a known flag.
    Unknown { flag: String },
    /// A known flag typed with dashes other than two hyphens.
    Misspelled {
        typed: String,
        /// The correct spelling.
        flag: &'static str,
    },
    /// A flag at the end, before another flag, or with an empty value.
    NoValue { flag: &'static str },
    /// A value was given to a flag that takes none.
    UnwantedValue { flag: &'static str, value: String },
    /// A flag that may be given once was given again.
    Repeated { flag: &'static str },
    /// The value is not in plain decimal digits, or is out of range.
    Number { number: LimitFlag, given: String },
    /// The value is not a completion rule.
    Completion { given: String },
    /// `--ac` without a `=`.
    CriterionWithoutCommand { given: String },
    /// `--ac` with `review:` and no question.
    EmptyQuestion { given: String },
    /// `--ac` with a command that proves nothing.
    Criterion { given: String, why: Vacuous },
    /// The task is a pair of quotes with nothing between them.
    EmptyTask,
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArgumentError::Unknown { flag } => write!(
                to,
                "unknown flag `{flag}`; {}. If it belongs to the task, put the task \
                 in quotes or `--` before it",
                match nearest(flag, &FLAGS) {
                    Some(meant) => format!("type `{meant}`"),
                    None => format!("the flags are {}", FLAGS.join(", ")),
                }
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
            ArgumentError::EmptyQuestion { given } => write!(
                to,
                "`--ac '{given}'` asks nothing: write the question after `review:`, such as \
                 `--ac 'the guide is clear=review: does docs/guide.md explain each step?'`"
            ),
            ArgumentError::Criterion { given, why } => write!(
                to,
                "`--ac '{given}'` proves nothing: {why}; name a command that fails until the work \
                 is done"
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
        "--tests-may-change" => "'tests/api/**'",
        "--session" => "SESSION_ID",
        "--stall-limit" => "3",
        "--workers" => "4",
        "--max-minutes" => "480",
        "--max-tokens" => "2000000",
        _ => "25",
    };
    format!("{flag} {value}")
}
