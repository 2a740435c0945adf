//! The lines of a headless client's output in the form in which a person reads them.

use super::row::TranscriptRow;
use super::stream::about;
use serde_json::Value;

/// What the model wrote, the tools that it called, and what failed of them; nothing for a line that says none of that.
pub fn readable(line: &[u8]) -> Vec<String> {
    let Some(row) = TranscriptRow::parse(line) else { return Vec::new() };
    let by = if row.text(&["parent_tool_use_id"]).is_empty() { "" } else { "agent: " };
    match row.kind() {
        "assistant" => row.items(&["message", "content"]).filter_map(said).collect(),
        "user" => row.items(&["message", "content"]).filter_map(failure).collect(),
        // The result of a turn that went well is the text before it.
        "result" if row.is("is_error") => vec![format!("failed: {}", row.text(&["result"]))],
        _ => Vec::new(),
    }
    .into_iter()
    .map(|text: String| format!("{by}{text}"))
    .collect()
}

fn said(block: &Value) -> Option<String> {
    let text = |name: &str| block[name].as_str().unwrap_or_default();
    match text("type") {
        "text" => Some(text("text").trim().to_owned()).filter(|text| !text.is_empty()),
        "tool_use" => {
            let subject = about(&block["input"]);
            let subject = subject.lines().next().unwrap_or_default();
            Some(format!("> {} {subject}", text("name")).trim_end().to_owned())
        }
        _ => None,
    }
}

/// The first line of a tool's result that is an error.
fn failure(block: &Value) -> Option<String> {
    let result = &block["content"];
    let text = result.as_str().or_else(|| result[0]["text"].as_str()).unwrap_or_default();
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("no output");
    (block["is_error"] == true).then(|| format!("  failed: {}", line.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn lines(row: Value) -> Vec<String> {
        readable(row.to_string().as_bytes())
    }

    #[test]
    fn texts_calls_and_failures_are_read_and_everything_else_is_left_out() {
        let content = json!([
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": " I look.\nThen I write.\n"},
            {"type": "text", "text": "\n"},
            {"type": "tool_use", "name": "Bash", "input": {"command": "npm test\necho x"}},
            {"type": "tool_use", "name": "TodoWrite", "input": {"todos": []}},
        ]);
        let said = ["I look.\nThen I write.", "> Bash npm test", "> TodoWrite"];
        assert_eq!(lines(json!({"type": "assistant", "message": {"content": content}})), said);
        let results = json!([
            {"type": "tool_result", "content": "fine"},
            {"type": "tool_result", "is_error": true, "content": "\n  Exit code 1\nmore"},
            {"type": "tool_result", "is_error": true, "content": [{"type": "text", "text": "gone"}]},
            {"type": "tool_result", "is_error": true, "content": ""},
        ]);
        assert_eq!(
            lines(json!({"type": "user", "message": {"content": results}})),
            ["  failed: Exit code 1", "  failed: gone", "  failed: no output"]
        );
        let by_an_agent = json!([{"type": "text", "text": "Found."}]);
        assert_eq!(
            lines(
                json!({"type": "assistant", "parent_tool_use_id": "t", "message": {"content": by_an_agent}})
            ),
            ["agent: Found."]
        );
        assert_eq!(
            lines(json!({"type": "result", "is_error": true, "result": "limit"})),
            ["failed: limit"]
        );
        for nothing in
            [json!({"type": "result", "result": "Done."}), json!({"type": "system"}), json!([])]
        {
            assert_eq!(lines(nothing), [""; 0]);
        }
        assert_eq!(readable(b"{\"type\":\"assist"), [""; 0]);
    }
}
