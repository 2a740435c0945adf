//! What the user sees of a driven planning run: the plan that waits for a decision, and why a round
//! achieved nothing.

use crate::command::screen::visible;
use ralph_core::modes::ralplan::{position, short};
use ralph_core::state::{LoopState, RalplanState};
use ralph_core::text::truncate::bounded;
use ralph_io::{store::journal, store::plan_files};
use std::fmt::Write as _;
use std::path::Path;

/// The longest summary and list, in lines; the rest is in the file.
const SHOWN: usize = 8;

/// The longest line, in characters.
const WIDTH: usize = 160;

/// The plan, the critic's verdict on it, its criteria and its tasks.
pub(super) fn plan(state: &LoopState) -> String {
    let Some(about) = state.ralplan() else { return String::new() };
    let root = Path::new(&state.project_root);
    let text = plan_files::plan_text(root, &about.plan_path).unwrap_or_default();
    let mut told = format!("\nPlan: {}", what(state));
    told.push_str(&verdict(about));
    told.push_str(&list("", summary(&text)));
    told.push_str(&list("\nCriteria:", about.criteria.clone()));
    told.push_str(&list("\nTasks:", about.tasks.clone()));
    told
}

/// The path and the hash of the plan to decide about.
pub(super) fn what(state: &LoopState) -> String {
    let Some(about) = state.ralplan() else { return String::new() };
    format!("{} ({})", about.plan_path, short(&about.plan_hash))
}

fn verdict(about: &RalplanState) -> String {
    if !about.forced {
        return format!("\nThe critic approved it: plan {}.", position(about));
    }
    let mut told =
        format!("\nWARNING: the critic rejected it, plan {}. Left open:", position(about));
    for (at, concern) in about.concerns.iter().enumerate() {
        let _ = write!(told, "\n  {}. {}", at + 1, visible(concern));
    }
    told
}

/// The beginning of the plan: its title, and the text up to the next heading or code block.
fn summary(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut headings = 0;
    let of_it = lines.take_while(|line| {
        headings += usize::from(line.starts_with('#'));
        !line.starts_with("```") && headings <= 2
    });
    of_it.map(|line| line.trim_start_matches(['#', ' ']).to_owned()).collect()
}

fn list(head: &str, items: Vec<String>) -> String {
    if items.is_empty() {
        return String::new();
    }
    let mut told = head.to_owned();
    for item in items.iter().take(SHOWN) {
        let _ = write!(told, "\n  {}", bounded(&visible(item), WIDTH));
    }
    match items.len().saturating_sub(SHOWN) {
        0 => {}
        more => _ = write!(told, "\n  and {more} more in the file"),
    }
    told
}

/// Why a round of this session achieved nothing, from the journal entry about its report.
pub(super) fn nothing(folder: &Path, session: &str) -> String {
    let of_it = |entry: &journal::JournalEntry| {
        entry.decision.starts_with("report ") && entry.seen["agent"] == session
    };
    match journal::read(folder).into_iter().rfind(of_it) {
        Some(entry) => format!("{}: {}", entry.decision, entry.why),
        None => "it brought no report".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_ends_at_the_second_section_or_the_machines_part() {
        let text = "# Login\n\n## Summary\nOne.\nTwo.\n\n## Steps\n1. x\n```json\n{}\n```\n";
        assert_eq!(summary(text), ["Login", "Summary", "One.", "Two."]);
        assert_eq!(
            summary("# Login\n\nAdd it.\n```json ralph-plan\n{}\n```"),
            ["Login", "Add it."]
        );
    }

    #[test]
    fn a_list_is_cut_and_says_so() {
        let items = (0..10).map(|n| n.to_string()).collect();
        assert!(list("\nTasks:", items).ends_with("\n  7\n  and 2 more in the file"));
        assert_eq!(list("\nTasks:", Vec::new()), "");
    }
}
