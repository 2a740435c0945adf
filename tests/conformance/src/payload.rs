//! The payload of each event as the real client was seen to send it; a case says what differs.

use serde_json::{Map, Value};

macro_rules! measured {
    ($name:literal) => {
        include_str!(concat!("../../fixtures/claude-code-2.1.328/", $name, ".json"))
    };
}

/// The events that a case may fire.
pub(crate) const EVENTS: [&str; 11] = [
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "StopFailure",
    "PreToolUse",
    "PostToolUse",
    "UserPromptSubmit",
    "UserPromptExpansion",
    "SessionStart",
    "SessionEnd",
    "PreCompact",
];

/// A measured payload of the event, or only its name where none was measured.
pub(crate) fn measured(event: &str) -> Map<String, Value> {
    let text = match event {
        "Stop" => measured!("Stop-first"),
        "SubagentStart" => measured!("SubagentStart"),
        "SubagentStop" => measured!("SubagentStop"),
        "StopFailure" => measured!("StopFailure-unknown"),
        "PreToolUse" => measured!("PreToolUse-Bash"),
        "PostToolUse" => measured!("PostToolUse-Write"),
        "UserPromptSubmit" => measured!("UserPromptSubmit"),
        "UserPromptExpansion" => measured!("UserPromptExpansion-slash-skill"),
        "SessionStart" => measured!("SessionStart-compact"),
        "SessionEnd" => measured!("SessionEnd-other"),
        "PreCompact" => measured!("PreCompact-auto"),
        _ => "{}",
    };
    let mut members: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
    members.insert("hook_event_name".to_owned(), event.into());
    members
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_measured_payload_is_of_its_event() {
        for event in EVENTS {
            let members = measured(event);
            assert!(members.len() > 5, "{event}");
            assert_eq!(members["hook_event_name"], event);
        }
    }
}
