//! `eslint --format json`.
//!
//! Without a configuration, or with a broken one, ESLint prints no JSON and exits with 2.

use super::json::{items, position, text};
use super::{ParsedOutput, Printed, failure, found, json};
use crate::project::check::finding::Finding;
use serde_json::Value;

pub(super) fn read(printed: &Printed<'_>) -> ParsedOutput {
    let Some(report) = json::document(printed.stdout, is_report) else {
        return ParsedOutput::DidNotRun(failure::why(printed));
    };
    let files = report.as_array().map(Vec::as_slice).unwrap_or_default();
    let is_ignored = files.iter().flat_map(|file| items(file, "messages")).any(is_about_ignoring);
    let findings: Vec<Finding> = files.iter().flat_map(|file| of_file(file, printed)).collect();
    // With `--max-warnings 0` the notice itself fails the run, but the file was still not checked.
    match findings.is_empty() && is_ignored {
        true => ParsedOutput::Found(findings),
        false => found(findings, printed),
    }
}

fn is_report(value: &Value) -> bool {
    value.as_array().is_some_and(|files| files.iter().all(|file| file["messages"].is_array()))
}

fn of_file<'a>(file: &'a Value, printed: &'a Printed<'_>) -> impl Iterator<Item = Finding> + 'a {
    let messages = items(file, "messages").iter().filter(|message| !is_about_ignoring(message));
    messages.map(move |message| Finding {
        file: text(file, "filePath").to_owned(),
        line: position(message, "line"),
        column: position(message, "column"),
        is_error: message["severity"] == 2,
        ..printed.finding(rule(message), text(message, "message"))
    })
}

fn rule(message: &Value) -> &str {
    match message["fatal"] == true && message["ruleId"].is_null() {
        true => "parse",
        false => text(message, "ruleId"),
    }
}

/// True for the notice that the configuration excludes the file.
fn is_about_ignoring(message: &Value) -> bool {
    message["ruleId"].is_null() && text(message, "message").starts_with("File ignored")
}
