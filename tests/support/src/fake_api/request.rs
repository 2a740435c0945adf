//! One recorded request, with the questions that a test asks about it: what the model
//! was told, and where.
//!
//! The client also sends messages with the role `system` inside the conversation; contexts from
//! hooks arrive in them.

use anyhow::{Context, Result};
use serde_json::Value;

use super::http::HttpCall;

/// Which part of the client sent a request. Only `Main` and `Subagent` consume a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// The conversation with the user.
    Main,
    /// A subagent's conversation, with the client's id for it.
    Subagent(String),
    /// The client wants the conversation summarised (compaction).
    Summary,
    /// The client's own requests: titles, suggestions, quota probes.
    Side,
    /// Not a request for messages.
    Other,
}

/// A request as the client sent it.
#[derive(Clone, Debug)]
pub struct ApiRequest {
    pub kind: RequestKind,
    /// With the query.
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Value,
}

/// A tool's result, as the model sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// The id of the tool call.
    pub tool_use_id: String,
    pub text: String,
    /// Whether the client marked it as an error; a denial is one.
    pub is_error: bool,
}

impl ApiRequest {
    pub(super) fn from_call(call: HttpCall) -> Result<ApiRequest> {
        let body = serde_json::from_slice(&call.body)
            .context("could not parse the request's body as JSON")?;
        let mut request =
            ApiRequest { kind: RequestKind::Other, path: call.path, headers: call.headers, body };
        request.kind = request.classify();
        Ok(request)
    }

    /// The value of a header; `name` in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The requested model.
    pub fn model(&self) -> &str {
        self.body["model"].as_str().unwrap_or("unknown")
    }

    /// The names of the tools that the model may call.
    pub fn tools(&self) -> Vec<&str> {
        items(&self.body["tools"]).iter().filter_map(|tool| tool["name"].as_str()).collect()
    }

    /// Every text that the model is given: the system prompt, and all messages
    /// with their tool results.
    pub fn all_text(&self) -> String {
        let messages = self.messages().iter().map(|message| text_of(&message["content"]));
        join(std::iter::once(text_of(&self.body["system"])).chain(messages))
    }

    /// The system texts: the field `system`, and the messages with that role.
    pub fn system_text(&self) -> String {
        let in_messages = self.messages().iter().filter(|message| message["role"] == "system");
        join(
            std::iter::once(text_of(&self.body["system"]))
                .chain(in_messages.map(|m| text_of(&m["content"]))),
        )
    }

    /// The first message with the role `user`; for a subagent, its task.
    pub fn first_user_text(&self) -> String {
        let first = self.messages().iter().find(|message| message["role"] == "user");
        first.map(|message| text_of(&message["content"])).unwrap_or_default()
    }

    /// The last message with the role `user`.
    pub fn last_user_text(&self) -> String {
        let last = self.messages().iter().rfind(|message| message["role"] == "user");
        last.map(|message| text_of(&message["content"])).unwrap_or_default()
    }

    /// Everything that the model was told since its last answer, from any source.
    pub fn news(&self) -> String {
        let last_answer =
            self.messages().iter().rposition(|message| message["role"] == "assistant");
        let since = last_answer.map_or(0, |position| position + 1);
        join(self.messages()[since..].iter().map(|message| text_of(&message["content"])))
    }

    /// All tool results of the conversation, in order.
    pub fn tool_results(&self) -> Vec<ToolResult> {
        let blocks = self.messages().iter().flat_map(|message| items(&message["content"]));
        blocks.filter(|block| block["type"] == "tool_result").map(ToolResult::from_block).collect()
    }

    pub fn messages(&self) -> &[Value] {
        items(&self.body["messages"])
    }

    pub(super) fn streams(&self) -> bool {
        self.body["stream"] == true
    }

    /// The order matters: a compaction and a suggestion differ from the conversation only
    /// in their last words.
    fn classify(&self) -> RequestKind {
        if !self.path.starts_with("/v1/messages") {
            return RequestKind::Other;
        }
        let last = self.last_user_text();
        if last.contains("Your task is to create a detailed summary of") {
            return RequestKind::Summary;
        }
        if last.contains("[SUGGESTION MODE")
            || self.tools().is_empty()
            || self.body["max_tokens"] == 1
        {
            return RequestKind::Side;
        }
        match self.header("x-claude-code-agent-id") {
            Some(id) => RequestKind::Subagent(id.to_owned()),
            None => RequestKind::Main,
        }
    }
}

impl ToolResult {
    fn from_block(block: &Value) -> ToolResult {
        ToolResult {
            tool_use_id: block["tool_use_id"].as_str().unwrap_or_default().to_owned(),
            text: text_of(&block["content"]),
            is_error: block["is_error"] == true,
        }
    }
}

/// Content is a string or blocks; a tool result holds content of its own.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => join(blocks.iter().map(text_of_block)),
        _ => String::new(),
    }
}

fn text_of_block(block: &Value) -> String {
    match block["type"].as_str() {
        Some("text") => block["text"].as_str().unwrap_or_default().to_owned(),
        Some("tool_result") => text_of(&block["content"]),
        _ => String::new(),
    }
}

fn join(texts: impl Iterator<Item = String>) -> String {
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
