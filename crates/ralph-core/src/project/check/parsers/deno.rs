//! `deno check`, `deno lint --compact` and `deno fmt`, all of which write to standard error.
//!
//! The compiler prints the place below its message. Lines that are indented further below it
//! concern another, related place.

use super::json::path_of;
use super::{ParsedOutput, Printed, failure, found};
use crate::project::check::finding::Finding;

/// Follows the number of a compiler message.
const ERROR: &str = " [ERROR]: ";

/// Prefixes of the two commands that continue after an error and name the file first.
const ERRORS_IN: [&str; 2] = ["Error linting: ", "Error formatting: "];

/// Messages about code that Deno could not fetch, for which no place is to blame.
const NOT_FETCHED: [&str; 2] = ["failed to load", "failed loading"];

/// Limit on the lines of a message and the code below it.
const MOST_LINES: usize = 40;

pub(super) fn read(printed: &Printed<'_>) -> ParsedOutput {
    let text = printed.text();
    let mut findings: Vec<Finding> = Vec::new();
    let mut open: Option<OutputBlock<'_>> = None;
    for line in text.lines() {
        if findings.len() >= super::MOST {
            break;
        }
        let at = line.strip_prefix("    at ").and_then(place);
        let (lint, next) = (lint(line, printed), OutputBlock::begins(line));
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
fn lint(line: &str, printed: &Printed<'_>) -> Option<Finding> {
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
        Some(Finding { file, line, column, ..printed.finding(rule, message(&self.lines)) })
    }
}

fn was_not_fetched(lines: &[&str]) -> bool {
    let lower = lines.join("\n").to_ascii_lowercase();
    failure::is_about_network(&lower) || NOT_FETCHED.iter().any(|word| lower.contains(word))
}

/// The message without the line of code at its end and the marks below that: the place is enough,
/// and they change with every edit nearby.
fn message(lines: &[&str]) -> String {
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
fn place(text: &str) -> Option<SourceLocation> {
    let (before, column) = text.rsplit_once(':')?;
    let (file, line) = before.rsplit_once(':')?;
    Some((path_of(file), Some(number(line)?), Some(number(column)?)))
}

fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number| *number > 0)
}
