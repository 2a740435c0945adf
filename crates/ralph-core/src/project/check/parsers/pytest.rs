//! `pytest`: its short summary, and the places from the sections above it.

use super::{ParsedOutput, Printed, failure, whole};
use crate::project::check::finding::{Finding, OF_TEST};
use std::collections::BTreeMap;

/// The exit code if there was no test to run.
const NO_TESTS: i32 = 5;

/// A row of the summary: the test's name within its file, and the finding.
struct SummaryRow {
    test: String,
    finding: Finding,
}

pub(super) fn read(printed: &Printed<'_>) -> ParsedOutput {
    let text = crate::text::sanitize::plain(printed.stdout);
    let rows = summary(&text, printed);
    match printed.code {
        _ if !rows.is_empty() => {
            let sections = sections(&text);
            ParsedOutput::Found(rows.into_iter().map(|row| complete(row, &sections)).collect())
        }
        Some(0 | NO_TESTS) => ParsedOutput::Found(Vec::new()),
        Some(1) => ParsedOutput::Found(vec![whole::last_lines(printed)]),
        _ => ParsedOutput::DidNotRun(why(printed)),
    }
}

/// Why nothing was collected. If a `conftest.py` cannot be loaded, its error is added.
fn why(printed: &Printed<'_>) -> String {
    let stderr = crate::text::sanitize::plain(printed.stderr);
    let error = stderr.lines().find_map(|line| line.strip_prefix("E   "));
    let why = [Some(failure::why(printed)), error.map(str::to_owned)];
    crate::text::truncate::bounded(&why.into_iter().flatten().collect::<Vec<_>>().join(" "), 300)
}

/// The rows below the summary's heading, each with its continuation lines.
fn summary(text: &str, printed: &Printed<'_>) -> Vec<SummaryRow> {
    let mut rows: Vec<SummaryRow> = Vec::new();
    let is_heading = |line: &&str| line.starts_with("==") && line.contains(" short test summary ");
    for line in text.lines().skip_while(|line| !is_heading(line)).skip(1) {
        if is_end(line) || rows.len() == super::MOST {
            break;
        }
        // A failure outside the tests themselves (collection, setup, teardown) is an error.
        let kinds = [("FAILED ", OF_TEST), ("ERROR ", "error")];
        let row = kinds.iter().find_map(|(word, rule)| Some((line.strip_prefix(word)?, *rule)));
        match (row, rows.last_mut()) {
            (Some((row, rule)), _) => rows.push(of_row(row, rule, printed)),
            (None, Some(last)) if last.finding.message.len() < super::LONGEST * 4 => {
                last.finding.message.push('\n');
                last.finding.message.push_str(line.trim_end());
            }
            (None, _) => {}
        }
    }
    rows
}

/// True for `===== 2 failed in 0.1s =====` (with `-q` without the frame) and
/// `!!!!! Interrupted: …`.
fn is_end(line: &str) -> bool {
    let is_count = line.starts_with(|first: char| first.is_ascii_digit())
        && line.contains(" in ")
        && [" failed", " passed", " error"].iter().any(|word| line.contains(word));
    is_count || line.starts_with("==") || line.starts_with("!!")
}

/// `test_a.py::test_wrong - AssertionError: …`; the message starts with the test's name.
fn of_row(row: &str, rule: &str, printed: &Printed<'_>) -> SummaryRow {
    // A parameter in brackets may contain anything.
    let name_ends = match (row.find('['), row.find(" - ")) {
        (Some(opening), Some(dash)) if opening < dash => row.find("] - ").map(|at| at + 1),
        (_, dash) => dash,
    };
    let (name, said) = match name_ends {
        Some(at) => (&row[..at], &row[at + " - ".len()..]),
        None => (row, ""),
    };
    let (file, test) = name.split_once("::").unwrap_or((name, ""));
    let message = [test, said].into_iter().filter(|part| !part.is_empty());
    let message = message.collect::<Vec<_>>().join(": ");
    let finding = Finding { file: file.to_owned(), ..printed.finding(rule, message) };
    SummaryRow { test: test.to_owned(), finding }
}

/// A section above the summary.
#[derive(Debug, Default)]
struct FailureSection<'a> {
    /// The lines `test_a.py:7: AssertionError`.
    places: Vec<(&'a str, u32)>,
    /// The lines that begin with `E`.
    errors: Vec<&'a str>,
}

/// The sections by heading, `____ Class.test[param] ____`.
fn sections(text: &str) -> BTreeMap<&str, FailureSection<'_>> {
    const LINES: usize = 10;
    let mut sections: BTreeMap<&str, FailureSection<'_>> = BTreeMap::new();
    let mut heading = "";
    for line in text.lines() {
        if line.starts_with("__") && line.ends_with("__") {
            heading = line.trim_matches(['_', ' ']);
        } else if line.starts_with("==") {
            heading = "";
        } else if !heading.is_empty() {
            let section = sections.entry(heading).or_default();
            if let Some(error) = line.strip_prefix("E   ") {
                section.errors.extend((section.errors.len() < LINES).then_some(error));
            } else if let Some(place) = place(line) {
                section.places.push(place);
            }
        }
    }
    sections
}

fn place(line: &str) -> Option<(&str, u32)> {
    let mut parts = line.splitn(3, ':');
    let file = parts.next().filter(|file| !file.is_empty() && !file.starts_with(' '))?;
    Some((file, parts.next()?.parse().ok()?)).filter(|_| parts.next().is_some())
}

/// Adds the line, and the message if the summary has none.
fn complete(row: SummaryRow, sections: &BTreeMap<&str, FailureSection<'_>>) -> Finding {
    let section = headings(&row).iter().find_map(|heading| sections.get(heading.as_str()));
    let mut finding = row.finding;
    let Some(section) = section else { return finding };
    let own = section.places.iter().rev().find(|(file, _)| *file == finding.file);
    finding.line = own.map(|(_, line)| *line);
    if finding.message.is_empty() || finding.message == row.test {
        let test = Some(row.test).filter(|test| !test.is_empty());
        let errors = Some(section.errors.join("\n")).filter(|errors| !errors.is_empty());
        finding.message = test.into_iter().chain(errors).collect::<Vec<_>>().join(": ");
    }
    finding
}

/// The possible headings of this row's section.
fn headings(row: &SummaryRow) -> Vec<String> {
    let (name, parameters) = row.test.split_at(row.test.find('[').unwrap_or(row.test.len()));
    let name = format!("{}{parameters}", name.replace("::", "."));
    match (row.finding.rule.as_str(), name.is_empty()) {
        (OF_TEST, _) => vec![name],
        (_, true) => vec![format!("ERROR collecting {}", row.finding.file)],
        (_, false) => ["setup", "teardown"].map(|at| format!("ERROR at {at} of {name}")).into(),
    }
}
