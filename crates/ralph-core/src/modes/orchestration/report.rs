//! Reports and reviews: the number of the next attempt, and the verdict on an iteration.
//!
//! An existing report is never overwritten: the next attempt has a number that no report has.

use super::yaml::{Yaml, front_matter};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskReport {
    /// The number of the attempt, counted from 1.
    pub attempt: u32,
    /// The iteration in which it was written; the first if it names none.
    pub iteration: u32,
    /// The reviewer's verdict; `None` until there is one.
    pub verdict: Option<ReviewVerdict>,
}

/// A reviewer's verdict on an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewVerdict {
    /// The task is done.
    Qualified,
    /// The task is not done.
    Failed,
}

impl TaskReport {
    pub fn parse(attempt: u32, text: Option<&str>) -> TaskReport {
        let yaml = text.and_then(front_matter).and_then(|(yaml, _)| Yaml::parse(yaml).ok());
        let iteration = yaml.and_then(|yaml| yaml.number(&["iteration"])).unwrap_or(1);
        TaskReport { attempt, iteration, verdict: text.and_then(verdict) }
    }
}

/// The number of the next attempt: higher than the number of reports, and higher than any report's
/// own number.
pub fn next_attempt(reports: &[TaskReport]) -> u32 {
    let highest = reports.iter().map(|report| report.attempt).max().unwrap_or_default();
    let count = u32::try_from(reports.len()).unwrap_or(u32::MAX - 1);
    highest.max(count).saturating_add(1)
}

/// The last verdict after the heading of part 2, which the executor leaves empty.
fn verdict(text: &str) -> Option<ReviewVerdict> {
    let behind =
        text.lines().skip_while(|line| !(line.starts_with('#') && line.contains("PART 2")));
    let verdicts = behind.map(|line| line.replace(['*', '`'], "")).filter_map(|line| {
        let line = line.trim_start().trim_start_matches("- ");
        match line.strip_prefix("Status:")?.trim() {
            "Qualified" => Some(ReviewVerdict::Qualified),
            "Failed" => Some(ReviewVerdict::Failed),
            _ => None,
        }
    });
    verdicts.last()
}

/// How many attempts of an iteration left a report.
pub fn attempts_in(reports: &[TaskReport], iteration: u32) -> u32 {
    let of = |report: &&TaskReport| report.iteration == iteration;
    u32::try_from(reports.iter().filter(of).count()).unwrap_or(u32::MAX)
}

/// True if the review of an iteration reports it as complete: in its front matter, as `assessment:
/// Complete`, or under `## Overall Assessment`, as `**Status**: Complete`.
pub fn is_complete(review: &str) -> bool {
    let in_front = front_matter(review)
        .and_then(|(yaml, _)| Yaml::parse(yaml).ok())
        .and_then(|yaml| yaml.text(&["assessment"]).map(str::to_owned));
    let said = in_front.or_else(|| overall(review));
    said.is_some_and(|said| {
        // A line with all the choices is the template, not a verdict.
        said.trim_start_matches(|letter: char| !letter.is_ascii_alphanumeric()).trim() == "Complete"
    })
}

fn overall(review: &str) -> Option<String> {
    let section = review.lines().skip_while(|line| {
        line.strip_prefix("## ").is_none_or(|words| words.trim() != "Overall Assessment")
    });
    let within = section.skip(1).take_while(|line| !line.starts_with("## "));
    within.map(|line| line.replace(['*', '`', '_'], "")).find_map(|line| {
        let (name, value) = line.trim_start().trim_start_matches("- ").split_once(':')?;
        matches!(name.trim(), "Status" | "Assessment" | "assessment")
            .then(|| value.trim().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reports(of: &[(u32, u32)]) -> Vec<TaskReport> {
        let report = |(attempt, iteration): &(u32, u32)| TaskReport {
            attempt: *attempt,
            iteration: *iteration,
            verdict: Some(ReviewVerdict::Failed),
        };
        of.iter().map(report).collect()
    }

    #[test]
    fn the_next_attempt_writes_over_no_report() {
        for (of, expected) in [
            (&[][..], 1),
            (&[(1, 1)], 2),
            (&[(1, 1), (2, 1)], 3),
            (&[(2, 1)], 3),
            (&[(1, 1), (7, 1)], 8),
        ] {
            assert_eq!(next_attempt(&reports(of)), expected, "{of:?}");
        }
    }

    #[test]
    fn attempts_are_counted_for_each_iteration() {
        let reports = reports(&[(1, 1), (2, 1), (3, 2)]);
        assert_eq!([1, 2, 3].map(|iteration| attempts_in(&reports, iteration)), [2, 1, 0]);
        let text = "---\ntask_id: task-1\niteration: 2\n---\n# Task Report\n";
        assert_eq!(TaskReport::parse(1, Some(text)).iteration, 2);
        assert_eq!(TaskReport::parse(1, Some("# Task Report")).iteration, 1);
        assert_eq!(TaskReport::parse(1, None).iteration, 1);
    }

    #[test]
    fn a_report_is_judged_when_its_second_part_says_so() {
        let part_1 = "## PART 1\n**Status**: Failed\n## PART 2: REVIEW REPORT\n";
        for (rest, expected) in [
            ("*(To be appended)*\n[Leave empty]\n", None),
            ("**Status**: Qualified | Failed\n", None),
            ("### Recommendation\n**Status**: Failed\n", Some(ReviewVerdict::Failed)),
            ("- Status: Qualified\n", Some(ReviewVerdict::Qualified)),
        ] {
            let text = format!("{part_1}{rest}");
            assert_eq!(TaskReport::parse(1, Some(&text)).verdict, expected, "{rest}");
        }
    }

    #[test]
    fn only_complete_is_complete() {
        for text in [
            "# R\n## Overall Assessment\n**Status**: ✅ Complete\n## Next",
            "## Overall Assessment\n\n- Status: Complete\n",
            "---\nassessment: Complete\n---\n",
        ] {
            assert!(is_complete(text), "{text}");
        }
        for text in [
            "",
            "Complete",
            "**Status**: Complete",
            "## Overall Assessment\n**Status**: ✅ Complete | ⚠️ Gaps Identified | ❌ Incomplete",
            "## Overall Assessment\n**Status**: ⚠️ Gaps Identified",
            "## Overall Assessment\n**Status**: ❌ Incomplete",
            "## Overall Assessment\n## Other\n**Status**: Complete",
            "---\nassessment: Gaps Identified\n---\n## Overall Assessment\n**Status**: Complete\n",
        ] {
            assert!(!is_complete(text), "{text}");
        }
    }
}
