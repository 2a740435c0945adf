//! Lines printed by 2.1.328, without the parts that we do not read.

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
    let old =
        r#"{"type":"result","is_error":true,"result":"Claude AI usage limit reached|1795234757"}"#;
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
    let report = |name: &str| format!("out\nralph: ended what the command left running: {name}");
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
    let failed = r#"{"type":"assistant","error":"overloaded","message":{"id":"x","content":[]}}"#;
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
    let said = read(br#"{"type":"system","subtype":"informational","content":"A hook blocked"}"#);
    assert_eq!(said, Some(StreamEvent::Warning("A hook blocked".to_owned())));
}
