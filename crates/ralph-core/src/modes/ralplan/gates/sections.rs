//! The five sections of a plan, under the headings that real plans use.
//!
//! A heading is recognized by its words, at any level, underlined, or as a label in bold. A section
//! counts only if it has text: an empty section, a section with a placeholder and a section inside
//! a comment are missing.

use super::Failed;
use crate::tasks::plan::{self, closes, opening};
use crate::text::sanitize;
use std::collections::HashSet;

/// A section that every plan must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    /// The requirements in short.
    Summary,
    Criteria,
    Steps,
    /// The risks and their mitigations.
    Risks,
    /// How the whole result is verified.
    Verification,
}

impl Section {
    const ALL: [Section; 5] = [
        Section::Summary,
        Section::Criteria,
        Section::Steps,
        Section::Risks,
        Section::Verification,
    ];

    /// The heading that a planner is told to write, and what belongs below it.
    fn form(self) -> (&'static str, &'static str) {
        match self {
            Section::Summary => ("Requirements summary", "the goal and what is out of scope"),
            Section::Criteria => ("Acceptance criteria", "sentences that are true or false"),
            Section::Steps => ("Steps", "each with its file and the change"),
            Section::Risks => ("Risks", "the risks, each with its countermeasure"),
            Section::Verification => {
                ("Verification", "the commands that prove the whole, and their output")
            }
        }
    }

    /// The word beginnings that identify a heading. The words of one entry must be adjacent.
    fn words(self) -> &'static [&'static str] {
        match self {
            Section::Summary => &[
                "summar",
                "overview",
                "requirement",
                "goal",
                "objective",
                "context",
                "background",
                "problem",
                "introduction",
                "intro",
                "scope",
                "description",
                "tldr",
                "tl dr",
                "abstract",
                "purpose",
                "motivation",
                "intent",
                "outcome",
                "概要",
                "摘要",
                "背景",
                "目的",
                "目标",
                "要件",
                "需求",
                "개요",
                "요약",
                "배경",
                "목표",
            ],
            Section::Criteria => &[
                "acceptance",
                "criteria",
                "criterion",
                "definition of done",
                "done when",
                "success metric",
                "success measure",
                "受け入れ",
                "受入",
                "验收",
                "驗收",
                "完了条件",
                "수용",
                "인수",
                "완료",
            ],
            Section::Steps => &[
                "step",
                "phase",
                "task",
                "todo",
                "to do",
                "stage",
                "milestone",
                "wave",
                "roadmap",
                "implementation",
                "implement",
                "approach",
                "change",
                "work",
                "breakdown",
                "execution",
                "action",
                "plan",
                "how",
                "手順",
                "実装",
                "步骤",
                "实施",
                "实现",
                "任务",
                "計画",
                "단계",
                "구현",
                "작업",
            ],
            Section::Risks => &[
                "risk",
                "mitigation",
                "hazard",
                "pitfall",
                "premortem",
                "pre mortem",
                "failure mode",
                "what can go wrong",
                "what could go wrong",
                "リスク",
                "风险",
                "風險",
                "위험",
                "리스크",
            ],
            Section::Verification => &[
                "verif",
                "validat",
                "test",
                "qa",
                "proof",
                "how to check",
                "検証",
                "验证",
                "驗證",
                "テスト",
                "测试",
                "검증",
                "테스트",
            ],
        }
    }
}

/// Words that do not tell which section a heading is.
const FILLERS: [&str; 34] = [
    "and",
    "of",
    "the",
    "for",
    "with",
    "to",
    "a",
    "an",
    "in",
    "on",
    "our",
    "this",
    "strategy",
    "strategies",
    "plan",
    "plans",
    "steps",
    "step",
    "list",
    "details",
    "detailed",
    "concrete",
    "specific",
    "known",
    "technical",
    "key",
    "main",
    "potential",
    "final",
    "overall",
    "identified",
    "analysis",
    "assessment",
    "register",
];

/// A heading and the lines below it.
#[derive(Debug)]
pub(super) struct Found<'a> {
    is: Vec<Section>,
    /// The line of the heading, counted from 1.
    pub(super) line: usize,
    level: usize,
    /// The heading's words.
    pub(super) name: &'a str,
    /// The lines below the heading that have text, with their numbers.
    pub(super) lines: Vec<(usize, &'a str)>,
}

impl Found<'_> {
    pub(super) fn is(&self, section: Section) -> bool {
        self.is.contains(&section)
    }
}

/// The sections that are missing or have no text.
pub(super) fn missing(text: &str) -> Vec<Failed> {
    let found = sections(text);
    let lacks = |section: &Section| {
        let (name, about) = section.form();
        let mut of_it = found.iter().filter(|one| one.is(*section)).peekable();
        let first = of_it.peek().map(|one| one.line);
        let says = |one: &Found<'_>| has_text(&one.lines);
        match (first, of_it.any(says)) {
            (_, true) => None,
            (None, _) => Some(Failed::whole(format!(
                "The section `{name}` is missing: write `## {name}` and below it {about}."
            ))),
            (Some(line), _) => {
                Some(Failed::at(line, format!("the section `{name}` is empty; write {about}")))
            }
        }
    };
    Section::ALL.iter().filter_map(lacks).collect()
}

/// All headings that name one of the sections.
pub(super) fn sections(text: &str) -> Vec<Found<'_>> {
    let block =
        plan::block(text).map(|block| (block.line, block.line + block.text.lines().count() + 1));
    let in_block = |line: usize| block.is_some_and(|(first, last)| (first..=last).contains(&line));
    let (all, seen) = (headings(text), visible(text));
    let heads: HashSet<usize> =
        all.iter().filter(|one| one.rest.is_empty()).map(|one| one.line).collect();
    let title = title(&all);
    let mut found: Vec<Found<'_>> = Vec::new();
    for (at, heading) in all.iter().enumerate().filter(|(at, _)| Some(*at) != title) {
        let within_steps = found.iter().rev().any(|outer| {
            let encloses = all[..at]
                .iter()
                .skip_while(|one| one.line != outer.line)
                .skip(1)
                .all(|between| between.level > outer.level);
            encloses && heading.level > outer.level && outer.is(Section::Steps)
        });
        // A step that adds tests is not a section of the plan.
        let is = match within_steps && !is_only_ours(heading.name) {
            true => vec![Section::Steps],
            false => named(heading.name),
        };
        let ends = all[at + 1..].iter().find(|next| {
            let other = named(next.name);
            next.level <= heading.level
                || (!other.is_empty()
                    && is_only_ours(next.name)
                    && !other.iter().any(|one| is.contains(one)))
        });
        let last = ends.map_or(usize::MAX, |next| next.line);
        let holds_block = is.iter().any(|one| matches!(one, Section::Criteria | Section::Steps));
        let below = seen.iter().skip_while(|(line, _)| *line <= heading.line);
        let below = below.take_while(|(line, _)| *line < last);
        let mut lines: Vec<(usize, &str)> = below
            .filter(|(line, _)| !heads.contains(line) && (holds_block || !in_block(*line)))
            .copied()
            .collect();
        if !heading.rest.is_empty() {
            lines.insert(0, (heading.line, heading.rest));
        }
        if !is.is_empty() {
            found.push(Found {
                is,
                line: heading.line,
                level: heading.level,
                name: heading.name,
                lines,
            });
        }
    }
    found
}

/// The index of the document's own title, which names no section even if its words do: `The plan of
/// all tasks`.
fn title(all: &[Heading<'_>]) -> Option<usize> {
    let first = all.iter().position(|one| one.level < LABEL)?;
    let is_only = all[first + 1..].iter().all(|one| one.level > 1);
    let is_summary = named(all[first].name) == [Section::Summary] && is_only_ours(all[first].name);
    (all[first].level == 1 && all.len() > 1 && is_only && !is_summary).then_some(first)
}

struct Heading<'a> {
    line: usize,
    level: usize,
    name: &'a str,
    /// The text after a label on the same line.
    rest: &'a str,
}

/// The level of a label, below all headings.
const LABEL: usize = 7;

fn headings(text: &str) -> Vec<Heading<'_>> {
    let mut all = Vec::new();
    let mut fence = None;
    let mut before: Option<(usize, &str)> = None;
    for (line, text) in visible(text) {
        let was_blank = before.is_none_or(|(at, _)| at + 1 < line);
        match (fence, opening(text)) {
            (Some(marks), _) => {
                if closes(text, marks) {
                    fence = None;
                }
                before = None;
                continue;
            }
            (None, Some((marks, _))) => {
                fence = Some(marks);
                before = None;
                continue;
            }
            (None, None) => {}
        }
        if let Some((level, name)) = marked(text) {
            all.push(Heading { line, level, name, rest: "" });
            before = None;
        } else if let (Some((at, name)), Some(level)) = (before, underline(text)) {
            if at + 1 == line && all.last().is_none_or(|last: &Heading<'_>| last.line != at) {
                all.push(Heading { line: at, level, name: name.trim(), rest: "" });
            }
            before = None;
        } else {
            if let Some((name, rest)) = label(text).filter(|_| was_blank) {
                all.push(Heading { line, level: LABEL, name, rest });
            }
            before = Some((line, text));
        }
    }
    all
}

/// The lines that a reader sees: those with text, outside comments.
fn visible(text: &str) -> Vec<(usize, &str)> {
    let mut is_comment = false;
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let mut shown = line;
        if is_comment {
            let Some((_, after)) = line.split_once("-->") else { continue };
            (shown, is_comment) = (after, false);
        }
        if let Some((before, comment)) = shown.split_once("<!--") {
            is_comment = !comment.contains("-->");
            let after = comment.split_once("-->").map_or("", |(_, after)| after);
            shown = if before.trim().is_empty() { after } else { before };
        }
        if !shown.trim().is_empty() {
            lines.push((at + 1, shown));
        }
    }
    lines
}

/// `## Risks`, and `## Risks ##`.
fn marked(line: &str) -> Option<(usize, &str)> {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let line = line.trim();
    let level = line.len() - line.trim_start_matches('#').len();
    let name = line[level..].strip_prefix([' ', '\t'])?;
    let is_heading = indent < 4 && (1..=6).contains(&level);
    is_heading.then(|| (level, name.trim().trim_end_matches('#').trim()))
}

fn underline(line: &str) -> Option<usize> {
    let line = line.trim();
    let is_all = |mark: char| line.len() >= 3 && line.chars().all(|one| one == mark);
    match (is_all('='), is_all('-')) {
        (true, _) => Some(1),
        (_, true) => Some(2),
        _ => None,
    }
}

/// `**Risks**`, `**Risks:** text` and `Risks:` at the beginning of a line.
fn label(line: &str) -> Option<(&str, &str)> {
    let bold = line.strip_prefix("**").and_then(|rest| rest.split_once("**"));
    match bold {
        Some((name, rest)) => {
            let is_label = name.ends_with([':', '.']) || rest.is_empty() || rest.starts_with(':');
            is_label
                .then(|| (name.trim_end_matches([':', '.']), rest.trim_start_matches(':').trim()))
        }
        None => {
            let name = line.trim_end().strip_suffix(':')?;
            let is_short = name.split_whitespace().count() <= 5;
            (is_short && name.starts_with(char::is_alphabetic)).then_some((name, ""))
        }
    }
}

/// The words of a heading in lower case, without numbers and punctuation.
fn words(name: &str) -> Vec<String> {
    let spaced: String =
        name.chars().map(|one| if one.is_alphanumeric() { one } else { ' ' }).collect();
    let words = spaced.split_whitespace().map(str::to_lowercase);
    words.filter(|word| !word.chars().all(|one| one.is_ascii_digit())).collect()
}

/// The sections that a heading names.
fn named(name: &str) -> Vec<Section> {
    // `Step 3: verify the login` is a step.
    let is_numbered = |text: &str| text.trim_start().starts_with(|one: char| one.is_ascii_digit());
    let first = words(name).into_iter().next().unwrap_or_default();
    let after_first = name.to_lowercase();
    let after_first = after_first.split_once(first.as_str()).map_or("", |(_, rest)| rest);
    if has(&first, &["step", "phase", "task", "stage", "milestone", "wave"])
        && is_numbered(after_first)
    {
        return vec![Section::Steps];
    }
    let mut is: Vec<Section> = Vec::new();
    for part in name.split([',', '/', '&', '+']).flat_map(|part| part.split(" and ")) {
        let words = words(part);
        let has = |section: Section| {
            let together = format!(" {}", words.join(" "));
            section.words().iter().any(|beginning| match beginning.is_ascii() {
                true => together.contains(&format!(" {beginning}")),
                false => together.contains(beginning),
            })
        };
        // `Non-goals` and `Out of scope` name what is excluded.
        let says_not =
            words.iter().any(|word| ["non", "not", "out", "no"].contains(&word.as_str()));
        let strong = [Section::Criteria, Section::Verification, Section::Risks];
        let mut of_part: Vec<Section> = strong.into_iter().filter(|one| has(*one)).collect();
        if of_part.is_empty() && !says_not {
            of_part =
                [Section::Steps, Section::Summary].into_iter().filter(|one| has(*one)).collect();
        }
        is.extend(of_part);
    }
    is
}

fn has(word: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|beginning| word.starts_with(beginning))
}

/// True if a heading consists only of words of sections, so that it cannot be about anything else.
fn is_only_ours(name: &str) -> bool {
    let is_known = |word: &String| {
        FILLERS.contains(&word.as_str())
            || Section::ALL.iter().any(|section| {
                section.words().iter().any(|entry| {
                    entry.split(' ').any(|part| match part.is_ascii() {
                        true => word.starts_with(part),
                        false => word.contains(part),
                    })
                })
            })
    };
    words(name).iter().all(is_known)
}

/// Words that mark text still to be written.
const PLACEHOLDERS: [&str; 22] = [
    "none",
    "n a",
    "na",
    "tbd",
    "tbc",
    "todo",
    "fixme",
    "nothing",
    "null",
    "no",
    "none known",
    "none identified",
    "to be decided",
    "to be determined",
    "to be defined",
    "to be written",
    "pending",
    "placeholder",
    "fill in",
    "coming soon",
    "wip",
    "same as above",
];

/// True if any line has content.
fn has_text(lines: &[(usize, &str)]) -> bool {
    let is_rule = |line: &str| line.chars().all(|one| "|-: =*_".contains(one));
    lines.iter().enumerate().any(|(at, (_, line))| {
        // The head of a table is not its content.
        let heads_table = line.contains('|')
            && lines.get(at + 1).is_some_and(|(_, next)| next.contains('|') && is_rule(next));
        let line = line.trim().trim_start_matches(['-', '*', '+', '>', '|', ' ', '\t']);
        let line = line.strip_prefix("[ ]").or(line.strip_prefix("[x]")).unwrap_or(line).trim();
        let is_template = [('[', ']'), ('<', '>'), ('{', '}')]
            .into_iter()
            .any(|(open, close)| line.starts_with(open) && line.ends_with(close));
        let words = words(line).join(" ");
        !heads_table
            && opening(line).is_none()
            && !is_template
            && line.chars().any(|one| one.is_alphanumeric() && !sanitize::acts(one))
            && !words.is_empty()
            && !PLACEHOLDERS.contains(&words.as_str())
    })
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
        let whole = [
            "## Requirements summary",
            "## Acceptance criteria",
            "## Steps",
            "## Risks",
            "## Verification",
        ];
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
    fn headings_of_real_plans_are_known() {
        for headings in [
            [
                "## Requirements Summary",
                "## Acceptance Criteria",
                "## Implementation Steps",
                "## Risks and Mitigations",
                "## Verification Steps",
            ],
            [
                "## Overview",
                "## Success Criteria",
                "## Implementation Plan",
                "## Risk Register",
                "## Validation",
            ],
            [
                "## 1. Goal",
                "## 5. Exit criteria",
                "## 2. Task Breakdown",
                "## 3. Risks & mitigations",
                "## 4. Test Plan",
            ],
            [
                "### Context",
                "### Definition of Done",
                "### Implementation order",
                "### Potential pitfalls",
                "### Testing strategy",
            ],
            ["## TL;DR", "## Done when", "## Work breakdown", "## Pre-mortem", "## How to verify"],
            [
                "## 🎯 Objective",
                "## ✅ Acceptance Criteria (AC)",
                "## 🛠 Changes",
                "## ⚠️ Risks",
                "## 🧪 QA",
            ],
            [
                "## Problem statement",
                "## Success metrics",
                "## Roadmap",
                "## Failure modes",
                "## Validation plan",
            ],
            [
                "**Summary**",
                "**Acceptance criteria:**",
                "**Steps**:",
                "**Risks**",
                "**Verification**",
            ],
            ["Summary:", "Acceptance criteria:", "Steps:", "Risks:", "Verification:"],
            [
                "# Summary",
                "# Acceptance criteria",
                "# Phase 1: the form",
                "# Risks",
                "# Verification",
            ],
            ["## 概要", "## 受け入れ基準", "## 実装計画", "## リスクと軽減策", "## 検証方法"],
            ["## 개요", "## 완료 조건", "## 구현 단계", "## 위험 요소", "## 검증"],
            [
                "## BACKGROUND ##",
                "##  ACCEPTANCE  CRITERIA",
                "## EXECUTION STEPS",
                "## RISKS",
                "## VERIFICATION",
            ],
        ] {
            check(&plan(&headings), &[]);
        }
        let underlined = "Summary\n=======\na b\n\nCriteria\n--------\na b\n\nSteps\n-----\na b\n\nRisks\n-----\na b\n\nTests\n-----\na b\n";
        check(underlined, &[]);
        check(
            &plan(&["## Summary & acceptance criteria", "## Steps", "## Risks and verification"]),
            &[],
        );
    }

    #[test]
    fn one_heading_is_not_another() {
        let four = ["## Acceptance criteria", "## Steps", "## Risks", "## Verification"];
        let with = |more: &str| plan(&[&four[..], &[more]].concat());
        for heading in
            ["## Out of scope", "## Non-goals", "## References", "## Notes", "## Not in scope"]
        {
            check(&with(heading), &["`Requirements summary` is missing"]);
        }
        let without_steps = [
            "## Summary",
            "## Acceptance criteria",
            "## Risk mitigation plan",
            "## Verification steps",
        ];
        check(&plan(&without_steps), &["`Steps` is missing"]);
        // Steps that add tests or weigh a risk are not sections.
        let nested = "## Summary\na b\n## Criteria\na b\n## Steps\n### 1. Add tests for the form\na b\n### Step 2: verify it\n\
                      a b\n### Weigh the risk of a rename\na b\n- Verification: x\n";
        check(nested, &["`Risks` is missing", "`Verification` is missing"]);
        let contained = "## Plan\n### Summary\na b\n### Criteria\na b\n### Steps\na b\n### Risks\na b\n### Verification\na b\n";
        check(contained, &[]);
    }

    #[test]
    fn a_section_without_text_is_missing() {
        let with = |risks: &str| {
            format!(
                "## Summary\na b\n\n## Criteria\na b\n\n## Steps\na b\n\n## Risks\n{risks}\n\n## Verification\na b\n"
            )
        };
        check(&with("A restart forgets the counts."), &[]);
        check(&with("| Risk | Mitigation |\n|---|---|\n| a restart | none needed |"), &[]);
        check(&with("### Of the form\n\n- it is slow"), &[]);
        check(&with("```sh\nnpm test\n```"), &[]);
        for nothing in [
            "",
            "TBD",
            "- [ ] ",
            "None.",
            "N/A",
            "...",
            "*none*",
            "<!-- the risks -->",
            "<!--\nthe risks\n-->",
            "| Risk | Mitigation |\n|---|---|",
            "[list the risks]",
            "---",
            "### Of the form",
            "- TODO",
            "> TBD",
            "\u{200b}",
        ] {
            check(&with(nothing), &["line 10: the section `Risks` is empty"]);
        }
    }

    #[test]
    fn what_only_looks_like_a_section_is_none() {
        let text = "## Summary\na b\n## Criteria\na b\n## Steps\na b\n```markdown\n## Risks\na b\n```\n<!--\n## Risks\na b\n-->\n\
                    #Risks\n    ## Risks\n## Verification\n\n```json ralph-plan\n{}\n```\n";
        check(text, &["`Risks` is missing", "the section `Verification` is empty"]);
    }
}
