//! The flags that limit a loop, with their ranges. Settings and plans keep to the same ranges.

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
