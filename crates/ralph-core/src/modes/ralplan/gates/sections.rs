//! The five sections of a plan, under the headings that the planner is told to write.
//!
//! Letter case and level do not matter. A section counts only if it has text.

use super::{Failed, prose};
use crate::tasks::plan;

/// The heading of each section, and what belongs below it.
const SECTIONS: [(&str, &str); 5] = [
    ("Requirements summary", "the goal and what is out of scope"),
    ("Acceptance criteria", "sentences that are true or false"),
    ("Steps", "each with its file and the change"),
    ("Risks", "the risks, each with its countermeasure"),
    ("Verification", "the commands that prove the whole, and their output"),
];

/// The sections that are missing or have no text.
pub(super) fn missing(text: &str) -> Vec<Failed> {
    let headings: Vec<(usize, usize, &str)> = prose(text)
        .filter_map(|(line, text)| heading(text).map(|(level, name)| (line, level, name)))
        .collect();
    let block = plan::block(text).map_or(usize::MAX, |block| block.line);
    let has_text = |(line, level, _): &(usize, usize, &str)| {
        let next = headings.iter().find(|(next, other, _)| next > line && other <= level);
        let last = next.map_or(usize::MAX, |(next, ..)| *next).min(block);
        text.lines()
            .enumerate()
            .skip(*line)
            .take_while(|(at, _)| at + 1 < last)
            .any(|(_, text)| heading(text).is_none() && text.chars().any(char::is_alphanumeric))
    };
    let lacks = |(name, about): &(&str, &str)| {
        let mut of_it = headings.iter().filter(|(.., other)| other.eq_ignore_ascii_case(name));
        match of_it.clone().next() {
            None => Some(Failed::whole(format!(
                "The section `{name}` is missing: write `## {name}` and below it {about}."
            ))),
            Some(_) if of_it.any(has_text) => None,
            Some((line, ..)) => {
                Some(Failed::at(*line, format!("the section `{name}` is empty; write {about}")))
            }
        }
    };
    SECTIONS.iter().filter_map(lacks).collect()
}

/// `## Risks` as its level and its words.
fn heading(line: &str) -> Option<(usize, &str)> {
    let name = line.trim_start_matches('#');
    let level = line.len() - name.len();
    let is_heading = (1..=6).contains(&level) && name.starts_with([' ', '\t']);
    is_heading.then(|| (level, name.trim().trim_end_matches([':', '#']).trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the sections that a plan lacks, by the first word of their headings.
    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let said: Vec<String> = missing(text).iter().map(Failed::to_string).collect();
        assert_eq!(said.len(), expected.len(), "{text}\n{said:#?}");
        for (said, words) in said.iter().zip(expected) {
            assert!(said.contains(words), "{said} has not {words}");
        }
    }

    /// A plan with these headings, each with a sentence below it.
    fn plan(headings: &[&str]) -> String {
        let below =
            headings.iter().map(|heading| format!("{heading}\n\nThe form posts to /login.\n\n"));
        format!("# The plan of all steps\n\n{}", below.collect::<String>())
    }

    #[test]
    fn each_section_that_is_missing_is_named() {
        let whole = SECTIONS.map(|(name, _)| format!("## {name}"));
        let whole = whole.each_ref().map(String::as_str);
        check(&plan(&whole), &[]);
        for (at, name) in whole.iter().enumerate() {
            let without: Vec<&str> = whole.iter().copied().filter(|one| one != name).collect();
            check(&plan(&without), &[&format!("`{}` is missing", &whole[at][3..])]);
        }
        check(
            "Do it.",
            &["Requirements summary", "Acceptance criteria", "Steps", "Risks", "Verification"],
        );
    }

    #[test]
    fn letter_case_and_level_of_a_heading_do_not_matter() {
        let headings =
            ["# REQUIREMENTS SUMMARY", "### Acceptance Criteria", "## steps ##", "# Risks:"];
        check(&plan(&headings), &["Verification"]);
        check(&plan(&["## Overview", "## Steps of the work", "#Risks"]), &[""; 5]);
    }

    #[test]
    fn a_section_without_text_is_empty() {
        let with = |risks: &str| {
            let four = "## Requirements summary\na b\n## Acceptance criteria\na b\n## Steps\na b\n";
            format!("{four}## Risks\n{risks}\n## Verification\n\nnpm test\n")
        };
        check(&with("A restart forgets the counts."), &[]);
        check(&with("### Of the form\n\n- it is slow"), &[]);
        check(&with("```sh\nnpm test\n```"), &[]);
        for nothing in ["", "- [ ] ", "...", "---", "### Of the form", "\u{200b}"] {
            check(&with(nothing), &["line 7: the section `Risks` is empty"]);
        }
    }

    #[test]
    fn neither_a_quoted_heading_nor_the_block_is_a_section() {
        let text = "## Requirements summary\na b\n## Acceptance criteria\na b\n## Steps\na b\n\
                    ```markdown\n## Risks\na b\n```\n## Verification\n\n```json ralph-plan\n{}\n```\n";
        check(text, &["`Risks` is missing", "the section `Verification` is empty"]);
    }
}
