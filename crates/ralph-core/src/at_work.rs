//! Whether the rows of a transcript show the main conversation at work: a call of a tool.

use crate::row::Row;
use jiff::Timestamp;
use memchr::memmem;

/// True when one of these lines is a tool call of the main conversation, made then or later.
pub fn since<'a>(at: Timestamp, mut lines: impl Iterator<Item = &'a [u8]>) -> bool {
    lines.any(|line| calls_a_tool(at, line).unwrap_or_default())
}

fn calls_a_tool(at: Timestamp, line: &[u8]) -> Option<bool> {
    // Unescaped quotes: what a text or a result quotes is no block of its own.
    memmem::find(line, b"\"tool_use\"")?;
    let row = Row::parse(line)?;
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
