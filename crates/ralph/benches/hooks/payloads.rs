//! The client's input to a hook: one JSON document and a newline.
//!
//! Keys, their order and their types are those of Claude Code 2.1.328.

use std::path::Path;

use serde_json::{Value, json};

/// The session of every payload and every loop of the bench.
pub(crate) const SESSION: &str = "6f1c9d52-7a43-4b0e-9c55-2f0d8a1be6c7";

/// The prompt of every turn.
pub(crate) const PROMPT: &str = "ceef2ec0-e88f-4a9c-b754-d97114b7a7ad";

/// Bytes of the message that usually ends a turn.
pub(crate) const USUAL_MESSAGE: usize = 1_500;

/// The agent wants to write a file of about `content` bytes.
pub(crate) fn pre_write(project: &Path, content: usize) -> Vec<u8> {
    let input = json!({"file_path": project.join("src/file-00007.ts"), "content": source(content)});
    line(tool_call(project, "PreToolUse", "Write", input))
}

/// The agent wants to ask the user, which a running loop does not allow.
pub(crate) fn pre_ask(project: &Path) -> Vec<u8> {
    let options = json!([{"label": "Postgres", "description": "a server"}, {"label": "SQLite", "description": "a file"}]);
    let question = json!({"question": "Which database?", "header": "DB", "options": options, "multiSelect": false});
    line(tool_call(project, "PreToolUse", "AskUserQuestion", json!({"questions": [question]})))
}

/// The agent wants to run a command.
pub(crate) fn pre_bash(project: &Path, command: &str) -> Vec<u8> {
    line(tool_call(project, "PreToolUse", "Bash", json!({"command": command})))
}

/// The agent has run a command, which printed nothing.
#[allow(dead_code, reason = "the gates run no command")]
pub(crate) fn post_bash(project: &Path, command: &str) -> Vec<u8> {
    let mut call = tool_call(project, "PostToolUse", "Bash", json!({"command": command}));
    call["tool_response"] =
        json!({"stdout": "", "stderr": "", "interrupted": false, "isImage": false});
    line(call)
}

/// The agent has written a file to which no check applies.
pub(crate) fn post_write(project: &Path) -> Vec<u8> {
    let (path, content) = (project.join("notes.txt"), source(1_000));
    let input = json!({"file_path": path, "content": content});
    let mut call = tool_call(project, "PostToolUse", "Write", input);
    call["tool_response"] = json!({"type": "create", "filePath": path, "content": content,
        "structuredPatch": [], "originalFile": null, "userModified": false});
    call["duration_ms"] = json!(13);
    line(call)
}

/// The agent has finished a turn with a message of about `message` bytes.
pub(crate) fn stop(project: &Path, transcript: &Path, message: usize) -> Vec<u8> {
    let mut event = common(project, "Stop");
    event["transcript_path"] = json!(transcript);
    event["stop_hook_active"] = json!(true);
    event["last_assistant_message"] = json!(prose(message));
    event["background_tasks"] = json!([]);
    event["session_crons"] = json!([]);
    line(event)
}

pub(crate) fn session_start(project: &Path) -> Vec<u8> {
    line(json!({"session_id": SESSION, "transcript_path": "/nonexistent/transcript.jsonl",
        "cwd": project, "hook_event_name": "SessionStart", "source": "startup"}))
}

#[allow(dead_code, reason = "the gates look at the idle path, which this event has not")]
pub(crate) fn user_prompt(project: &Path) -> Vec<u8> {
    let mut event = common(project, "UserPromptSubmit");
    event["prompt"] = json!("please look at the failing test again");
    line(event)
}

/// The recorded input that the client gives a status line after each answer of the model.
#[allow(dead_code, reason = "the bench of the hooks has no status line")]
pub(crate) fn status_line() -> Vec<u8> {
    let recorded =
        include_str!("../../../../tests/fixtures/claude-code-2.1.328/statusLine-after-turn.json");
    let mut given: Value = serde_json::from_str(recorded).expect("the client writes JSON");
    given["session_id"] = json!(SESSION);
    line(given)
}

fn tool_call(project: &Path, event: &str, tool: &str, input: Value) -> Value {
    let mut call = common(project, event);
    call["effort"] = json!({"level": "medium"});
    call["tool_name"] = json!(tool);
    call["tool_input"] = input;
    call["tool_use_id"] = json!("toolu_01AbCdEfGhIjKlMnOpQrStUv");
    call
}

fn common(project: &Path, event: &str) -> Value {
    json!({"session_id": SESSION, "transcript_path": "/nonexistent/transcript.jsonl", "cwd": project,
        "prompt_id": PROMPT, "permission_mode": "bypassPermissions",
        "hook_event_name": event})
}

/// Has as many quotes, backslashes and line ends as real source: they decide a scanner's speed.
fn source(length: usize) -> String {
    repeated("export const label = (n: number) => `item ${n}: \"${names[n]}\"\\n`;\n", length)
}

fn prose(length: usize) -> String {
    repeated(
        "I changed the parser and ran its tests; two of them still fail.\nNext I look at `lexer.rs`.\n",
        length,
    )
}

fn repeated(text: &str, length: usize) -> String {
    text.repeat(length.div_ceil(text.len()))
}

fn line(document: Value) -> Vec<u8> {
    let mut bytes = document.to_string().into_bytes();
    bytes.push(b'\n');
    bytes
}
