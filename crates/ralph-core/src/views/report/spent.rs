//! Time and tokens of each iteration.
//!
//! The record of a stop holds the total of tokens at that stop; an iteration has used the increase
//! since the previous stop. Without a record the number is unknown and is not estimated.

use super::line::ReportLine;
use super::timeline::{self, turns};
use super::words::{self, lasted};
use crate::text::plural;
use jiff::Timestamp;

/// The time and tokens of one iteration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spent {
    /// The title of the iteration.
    pub title: String,
    /// A short name for a chart.
    pub short: String,
    /// The duration, in milliseconds.
    pub took_ms: u64,
    /// The tokens; `None` if unknown.
    pub tokens: Option<u64>,
}

impl Spent {
    /// `12 min, 30 k tokens`.
    pub fn sum(&self) -> String {
        let tokens = self.tokens.filter(|tokens| *tokens > 0);
        let tokens = tokens.map(|used| format!(", {}", plural::tokens(used)));
        format!("{}{}", lasted(self.took_ms), tokens.unwrap_or_default())
    }
}

/// Computes the values of each iteration; the first starts when the loop began.
pub(super) fn of(lines: &[ReportLine], began: Timestamp) -> Vec<Spent> {
    let (mut since, mut used) = (began, 0);
    turns(lines)
        .iter()
        .map(|turn| {
            let until = turn.lines.last().map_or(since, |line| line.at);
            let sum = turn.lines.iter().rev().find_map(ReportLine::stop);
            let mut sum = sum.map(|stop| stop.before.usage.total());
            if let Some(tokens) = turn.lines.last().and_then(|line| line.seen["tokens"].as_u64()) {
                sum = Some(used + tokens);
            }
            let spent = Spent {
                title: timeline::title(turn),
                short: timeline::short(turn),
                took_ms: words::between(since, until),
                tokens: sum.map(|sum| sum.saturating_sub(used)),
            };
            since = until;
            used = sum.unwrap_or(used);
            spent
        })
        .collect()
}
