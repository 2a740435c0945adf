//! `cargo … --message-format json`: one document per line.
//!
//! The compiler's messages are on standard output; if cargo did not reach the compiler, the reason
//! is on standard error.

use super::json::{items, position, text};
use super::{ParsedOutput, Printed, failure};
use crate::project::check::finding::Finding;
use serde_json::Value;

pub(super) fn read(printed: &Printed<'_>) -> ParsedOutput {
    let rows = printed.stdout.lines().filter(|line| line.starts_with('{'));
    let rows = rows.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let findings = rows.filter_map(|row| finding(&row, printed));
    let findings: Vec<Finding> = findings.take(super::MOST).collect();
    // Warnings do not fail a build: if there is no error, something else failed.
    match printed.code == Some(0) || findings.iter().any(|finding| finding.is_error) {
        true => ParsedOutput::Found(findings),
        false => ParsedOutput::DidNotRun(failure::why(printed)),
    }
}

fn finding(row: &Value, printed: &Printed<'_>) -> Option<Finding> {
    if row["reason"] != "compiler-message" {
        return None;
    }
    let message = &row["message"];
    let is_error = match text(message, "level") {
        "error" | "error: internal compiler error" => true,
        "warning" => false,
        _ => return None,
    };
    let span = items(message, "spans").iter().find(|span| span["is_primary"] == true);
    let rule = text(&message["code"], "code");
    if span.is_none() && rule.is_empty() && is_count(text(message, "message")) {
        return None;
    }
    let place = span.map(written_here);
    Some(Finding {
        file: place.map(|place| absolute(text(place, "file_name"), row)).unwrap_or_default(),
        line: place.and_then(|place| position(place, "line_start")),
        column: place.and_then(|place| position(place, "column_start")),
        is_error,
        ..printed.finding(rule, full_message(message, span))
    })
}

/// True for `aborting due to 2 previous errors` and `3 warnings emitted`, which only count other
/// messages.
fn is_count(message: &str) -> bool {
    message.starts_with("aborting due to") || message.ends_with(" emitted")
}

/// For code from a macro, the place where the macro is called.
fn written_here(span: &Value) -> &Value {
    let mut span = span;
    // As deep as the compiler lets macros nest.
    for _ in 0..128 {
        match &span["expansion"]["span"] {
            Value::Null => break,
            caller => span = caller,
        }
    }
    span
}

/// The message, the label at its place, and its notes.
fn full_message(message: &Value, span: Option<&Value>) -> String {
    let mut full = text(message, "message").to_owned();
    let label = span.map(|span| text(span, "label")).filter(|label| !label.is_empty());
    if let Some(label) = label {
        full.push('\n');
        full.push_str(label);
    }
    for child in items(message, "children") {
        let said = text(child, "message");
        // The rule already names the lint.
        if !said.is_empty() && !said.starts_with("`#[") && full.len() < super::LONGEST {
            full.push_str(&format!("\n{}: {said}", text(child, "level")));
        }
    }
    full
}

/// The compiler names files relative to the workspace root, which no row contains. The root is the
/// folder above the package for which these names are right.
fn absolute(file: &str, row: &Value) -> String {
    if file.is_empty() || file.starts_with(['/', '<']) {
        return file.to_owned();
    }
    let source = text(&row["target"], "src_path");
    if let Some(root) = source.strip_suffix(file).filter(|root| root.ends_with('/')) {
        return format!("{root}{file}");
    }
    let Some((package, _)) = text(row, "manifest_path").rsplit_once('/') else {
        return file.to_owned();
    };
    let inside = |at: &usize| {
        file.strip_prefix(&package[*at + 1..]).is_some_and(|rest| rest.starts_with('/'))
    };
    let root = package.match_indices('/').map(|(at, _)| at).find(inside).unwrap_or(package.len());
    format!("{}/{file}", &package[..root])
}
