//! How a loop goes: progress, pauses and endings, limits, and the tokens that it used.

use super::{EndingKind, Extra, PauseCause, PlanPhase, Signal, is_default};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Progress at the last stops.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    /// The signal at the last stop.
    pub signal: Signal,
    /// The fingerprint at the end of the last stop, after any checks that Ralph ran itself: a check
    /// that rewrites files is not progress.
    pub left_at: String,
    /// Consecutive stops without a change.
    pub standing: u32,
    /// Of these, the consecutive text-only stops up to the last one.
    pub idle: u32,
    /// The failure for which completion was last refused.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub failure: String,
    /// Consecutive requests refused for that failure.
    pub same_failure: u32,
}

/// Why a loop is paused, and since when.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Pause {
    /// Why the loop paused.
    pub cause: PauseCause,
    /// When the loop paused.
    pub at: Timestamp,
    /// Details for people.
    pub detail: String,
    /// True once the user has been told in the session.
    pub told: bool,
    /// True if the user was at the keyboard: they left the session, or their prompt revealed the
    /// pause.
    #[serde(skip_serializing_if = "is_default")]
    pub attended: bool,
}

/// What a person must do before the work can continue, as reported by the model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Blocked {
    /// The action needed, in words.
    pub what: String,
    /// When the model reported it.
    pub at: Timestamp,
}

/// A prompt whose words a hook has obeyed, and that the client has not recorded yet: only its record tells the user from
/// a mod that speaks in their name.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Obeyed {
    /// The client's id of the prompt.
    pub prompt_id: String,
    /// The command, as the user reads it; empty for another prompt.
    pub words: String,
    /// Where a planning was that the prompt has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planning: Option<PlanPhase>,
}

/// How and when a loop ended.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Ending {
    /// The kind of ending.
    pub kind: EndingKind,
    /// When the loop ended.
    pub at: Timestamp,
    /// Details for people.
    pub detail: String,
    /// For `stalled`: the sign of the stall.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Signal>,
}

/// An error in a loop.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(from = "WrittenError")]
pub struct LoopError {
    /// When the error occurred.
    pub at: Timestamp,
    /// The error, for people.
    pub message: String,
}

/// The original pattern documents an empty list, and its loops wrote plain strings.
#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenError {
    Text(String),
    Whole {
        #[serde(default)]
        at: Timestamp,
        #[serde(default)]
        message: String,
    },
}

impl From<WrittenError> for LoopError {
    fn from(written: WrittenError) -> LoopError {
        match written {
            WrittenError::Text(message) => LoopError { message, ..LoopError::default() },
            WrittenError::Whole { at, message } => LoopError { at, message },
        }
    }
}

/// Limits besides `max_iterations`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Elapsed time since the start, in minutes.
    pub max_minutes: u64,
    /// Input and output tokens together; `null` means no limit.
    pub max_tokens: Option<u64>,
    /// Cost in US dollars, as headless clients report it; absent means no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<f64>,
    /// Workers that may run at once, whatever the session requests.
    pub max_workers: u32,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_minutes: 480,
            max_tokens: None,
            max_cost: None,
            max_workers: 4,
            extra: Extra::new(),
        }
    }
}

/// A flag whose value is a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitFlag {
    MaxIterations,
    MaxMinutes,
    MaxTokens,
    StallLimit,
    MaxWorkers,
}

impl LimitFlag {
    /// The flag as typed.
    pub fn flag(self) -> &'static str {
        match self {
            LimitFlag::MaxIterations => "--max-iterations",
            LimitFlag::MaxMinutes => "--max-minutes",
            LimitFlag::MaxTokens => "--max-tokens",
            LimitFlag::StallLimit => "--stall-limit",
            LimitFlag::MaxWorkers => "--workers",
        }
    }

    /// The largest allowed value. The smallest is 1.
    pub fn most(self) -> u64 {
        match self {
            LimitFlag::MaxIterations => 10_000,
            LimitFlag::MaxMinutes => 100_000,
            LimitFlag::MaxTokens => 1_000_000_000_000,
            LimitFlag::StallLimit => 1_000,
            LimitFlag::MaxWorkers => 16,
        }
    }

    /// Parses plain decimal digits within the range and refuses everything else. `08` could mean
    /// eight or octal, and a wrong guess would only show when the loop ends too early.
    pub fn parse(self, text: &str) -> Option<u64> {
        let is_plain = !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|number| is_plain && *number <= self.most())
    }
}

/// Token counts of the four kinds that the client reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tokens {
    /// Tokens of the prompt, neither written to nor read from the cache.
    pub input: u64,
    /// Tokens of the prompt, written to the cache.
    pub cache_creation: u64,
    /// Tokens of the prompt, read from the cache.
    pub cache_read: u64,
    /// Tokens of the reply.
    pub output: u64,
}

impl Tokens {
    pub(crate) fn join(self, other: Tokens, join: fn(u64, u64) -> u64) -> Tokens {
        Tokens {
            input: join(self.input, other.input),
            cache_creation: join(self.cache_creation, other.cache_creation),
            cache_read: join(self.cache_read, other.cache_read),
            output: join(self.output, other.output),
        }
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Tokens) -> Tokens {
        self.join(other, u64::saturating_add)
    }

    /// The sum of all kinds, as tools count "total tokens".
    pub fn total(&self) -> u64 {
        [self.cache_creation, self.cache_read, self.output]
            .into_iter()
            .fold(self.input, u64::saturating_add)
    }
}

/// The tokens of a loop, and how far each of its transcripts was read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// The sum over all transcripts.
    pub tokens: Tokens,
    /// In US dollars, as headless clients reported it; 0 if none did.
    #[serde(skip_serializing_if = "is_default")]
    pub cost: f64,
    /// The transcripts, by their paths.
    pub sources: BTreeMap<String, Source>,
}

/// How far one transcript was read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Source {
    /// Offset of the first unread row.
    pub offset: u64,
    /// Inode number of the file: another number means another file.
    pub file: u64,
    /// The last message that was counted; a later row may belong to it.
    pub message_id: String,
    /// The tokens counted for that message.
    pub counted: Tokens,
    /// Time of the last counted row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// Set if the file was replaced and is read again: rows up to this time were already counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted_until: Option<Timestamp>,
}

impl Source {
    /// Reads the file from the start again: it was replaced or truncated.
    pub fn read_anew(&mut self, file: u64) {
        self.offset = 0;
        self.file = file;
        self.counted_until = self.at;
    }
}

impl Usage {
    /// The sum over all transcripts and kinds.
    pub fn total(&self) -> u64 {
        self.tokens.total()
    }

    /// Resets the totals but keeps the read offsets.
    pub fn forget(&mut self) {
        self.tokens = Tokens::default();
        self.cost = 0.0;
        for source in self.sources.values_mut() {
            source.counted = Tokens::default();
        }
    }
}
