//! The limits of a loop besides its iterations, and the flags that set them, with their ranges.
//! Settings and plans keep to the same ranges.

use super::Extra;
use serde::{Deserialize, Serialize};

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
