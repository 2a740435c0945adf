//! The change of a plan: its lines, and the sections that contain them.
//!
//! A section is a heading with the text below it, up to the next heading of any level. The text
//! before the first heading is a section too. A heading inside a code fence is code.

use super::{PlanChange, distance};
use crate::tasks::plan::{closes, opening};

/// How much a plan changed. Line endings, and a missing final one, do not count.
pub fn plan(before: &str, after: &str) -> PlanChange {
    let (before, after): (Vec<&str>, Vec<&str>) =
        (before.lines().collect(), after.lines().collect());
    PlanChange {
        lines: distance(&before, &after),
        sections: distance(&sections(&before), &sections(&after)),
        ..PlanChange::default()
    }
}

/// The sections, each with its heading.
fn sections<'a>(lines: &'a [&'a str]) -> Vec<&'a [&'a str]> {
    let mut starts = vec![0];
    let mut fence = None;
    for (at, line) in lines.iter().enumerate() {
        match (fence, opening(line)) {
            (Some(marks), _) if closes(line, marks) => fence = None,
            (Some(_), _) => {}
            (None, Some((marks, _))) => fence = Some(marks),
            (None, None) if is_heading(line) => starts.push(at),
            (None, None) => {}
        }
    }
    let ends = starts.iter().skip(1).copied().chain([lines.len()]);
    let all = starts.iter().zip(ends).map(|(start, end)| &lines[*start..end]);
    all.filter(|section| !section.is_empty()).collect()
}

fn is_heading(line: &str) -> bool {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t']))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str =
        "# Plan\n\nWhy.\n\n## First\n\n- a\n- b\n\n## Second\n\n```sh\n# no heading\nls\n```\n";

    #[track_caller]
    fn check(after: &str, lines: u64, sections: u64) {
        let change = plan(PLAN, after);
        assert_eq!((change.lines, change.sections), (lines, sections), "{after}");
        let back = plan(after, PLAN);
        assert_eq!((back.lines, back.sections), (lines, sections), "{after}, back");
    }

    #[test]
    fn lines_and_sections_are_counted_once_each() {
        check(PLAN, 0, 0);
        check(&PLAN.replace('\n', "\r\n"), 0, 0);
        check(PLAN.trim_end(), 0, 0);
        check(&PLAN.replace("- a", "- aa"), 1, 1);
        check(&PLAN.replace("- a", "- aa").replace("Why.", "Whence."), 2, 2);
        check(&PLAN.replace("- b\n", ""), 1, 1);
        check(&PLAN.replace("## First", "## Zeroth"), 1, 1);
        check(&format!("{PLAN}\n## Third\n\nnew\n"), 4, 2);
        check("", 15, 3);
    }

    #[test]
    fn a_heading_in_a_fence_is_code_and_no_section() {
        let fenced = PLAN.replace("# no heading", "# still none\n## nor this");
        check(&fenced, 2, 1);
        check(&format!("{PLAN}\n#hash\n####### seven\n"), 3, 1);
    }

    #[test]
    fn a_section_that_moves_is_removed_and_added() {
        let moved =
            "# Plan\n\nWhy.\n\n## Second\n\n```sh\n# no heading\nls\n```\n\n## First\n\n- a\n- b\n";
        let change = plan(PLAN, moved);
        assert!(change.sections == 2 && change.lines > 5, "{change:?}");
    }

    #[test]
    fn half_a_plan_rewritten_is_half_of_its_lines() {
        let before: String = (0..400).map(|at| format!("line {at}\n")).collect();
        let after: String = (0..400)
            .map(|at| format!("line {}\n", if at % 2 == 0 { at } else { at + 9_000 }))
            .collect();
        assert_eq!(plan(&before, &after).lines, 200);
    }
}
