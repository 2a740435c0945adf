//! Reports of attempts, and the verdicts of reviewers on an attempt and on an iteration.

use super::yaml::Yaml;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskReport {
    /// The number of the attempt, counted from 1.
    pub attempt: u32,
    /// The iteration in which it was written; the first if it names none.
    pub iteration: u32,
    /// The reviewer's verdict; `None` until there is one.
    pub verdict: Option<ReviewVerdict>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewVerdict {
    /// The task is done.
    Qualified,
    /// The task is not done.
    Failed,
}

impl TaskReport {
    pub fn parse(attempt: u32, text: Option<&str>) -> TaskReport {
        let yaml = text.and_then(Yaml::in_front).and_then(Result::ok);
        let iteration = yaml.and_then(|yaml| yaml.number(&["iteration"])).unwrap_or(1);
        TaskReport { attempt, iteration, verdict: text.and_then(verdict) }
    }
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

/// True if the review of an iteration reports it as complete: in its front matter, as `assessment:
/// Complete`, or under `## Overall Assessment`, as `**Status**: Complete`.
pub fn is_complete(review: &str) -> bool {
    let in_front = Yaml::in_front(review)
        .and_then(Result::ok)
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

    #[test]
    fn a_report_names_its_iteration() {
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
