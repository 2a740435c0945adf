//! `pyright --outputjson`.
//!
//! Its positions count from 0.

use super::json::{items, text};
use super::{ParsedOutput, Printed, failure, found, json};
use crate::project::check::finding::Finding;
use serde_json::Value;

pub(super) fn read(printed: &Printed<'_>) -> ParsedOutput {
    let is_report = |value: &Value| value["generalDiagnostics"].is_array();
    let Some(report) = json::document(printed.stdout, is_report) else {
        return ParsedOutput::DidNotRun(failure::why(printed));
    };
    let rows = items(&report, "generalDiagnostics");
    if rows.is_empty() && report["summary"]["filesAnalyzed"] == 0 {
        return ParsedOutput::DidNotRun("its configuration leaves the file out".to_owned());
    }
    found(rows.iter().map(|row| finding(row, printed)).collect(), printed)
}

fn finding(row: &Value, printed: &Printed<'_>) -> Finding {
    let start = &row["range"]["start"];
    Finding {
        file: text(row, "file").to_owned(),
        line: from_0(&start["line"]),
        column: from_0(&start["character"]),
        is_error: row["severity"] == "error",
        ..printed.finding(text(row, "rule"), text(row, "message"))
    }
}

fn from_0(number: &Value) -> Option<u32> {
    number.as_u64().and_then(|number| u32::try_from(number).ok()?.checked_add(1))
}
