//! What an answer says, and that it says it in a form that its reader understands.

use crate::calls::Answer;
use serde_json::Value;

/// What a process said.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ProcessAnswer {
    /// The turn goes on; the iteration that the text for the model names.
    WentOn(u64),
    /// The person is told something, or the model is.
    Spoke(String),
    /// The tool call was refused.
    Denied,
    /// Nothing.
    Nothing,
    /// A command was carried out; what it printed.
    Done(String),
    /// A command answered no; why.
    No(String),
    /// It did not get a lock in time, and did nothing.
    GaveUp(String),
}

/// Reads an answer; panics where it is none that its reader understands.
#[track_caller]
pub(crate) fn said(answer: &Answer) -> ProcessAnswer {
    for word in ["panic", "internal error", "RUST_BACKTRACE"] {
        assert!(!answer.err.contains(word), "{answer:?}");
    }
    if answer.name == "ralph" { by_command(answer) } else { by_hook(answer) }
}

#[track_caller]
fn by_command(answer: &Answer) -> ProcessAnswer {
    if answer.err.contains("has held") {
        return ProcessAnswer::GaveUp(answer.err.clone());
    }
    match answer.code {
        Some(0) => ProcessAnswer::Done(answer.out.clone()),
        Some(1) => ProcessAnswer::No(answer.err.clone()),
        _ => panic!("neither yes nor no: {answer:?}"),
    }
}

#[track_caller]
fn by_hook(answer: &Answer) -> ProcessAnswer {
    assert_eq!(answer.code, Some(0), "{answer:?}");
    if answer.out.is_empty() && !answer.err.is_empty() {
        let err = &answer.err;
        assert!(err.starts_with(&format!("{}: ", answer.name)), "{answer:?}");
        assert!(err.ends_with('\n') && err.lines().count() == 1, "{answer:?}");
        assert!(err.contains("has held"), "no complaint was to be expected: {answer:?}");
        return ProcessAnswer::GaveUp(err.clone());
    }
    assert_eq!(answer.err, "", "{answer:?}");
    if answer.out.is_empty() {
        return ProcessAnswer::Nothing;
    }
    assert_eq!(answer.out.lines().count(), 1, "{answer:?}");
    let reply: Value =
        serde_json::from_str(&answer.out).unwrap_or_else(|e| panic!("{e}: {answer:?}"));
    understood(&reply).unwrap_or_else(|| panic!("not understood: {answer:?}"))
}

fn understood(reply: &Value) -> Option<ProcessAnswer> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let specific = &reply["hookSpecificOutput"];
    if specific["permissionDecision"] == "deny" {
        return Some(ProcessAnswer::Denied);
    }
    if specific["hookEventName"] == "Stop" {
        return iteration(specific["additionalContext"].as_str()?).map(ProcessAnswer::WentOn);
    }
    // What a loop that was continued, started, paused or ended has to say.
    let places = [&reply["systemMessage"], &reply["stopReason"], &reply["reason"]];
    let spoken = places.into_iter().find_map(text);
    spoken.or_else(|| text(&specific["additionalContext"])).map(ProcessAnswer::Spoke)
}

/// `Ralph 7/1000: …`
fn iteration(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("Ralph ")?;
    rest.split_once('/')?.0.parse().ok()
}

/// The iterations of all turns that go on, in order.
pub(crate) fn iterations(answers: &[Answer]) -> Vec<u64> {
    let mut all: Vec<u64> = answers
        .iter()
        .filter_map(|answer| match said(answer) {
            ProcessAnswer::WentOn(iteration) => Some(iteration),
            _ => None,
        })
        .collect();
    all.sort_unstable();
    all
}

/// The answers in which the person is told that the loop has ended in this way.
pub(crate) fn announcements(answers: &[Answer], ending: &str) -> usize {
    let tells = |answer: &&Answer| match said(answer) {
        ProcessAnswer::Spoke(text) => text.contains(announcement(ending)),
        _ => false,
    };
    answers.iter().filter(tells).count()
}

/// What the user reads of an ending.
pub(crate) fn announcement(ending: &str) -> &'static str {
    match ending {
        "complete" => "Ralph: done in ",
        "complete_unverified" => "Ralph: done, without proof",
        "cancelled" => "Ralph: cancelled",
        "max_iterations" => "Ralph: stopped after ",
        other => panic!("no announcement of `{other}` is known here"),
    }
}
