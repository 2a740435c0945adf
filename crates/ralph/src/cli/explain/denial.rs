//! A refused tool call in plain words.

use super::Told;
use ralph_core::guard::{Record, Standing};
use ralph_io::journal::Entry;

/// Tells which call was refused, by which rule, and what the model read.
pub(super) fn tell(entry: &Entry, record: &Record) -> Told {
    let told = entry.why.strip_prefix(&format!("{}: ", record.rule)).unwrap_or(&entry.why);
    Told {
        what: format!("{} at {}: {} was refused", entry.event, entry.position, record.tool),
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

/// A text of several lines is shown on one: what follows it must not look like ours.
fn shown(text: Option<&str>, shortened: bool) -> String {
    let text = text.unwrap_or_default().replace('\n', "\\n");
    if shortened && !text.is_empty() { format!("{text}… (longer than is kept)") } else { text }
}

fn file(record: &Record) -> String {
    let path = shown(record.path.as_deref(), record.shortened);
    match &record.resolved {
        Some(resolved) if record.path.as_ref() != Some(resolved) => {
            format!("{path}, which leads to {}", shown(Some(resolved), false))
        }
        _ => path,
    }
}

fn caller(record: &Record) -> String {
    match record.subagent.as_deref() {
        None => "the main conversation".to_owned(),
        Some("") => "a subagent".to_owned(),
        Some(kind) => format!("a subagent ({kind})"),
    }
}

fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::Running => "was running",
        Standing::AwaitingBaseline => "was waiting for its baseline",
        Standing::Paused => "was paused",
    }
}
