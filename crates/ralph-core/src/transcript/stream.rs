//! The lines that a headless client prints (`--output-format stream-json`): split, parsed and summed up.

use crate::protocol::loaded::LoadedPlugins;
use crate::protocol::sandbox;
use crate::state::Tokens;
use crate::transcript::row::{TranscriptRow, usage};
use jiff::Timestamp;
use memchr::memchr;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

// Measured with 2.1.328. A line that does not matter to us, or that a newer client introduced, is
// [`StreamEvent::Other`], never an error. Each turn ends with its own result line: while workers
// run in the background, more lines and another result follow the first.

/// The content of a line.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    /// The session started.
    Began {
        session_id: String,
        /// The permission mode that the client uses.
        permission_mode: String,
        plugins: LoadedPlugins,
    },
    /// The model wrote text or called tools.
    Model(Model),
    /// A tool has ended.
    ToolEnded {
        /// True if a worker called it, not the session itself.
        is_workers: bool,
        /// The lines of its result that may show that a sandbox has prevented something.
        prevented: Vec<String>,
        /// The names of the processes that its command left running.
        left_running: Vec<String>,
    },
    /// The API failed and the client retries by itself.
    Retry(Retry),
    /// The state of a subscription's limit.
    Limit(Limit),
    /// A tool call needed the user's permission or was forbidden.
    Denied {
        tool: String,
        /// The client's id of the call.
        call: String,
        /// The reason, in the client's words.
        why: String,
    },
    /// All background work that is running now.
    Background(Vec<Background>),
    /// A message from the client that the user should read.
    Warning(String),
    Ended(Box<TurnResult>),
    /// A line that we do not need.
    Other,
}

/// One piece of the model's answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Model {
    /// Id of the message. All pieces of a message share the id and the token counts.
    pub message_id: String,
    /// The tools called, each with a short description of the call.
    pub tools: Vec<(String, String)>,
    /// The tokens of the whole message.
    pub tokens: Tokens,
    /// True if a worker wrote it, not the session itself.
    pub is_workers: bool,
    /// Set if the text is the client's report about a failed request, not the model's.
    pub error: Option<String>,
}

/// A failed request that the client will repeat.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Retry {
    /// The attempt that failed, from 1.
    pub attempt: u64,
    /// The maximum number of attempts.
    pub most: u64,
    /// The delay before the next attempt.
    pub after: Duration,
    /// The kind of error in the client's words: `overloaded`, `rate_limit`, `server_error` …
    pub error: String,
}

/// The state of a subscription's limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limit {
    /// True if requests are rejected.
    pub is_reached: bool,
    /// When the limit resets.
    pub resets_at: Option<Timestamp>,
}

/// A task in the background.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Background {
    pub name: String,
    /// True for a worker, whose report the session waits for; false for a shell.
    pub reports: bool,
}

/// Parses a line; `None` if it is not a JSON object.
pub fn read(line: &[u8]) -> Option<StreamEvent> {
    let row = TranscriptRow::parse(line)?;
    Some(match (row.kind(), row.text(&["subtype"])) {
        ("system", "init") => StreamEvent::Began {
            session_id: row.text(&["session_id"]).to_owned(),
            permission_mode: row.text(&["permissionMode"]).to_owned(),
            plugins: row.at(&[]).map(LoadedPlugins::from_init).unwrap_or_default(),
        },
        ("system", "api_retry") => StreamEvent::Retry(retry(&row)),
        ("system", "permission_denied") => StreamEvent::Denied {
            tool: row.text(&["tool_name"]).to_owned(),
            call: row.text(&["tool_use_id"]).to_owned(),
            why: row.text(&["message"]).to_owned(),
        },
        ("system", "background_tasks_changed") => {
            StreamEvent::Background(row.items(&["tasks"]).map(background).collect())
        }
        ("system", "informational" | "hook_no_verdict") => warning(&row),
        ("assistant", _) => StreamEvent::Model(model(&row)),
        ("user", _) => user(&row),
        ("rate_limit_event", _) => row
            .at(&["rate_limit_info"])
            .map_or(StreamEvent::Other, |info| StreamEvent::Limit(limit(info))),
        ("result", _) => StreamEvent::Ended(Box::new(turn_result(&row))),
        _ => StreamEvent::Other,
    })
}

fn user(row: &TranscriptRow) -> StreamEvent {
    let is_result = |block: &Value| block.get("type").is_some_and(|kind| kind == "tool_result");
    let is_workers = !text_of(row.at(&["parent_tool_use_id"])).is_empty();
    match row.items(&["message", "content"]).any(is_result) {
        true => {
            let results = row.items(&["message", "content"]).filter(|block| is_result(block));
            let texts: Vec<&str> = results.flat_map(texts).collect();
            StreamEvent::ToolEnded {
                is_workers,
                prevented: texts.iter().copied().flat_map(sandbox::prevented_candidates).collect(),
                left_running: texts.iter().copied().flat_map(sandbox::left_running_names).collect(),
            }
        }
        false => StreamEvent::Other,
    }
}

/// The result is a text, or a list of blocks with texts.
fn texts(result: &Value) -> impl Iterator<Item = &str> {
    let content = result.get("content").unwrap_or(&Value::Null);
    let blocks = content.as_array().into_iter().flatten();
    blocks.filter_map(|block| block.get("text")?.as_str()).chain(content.as_str())
}

fn warning(row: &TranscriptRow) -> StreamEvent {
    let text = ["content", "message"].map(|name| row.text(&[name]));
    match text.into_iter().find(|text| !text.is_empty()) {
        Some(text) => StreamEvent::Warning(text.to_owned()),
        None => StreamEvent::Other,
    }
}

fn retry(row: &TranscriptRow) -> Retry {
    Retry {
        attempt: row.number(&["attempt"]),
        most: row.number(&["max_retries"]),
        after: Duration::from_millis(row.number(&["retry_delay_ms"])),
        error: row.text(&["error"]).to_owned(),
    }
}

fn background(task: &Value) -> Background {
    // All other kinds are workers under various names. The session does not wait for off-host work.
    let is_shell = task.get("task_type").is_some_and(|kind| kind == "local_bash");
    let is_away = task.get("off_host").and_then(Value::as_bool).unwrap_or_default();
    Background { name: text_of(task.get("description")), reports: !is_shell && !is_away }
}

/// Parses the state of a subscription; the client also writes it when a request was rejected.
fn limit(info: &Value) -> Limit {
    let resets_at = info.get("resetsAt").and_then(Value::as_i64);
    Limit {
        is_reached: info.get("status").is_some_and(|status| status == "rejected"),
        resets_at: resets_at.and_then(|at| Timestamp::from_second(at).ok()),
    }
}

fn model(row: &TranscriptRow) -> Model {
    let error = row.text(&["error"]);
    Model {
        message_id: row.text(&["message", "id"]).to_owned(),
        tools: row.items(&["message", "content"]).filter_map(call).collect(),
        tokens: usage(row),
        is_workers: !row.text(&["parent_tool_use_id"]).is_empty(),
        error: (!error.is_empty()).then(|| error.to_owned()),
    }
}

fn call(block: &Value) -> Option<(String, String)> {
    let name =
        block.get("name").filter(|_| block.get("type").is_some_and(|kind| kind == "tool_use"));
    Some((name?.as_str()?.to_owned(), about(block.get("input")?)))
}

/// The part of a call's input by which a person recognises the call.
pub(crate) fn about(input: &Value) -> String {
    const TELLING: [&str; 7] =
        ["command", "file_path", "notebook_path", "url", "pattern", "skill", "description"];
    text_of(TELLING.iter().find_map(|name| input.get(*name)))
}

fn text_of(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}

// Parses the line that ends a turn: the result, and the reason for a failure.

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

fn turn_result(row: &TranscriptRow) -> TurnResult {
    let is_error = row.is("is_error");
    let result = match row.text(&["result"]) {
        "" => row.items(&["errors"]).filter_map(Value::as_str).collect::<Vec<_>>().join("; "),
        text => text.to_owned(),
    };
    TurnResult {
        reason: if is_error { reason(row, &result) } else { Reason::Own },
        result,
        is_error,
        tokens: tokens_of_models(row),
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
    fn with(self, limit: Option<Limit>) -> Reason {
        match (self, limit.filter(|limit| limit.is_reached)) {
            (Reason::UsedUp(None), Some(limit)) => Reason::UsedUp(limit.resets_at),
            (Reason::RateLimited, Some(limit)) => Reason::UsedUp(limit.resets_at),
            (reason, _) => reason,
        }
    }
}

fn tokens_of_models(row: &TranscriptRow) -> Tokens {
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
    let text = |name| text_of(denial.get(name));
    let about = denial.get("tool_input").map(about).unwrap_or_default();
    (text("tool_name"), text("tool_use_id"), about)
}

// Accumulates what the lines of a headless session say.

/// A tool call that was not made, because it was forbidden or nobody was there to permit it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    pub tool: String,
    /// The subject of the call.
    pub about: String,
    /// The client's reason, which the model also got; empty if there was none.
    pub why: String,
}

/// The most lines about a sandbox that are kept.
const MOST_PREVENTED: usize = 100;

/// The most names of processes that are kept.
const MOST_LEFT: usize = 20;

/// The sum of all lines so far.
#[derive(Debug, Default)]
pub struct Account {
    /// The session's id, once it has started.
    pub session_id: Option<String>,
    /// The running tool, with a short description of the call.
    pub tool: Option<(String, String)>,
    /// The request that the client is retrying, until one succeeds.
    pub retry: Option<Retry>,
    /// The result of the last turn.
    pub ended: Option<TurnResult>,
    /// True once the model has answered: the session can be resumed.
    pub has_worked: bool,
    limit: Option<Limit>,
    background: Vec<Background>,
    denials: BTreeMap<String, Denial>,
    prevented: Vec<String>,
    left_running: Vec<String>,
    counted: Tokens,
    message: (String, Tokens),
}

impl Account {
    /// Adds one line.
    pub fn hear(&mut self, said: StreamEvent) {
        match said {
            StreamEvent::Began { session_id, .. } => self.session_id = Some(session_id),
            StreamEvent::Model(model) if model.error.is_some() => {}
            StreamEvent::Model(model) => {
                self.has_worked = true;
                // The model speaks again after the end of a turn: a worker has reported.
                self.ended = None;
                self.retry = None;
                self.count(&model.message_id, model.tokens);
                if let Some(tool) = model.tools.into_iter().next().filter(|_| !model.is_workers) {
                    self.tool = Some(tool);
                }
            }
            StreamEvent::ToolEnded { is_workers, prevented, left_running } => {
                self.tool = self.tool.take().filter(|_| is_workers);
                self.prevented.extend(prevented);
                self.prevented.truncate(MOST_PREVENTED);
                for name in left_running {
                    if self.left_running.len() < MOST_LEFT && !self.left_running.contains(&name) {
                        self.left_running.push(name);
                    }
                }
            }
            StreamEvent::Retry(retry) => self.retry = Some(retry),
            StreamEvent::Limit(limit) => self.limit = Some(limit),
            StreamEvent::Denied { tool, call, why } => {
                let about = String::new();
                self.denials.insert(call, Denial { tool, about, why });
            }
            StreamEvent::Background(all) => self.background = all,
            StreamEvent::Ended(mut ended) => {
                ended.reason = std::mem::take(&mut ended.reason).with(self.limit);
                self.tool = None;
                for (tool, call, about) in std::mem::take(&mut ended.denials) {
                    let denial = self.denials.entry(call).or_default();
                    (denial.tool, denial.about) = (tool, about);
                }
                self.ended = Some(*ended);
            }
            StreamEvent::Warning(_) | StreamEvent::Other => {}
        }
    }

    /// True if no more lines are expected: a turn has ended, and no worker will report.
    pub fn is_settled(&self) -> bool {
        self.ended.is_some() && !self.background.iter().any(|one| one.reports)
    }

    /// The client's descriptions of the background work.
    pub fn in_background(&self) -> impl Iterator<Item = &str> {
        self.background.iter().map(|one| one.name.as_str())
    }

    /// Why the last turn ended, if it has.
    pub fn reason(&self) -> Option<&Reason> {
        self.ended.as_ref().map(|ended| &ended.reason)
    }

    /// The tokens so far: the total from the result of the last turn, or else the sum of the
    /// messages.
    pub fn tokens(&self) -> Tokens {
        let told = self.ended.as_ref().map(|ended| ended.tokens);
        told.filter(|told| told.total() > 0).unwrap_or(self.counted.plus(self.message.1))
    }

    /// The denied calls of all turns.
    pub fn denials(&self) -> Vec<Denial> {
        self.denials.values().cloned().collect()
    }

    /// The lines of results that may show that a sandbox has prevented something.
    pub fn prevented(&self) -> &[String] {
        &self.prevented
    }

    /// The names of the processes that commands left running in a sandbox, each once.
    pub fn left_running(&self) -> &[String] {
        &self.left_running
    }

    /// Counts a message once, although each of its pieces repeats its tokens.
    fn count(&mut self, message_id: &str, tokens: Tokens) {
        if message_id != self.message.0 {
            let before = std::mem::replace(&mut self.message, (message_id.to_owned(), tokens));
            self.counted = self.counted.plus(before.1);
        }
        self.message.1 = tokens;
    }
}

// Splits a byte stream into lines of bounded length.
//
// A tool result may be a line of any length. A line that is too long is skipped whole: half of it
// would not be valid JSON.

/// Longer lines are skipped.
pub const LONGEST: usize = 16 << 20;

/// Buffers the start of a line until its end arrives.
#[derive(Debug, Default)]
pub struct Lines {
    begun: Vec<u8>,
    passes_over: bool,
    n_passed_over: u64,
}

impl Lines {
    /// Feeds the next piece and passes each complete line to `hear`.
    pub fn feed(&mut self, mut piece: &[u8], hear: &mut dyn FnMut(&[u8])) {
        while let Some(end) = memchr(b'\n', piece) {
            let (rest, next) = (&piece[..end], &piece[end + 1..]);
            match self.begun.is_empty() && !self.passes_over && rest.len() <= LONGEST {
                true => hear(rest),
                false => {
                    self.begin(rest);
                    self.end(hear);
                }
            }
            piece = next;
        }
        self.begin(piece);
    }

    /// Ends the stream; the last line may lack a line feed.
    pub fn finish(&mut self, hear: &mut dyn FnMut(&[u8])) {
        if !self.begun.is_empty() || self.passes_over {
            self.end(hear);
        }
    }

    /// How many bytes of an incomplete line are kept.
    pub(super) fn n_begun(&self) -> usize {
        self.begun.len()
    }

    /// How many lines were skipped.
    pub fn passed_over(&self) -> u64 {
        self.n_passed_over
    }

    fn begin(&mut self, part: &[u8]) {
        self.passes_over |= self.begun.len() + part.len() > LONGEST;
        match self.passes_over {
            true => self.begun = Vec::new(),
            false => self.begun.extend_from_slice(part),
        }
    }

    fn end(&mut self, hear: &mut dyn FnMut(&[u8])) {
        match self.passes_over {
            true => self.n_passed_over += 1,
            false => hear(&self.begun),
        }
        self.begun.clear();
        self.passes_over = false;
    }
}

#[cfg(test)]
mod stream_tests {
    // Lines printed by 2.1.328, without the parts that we do not read.

    use super::*;
    use serde_json::{Value, json};

    const LIMIT: &str = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1795234757,"rateLimitType":"five_hour","overageStatus":"rejected","isUsingOverage":false}}"#;
    const USED_UP: &str = r#"{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":429,"api_error_type":"rate_limit_error","api_error":"usage_limit_reached","result":"You've hit your 5-hour limit · resets 4:19am (UTC)"}"#;
    const OVERLOADED: &str = r#"{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":529,"api_error_type":"overloaded_error","result":"API Error: 529 Overloaded."}"#;
    const REFUSED: &str = r#"{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":429,"api_error_type":"rate_limit_error","result":"API Error: Request rejected (429)"}"#;
    const DONE: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"done","total_cost_usd":0.25,"modelUsage":{"a":{"inputTokens":400,"outputTokens":40,"cacheReadInputTokens":5,"cacheCreationInputTokens":1},"b":{"inputTokens":1}},"permission_denials":[{"tool_name":"Bash","tool_use_id":"toolu_1","tool_input":{"command":"touch made","description":"x"}}]}"#;
    const DENIED: &str = r#"{"type":"system","subtype":"permission_denied","tool_name":"Bash","tool_use_id":"toolu_1","message":"touch needs approval."}"#;

    fn account(lines: &[&str]) -> Account {
        let mut account = Account::default();
        lines.iter().filter_map(|line| read(line.as_bytes())).for_each(|said| account.hear(said));
        account
    }

    fn says(message_id: &str, tool: Option<&str>, tokens: u64) -> String {
        let content = tool.map(
            |name| json!({"type": "tool_use", "id": "t", "name": name, "input": {"command": "ls"}}),
        );
        json!({"type": "assistant", "parent_tool_use_id": null, "message": {
        "id": message_id, "content": [content], "usage": {"input_tokens": tokens, "output_tokens": 1}}})
    .to_string()
    }

    fn at_reset() -> Option<Timestamp> {
        Timestamp::from_second(1_795_234_757).ok()
    }

    #[track_caller]
    fn check(lines: &[&str], expected: Reason) {
        assert_eq!(account(lines).reason(), Some(&expected), "{lines:#?}");
    }

    #[test]
    fn each_failure_is_told_from_the_others() {
        check(&[DONE], Reason::Own);
        check(&[LIMIT, USED_UP], Reason::UsedUp(at_reset()));
        check(&[USED_UP], Reason::UsedUp(None));
        check(&[LIMIT, REFUSED], Reason::UsedUp(at_reset()));
        check(&[REFUSED], Reason::RateLimited);
        check(&[OVERLOADED], Reason::Overloaded);
        check(
            &[
                r#"{"type":"result","is_error":true,"terminal_reason":"api_error","result":"API Error: Unable to connect"}"#,
            ],
            Reason::Overloaded,
        );
        check(
            &[
                r#"{"type":"result","is_error":true,"api_error_status":401,"terminal_reason":"api_error","result":"x"}"#,
            ],
            Reason::Refused { is_final: true },
        );
        check(&[r#"{"type":"result","subtype":"error_max_turns","is_error":true}"#], Reason::Own);
        check(
            &[
                r#"{"type":"result","is_error":true,"api_error_status":400,"api_error_type":"billing_error","result":"Credit balance is too low"}"#,
            ],
            Reason::UsedUp(None),
        );
        let old = r#"{"type":"result","is_error":true,"result":"Claude AI usage limit reached|1795234757"}"#;
        check(&[old], Reason::UsedUp(at_reset()));
    }

    #[test]
    fn words_about_a_limit_in_a_turn_that_went_well_are_only_words() {
        check(
            &[r#"{"type":"result","is_error":false,"result":"usage limit reached|1795234757"}"#],
            Reason::Own,
        );
        let allowed = LIMIT.replace("rejected", "allowed_warning");
        check(&[&allowed, REFUSED], Reason::RateLimited);
    }

    #[test]
    fn what_a_sandbox_has_prevented_is_kept_of_every_result_up_to_a_limit() {
        let result = |text: &str| {
            let content = json!({"type": "tool_result", "tool_use_id": "t", "content": text});
            json!({"type": "user", "message": {"content": [content]}}).to_string()
        };
        let line = |n: usize| format!("{n}: Read-only file system");
        let all: Vec<String> = (0..=MOST_PREVENTED).map(|n| result(&line(n))).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        assert_eq!(account(&all[..2]).prevented(), [line(0), line(1)]);
        assert_eq!(account(&all).prevented().len(), MOST_PREVENTED);
        assert!(account(&[&result("fine"), DONE]).prevented().is_empty());
    }

    #[test]
    fn the_end_of_a_turn_tells_tokens_cost_and_denials() {
        let account = account(&[DENIED, DONE]);
        let ended = account.ended.as_ref().unwrap();
        assert_eq!((ended.result.as_str(), ended.cost, ended.is_error), ("done", 0.25, false));
        assert_eq!(account.tokens().total(), 447);
        let denied = account.denials().remove(0);
        let told = (denied.tool.as_str(), denied.about.as_str(), denied.why.as_str());
        assert_eq!(told, ("Bash", "touch made", "touch needs approval."));
    }

    #[test]
    fn a_message_in_pieces_is_counted_once_until_the_end_tells_the_sum() {
        let lines = [says("a", None, 10), says("a", Some("Bash"), 10), says("b", None, 5)];
        let account = account(&lines.each_ref().map(String::as_str));
        assert_eq!(account.tokens().total(), 17);
        assert!(account.has_worked);
        let [first, second, third] = lines.each_ref().map(String::as_str);
        let untold = r#"{"type":"result","is_error":false,"result":"done"}"#;
        assert_eq!(self::account(&[first, second, third, untold]).tokens().total(), 17);
        assert_eq!(self::account(&[first, second, third, DONE]).tokens().total(), 447);
    }

    #[test]
    fn the_tool_in_use_is_known_until_its_result() {
        let call = says("a", Some("Bash"), 1);
        assert_eq!(account(&[&call]).tool, Some(("Bash".to_owned(), "ls".to_owned())));
        let result = r#"{"type":"user","parent_tool_use_id":null,"message":{"content":[{"type":"tool_result","tool_use_id":"t"}]}}"#;
        assert_eq!(account(&[&call, result]).tool, None);
        let workers = result.replace("null", "\"toolu_9\"");
        assert!(account(&[&call, &workers]).tool.is_some());
    }

    #[test]
    fn what_commands_left_running_is_known_each_once_also_of_a_worker() {
        let report =
            |name: &str| format!("out\nralph: ended what the command left running: {name}");
        let result = |parent: Value, name: &str| {
            json!({"type": "user", "parent_tool_use_id": parent, "message":
            {"content": [{"type": "tool_result", "tool_use_id": "t", "content": report(name)}]}})
            .to_string()
        };
        let call = says("a", Some("Bash"), 1);
        let worker = result(json!("toolu_9"), "node, yes");
        let all = [&call, &worker].map(String::as_str);
        assert_eq!(account(&all).left_running(), ["node", "yes"]);
        assert!(account(&all).tool.is_some());
        let own = [result(Value::Null, "yes"), worker, result(Value::Null, "sleep")];
        assert_eq!(
            account(&own.each_ref().map(String::as_str)).left_running(),
            ["yes", "node", "sleep"]
        );
        let all: Vec<String> =
            (0..=MOST_LEFT).map(|n| result(Value::Null, &format!("p{n}"))).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        assert_eq!(account(&all).left_running().len(), MOST_LEFT);
    }

    #[test]
    fn a_turn_is_settled_when_no_worker_is_to_report_and_a_shell_is_none() {
        let background = |kind: &str| {
            json!({"type": "system", "subtype": "background_tasks_changed",
            "tasks": [{"task_id": "1", "task_type": kind, "description": "dig"}]})
            .to_string()
        };
        assert!(!account(&[&says("a", None, 1)]).is_settled());
        assert!(account(&[DONE]).is_settled());
        assert!(account(&[&background("local_bash"), DONE]).is_settled());
        assert!(!account(&[&background("local_agent"), DONE]).is_settled());
        let none = r#"{"type":"system","subtype":"background_tasks_changed","tasks":[]}"#;
        assert!(account(&[&background("local_agent"), DONE, none]).is_settled());
        // The report starts a new turn.
        assert!(!account(&[DONE, none, &says("b", None, 1)]).is_settled());
    }

    #[test]
    fn a_retry_is_known_until_the_model_speaks() {
        let retry = r#"{"type":"system","subtype":"api_retry","attempt":2,"max_retries":10,"retry_delay_ms":1022,"error_status":529,"error":"overloaded"}"#;
        let known = account(&[retry]).retry.unwrap();
        assert_eq!((known.attempt, known.most, known.after.as_millis()), (2, 10, 1022));
        assert_eq!(account(&[retry, &says("a", None, 1)]).retry, None);
        let failed =
            r#"{"type":"assistant","error":"overloaded","message":{"id":"x","content":[]}}"#;
        assert!(!account(&[retry, failed]).has_worked);
    }

    #[test]
    fn lines_of_other_kinds_say_nothing_and_half_a_line_is_no_line() {
        for line in [
            r#"{"type":"invented"}"#,
            r#"{}"#,
            r#"{"type":"system","subtype":"invented"}"#,
            r#"{"type":"rate_limit_event"}"#,
        ] {
            assert_eq!(read(line.as_bytes()), Some(StreamEvent::Other), "{line}");
        }
        for line in ["", "{\"type\":", "[]", "7", "Error: x"] {
            assert_eq!(read(line.as_bytes()), None, "{line}");
        }
        let said =
            read(br#"{"type":"system","subtype":"informational","content":"A hook blocked"}"#);
        assert_eq!(said, Some(StreamEvent::Warning("A hook blocked".to_owned())));
    }

    #[test]
    fn the_first_line_tells_the_session_its_mode_and_its_plugins() {
        let line = json!({"type": "system", "subtype": "init", "session_id": "s",
            "permissionMode": "plan", "plugins": [{"source": "a@m", "path": "/a"}]});
        let began = StreamEvent::Began {
            session_id: "s".to_owned(),
            permission_mode: "plan".to_owned(),
            plugins: LoadedPlugins::from_init(&line),
        };
        assert_eq!(read(line.to_string().as_bytes()), Some(began));
    }
}

#[cfg(test)]
mod lines_tests {
    use super::*;

    fn cut(pieces: &[&[u8]]) -> (Vec<String>, u64) {
        let mut lines = Lines::default();
        let mut heard = Vec::new();
        let mut hear = |line: &[u8]| heard.push(String::from_utf8_lossy(line).into_owned());
        pieces.iter().for_each(|piece| lines.feed(piece, &mut hear));
        lines.finish(&mut hear);
        (heard, lines.passed_over())
    }

    #[test]
    fn however_the_text_is_cut_the_lines_are_the_same() {
        let text = b"one\n\nthree\nfour";
        for size in 1..=text.len() {
            let pieces: Vec<&[u8]> = text.chunks(size).collect();
            let expected = ["one", "", "three", "four"].map(str::to_owned).to_vec();
            assert_eq!(cut(&pieces), (expected, 0), "in pieces of {size}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over_and_the_next_is_heard() {
        let long = vec![b'x'; LONGEST];
        let (heard, passed_over) = cut(&[&long, b"x\nafter\n", &long, b"\nlast"]);
        let shown: Vec<usize> = heard.iter().map(String::len).collect();
        assert_eq!((shown, passed_over), (vec![5, LONGEST, 4], 1));
        let whole = [&long[..], b"x\nafter\n"].concat();
        assert_eq!(cut(&[&whole]), (vec!["after".to_owned()], 1));
    }

    #[test]
    fn a_turn_that_ended_has_the_reason_that_the_client_gives() {
        let second = |at| Timestamp::from_second(at).unwrap();
        let refused = |is_final| Reason::Refused { is_final };
        for (row, result, expected) in [
            ("{}", "all done", Reason::Own),
            ("{}", "usage limit reached|60", Reason::UsedUp(Some(second(60)))),
            ("{}", "Claude AI usage limit reached|60 s", Reason::UsedUp(Some(second(60)))),
            ("{}", "usage limit reached|soon", Reason::UsedUp(None)),
            (
                r#"{"api_error":"usage_limit_reached","api_error_status":429}"#,
                "",
                Reason::UsedUp(None),
            ),
            (
                r#"{"api_error_type":"billing_error","api_error_status":400}"#,
                "",
                Reason::UsedUp(None),
            ),
            (r#"{"api_error_status":429}"#, "", Reason::RateLimited),
            (r#"{"api_error_status":400}"#, "", refused(false)),
            (r#"{"api_error_status":401}"#, "", refused(true)),
            (r#"{"api_error_status":403}"#, "", refused(true)),
            (r#"{"api_error_status":404}"#, "", refused(true)),
            (r#"{"api_error_status":499}"#, "", refused(false)),
            (r#"{"api_error_status":500}"#, "", Reason::Overloaded),
            (r#"{"api_error_status":529}"#, "", Reason::Overloaded),
            (r#"{"api_error_type":"overloaded_error"}"#, "", Reason::Overloaded),
            (r#"{"terminal_reason":"api_error"}"#, "", Reason::Overloaded),
            (r#"{"terminal_reason":"api_error","api_error_status":200}"#, "", Reason::Own),
        ] {
            let parsed = TranscriptRow::parse(row.as_bytes()).unwrap();
            assert_eq!(reason(&parsed, result), expected, "{row} {result}");
        }
    }
}
