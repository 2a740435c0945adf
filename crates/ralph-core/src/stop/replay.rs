//! Repeats a recorded decision under the current rules and reports the differences.
//!
//! The input is one line of the journal: its event tells which record it holds. A record of another
//! version that cannot be parsed is an ordinary result, not an error.

use crate::guard::{self, Ruling};
use crate::state::LoopState;
use crate::stop::{self, AtStop, RecordedOutcome};
use crate::text::token::{self, CompletionRequest};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The result of repeating a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Again {
    /// The decision was repeated; these are the differences.
    Decided(Vec<Difference>),
    /// The line has no inputs: a user's command, or an event that only reports.
    NoRecord,
    /// The line has a record, but nothing can be decided from it; with the reason.
    Unusable(String),
}

/// One part of the decision that is different under the current rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What differs: `verdict`, `phase`, `iteration`, `signal`, `cause`, `request`, `ruling`.
    pub what: &'static str,
    /// The value in the journal.
    pub recorded: String,
    /// The value under the current rules.
    pub today: String,
}

/// The part of a stop's message that the journal keeps next to the record.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct KeptMessage {
    message: Option<String>,
    cut: bool,
}

/// Finds the stop rules for a loop's mode.
pub type RulesOf = fn(&LoopState) -> &'static dyn AtStop;

/// Repeats the decision of one line: its event, the details shown to a reader, and its record.
pub fn again(event: &str, seen: &Value, record: Option<&Value>, rules: RulesOf) -> Again {
    let Some(record) = record else { return Again::NoRecord };
    let decided = match event {
        "Stop" => read(record).map(|record| Some(of_stop(record, seen, rules))),
        "PreToolUse" => read(record).map(|record| of_denial(&record)),
        _ => return Again::Unusable("no rule of today decides this event".to_owned()),
    };
    match decided {
        Ok(Some(differences)) => Again::Decided(differences),
        Ok(None) => Again::Unusable("the command is longer than the journal keeps".to_owned()),
        Err(why) => Again::Unusable(why),
    }
}

fn read<R: DeserializeOwned>(record: &Value) -> Result<R, String> {
    R::deserialize(record).map_err(|error| format!("a record of another version: {error}"))
}

fn of_stop(mut record: stop::StopRecord, seen: &Value, rules: RulesOf) -> Vec<Difference> {
    let mut found = Vec::new();
    let recorded = record.seen.request;
    if let Some(today) = request_today(&record, seen) {
        compare(&mut found, "request", word(recorded), word(today));
        // Proof was gathered only if completion was requested, so a request that only the current
        // rules detect cannot be decided fully.
        if today != CompletionRequest::Made {
            record.seen.request = today;
        }
    }
    let RecordedOutcome { verdict, phase, iteration, signal, cause } =
        record.decide_again(rules(&record.before));
    let before = &record.outcome;
    compare(&mut found, "verdict", &before.verdict, &verdict);
    compare(&mut found, "phase", before.phase.as_str(), phase.as_str());
    compare(&mut found, "iteration", &before.iteration.to_string(), &iteration.to_string());
    compare(&mut found, "signal", before.signal.as_str(), signal.as_str());
    let name = |cause: &Option<crate::state::Signal>| {
        cause.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string)
    };
    compare(&mut found, "cause", &name(&before.cause), &name(&cause));
    found
}

/// Reads the request again from the message; `None` if the journal does not hold the whole message.
fn request_today(record: &stop::StopRecord, seen: &Value) -> Option<CompletionRequest> {
    let kept = KeptMessage::deserialize(seen).ok()?;
    let message = kept.message.filter(|_| !kept.cut)?;
    Some(token::request(&message, &record.before.completion_token))
}

fn word(request: CompletionRequest) -> &'static str {
    match request {
        CompletionRequest::Made => "made",
        CompletionRequest::OnlyMentioned => "only mentioned",
        CompletionRequest::None => "none",
    }
}

fn of_denial(record: &guard::DenialRecord) -> Option<Vec<Difference>> {
    let today = match record.decide_again()? {
        Ruling::Allow => "allowed".to_owned(),
        Ruling::Deny { rule, .. } => format!("denied: {}", rule.name()),
    };
    let mut found = Vec::new();
    compare(&mut found, "ruling", &format!("denied: {}", record.rule), &today);
    Some(found)
}

fn compare(found: &mut Vec<Difference>, what: &'static str, recorded: &str, today: &str) {
    if recorded != today {
        let (recorded, today) = (recorded.to_owned(), today.to_owned());
        found.push(Difference { what, recorded, today });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modes::mode;
    use crate::state::{Phase, Signal};
    use crate::stop::StopInputs;
    use serde_json::json;

    /// The record of a stop of a loop without criteria.
    fn stop(message: &str) -> Value {
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        let phase = Phase::Implementation;
        let mut state =
            LoopState { phase, started_at: Some(now), created_at: now, ..LoopState::default() };
        let seen = StopInputs {
            now,
            prompt_id: "p".to_owned(),
            request: token::request(message, &state.completion_token),
            tree: Some("tree".to_owned()),
            ..StopInputs::default()
        };
        serde_json::to_value(stop::decide(mode::at_stop(&state), &mut state, &seen).record).unwrap()
    }

    #[track_caller]
    fn check(event: &str, seen: Value, record: Value, expected: &[&str]) {
        let told: Vec<String> = match again(event, &seen, Some(&record), mode::at_stop) {
            Again::Decided(differences) => differences
                .iter()
                .map(|one| format!("{}: {} -> {}", one.what, one.recorded, one.today))
                .collect(),
            other => vec![format!("{other:?}")],
        };
        assert_eq!(told, expected);
    }

    #[test]
    fn a_decision_of_today_is_made_alike() {
        check("Stop", json!({"message": "working"}), stop("working"), &[]);
        check("Stop", json!({"message": "x\nRALPH_COMPLETE"}), stop("x\nRALPH_COMPLETE"), &[]);
        check("Stop", Value::Null, stop("RALPH_COMPLETE"), &[]);
    }

    #[test]
    fn every_thing_that_differs_is_named() {
        let mut record = stop("working");
        record["outcome"] = json!({"verdict": "ended: stalled", "phase": "ended", "iteration": 0,
            "signal": "no_change", "cause": "no_change"});
        check(
            "Stop",
            Value::Null,
            record,
            &[
                "verdict: ended: stalled -> go on",
                "phase: ended -> implementation",
                "iteration: 0 -> 1",
                "signal: no_change -> working",
                "cause: no_change -> none",
            ],
        );
    }

    #[test]
    fn the_request_is_read_again_from_a_message_that_is_whole() {
        let told =
            ["request: made -> only mentioned", "verdict: ended: complete_unverified -> go on"];
        let mut found = Vec::new();
        let seen = json!({"message": "not RALPH_COMPLETE"});
        if let Again::Decided(all) =
            again("Stop", &seen, Some(&stop("RALPH_COMPLETE")), mode::at_stop)
        {
            found.extend(
                all.into_iter().map(|d| format!("{}: {} -> {}", d.what, d.recorded, d.today)),
            );
        }
        assert_eq!(found[..2], told);
        let cut = json!({"message": "not RALPH_COMPLETE", "cut": true});
        check("Stop", cut, stop("RALPH_COMPLETE"), &[]);
        // No proof was gathered then, so no verdict is invented.
        let seen = json!({"message": "RALPH_COMPLETE"});
        check("Stop", seen, stop("working"), &["request: none -> made"]);
    }

    #[test]
    fn a_record_of_another_version_is_named_and_not_an_error() {
        for (event, record) in [("Stop", json!({"tree": "x"})), ("PreToolUse", json!(3))] {
            let Again::Unusable(why) = again(event, &Value::Null, Some(&record), mode::at_stop)
            else {
                panic!("{event} was decided")
            };
            assert!(why.starts_with("a record of another version: "), "{why}");
        }
        let why = "no rule of today decides this event".to_owned();
        let later = again("Later", &Value::Null, Some(&json!({})), mode::at_stop);
        assert_eq!(later, Again::Unusable(why));
        assert_eq!(again("Stop", &Value::Null, None, mode::at_stop), Again::NoRecord);
    }

    #[test]
    fn a_signal_that_this_version_does_not_know_still_compares() {
        let mut record = stop("working");
        record["outcome"]["signal"] = json!("dancing");
        check("Stop", Value::Null, record, &["signal: dancing -> working"]);
        assert_eq!(Signal::from("dancing".to_owned()).as_str(), "dancing");
    }

    #[test]
    fn a_denial_is_made_again_by_its_rule() {
        let record = |rule: &str, standing: &str| {
            json!({"rule": rule, "tool": "AskUserQuestion", "shortened": false, "cut": false,
                "cwd": "/p", "mode": "loop", "standing": standing, "session_id": "s",
                "places": {"ralph_home": "/r", "config_dirs": [], "user_config": "",
                    "executables": [], "home": "/h"}})
        };
        check("PreToolUse", Value::Null, record("question", "running"), &[]);
        check(
            "PreToolUse",
            Value::Null,
            record("question", "paused"),
            &["ruling: denied: question -> allowed"],
        );
        check(
            "PreToolUse",
            Value::Null,
            record("agent", "running"),
            &["ruling: denied: agent -> denied: question"],
        );
    }
}
