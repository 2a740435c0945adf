//! Formats of lines that need more than their own line: those of tsc, deno and pytest.

use super::json::path_of;
use super::{ParsedOutput, Printed, failure, found, whole};
use crate::project::check::finding::{Finding, OF_TEST};
use std::collections::BTreeMap;

// `tsc --pretty false`, and its coloured output if a project insists on colours.
//
// The forms are `a.ts(2,31): error TS2322: message` and `a.ts:2:31 - error TS2322: message`.
// Further lines of a message follow directly and are indented.

/// tsc's errors if there is no project. A project without files (TS18003) is a finding.
const NO_PROJECT: [&str; 3] = ["TS5057", "TS5058", "TS5081"];

/// tsc's error for a referenced project without build output: no edit in this project causes it,
/// and the content of the other one is not checked.
const NOT_BUILT: &str = "TS6305";

/// No path is longer, so the rest of a line is not searched for a place.
const LONGEST_HEAD: usize = 1_024;

pub(super) fn tsc(printed: &Printed<'_>) -> ParsedOutput {
    let text = crate::text::sanitize::plain(printed.stdout);
    let mut findings: Vec<Finding> = Vec::new();
    let mut not_built: Option<String> = None;
    let mut goes_on = false;
    for line in text.lines() {
        if let Some(finding) = first_line(line, printed) {
            if findings.len() == super::MOST {
                break;
            }
            goes_on = finding.rule != NOT_BUILT;
            match goes_on {
                true => findings.push(finding),
                false => drop(not_built.get_or_insert(finding.message)),
            }
        } else if let Some(last) = findings.last_mut().filter(|_| goes_on && is_indented(line)) {
            // Longer messages are truncated later anyway.
            if last.message.len() < super::LONGEST * 4 {
                last.message.push('\n');
                last.message.push_str(line.trim_end());
            }
        } else {
            goes_on = false;
        }
    }
    match (findings.as_slice(), not_built) {
        ([only], _) if NO_PROJECT.contains(&only.rule.as_str()) => {
            ParsedOutput::DidNotRun(format!("{}: {}", only.rule, only.message))
        }
        ([], Some(line)) => {
            ParsedOutput::DidNotRun(format!("run `tsc --build` first: {NOT_BUILT}: {line}"))
        }
        _ => found(findings, printed),
    }
}

fn is_indented(line: &str) -> bool {
    line.starts_with("  ") && !line.trim().is_empty()
}

fn first_line(line: &str, printed: &Printed<'_>) -> Option<Finding> {
    const WORD: &str = "error TS";
    let head = line.get(..LONGEST_HEAD).unwrap_or(line);
    let at = head.find(WORD)?;
    let (number, message) = line[at + WORD.len()..].split_once(": ")?;
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let place = if at == 0 { None } else { Some(place_before(&line[..at])?) };
    let (file, line, column) = place.unwrap_or_default();
    let base = printed.finding(&format!("TS{number}"), message);
    Some(Finding { file: file.to_owned(), line: Some(line), column: Some(column), ..base })
}

/// The place before the message: `a.ts(2,31): ` or `a.ts:2:31 - `.
fn place_before(before: &str) -> Option<(&str, u32, u32)> {
    if let Some(before) = before.strip_suffix("): ") {
        let (file, numbers) = before.rsplit_once('(')?;
        let (line, column) = numbers.split_once(',')?;
        return Some((file, line.parse().ok()?, column.parse().ok()?));
    }
    let (before, column) = before.strip_suffix(" - ")?.rsplit_once(':')?;
    let (file, line) = before.rsplit_once(':')?;
    Some((file, line.parse().ok()?, column.parse().ok()?))
}

// `deno check`, `deno lint --compact` and `deno fmt`, all of which write to standard error.
//
// The compiler prints the place below its message. Lines that are indented further below it
// concern another, related place.

/// Follows the number of a compiler message.
const ERROR: &str = " [ERROR]: ";

/// Prefixes of the two commands that continue after an error and name the file first.
const ERRORS_IN: [&str; 2] = ["Error linting: ", "Error formatting: "];

/// Messages about code that Deno could not fetch, for which no place is to blame.
const NOT_FETCHED: [&str; 2] = ["failed to load", "failed loading"];

/// Limit on the lines of a message and the code below it.
const MOST_LINES: usize = 40;

pub(super) fn deno(printed: &Printed<'_>) -> ParsedOutput {
    let text = printed.text();
    let mut findings: Vec<Finding> = Vec::new();
    let mut open: Option<OutputBlock<'_>> = None;
    for line in text.lines() {
        if findings.len() >= super::MOST {
            break;
        }
        let at = line.strip_prefix("    at ").and_then(place_below);
        let (lint, next) = (deno_lint(line, printed), OutputBlock::begins(line));
        if at.is_some() || lint.is_some() || next.is_some() || line.is_empty() {
            findings.extend(open.take().and_then(|block| block.finding(at, printed)));
            findings.extend(lint);
            open = next;
        } else if let Some(block) = open.as_mut().filter(|block| block.lines.len() < MOST_LINES) {
            block.lines.push(line);
        }
    }
    findings.extend(open.and_then(|block| block.finding(None, printed)));
    found(findings, printed)
}

/// `file:///project/a.ts: line 1, col 7 - message (rule)`.
fn deno_lint(line: &str, printed: &Printed<'_>) -> Option<Finding> {
    let (file, rest) = line.split_once(": line ")?;
    let (line, rest) = rest.split_once(", col ")?;
    let (column, rest) = rest.split_once(" - ")?;
    let (message, rule) = rest.strip_suffix(')')?.rsplit_once(" (")?;
    let base = printed.finding(rule, message);
    let (line, column) = (number(line), number(column));
    file.starts_with("file://").then(|| Finding { file: path_of(file), line, column, ..base })
}

/// The lines from a heading to the place.
struct OutputBlock<'a> {
    kind: BlockKind<'a>,
    lines: Vec<&'a str>,
}

/// The heading of a block.
enum BlockKind<'a> {
    /// `TS2322 [ERROR]: message`.
    Type { rule: &'a str },
    /// `Error linting: /project/a.ts`; the message is on the next line.
    In { file: &'a str },
    /// `error: message`; it concerns the code only if a place follows.
    Other,
}

impl<'a> OutputBlock<'a> {
    fn begins(line: &'a str) -> Option<OutputBlock<'a>> {
        let of = |kind, message| Some(OutputBlock { kind, lines: Vec::from_iter(message) });
        if let Some((rule, message)) = line.split_once(ERROR) {
            let digits = rule.strip_prefix("TS").filter(|digits| !digits.is_empty())?;
            let is_rule = digits.bytes().all(|digit| digit.is_ascii_digit());
            return is_rule.then(|| of(BlockKind::Type { rule }, Some(message))).flatten();
        }
        if let Some(file) = ERRORS_IN.iter().find_map(|word| line.strip_prefix(word)) {
            return of(BlockKind::In { file }, None);
        }
        of(BlockKind::Other, Some(line.strip_prefix("error: ")?))
    }

    fn finding(self, at: Option<SourceLocation>, printed: &Printed<'_>) -> Option<Finding> {
        let (rule, named) = match self.kind {
            BlockKind::Type { rule } => (rule, String::new()),
            BlockKind::In { file } => ("", file.to_owned()),
            BlockKind::Other if at.is_none() || was_not_fetched(&self.lines) => return None,
            BlockKind::Other => ("", String::new()),
        };
        let (file, line, column) = at.unwrap_or((named, None, None));
        Some(Finding { file, line, column, ..printed.finding(rule, deno_message(&self.lines)) })
    }
}

fn was_not_fetched(lines: &[&str]) -> bool {
    let lower = lines.join("\n").to_ascii_lowercase();
    failure::is_about_network(&lower) || NOT_FETCHED.iter().any(|word| lower.contains(word))
}

/// The message without the line of code at its end and the marks below that: the place is enough,
/// and they change with every edit nearby.
fn deno_message(lines: &[&str]) -> String {
    let is_mark = |line: &str| {
        let marks = line.trim_start_matches(['|', ' ']);
        !marks.is_empty() && marks.bytes().all(|one| matches!(one, b'~' | b'^'))
    };
    let is_frame = |line: &&str| line.trim() == "|";
    let end = match lines {
        [before @ .., _, marks] if is_mark(marks) => before.len(),
        _ => lines.len(),
    };
    let kept: Vec<&str> = lines[..end].iter().copied().filter(|line| !is_frame(line)).collect();
    kept.join("\n")
}

/// A file, a line and a column.
type SourceLocation = (String, Option<u32>, Option<u32>);

/// `file:///project/a.ts:1:7`.
fn place_below(text: &str) -> Option<SourceLocation> {
    let (before, column) = text.rsplit_once(':')?;
    let (file, line) = before.rsplit_once(':')?;
    Some((path_of(file), Some(number(line)?), Some(number(column)?)))
}

fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number| *number > 0)
}

// `pytest`: its short summary, and the places from the sections above it.

/// The exit code if there was no test to run.
const NO_TESTS: i32 = 5;

/// A row of the summary: the test's name within its file, and the finding.
struct SummaryRow {
    test: String,
    finding: Finding,
}

pub(super) fn pytest(printed: &Printed<'_>) -> ParsedOutput {
    let text = crate::text::sanitize::plain(printed.stdout);
    let rows = summary(&text, printed);
    match printed.code {
        _ if !rows.is_empty() => {
            let sections = sections(&text);
            ParsedOutput::Found(rows.into_iter().map(|row| complete(row, &sections)).collect())
        }
        Some(0 | NO_TESTS) => ParsedOutput::Found(Vec::new()),
        Some(1) => ParsedOutput::Found(vec![whole::last_lines(printed)]),
        _ => ParsedOutput::DidNotRun(why_pytest_failed(printed)),
    }
}

/// Why nothing was collected. If a `conftest.py` cannot be loaded, its error is added.
fn why_pytest_failed(printed: &Printed<'_>) -> String {
    let stderr = crate::text::sanitize::plain(printed.stderr);
    let error = stderr.lines().find_map(|line| line.strip_prefix("E   "));
    let why = [Some(failure::why(printed)), error.map(str::to_owned)];
    why.into_iter().flatten().collect::<Vec<_>>().join(" ")
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
            } else if let Some(place) = place_in_section(line) {
                section.places.push(place);
            }
        }
    }
    sections
}

fn place_in_section(line: &str) -> Option<(&str, u32)> {
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
