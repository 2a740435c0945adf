//! What the client makes of a hook's answer.
//!
//! The facts were measured with Claude Code 2.1.328: an answer counts only where the real client
//! takes it. A member in the wrong place is no answer at all, and that is what most cases are about.

use serde_json::{Map, Value};

/// What happens to the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The turn that wanted to end goes on.
    GoesOn,
    /// The event takes its course.
    Allows,
    /// The tool call or the prompt is refused.
    Denies,
}

/// What a hook left behind when it ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Printed<'a> {
    /// None if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: &'a str,
    pub(crate) stderr: &'a str,
}

/// The answer as the client takes it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) decision: Decision,
    /// Exit code 0, and not a word for anyone.
    pub(crate) silent: bool,
    pub(crate) to_model: Vec<String>,
    pub(crate) to_person: Vec<String>,
    /// What no hook should do, whatever it is asked.
    pub(crate) fault: Option<String>,
}

impl Answer {
    fn of(decision: Decision) -> Answer {
        let (to_model, to_person) = (Vec::new(), Vec::new());
        Answer { decision, silent: false, to_model, to_person, fault: None }
    }

    /// No hook is registered for the event.
    pub(crate) fn silence() -> Answer {
        Answer { silent: true, ..Answer::of(Decision::Allows) }
    }

    /// The client refuses what a person typed.
    pub(crate) fn refused(why: &str) -> Answer {
        Answer { to_person: vec![why.to_owned()], ..Answer::of(Decision::Denies) }
    }

    /// The hook was ended at its deadline: what it printed is discarded.
    pub(crate) fn late(seconds: u64) -> Answer {
        let fault = Some(format!("had not ended after {seconds} s"));
        Answer { fault, ..Answer::of(Decision::Allows) }
    }
}

/// Reads a hook's answer to an event as the client does.
pub(crate) fn judge(event: &str, printed: Printed<'_>) -> Answer {
    if printed.code == Some(2) {
        return refused_by_exit_code(event, printed.stderr);
    }
    let stdout = printed.stdout.trim();
    let mut answer = if stdout.is_empty() {
        let silent = printed.code == Some(0) && printed.stderr.is_empty();
        Answer { silent, ..Answer::of(Decision::Allows) }
    } else if stdout.starts_with('{') {
        match serde_json::from_str::<Map<String, Value>>(stdout) {
            Ok(members) => {
                let answer = honoured(event, &members);
                let quiet = printed.code == Some(0) && printed.stderr.is_empty();
                Answer { silent: quiet && says_nothing(&answer, &members), ..answer }
            }
            Err(error) => void(&format!("standard output is not one JSON object: {error}")),
        }
    } else {
        plain_text(event, stdout)
    };
    if printed.code.is_none() {
        answer.fault = Some("was ended by a signal".to_owned());
    }
    answer
}

/// Both of several answers to one event count: one refusal is enough, and every text arrives.
pub(crate) fn joined(answers: Vec<Answer>) -> Answer {
    let mut all = Answer::silence();
    for answer in answers {
        if answer.decision != Decision::Allows {
            all.decision = answer.decision;
        }
        all.silent &= answer.silent;
        all.to_model.extend(answer.to_model);
        all.to_person.extend(answer.to_person);
        all.fault = all.fault.or(answer.fault);
    }
    all
}

/// Exit code 2: standard error is the reason, and standard output is ignored.
fn refused_by_exit_code(event: &str, stderr: &str) -> Answer {
    let heard = vec![stderr.trim().to_owned()];
    match event {
        "Stop" | "SubagentStop" => Answer { to_model: heard, ..Answer::of(Decision::GoesOn) },
        "PreToolUse" => Answer { to_model: heard, ..Answer::of(Decision::Denies) },
        "UserPromptSubmit" | "UserPromptExpansion" => {
            Answer { to_person: heard, ..Answer::of(Decision::Denies) }
        }
        "PostToolUse" => Answer { to_model: heard, ..Answer::of(Decision::Allows) },
        _ => Answer::of(Decision::Allows),
    }
}

/// Only where a session or a prompt begins does plain text reach the model.
fn plain_text(event: &str, text: &str) -> Answer {
    let heard = matches!(event, "SessionStart" | "UserPromptSubmit" | "UserPromptExpansion");
    let to_model = if heard { vec![text.to_owned()] } else { Vec::new() };
    Answer { to_model, ..Answer::of(Decision::Allows) }
}

fn void(why: &str) -> Answer {
    Answer { fault: Some(why.to_owned()), ..Answer::of(Decision::Allows) }
}

/// One wrong type, value or event name voids the whole object, a valid block beside it included.
fn honoured(event: &str, members: &Map<String, Value>) -> Answer {
    if let Some(wrong) = wrong_member(event, members) {
        return void(&format!(
            "`{wrong}` is not what the client expects, so it ignores the answer"
        ));
    }
    let own = members.get("hookSpecificOutput").unwrap_or(&Value::Null);
    let text = |of: &Value| of.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let member = |name: &str| members.get(name).and_then(text);
    let ends_the_turn = members.get("continue") == Some(&Value::Bool(false));
    let blocks = members.get("decision").is_some_and(|decision| decision == "block");

    let mut answer = Answer::of(Decision::Allows);
    answer.to_person.extend(member("systemMessage"));
    answer.to_person.extend(member("stopReason"));
    let context = text(&own["additionalContext"]);
    match event {
        "Stop" | "SubagentStop" if (blocks || context.is_some()) && !ends_the_turn => {
            answer.decision = Decision::GoesOn;
            answer.to_model.extend(member("reason").filter(|_| blocks));
        }
        // Unattended, a question to the person is a refusal too.
        "PreToolUse"
            if blocks
                || own["permissionDecision"] == "deny"
                || own["permissionDecision"] == "ask" =>
        {
            answer.decision = Decision::Denies;
            answer.to_model.extend(text(&own["permissionDecisionReason"]).or(member("reason")));
        }
        "UserPromptSubmit" | "UserPromptExpansion" if blocks || ends_the_turn => {
            answer.decision = Decision::Denies;
            answer.to_person.extend(member("reason"));
        }
        "PostToolUse" => answer.to_model.extend(member("reason").filter(|_| blocks)),
        _ => {}
    }
    answer.to_model.extend(context);
    answer
}

/// An object that leaves everything as it is says as little as none.
fn says_nothing(answer: &Answer, members: &Map<String, Value>) -> bool {
    answer.decision == Decision::Allows
        && answer.to_model.is_empty()
        && answer.to_person.is_empty()
        && answer.fault.is_none()
        && members.get("continue") != Some(&Value::Bool(false))
}

fn wrong_member(event: &str, members: &Map<String, Value>) -> Option<&'static str> {
    let string = |name: &'static str| members.get(name).is_some_and(|is| !is.is_string());
    if let Some(name) =
        ["reason", "systemMessage", "stopReason"].into_iter().find(|name| string(name))
    {
        return Some(name);
    }
    if members.get("continue").is_some_and(|is| !is.is_boolean()) {
        return Some("continue");
    }
    if members.get("decision").is_some_and(|is| is != "block" && is != "approve") {
        return Some("decision");
    }
    match members.get("hookSpecificOutput") {
        Some(own) if own["hookEventName"] != event => Some("hookSpecificOutput.hookEventName"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(event: &str, answer: &Value, decision: Decision, to_model: &[&str]) {
        let stdout = answer.to_string();
        let judged = judge(event, Printed { code: Some(0), stdout: &stdout, stderr: "" });
        assert_eq!((judged.decision, judged.to_model), (decision, to_model_of(to_model)));
    }

    fn to_model_of(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn own(event: &str, more: Value) -> Value {
        let mut own = more;
        own["hookEventName"] = json!(event);
        json!({"hookSpecificOutput": own})
    }

    #[test]
    fn a_block_or_a_context_makes_a_stop_go_on() {
        check("Stop", &json!({"decision": "block", "reason": "r"}), Decision::GoesOn, &["r"]);
        let context = own("Stop", json!({"additionalContext": "c"}));
        check("Stop", &context, Decision::GoesOn, &["c"]);
        check("Stop", &json!({"decision": "block"}), Decision::GoesOn, &[]);
    }

    #[test]
    fn continue_false_beside_a_block_ends_the_run() {
        let both = json!({"decision": "block", "reason": "r", "continue": false});
        check("Stop", &both, Decision::Allows, &[]);
    }

    #[test]
    fn a_context_at_the_top_level_or_of_another_event_reaches_nobody() {
        check("PostToolUse", &json!({"additionalContext": "c"}), Decision::Allows, &[]);
        let wrong = own("PreToolUse", json!({"additionalContext": "c"}));
        check("PostToolUse", &wrong, Decision::Allows, &[]);
        let right = own("PostToolUse", json!({"additionalContext": "c"}));
        check("PostToolUse", &right, Decision::Allows, &["c"]);
    }

    #[test]
    fn one_wrong_value_voids_a_block_beside_it() {
        let unnamed = json!({"decision": "block", "reason": "r", "hookSpecificOutput": {}});
        check("Stop", &unnamed, Decision::Allows, &[]);
        check("Stop", &json!({"decision": "blockk", "reason": "r"}), Decision::Allows, &[]);
        check("Stop", &json!({"decision": "block", "reason": 7}), Decision::Allows, &[]);
    }

    #[test]
    fn a_tool_is_refused_in_both_spellings() {
        let deny = json!({"permissionDecision": "deny", "permissionDecisionReason": "r"});
        check("PreToolUse", &own("PreToolUse", deny), Decision::Denies, &["r"]);
        check("PreToolUse", &json!({"decision": "block", "reason": "r"}), Decision::Denies, &["r"]);
    }

    #[test]
    fn exit_code_two_refuses_with_standard_error() {
        for (event, decision) in [
            ("Stop", Decision::GoesOn),
            ("PreToolUse", Decision::Denies),
            ("UserPromptSubmit", Decision::Denies),
            ("SessionStart", Decision::Allows),
        ] {
            let printed = Printed { code: Some(2), stdout: "{}", stderr: "no\n" };
            assert_eq!(judge(event, printed).decision, decision, "{event}");
        }
    }

    #[test]
    fn valid_json_counts_at_any_other_exit_code() {
        let stdout = r#"{"decision":"block","reason":"r"}"#;
        for code in [Some(0), Some(1), Some(127), None] {
            let judged = judge("Stop", Printed { code, stdout, stderr: "" });
            assert_eq!(judged.decision, Decision::GoesOn);
            assert_eq!(judged.fault.is_some(), code.is_none());
        }
    }

    #[test]
    fn an_object_without_a_word_for_anyone_is_silence() {
        let is_silent = |stdout: &str, code, stderr| {
            judge("Stop", Printed { code: Some(code), stdout, stderr }).silent
        };
        assert!(is_silent(r#"{"continue":true,"suppressOutput":true}"#, 0, ""));
        assert!(!is_silent(r#"{"continue":true,"suppressOutput":true}"#, 1, ""));
        assert!(!is_silent(r#"{"continue":true}"#, 0, "a warning"));
        assert!(!is_silent(r#"{"continue":false}"#, 0, ""));
        assert!(!is_silent(r#"{"systemMessage":"hello"}"#, 0, ""));
        assert!(!is_silent(r#"{"decision":"block","reason":"r"}"#, 0, ""));
        assert!(!is_silent(r#"{"decision":"blockk"}"#, 0, ""));
    }

    #[test]
    fn two_lines_are_no_answer() {
        let stdout = "{\"decision\":\"block\",\"reason\":\"r\"}\nmore";
        let judged = judge("Stop", Printed { code: Some(0), stdout, stderr: "" });
        assert_eq!(judged.decision, Decision::Allows);
        assert!(judged.fault.is_some());
    }

    #[test]
    fn plain_text_is_heard_where_a_session_begins_and_nowhere_else() {
        let printed = Printed { code: Some(0), stdout: "hello", stderr: "" };
        assert_eq!(judge("SessionStart", printed).to_model, ["hello"]);
        assert!(judge("Stop", printed).to_model.is_empty());
    }
}
