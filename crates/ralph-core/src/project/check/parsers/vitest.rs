//! The report of `vitest --reporter=json` and of `jest --json`.
//!
//! Tests print to the same standard output, with or without a final newline.

use super::json::{items, text};
use super::{ParsedOutput, Printed, failure, json, whole};
use crate::project::check::finding::{Finding, OF_TEST};
use serde_json::Value;

/// How the report of both starts.
const BEGINS: &str = "{\"num";

/// The messages of both if there is no test to run.
const NO_TESTS: [&str; 3] = ["no test files found", "no tests found", "no test suite found"];

pub(super) fn read(printed: &Printed<'_>) -> ParsedOutput {
    let Some(report) = report(printed.stdout) else {
        let no_tests = failure::line_with(printed, &NO_TESTS).is_some();
        return match no_tests {
            true => ParsedOutput::Found(Vec::new()),
            false => ParsedOutput::DidNotRun(failure::why(printed)),
        };
    };
    let files = items(&report, "testResults");
    let mut findings: Vec<Finding> = Vec::new();
    for file in files {
        of_file(file, printed, &mut findings);
    }
    // Every test passed but the run failed: an error outside the tests, or a coverage threshold.
    if findings.is_empty() && !files.is_empty() && printed.code != Some(0) {
        let only_stderr = Printed { stdout: "", ..*printed };
        findings.push(whole::last_lines(&only_stderr));
    }
    ParsedOutput::Found(findings)
}

fn report(stdout: &str) -> Option<Value> {
    let is_report = |value: &Value| value["testResults"].is_array();
    let at_line = json::document(stdout, is_report);
    at_line.or_else(|| json::document(&stdout[stdout.rfind(BEGINS)?..], is_report))
}

fn of_file(file: &Value, printed: &Printed<'_>, findings: &mut Vec<Finding>) {
    let name = text(file, "name");
    let failed = items(file, "assertionResults").iter().filter(|one| one["status"] == "failed");
    let before = findings.len();
    findings.extend(failed.map(|test| of_test(test, name, printed)));
    if findings.len() == before && file["status"] == "failed" {
        let message = useful_lines(text(file, "message"));
        let (line, column) = place(text(file, "message"), name).unzip();
        findings.push(Finding {
            file: name.to_owned(),
            line,
            column,
            ..printed.finding("suite", message)
        });
    }
}

fn of_test(test: &Value, file: &str, printed: &Printed<'_>) -> Finding {
    let failure = test["failureMessages"][0].as_str().unwrap_or_default();
    let (line, column) = place(failure, file).unzip();
    // The name ends at the first colon.
    let name = text(test, "fullName").replace(": ", " ");
    let message = format!("{name}: {}", useful_lines(failure));
    Finding { file: file.to_owned(), line, column, ..printed.finding(OF_TEST, message) }
}

/// The message without stack frames, blank lines and Jest's heading.
fn useful_lines(message: &str) -> String {
    const LINES: usize = 20;
    let plain = crate::text::sanitize::plain(message);
    let lines = plain.lines().map(str::trim_end).filter(|line| {
        let said = line.trim_start();
        !said.is_empty() && !said.starts_with("at ") && !said.starts_with("● Test suite failed")
    });
    lines
        .take(LINES)
        .map(|line| crate::text::truncate::bounded(line, 300))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The first frame in the test's own file: `at … (/project/a.test.js:2:36)`.
fn place(message: &str, file: &str) -> Option<(u32, u32)> {
    let frames = message.lines().filter(|line| line.trim_start().starts_with("at "));
    frames.filter(|_| !file.is_empty()).find_map(|frame| {
        let (_, after) = frame.split_once(file)?;
        let mut numbers = after.strip_prefix(':')?.split(|letter: char| !letter.is_ascii_digit());
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    })
}
