//! Tests the stand-in with raw requests, without the client.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Gate, RequestKind, Script, ScriptedTurn, StandIn};

fn post(stand_in: &StandIn, extra_header: &str, body: &Value) -> String {
    let body = body.to_string();
    let mut connection = TcpStream::connect(stand_in.address).unwrap();
    let length = body.len();
    write!(
        connection,
        "POST /v1/messages?beta=true HTTP/1.1\r\nhost: x\r\n{extra_header}content-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer
}

fn conversation(words: &str) -> Value {
    json!({
        "model": "m", "stream": true, "max_tokens": 100, "tools": [{"name": "Bash"}],
        "messages": [{"role": "user", "content": words}],
    })
}

#[test]
fn turns_are_said_in_order_and_the_last_is_repeated() {
    let script = Script::new().turn(ScriptedTurn::text("one")).repeat(ScriptedTurn::text("again"));
    let stand_in = StandIn::start(script).unwrap();
    for expected in ["one", "again", "again"] {
        assert!(
            post(&stand_in, "", &conversation("go")).contains(&format!("\"text\":\"{expected}\""))
        );
    }
    assert_eq!(stand_in.unscripted(), 0);
}

#[test]
fn a_stream_is_framed_as_the_api_does_it() {
    let stand_in = StandIn::start(
        Script::new().turn(ScriptedTurn::text("words").then_tool("Bash", json!({"a": 1}))),
    )
    .unwrap();
    let answer = post(&stand_in, "", &conversation("go"));
    let events: Vec<_> = answer.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    let block = ["content_block_start", "content_block_delta", "content_block_stop"];
    let expected =
        [&["message_start"][..], &block, &block, &["message_delta", "message_stop"]].concat();
    assert_eq!(events, expected);
    assert!(answer.contains(r#""stop_reason":"tool_use""#));
}

#[test]
fn a_request_without_tools_does_not_consume_the_script() {
    let stand_in =
        StandIn::start(Script::new().turn(ScriptedTurn::text("for the conversation"))).unwrap();
    let mut title = conversation("make a title");
    title["tools"] = json!([]);
    post(&stand_in, "", &title);
    assert!(post(&stand_in, "", &conversation("go")).contains("for the conversation"));
    assert_eq!(stand_in.requests().len(), 1);
    assert_eq!(stand_in.all_requests()[0].kind, RequestKind::Side);
}

#[test]
fn a_subagent_plays_the_script_of_its_marker() {
    let worker = Script::new().turn(ScriptedTurn::text("from the worker"));
    let stand_in = StandIn::start(Script::new().subagent("WORKER-A", worker)).unwrap();
    let answer = post(&stand_in, "x-claude-code-agent-id: a1\r\n", &conversation("WORKER-A: dig"));
    assert!(answer.contains("from the worker"));
    assert_eq!(stand_in.subagent_requests().len(), 1);
    assert!(stand_in.requests().is_empty());
}

#[test]
fn an_error_turn_has_its_status_and_body() {
    let stand_in = StandIn::start(Script::new().turn(ScriptedTurn::error(
        529,
        "overloaded_error",
        "Overloaded",
    )))
    .unwrap();
    let answer = post(&stand_in, "", &conversation("go"));
    assert!(answer.starts_with("HTTP/1.1 529 "), "{answer}");
    assert!(answer.contains("overloaded_error"));
}

#[test]
fn a_held_reply_waits_for_its_gate() {
    let gate = Gate::new();
    let stand_in =
        StandIn::start(Script::new().turn(ScriptedTurn::held(&gate).then_text("late"))).unwrap();
    std::thread::scope(|scope| {
        let answer = scope.spawn(|| post(&stand_in, "", &conversation("go")));
        gate.wait_until_reached(Duration::from_secs(10)).unwrap();
        assert!(!answer.is_finished());
        gate.open();
        assert!(answer.join().unwrap().contains("late"));
    });
}

#[test]
fn an_exhausted_script_answers_and_is_counted() {
    let stand_in = StandIn::start(Script::new()).unwrap();
    assert!(post(&stand_in, "", &conversation("go")).contains("no more turns"));
    assert_eq!(stand_in.unscripted(), 1);
}

#[test]
fn a_request_tells_what_the_model_was_told() {
    let stand_in = StandIn::start(Script::new()).unwrap();
    let result =
        json!({"type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": "denied"});
    let mut body = conversation("first");
    body["system"] = json!([{"type": "text", "text": "rules"}]);
    body["messages"] = json!([
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": [{"type": "text", "text": "answer"}]},
        {"role": "user", "content": [result]},
        {"role": "system", "content": "hook context"},
    ]);
    post(&stand_in, "", &body);
    let request = stand_in.wait_for_requests(1, Duration::from_secs(10)).unwrap().remove(0);
    assert_eq!(request.all_text(), "rules\nfirst\nanswer\ndenied\nhook context");
    assert_eq!(request.news(), "denied\nhook context");
    assert_eq!(request.system_text(), "rules\nhook context");
    assert_eq!(request.last_user_text(), "denied");
    assert!(request.tool_results()[0].is_error);
}
