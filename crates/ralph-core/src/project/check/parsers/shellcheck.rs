//! `shellcheck --format json1`.
//!
//! For a file that it cannot open, ShellCheck also prints a valid empty report, and exits with 2.

use super::json::{items, position, text};
use super::{ParsedOutput, Printed, failure, found, json};
use crate::project::check::finding::Finding;
use serde_json::Value;

pub(super) fn read(printed: &Printed<'_>) -> ParsedOutput {
    let is_report = |value: &Value| value["comments"].is_array();
    match json::document(printed.stdout, is_report) {
        Some(report) => {
            let comments = items(&report, "comments").iter();
            found(comments.map(|comment| finding(comment, printed)).collect(), printed)
        }
        None => ParsedOutput::DidNotRun(failure::why(printed)),
    }
}

fn finding(comment: &Value, printed: &Printed<'_>) -> Finding {
    Finding {
        file: text(comment, "file").to_owned(),
        line: position(comment, "line"),
        column: position(comment, "column"),
        is_error: comment["level"] == "error",
        ..printed.finding(&format!("SC{}", comment["code"]), text(comment, "message"))
    }
}
