//! A refused tool call in plain words.

use super::ExplainedDecision;
use ralph_core::guard::{DenialRecord, LoopActivity};
use ralph_io::store::journal::JournalEntry;

/// Tells which call was refused, by which rule, and what the model read.
pub(super) fn tell(entry: &JournalEntry, record: &DenialRecord) -> ExplainedDecision {
    let told = entry.why.strip_prefix(&format!("{}: ", record.rule)).unwrap_or(&entry.why);
    ExplainedDecision {
        what: format!("tool call refused at {}: {}", entry.position, record.tool),
        rows: vec![
            ("rule", record.rule.replace('_', " ")),
            ("command", shown(record.command.as_deref(), record.shortened)),
            ("file", file(record)),
            ("caller", caller(record)),
            ("loop", standing(record.standing).to_owned()),
            ("told", told.to_owned()),
        ],
    }
}

/// Shows several lines as one, so that the later ones cannot pass for our own output.
fn shown(text: Option<&str>, shortened: bool) -> String {
    let text = text.unwrap_or_default().replace('\n', "\\n");
    if shortened && !text.is_empty() { format!("{text}… (longer than is kept)") } else { text }
}

fn file(record: &DenialRecord) -> String {
    let path = shown(record.path.as_deref(), record.shortened);
    match &record.resolved {
        Some(resolved) if record.path.as_ref() != Some(resolved) => {
            format!("{path}, which leads to {}", shown(Some(resolved), false))
        }
        _ => path,
    }
}

fn caller(record: &DenialRecord) -> String {
    match record.subagent.as_deref() {
        None => "the main conversation".to_owned(),
        Some("") => "a subagent".to_owned(),
        Some(kind) => format!("a subagent ({kind})"),
    }
}

fn standing(standing: LoopActivity) -> &'static str {
    match standing {
        LoopActivity::Running => "was running",
        LoopActivity::AwaitingBaseline => "was waiting for its baseline",
        LoopActivity::Paused => "was paused",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(record: serde_json::Value, label: &str, expected: &str) {
        let mut all = json!({"rule": "protected_place", "tool": "Write", "shortened": false,
            "cut": false, "cwd": "/p", "mode": "loop", "standing": "running", "session_id": "s",
            "places": {"ralph_home": "/r", "config_dirs": [], "user_config": "",
                "executables": [], "home": "/h"}});
        all.as_object_mut().unwrap().extend(record.as_object().unwrap().clone());
        let entry = json!({"at": "2026-01-01T00:00:00Z", "event": "PreToolUse",
            "decision": "denied", "why": "protected_place: Not this.", "position": "1/5"});
        let entry: JournalEntry = serde_json::from_value(entry).unwrap();
        let told = tell(&entry, &serde_json::from_value(all).unwrap());
        assert_eq!(told.what, "tool call refused at 1/5: Write");
        let row = told.rows.iter().find(|(name, _)| *name == label).unwrap();
        assert_eq!(row.1, expected);
    }

    #[test]
    fn a_refusal_says_who_called_and_what_the_model_read() {
        check(json!({}), "caller", "the main conversation");
        check(json!({"subagent": ""}), "caller", "a subagent");
        check(json!({"subagent": "ralph-worker"}), "caller", "a subagent (ralph-worker)");
        check(json!({"standing": "paused"}), "loop", "was paused");
        check(json!({}), "told", "Not this.");
        check(json!({}), "rule", "protected place");
    }

    #[test]
    fn a_link_is_told_with_where_it_leads_and_a_cut_text_as_such() {
        check(json!({"path": "/p/a", "resolved": "/p/a"}), "file", "/p/a");
        let leads = "/p/a, which leads to /r/state.json";
        check(json!({"path": "/p/a", "resolved": "/r/state.json"}), "file", leads);
        let cut = "ralph\\ncancel… (longer than is kept)";
        check(json!({"command": "ralph\ncancel", "shortened": true}), "command", cut);
    }
}
