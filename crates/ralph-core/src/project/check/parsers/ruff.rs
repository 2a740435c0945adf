//! `ruff check --output-format json`.

use super::json::{position, text};
use super::{ParsedOutput, Printed, failure, found, json};
use crate::project::check::finding::Finding;
use serde_json::Value;

pub(super) fn read(printed: &Printed<'_>) -> ParsedOutput {
    let Some(report) = json::document(printed.stdout, is_report) else {
        return ParsedOutput::DidNotRun(failure::why(printed));
    };
    let rows = report.as_array().map(Vec::as_slice).unwrap_or_default();
    found(rows.iter().map(|row| finding(row, printed)).collect(), printed)
}

fn is_report(value: &Value) -> bool {
    value.as_array().is_some_and(|rows| rows.iter().all(|row| row["filename"].is_string()))
}

fn finding(row: &Value, printed: &Printed<'_>) -> Finding {
    // Before 0.12, a syntax error had no code.
    let rule = row["code"].as_str().unwrap_or("invalid-syntax");
    Finding {
        file: text(row, "filename").to_owned(),
        line: position(&row["location"], "row"),
        column: position(&row["location"], "column"),
        // Older versions have no severities; they print errors only.
        is_error: !matches!(text(row, "severity"), "warning" | "info"),
        ..printed.finding(rule, text(row, "message"))
    }
}
