//! `feedbacks.md`: the user's feedback on an iteration, which starts the next one.
//!
//! A new file without any entry starts nothing, because the user is still writing.

use super::files::OrchestrationFile;
use super::finding::OrchestrationFinding;
use super::local_time::LocalTime;
use super::yaml::Yaml;

/// The file name of a batch.
pub const FILE: &str = "feedbacks.md";

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FeedbackBatch {
    /// Issues that must be fixed, each in the user's words.
    pub critical: Vec<String>,
    pub quality: Vec<String>,
    pub requirements: Vec<String>,
}

impl FeedbackBatch {
    /// Reads a batch for an iteration from its folder, and reports what is wrong with it.
    pub fn parse(
        iteration: u32,
        stamp: &str,
        text: &str,
    ) -> (FeedbackBatch, Vec<OrchestrationFinding>) {
        let place = OrchestrationFile::Feedback { iteration, stamp, file: FILE };
        let mut found = Vec::new();
        match Yaml::in_front(text) {
            None => found.push(place.notice(1, "no front matter; begin the file with `---`")),
            Some(Err(flaw)) => {
                found.push(place.notice(flaw.line, flaw.what));
            }
            Some(Ok(yaml)) => {
                for (name, wanted) in
                    [("iteration", iteration), ("previous_iteration", iteration.saturating_sub(1))]
                {
                    if yaml.number(&[name]) != Some(wanted) {
                        let line = yaml.line(&[name]).unwrap_or(1);
                        found.push(place.notice(line, format!("write `{name}: {wanted}`")));
                    }
                }
                if yaml.text(&["timestamp"]).is_none() {
                    found.push(place.notice(1, "`timestamp` is missing"));
                }
            }
        }
        let items = |heading| items(text, heading);
        let feedback = FeedbackBatch {
            critical: items("Critical Issues"),
            quality: items("Quality Issues"),
            requirements: items("New Requirements"),
        };
        if !feedback.says_something() {
            let what = "it has no item yet; add one under `## Critical Issues`, `## Quality \
                 Issues` or `## New Requirements`";
            found.push(place.notice(0, what));
        }
        (feedback, found)
    }

    /// True if the batch has at least one entry.
    pub fn says_something(&self) -> bool {
        !(self.critical.is_empty() && self.quality.is_empty() && self.requirements.is_empty())
    }
}

/// The text of a new batch: only headings and comments, which do not start an iteration.
pub fn template(iteration: u32, stamp: &str, now: LocalTime) -> String {
    format!(
        "---\niteration: {iteration}\ntimestamp: {now}\nprevious_iteration: {}\n---\n\n# Feedback \
         Batch: {stamp}\n\n## Critical Issues\n<!-- - [ ] **ISS-001**: the defect\n  - Evidence: \
         app.log, lines 45-60\n  - Suggested Fix: … -->\n\n## Quality Issues\n<!-- - [ ] \
         **Q-001**: the improvement -->\n\n## New Requirements\n<!-- - the addition -->\n\n## \
         Artifacts Index\n| File | Description |\n|------|-------------|\n",
        iteration.saturating_sub(1)
    )
}

/// The top-level items under a heading, without comments and empty items.
fn items(text: &str, heading: &str) -> Vec<String> {
    let mut comment = false;
    let section = text
        .lines()
        .skip_while(|line| line.strip_prefix("## ").is_none_or(|words| words.trim() != heading));
    let within =
        section.skip(1).take_while(|line| !line.starts_with("## ") && !line.starts_with("# "));
    let mut items = Vec::new();
    for line in within {
        let hidden = comment || line.trim_start().starts_with("<!--");
        if hidden {
            comment = !line.contains("-->");
            continue;
        }
        let Some(item) = line.strip_prefix(['-', '*', '+']) else { continue };
        let item = item.trim_start();
        let item =
            ["[ ]", "[x]", "[X]"].iter().find_map(|mark| item.strip_prefix(mark)).unwrap_or(item);
        let item = item.trim();
        // `**ISS-001**: Description` with nothing after the colon is an empty item.
        let said = item.rsplit_once("**:").map_or(item, |(_, said)| said.trim());
        if !said.is_empty() && said != "Description" && said != "..." {
            items.push(item.to_owned());
        }
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    fn now() -> Timestamp {
        "2026-02-01T12:00:00Z".parse().unwrap()
    }

    #[test]
    fn a_new_batch_is_well_formed_and_asks_for_nothing() {
        let text = template(2, "20260201-120000", now().into());
        let (feedback, found) = FeedbackBatch::parse(2, "20260201-120000", &text);
        assert!(!feedback.says_something());
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].what.contains("has no item yet"));
    }

    #[test]
    fn the_items_of_a_batch_are_read_without_what_is_below_them() {
        let text = template(2, "20260201-120000", now().into())
            .replace(
                "## Quality",
                "- [ ] **ISS-001**: It does not start\n  - Evidence: app.log\n\n## Quality",
            )
            .replace("## New", "- [ ] **Q-001**: Description\n- [ ]\n\n## New")
            .replace("## Artifacts", "* A back door\n\n## Artifacts");
        let (feedback, found) = FeedbackBatch::parse(2, "20260201-120000", &text);
        assert_eq!(feedback.critical, ["**ISS-001**: It does not start"]);
        assert_eq!(feedback.quality, [""; 0]);
        assert_eq!(feedback.requirements, ["A back door"]);
        assert_eq!(found, []);
    }

    #[test]
    fn what_stands_in_a_comment_asks_for_nothing() {
        let text =
            "## New Requirements\n<!--\n- A back door\n-->\n<!-- - one\n- two -->\n- A bell\n";
        assert_eq!(FeedbackBatch::parse(2, "s", text).0.requirements, ["A bell"]);
    }

    #[test]
    fn a_batch_for_another_iteration_is_told() {
        let text =
            template(2, "s", now().into()).replace("## Artifacts", "- A back door\n## Artifacts");
        let (_, found) = FeedbackBatch::parse(3, "s", &text);
        let told: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "iterations/3/feedbacks/s/feedbacks.md:2: write `iteration: 3`",
                "iterations/3/feedbacks/s/feedbacks.md:4: write `previous_iteration: 2`"
            ]
        );
        let (feedback, found) = FeedbackBatch::parse(2, "s", "## New Requirements\n- x\n");
        assert!(feedback.says_something() && found[0].what.contains("front matter"));
    }
}
