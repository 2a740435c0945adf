//! Detects tool calls of the main conversation in transcript rows.

use crate::transcript::row::TranscriptRow;
use crate::transcript::stream;
use jiff::Timestamp;
use memchr::memmem;

/// True if one of these lines is a tool call of the main conversation, made at or after `at`.
pub fn since<'a>(at: Timestamp, mut lines: impl Iterator<Item = &'a [u8]>) -> bool {
    lines.any(|line| calls_a_tool(at, line).unwrap_or_default())
}

/// The last tool that the main conversation called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doing {
    pub tool: String,
    /// The subject of the call: a command, a file.
    pub about: String,
    pub at: Option<Timestamp>,
    /// True until the result arrives.
    pub goes_on: bool,
}

/// Reads the last row that calls a tool: its last call without a result, or else its last call.
pub fn doing<'a>(lines: impl DoubleEndedIterator<Item = &'a [u8]>) -> Option<Doing> {
    let mut answered: Vec<String> = Vec::new();
    for line in lines.rev() {
        // Cheap filter before parsing: a tool result may be megabytes long.
        if memmem::find(line, b"\"tool_use").is_none() {
            continue;
        }
        let Some(row) = TranscriptRow::parse(line).filter(|row| !row.is("isSidechain")) else {
            continue;
        };
        let blocks: Vec<_> = row.items(&["message", "content"]).collect();
        let text = |block: &serde_json::Value, name: &str| {
            block[name].as_str().unwrap_or_default().to_owned()
        };
        if row.kind() == "user" {
            let results = blocks.iter().filter(|block| block["type"] == "tool_result");
            answered.extend(results.map(|block| text(block, "tool_use_id")));
            continue;
        }
        let calls = blocks.iter().filter(|block| block["type"] == "tool_use");
        let open = |block: &&&serde_json::Value| !answered.contains(&text(block, "id"));
        let last = calls.clone().rfind(open).or(calls.clone().next_back());
        if row.kind() == "assistant"
            && let Some(call) = last
        {
            return Some(Doing {
                tool: text(call, "name"),
                about: stream::about(&call["input"]),
                at: row.time(),
                goes_on: open(&call),
            });
        }
    }
    None
}

fn calls_a_tool(at: Timestamp, line: &[u8]) -> Option<bool> {
    // Quotes inside a text or a result are escaped, so a quoted block does not match.
    memmem::find(line, b"\"tool_use\"")?;
    let row = TranscriptRow::parse(line)?;
    let of_the_conversation = row.kind() == "assistant" && !row.is("isSidechain");
    let calls = row.items(&["message", "content"]).any(|block| block["type"] == "tool_use");
    Some(of_the_conversation && calls && row.time()? >= at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn row(change: Value) -> Value {
        let mut row = json!({"type": "assistant", "isSidechain": false,
            "timestamp": "2026-01-01T00:00:05Z",
            "message": {"content": [{"type": "tool_use", "name": "Bash", "input": {"a": [1]}}]}});
        row.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        row
    }

    #[track_caller]
    fn check(row: &Value, expected: bool) {
        let text = format!("half a row\"}}\n{row}\n");
        let lines = text.as_bytes().split(|byte| *byte == b'\n');
        let at = "2026-01-01T00:00:05Z".parse().unwrap();
        assert_eq!(since(at, lines), expected, "{row}");
    }

    #[test]
    fn a_tool_call_of_the_conversation_shows_it_at_work() {
        check(&row(json!({})), true);
        check(&row(json!({"timestamp": "2026-01-01T00:00:06Z"})), true);
        let two = json!([{"type": "text", "text": "x"}, {"type": "tool_use", "name": "x"}]);
        check(&row(json!({"message": {"content": two}})), true);
    }

    #[test]
    fn the_last_tool_without_a_result_is_what_goes_on() {
        let call = |id: &str, command: &str| {
            row(json!({"message": {"content": [
                {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}]}}))
        };
        let result = |id: &str| {
            json!({"type": "user", "timestamp": "2026-01-01T00:00:09Z", "message": {"content": [
                {"type": "tool_result", "tool_use_id": id, "content": "\"tool_use\""}]}})
        };
        let side = row(json!({"isSidechain": true, "message": {"content": [
            {"type": "tool_use", "id": "s", "name": "Read", "input": {}}]}}));
        let said = json!({"type": "assistant", "message": {"content": [{"type": "text"}]}});
        let seen = |rows: &[Value]| {
            let text = rows.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
            let doing = doing(text.as_bytes().split(|byte| *byte == b'\n'))?;
            assert_eq!(doing.at.unwrap().to_string(), "2026-01-01T00:00:05Z");
            Some((doing.tool, doing.about, doing.goes_on))
        };
        let found = |about: &str, goes_on| Some(("Bash".to_owned(), about.to_owned(), goes_on));
        assert_eq!(seen(&[]), None);
        assert_eq!(seen(&[call("1", "make"), side.clone()]), found("make", true));
        assert_eq!(seen(&[call("1", "make"), result("1"), said]), found("make", false));
        let two = [call("1", "make"), call("2", "ls"), result("2"), result("1")];
        assert_eq!(seen(&two), found("ls", false));
        assert_eq!(seen(&two[..2]), found("ls", true));
    }

    #[test]
    fn whatever_else_a_row_is_does_not() {
        let quote = row(json!({})).to_string();
        for change in [
            json!({"timestamp": "2026-01-01T00:00:04Z"}),
            json!({"isSidechain": true}),
            json!({"type": "user"}),
            json!({"type": "progress"}),
            json!({"message": {"content": [{"type": "text", "text": quote}]}}),
            json!({"message": {"content": quote}}),
            json!({"message": {"content": [], "stop_reason": "tool_use"}}),
            json!({"timestamp": null}),
        ] {
            check(&row(change), false);
        }
        let result = json!([{"type": "tool_result", "tool_use_id": "t", "content": quote}]);
        check(&row(json!({"type": "user", "message": {"content": result}})), false);
    }
}
