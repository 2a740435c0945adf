//! Lines with a place, such as `file:line:column: message`.
//!
//! This is the fallback for every tool without a format of its own. A failed run that names no
//! place is one finding with the last lines of the output.

mod line;
mod place;

use super::{ParsedOutput, Printed, failure, whole};
use crate::project::check::finding::Finding;
use line::OutputLine;

/// Messages about code that could not be fetched, for which no place is to blame.
const NOT_FETCHED: [&str; 2] = ["goproxy=off", "you're using offline mode"];

pub(super) fn read(printed: &Printed<'_>) -> ParsedOutput {
    let is_good = printed.code == Some(0);
    let not_fetched = || failure::line_with(printed, &NOT_FETCHED);
    if let Some(line) = (!is_good).then(not_fetched).flatten() {
        return ParsedOutput::DidNotRun(format!("wants the network: {line}"));
    }
    let mut findings = findings(printed);
    if is_good {
        // After a success, a line with a place counts only if it is labelled as an error or a
        // warning.
        findings.retain(|(_, is_labelled)| *is_labelled);
    }
    match (findings.is_empty() && !is_good, whole::gave_up(printed)) {
        (true, Some(why)) => ParsedOutput::DidNotRun(why),
        (true, None) => ParsedOutput::Found(vec![whole::last_lines(printed)]),
        (false, _) => {
            ParsedOutput::Found(findings.into_iter().map(|(finding, _)| finding).collect())
        }
    }
}

/// The findings in the lines, each with whether it is labelled as an error or a warning.
fn findings(printed: &Printed<'_>) -> Vec<(Finding, bool)> {
    let text = printed.text();
    let mut findings: Vec<(Finding, bool)> = Vec::new();
    // A place whose message follows later, as Python, Node and others print it.
    let mut open: Option<place::LineLocation<'_>> = None;
    for line in text.lines() {
        match line::read(line, printed.file) {
            _ if findings.len() == super::MOST => break,
            OutputLine::Finding(found) => {
                open = None;
                let found = (found.finding(printed), found.is_error.is_some());
                // PHP prints an error on both streams if it displays and logs errors.
                if findings.last() != Some(&found) {
                    findings.push(found);
                }
            }
            OutputLine::Note(note) => {
                if let Some((last, _)) = findings.last_mut() {
                    add(&mut last.message, note);
                }
            }
            OutputLine::Opens(place) => open = Some(place),
            OutputLine::Names(message) => {
                if let Some(place) = open.take() {
                    let base = printed.finding("", message);
                    let (line, column) = (Some(place.line), place.column);
                    findings.push((
                        Finding { file: place.file.to_owned(), line, column, ..base },
                        true,
                    ));
                }
            }
            OutputLine::Other => {}
        }
    }
    findings
}

fn add(message: &mut String, note: &str) {
    if message.len() < super::LONGEST {
        message.push_str("\nnote: ");
        message.push_str(note);
    }
}
