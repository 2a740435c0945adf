//! Parses the lines that a headless client prints (`--output-format stream-json`).
//!
//! Measured with 2.1.328. A line that does not matter to us, or that a newer client introduced, is
//! [`StreamEvent::Other`], never an error. Each turn ends with its own result line: while workers
//! run in the background, more lines and another result follow the first.

mod account;
mod ended;
mod lines;

pub use account::{Account, Denial};
pub use ended::{Reason, TurnResult};
pub use lines::{LONGEST, Lines};

use crate::protocol::plugins::LoadedPlugins;
use crate::protocol::sandbox::{attempts, left_running};
use crate::state::Tokens;
use crate::transcript::row::TranscriptRow;
use jiff::Timestamp;
use serde_json::Value;
use std::time::Duration;

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
            plugins: row.at(&[]).map(LoadedPlugins::of).unwrap_or_default(),
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
        ("result", _) => StreamEvent::Ended(Box::new(ended::read(&row))),
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
                prevented: texts.iter().copied().flat_map(attempts::candidates).collect(),
                left_running: texts.iter().copied().flat_map(left_running::names).collect(),
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
    let number = |name| row.number(&["message", "usage", name]);
    Model {
        message_id: row.text(&["message", "id"]).to_owned(),
        tools: row.items(&["message", "content"]).filter_map(call).collect(),
        tokens: Tokens {
            input: number("input_tokens"),
            cache_creation: number("cache_creation_input_tokens"),
            cache_read: number("cache_read_input_tokens"),
            output: number("output_tokens"),
        },
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

#[cfg(test)]
mod tests;
