//! `tsc --pretty false`, and its coloured output if a project insists on colours.
//!
//! The forms are `a.ts(2,31): error TS2322: message` and `a.ts:2:31 - error TS2322: message`.
//! Further lines of a message follow directly and are indented.

use super::{ParsedOutput, Printed, failure, found};
use crate::project::check::finding::Finding;

/// tsc's errors if there is no project. A project without files (TS18003) is a finding.
const NO_PROJECT: [&str; 3] = ["TS5057", "TS5058", "TS5081"];

/// tsc's error for a referenced project without build output: no edit in this project causes it,
/// and the content of the other one is not checked.
const NOT_BUILT: &str = "TS6305";

/// No path is longer, so the rest of a line is not searched for a place.
const LONGEST_HEAD: usize = 1_024;

pub(super) fn read(printed: &Printed<'_>) -> ParsedOutput {
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
    match findings.as_slice() {
        [only] if NO_PROJECT.contains(&only.rule.as_str()) => {
            let line = format!("{}: {}", only.rule, only.message);
            ParsedOutput::DidNotRun(crate::text::truncate::bounded(&line, 300))
        }
        [] if not_built.is_some() => {
            let line = not_built.unwrap_or_default();
            ParsedOutput::DidNotRun(crate::text::truncate::bounded(
                &format!("run `tsc --build` first: {NOT_BUILT}: {line}"),
                300,
            ))
        }
        [] if printed.code != Some(0) => ParsedOutput::DidNotRun(failure::why(printed)),
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
    let place = if at == 0 { None } else { Some(place(&line[..at])?) };
    let (file, line, column) = place.unwrap_or_default();
    let (line, column) = (Some(line).filter(|line| *line > 0), Some(column).filter(|one| *one > 0));
    let base = printed.finding(&format!("TS{number}"), message);
    Some(Finding { file: file.to_owned(), line, column, ..base })
}

/// The place before the message: `a.ts(2,31): ` or `a.ts:2:31 - `.
fn place(before: &str) -> Option<(&str, u32, u32)> {
    if let Some(before) = before.strip_suffix("): ") {
        let (file, numbers) = before.rsplit_once('(')?;
        let (line, column) = numbers.split_once(',')?;
        return Some((file, line.parse().ok()?, column.parse().ok()?));
    }
    let (before, column) = before.strip_suffix(" - ")?.rsplit_once(':')?;
    let (file, line) = before.rsplit_once(':')?;
    Some((file, line.parse().ok()?, column.parse().ok()?))
}
