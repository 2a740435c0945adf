//! The text for the model after an edit: the most useful findings first, and nothing if all is
//! well.
//!
//! Checks that did not finish or did not run are always named, because the model would take silence
//! for "fine".

use super::finding::Finding;
use crate::text::sanitize;
use crate::text::truncate::bounded;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The client passes on this many UTF-16 units of a hook's text and drops the rest (protocol,
/// section 4).
const LONGEST: usize = 10_000;

/// Space for the lines below the findings, in UTF-16 units.
const FOR_THE_REST: usize = 2_000;

/// How many findings are shown with their text.
const MOST: usize = 40;

/// Length limit for the text of one finding.
const PER_FINDING: usize = 500;

/// The results of the checks of one tool call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckReport {
    /// The edited files, as the model knows them.
    pub files: Vec<String>,
    /// Findings from this work that the model has not been told.
    pub new: Vec<Finding>,
    /// How many findings are older than the work.
    pub old: usize,
    /// How many findings are in other files, whose earlier state is unknown.
    pub elsewhere: usize,
    /// How many findings the model was told before and that are still there.
    pub told_before: usize,
    /// Files that a fixer changed, with the fixer's name.
    pub fixed: Vec<(String, String)>,
    /// Checks that started and did not finish, with what happened.
    pub unfinished: Vec<(String, String)>,
    /// Checks that did not run, with the reason.
    pub not_run: Vec<(String, String)>,
    /// Checks that are too slow for an edit and run when the turn ends.
    pub later: Vec<(String, String)>,
    /// Checks that run beside the work. The model is told of them only with something else: what
    /// they find follows.
    pub beside: Vec<String>,
    /// Path of the file with all findings.
    pub full: String,
}

/// The text for the model; `None` if there is nothing to report.
pub fn text(report: &CheckReport) -> Option<String> {
    let rest = the_rest(report);
    if report.new.is_empty() && rest.is_empty() {
        return None;
    }
    let rest = bounded(&rest, FOR_THE_REST);
    let mut text = head(report);
    let room = LONGEST - units(&rest) - 200;
    let mut findings: Vec<&Finding> = report.new.iter().collect();
    findings
        .sort_by_key(|one| (!one.is_error, !report.files.contains(&one.file), &one.file, one.line));
    let mut n_told = 0;
    for finding in findings.iter().take(MOST) {
        let line = finding_text(finding, PER_FINDING);
        if units(&text) + units(&line) + 1 > room {
            break;
        }
        text.push('\n');
        text.push_str(&line);
        n_told += 1;
    }
    if n_told < findings.len() {
        let left = findings.len() - n_told;
        let _ =
            write!(text, "\n… and {left} more, all of them in {}", sanitize::visible(&report.full));
    }
    text.push_str(&rest);
    Some(bounded(&text, LONGEST))
}

fn head(report: &CheckReport) -> String {
    let files = match report.files.as_slice() {
        [] => "the edit".to_owned(),
        [one] => one.clone(),
        [one, others @ ..] => format!("{one} and {} more", count(others.len(), "file")),
    };
    let files = sanitize::visible(&files);
    let errors = report.new.iter().filter(|one| one.is_error).count();
    match (errors, report.new.len() - errors) {
        (0, 0) => format!("Ralph checked {files}."),
        (0, warnings) => format!("Ralph checked {files}: {}.", count(warnings, "new warning")),
        (errors, 0) => format!("Ralph checked {files}: {}.", count(errors, "new error")),
        (errors, warnings) => format!(
            "Ralph checked {files}: {} and {}.",
            count(errors, "new error"),
            count(warnings, "new warning")
        ),
    }
}

/// One finding with its complete text, for a file that a person or the model reads.
pub fn in_full(finding: &Finding) -> String {
    finding_text(finding, usize::MAX)
}

/// `src/a.ts:3:5 error TS2322 (tsc): Type 'string' …`
fn finding_text(finding: &Finding, most: usize) -> String {
    let mut place = finding.file.clone();
    for number in [finding.line, finding.column].into_iter().flatten() {
        let _ = write!(place, ":{number}");
    }
    let kind = if finding.is_error { "error" } else { "warning" };
    let rule = if finding.rule.is_empty() { String::new() } else { format!(" {}", finding.rule) };
    let words = finding.message.trim();
    let words = bounded(words, most).replace('\n', "\n    ");
    let space = if place.is_empty() { "" } else { " " };
    sanitize::visible(&format!("{place}{space}{kind}{rule} ({}): {words}", finding.check))
        .into_owned()
}

/// The lines below the findings; empty if there are none.
fn the_rest(report: &CheckReport) -> String {
    let mut lines = Vec::new();
    for (file, fixers) in by_name(&report.fixed) {
        let fixers = fixers.join(", ");
        lines.push(format!("{file} was changed by {fixers}: read it again before you edit it."));
    }
    if report.told_before > 0 {
        let findings = count(report.told_before, "finding");
        lines.push(format!("{findings} reported before: still there."));
    }
    for (name, what) in &report.unfinished {
        lines.push(format!("{name} did not finish ({what}), so its result is unknown."));
    }
    for (name, why) in &report.not_run {
        lines.push(format!("{name} did not run: {why}"));
    }
    for (name, when) in &report.later {
        lines.push(format!("{name} is too slow for an edit and runs later: {when}"));
    }
    if report.new.is_empty() && lines.is_empty() {
        return String::new();
    }
    if !report.beside.is_empty() {
        let names = report.beside.join(", ");
        lines.push(format!("Not known yet: {names}. You are told later what they find."));
    }
    if report.old > 0 {
        let findings = count(report.old, "old finding");
        lines.push(format!("{findings}, from before this work, not listed."));
    }
    if report.elsewhere > 0 {
        lines.push(format!(
            "{} in other files, not listed: it is not known whether this work brought them.",
            count(report.elsewhere, "finding")
        ));
    }
    lines.iter().map(|line| format!("\n{}", sanitize::visible(line))).collect()
}

/// Groups the second items of the pairs by the first.
fn by_name(pairs: &[(String, String)]) -> BTreeMap<&str, Vec<&str>> {
    let mut names: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (file, fixer) in pairs {
        names.entry(file).or_default().push(fixer);
    }
    names
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(file: &str, line: u32, is_error: bool, message: &str) -> Finding {
        Finding {
            check: "tsc".to_owned(),
            file: file.to_owned(),
            line: Some(line),
            column: Some(5),
            rule: "TS2322".to_owned(),
            message: message.to_owned(),
            is_error,
        }
    }

    fn report(new: Vec<Finding>) -> CheckReport {
        CheckReport {
            files: vec!["src/a.ts".to_owned()],
            new,
            full: "/kept/all.txt".to_owned(),
            ..CheckReport::default()
        }
    }

    fn pair(name: &str, what: &str) -> Vec<(String, String)> {
        vec![(name.to_owned(), what.to_owned())]
    }

    #[track_caller]
    fn check(report: &CheckReport, expected: &str) {
        assert_eq!(text(report).unwrap_or_default(), expected);
    }

    #[test]
    fn all_is_well_is_silence_also_where_there_are_old_findings() {
        check(&report(Vec::new()), "");
        let beside = vec!["tsc".to_owned()];
        check(&CheckReport { old: 300, elsewhere: 2, beside, ..report(Vec::new()) }, "");
    }

    #[test]
    fn errors_come_before_warnings_and_the_edited_file_before_others() {
        let new = vec![
            finding("src/a.ts", 1, false, "w"),
            finding("src/b.ts", 2, true, "other"),
            finding("src/a.ts", 3, true, "own\nand why"),
        ];
        check(
            &CheckReport { old: 1, ..report(new) },
            "Ralph checked src/a.ts: 2 new errors and 1 new warning.\n\
             src/a.ts:3:5 error TS2322 (tsc): own\n    and why\n\
             src/b.ts:2:5 error TS2322 (tsc): other\n\
             src/a.ts:1:5 warning TS2322 (tsc): w\n\
             1 old finding, from before this work, not listed.",
        );
    }

    #[test]
    fn what_was_fixed_and_what_did_not_run_is_said() {
        let fixed = [pair("src/a.ts", "eslint"), pair("src/a.ts", "prettier")].concat();
        let said = CheckReport {
            fixed,
            unfinished: pair("vitest", "ended at the deadline of 12 s"),
            not_run: pair("ruff", "not installed"),
            later: pair("tsc", "at the end of the turn"),
            told_before: 2,
            elsewhere: 3,
            beside: vec!["mypy".to_owned(), "pytest".to_owned()],
            ..report(Vec::new())
        };
        check(
            &said,
            "Ralph checked src/a.ts.\nsrc/a.ts was changed by eslint, prettier: read it again \
             before you edit it.\n2 findings reported before: still there.\nvitest did not finish \
             (ended at the deadline of 12 s), so its result is unknown.\nruff did \
             not run: not installed\ntsc is too slow for an edit and runs later: at the end of the \
             turn\nNot known yet: mypy, pytest. You are told later what they find.\n3 findings in other files, not listed: it is not known whether this work \
             brought them.",
        );
    }

    #[test]
    fn a_finding_without_a_place_or_a_rule_is_one_sentence() {
        let bare = Finding {
            file: String::new(),
            line: None,
            column: None,
            rule: String::new(),
            ..finding("", 1, false, "no input")
        };
        check(
            &CheckReport { files: vec!["a".to_owned(), "b".to_owned()], ..report(vec![bare]) },
            "Ralph checked a and 1 file more: 1 new warning.\nwarning (tsc): no input",
        );
    }

    #[test]
    fn a_flood_is_cut_by_number_and_by_length_and_the_rest_is_named() {
        let many = |n: u32, letter: &str| -> Vec<Finding> {
            (0..n).map(|line| finding("src/a.ts", line, true, &letter.repeat(900))).collect()
        };
        let told = text(&report(many(300, "x"))).unwrap();
        assert!(units(&told) <= LONGEST);
        let lines = told.lines().count();
        assert!((15..25).contains(&lines), "{lines}");
        let last = told.lines().last().unwrap();
        assert_eq!(last, format!("… and {} more, all of them in /kept/all.txt", 300 - (lines - 2)));
        let not_run = pair("ruff", &"y".repeat(1_900));
        let told = text(&CheckReport { not_run, ..report(many(300, "x")) }).unwrap();
        assert!(units(&told) <= LONGEST && told.contains("yyy"), "{told}");
        let short = text(&report(many(41, ""))).unwrap();
        assert!(short.ends_with("… and 1 more, all of them in /kept/all.txt"), "{short}");
        let wide = text(&report(many(300, "😀"))).unwrap();
        assert!(units(&wide) <= LONGEST && wide.contains("more, all of them"), "{wide}");
    }

    #[test]
    fn what_acts_on_a_terminal_is_written_out() {
        let said = text(&report(vec![finding("a\u{1b}[2J", 1, true, "b\u{7}")])).unwrap();
        assert!(said.contains("a\\u{1b}[2J:1:5") && said.ends_with("b\\u{7}"), "{said}");
    }

    #[test]
    fn a_finding_in_full_has_its_place_its_rule_and_all_lines() {
        let finding = Finding {
            check: "tsc".to_owned(),
            file: "a.ts".to_owned(),
            line: Some(3),
            column: Some(5),
            rule: "TS2322".to_owned(),
            message: format!(" {}\nmore\n", "x".repeat(5_000)),
            is_error: true,
        };
        let expected = format!("a.ts:3:5 error TS2322 (tsc): {}\n    more", "x".repeat(5_000));
        assert_eq!(in_full(&finding), expected);
        let bare = Finding {
            file: String::new(),
            line: None,
            column: None,
            rule: String::new(),
            message: "odd".to_owned(),
            is_error: false,
            ..finding
        };
        assert_eq!(in_full(&bare), "warning (tsc): odd");
    }

    #[test]
    fn the_last_finding_may_fill_the_room_exactly() {
        let all = |last: usize| {
            let line = |n: u32| finding("src/a.ts", n, true, &"x".repeat(455));
            let mut all: Vec<Finding> = (10..29).map(line).collect();
            all.push(finding("src/a.ts", 29, true, &"x".repeat(last)));
            text(&report(all)).unwrap()
        };
        let room = LONGEST - 200;
        let last = room - units(&all(0));
        assert_eq!((units(&all(last)), all(last).contains(" more, ")), (room, false));
        assert!(all(last + 1).ends_with("… and 1 more, all of them in /kept/all.txt"));
    }
}
