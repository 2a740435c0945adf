//! Parses the line that ends a turn: the result, and the reason for a failure.

use super::Limit;
use crate::state::Tokens;
use crate::transcript::row::TranscriptRow;
use jiff::Timestamp;
use serde_json::Value;

/// The result of a turn.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TurnResult {
    /// The model's last text, or the error text.
    pub result: String,
    /// True if the client reports a failure.
    pub is_error: bool,
    /// The reason, if the API caused the failure.
    pub reason: Reason,
    /// All tokens of the session, including those of its workers and of earlier processes.
    pub tokens: Tokens,
    /// Cost in US dollars, counted in the same way.
    pub cost: f64,
    /// The denied calls: tool, call id and subject.
    pub denials: Vec<(String, String, String)>,
}

/// The kind of a failure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Reason {
    /// The turn succeeded, or failed for a reason other than the API.
    #[default]
    Own,
    /// The API is overloaded, failed, or was unreachable: a retry may succeed later.
    Overloaded,
    /// The API refuses the request itself. `is_final`: it refuses every other in the same way, for the
    /// credentials or the model's name.
    Refused { is_final: bool },
    /// Too many requests, without a known time at which they are accepted again.
    RateLimited,
    /// The subscription's limit or the account's credit is used up; with the reset time, if known.
    UsedUp(Option<Timestamp>),
}

pub(super) fn read(row: &TranscriptRow) -> TurnResult {
    let is_error = row.is("is_error");
    let result = match row.text(&["result"]) {
        "" => row.items(&["errors"]).filter_map(Value::as_str).collect::<Vec<_>>().join("; "),
        text => text.to_owned(),
    };
    TurnResult {
        reason: if is_error { reason(row, &result) } else { Reason::Own },
        result,
        is_error,
        tokens: tokens(row),
        cost: row.at(&["total_cost_usd"]).and_then(Value::as_f64).unwrap_or_default(),
        denials: row.items(&["permission_denials"]).map(denial).collect(),
    }
}

/// What 2.1.328 prints, measured:
///
/// * A subscription's limit (429 with `anthropic-ratelimit-unified-*` headers): no retry, exit 1,
///   `api_error: "usage_limit_reached"`, "You've hit your 5-hour limit · resets 4:19am (UTC)". The
///   time itself is only in the `rate_limit_event` before it and in the message's own row.
/// * A 429 to a key, whatever its headers: up to ten retries, then `api_error_status: 429`, "API
///   Error: Request rejected (429) · …", no time.
/// * 529 and 5xx: up to ten retries (0.5 s, doubling), then exit 1 with the status.
/// * Older clients: "Claude AI usage limit reached|1735689600".
fn reason(row: &TranscriptRow, result: &str) -> Reason {
    if let Some((_, at)) = result.split_once("usage limit reached|") {
        let digits: String = at.chars().take_while(char::is_ascii_digit).collect();
        let at = digits.parse().ok().and_then(|at| Timestamp::from_second(at).ok());
        return Reason::UsedUp(at);
    }
    let status = row.number(&["api_error_status"]);
    let kind = row.text(&["api_error_type"]);
    match (row.text(&["api_error"]), status) {
        ("usage_limit_reached", _) => Reason::UsedUp(None),
        _ if kind == "billing_error" => Reason::UsedUp(None),
        (_, 429) => Reason::RateLimited,
        (_, 500..) => Reason::Overloaded,
        (_, 400..) => Reason::Refused { is_final: matches!(status, 401 | 403 | 404) },
        _ if kind == "overloaded_error" => Reason::Overloaded,
        // No status means no response.
        (_, 0) if row.text(&["terminal_reason"]) == "api_error" => Reason::Overloaded,
        _ => Reason::Own,
    }
}

impl Reason {
    /// Adds the reset time from an earlier line.
    pub(super) fn with(self, limit: Option<Limit>) -> Reason {
        match (self, limit.filter(|limit| limit.is_reached)) {
            (Reason::UsedUp(None), Some(limit)) => Reason::UsedUp(limit.resets_at),
            (Reason::RateLimited, Some(limit)) => Reason::UsedUp(limit.resets_at),
            (reason, _) => reason,
        }
    }
}

fn tokens(row: &TranscriptRow) -> Tokens {
    let models = row.at(&["modelUsage"]).and_then(Value::as_object);
    let sum = |name| {
        let numbers = models.into_iter().flat_map(|models| models.values());
        numbers.filter_map(|model| model.get(name)?.as_u64()).fold(0, u64::saturating_add)
    };
    Tokens {
        input: sum("inputTokens"),
        cache_creation: sum("cacheCreationInputTokens"),
        cache_read: sum("cacheReadInputTokens"),
        output: sum("outputTokens"),
    }
}

fn denial(denial: &Value) -> (String, String, String) {
    let text = |name| super::text_of(denial.get(name));
    let about = denial.get("tool_input").map(super::about).unwrap_or_default();
    (text("tool_name"), text("tool_use_id"), about)
}
