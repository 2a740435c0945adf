//! The tokens that a loop has used. `transcript::tokens` counts them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
    #[serde(skip_serializing_if = "is_free")]
    pub cost: f64,
    /// The transcripts, by their paths.
    pub sources: BTreeMap<String, Source>,
}

fn is_free(cost: &f64) -> bool {
    *cost == 0.0
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
