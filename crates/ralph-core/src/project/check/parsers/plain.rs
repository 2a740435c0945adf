//! Lines that name a place: `file:line:column: message`, and its kin.
//!
//! The fallback for every tool without a form of its own. A run that failed and named no place is
//! one finding with the last lines of what was printed.

mod line;
mod place;

use super::{ParsedOutput, Printed, failure, whole};
use crate::project::check::finding::Finding;
use line::OutputLine;

/// How a tool says that it could not fetch what the code needs: then no place is to blame.
const NOT_FETCHED: [&str; 2] = ["goproxy=off", "you're using offline mode"];

pub(super) fn read(printed: &Printed<'_>) -> ParsedOutput {
    let is_good = printed.code == Some(0);
    let not_fetched = || failure::line_with(printed, &NOT_FETCHED);
    if let Some(line) = (!is_good).then(not_fetched).flatten() {
        return ParsedOutput::DidNotRun(format!("wants the network: {line}"));
    }
    let mut findings = findings(printed);
    if is_good {
        // Whatever looks like a place there: only what is called a problem is one.
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

/// What the lines say, each with whether it is called an error or a warning.
fn findings(printed: &Printed<'_>) -> Vec<(Finding, bool)> {
    let text = printed.text();
    let mut findings: Vec<(Finding, bool)> = Vec::new();
    // A place whose message comes later, as python, node and others print it.
    let mut open: Option<place::LineLocation<'_>> = None;
    for line in text.lines() {
        match line::read(line, printed.file) {
            _ if findings.len() == super::MOST => break,
            OutputLine::Finding(found) => {
                open = None;
                let found = (found.finding(printed), found.is_error.is_some());
                // php says it on both streams where it shows errors and logs them.
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
