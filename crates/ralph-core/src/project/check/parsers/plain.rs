//! Lines with a place, such as `file:line:column: message`.
//!
//! This is the fallback for every tool without a format of its own. A failed run that names no
//! place is one finding with the last lines of the output.

use super::{ParsedOutput, Printed, failure, whole};
use crate::project::check::finding::Finding;

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
    let mut open: Option<LineLocation<'_>> = None;
    for line in text.lines() {
        match classified(line, printed) {
            _ if findings.len() == super::MOST => break,
            OutputLine::Finding(finding, is_labelled) => {
                open = None;
                let found = (finding, is_labelled);
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

// Classifies one line: a finding, a note on the previous one, or a part of several lines.

/// How many characters of a line are searched for a place.
const LONGEST_HEAD: usize = 1_024;

enum OutputLine<'a> {
    /// A complete finding, and whether it is labelled as an error or a warning.
    Finding(Finding, bool),
    /// A note on the previous finding.
    Note(&'a str),
    /// A place whose message follows.
    Opens(LineLocation<'a>),
    /// The message for an earlier place: `SyntaxError: …`.
    Names(&'a str),
    Other,
}

/// Classifies a line.
fn classified<'a>(line: &'a str, printed: &Printed<'_>) -> OutputLine<'a> {
    let line = line.trim();
    // A stack frame names a place, but not the place of the error.
    if line.starts_with("at ") {
        return OutputLine::Other;
    }
    if let Some(finding) = annotation(line, printed) {
        return OutputLine::Finding(finding, true);
    }
    if let Some(place) = quoted(line) {
        return OutputLine::Opens(place);
    }
    let head = match line.char_indices().nth(LONGEST_HEAD) {
        Some((end, _)) => &line[..end],
        None => line,
    };
    // The edited file may have any name.
    let edited = printed.file;
    if let Some((place, message)) = trailing(head, edited) {
        return located(place, message.strip_prefix("PHP ").unwrap_or(message), printed);
    }
    match leading(head, edited) {
        Some((place, "")) => OutputLine::Opens(place),
        // The whole message, even if it is longer than the head.
        Some((place, rest)) => located(place, &line[head.len() - rest.len()..], printed),
        None => without_line(head, line, printed),
    }
}

/// Splits the text after a place into severity, rule and message.
fn located<'a>(place: LineLocation<'_>, message: &'a str, printed: &Printed<'_>) -> OutputLine<'a> {
    let (is_error, message) = match severity(message) {
        Severity::Note(note) => return OutputLine::Note(note),
        Severity::Known(is_error, message) => (Some(is_error), message),
        Severity::Unknown => (None, message),
    };
    let (rule, message) = rule(message);
    let (is_error, rule) = match rule.split_once('/') {
        // oxlint: `[Warning/eslint(no-debugger)]`.
        Some(("Error", rule)) => (Some(true), rule),
        Some(("Warning", rule)) => (Some(false), rule),
        // oxlint prints `[Error]` for a file that it could not read.
        None if matches!(rule, "Error" | "Warning") => (Some(rule == "Error"), ""),
        _ => (is_error, rule),
    };
    let finding = Finding {
        file: place.file.to_owned(),
        line: Some(place.line),
        column: place.column,
        is_error: is_error.unwrap_or(true),
        ..printed.finding(rule, message)
    };
    OutputLine::Finding(finding, is_error.is_some())
}

/// `a.py: error: …` for a whole file, or the last of several lines, `SyntaxError: …`.
fn without_line<'a>(head: &str, line: &'a str, printed: &Printed<'_>) -> OutputLine<'a> {
    for (word, is_error) in [(": error: ", true), (": warning: ", false)] {
        let at = head.find(word);
        if let Some((at, file)) = at.and_then(|at| Some((at, file(&head[..at], printed.file)?))) {
            let (rule, message) = rule(&line[at + word.len()..]);
            let base = printed.finding(rule, message);
            return OutputLine::Finding(Finding { file: file.to_owned(), is_error, ..base }, true);
        }
    }
    let is_name = |name: &str| {
        (name.ends_with("Error") || name.ends_with("Exception"))
            && name.chars().all(|letter| letter.is_alphanumeric() || "._".contains(letter))
    };
    match line.split_once(": ") {
        Some((name, _)) if is_name(name) => OutputLine::Names(line),
        _ => OutputLine::Other,
    }
}

/// GitHub's `::error title=…,file=…,line=…,col=…::message`, which many tools can print.
fn annotation(line: &str, printed: &Printed<'_>) -> Option<Finding> {
    let (level, rest) = line.strip_prefix("::")?.split_once(' ')?;
    let is_error = match level {
        "error" => true,
        "warning" | "notice" => false,
        _ => return None,
    };
    let (members, message) = rest.split_once("::")?;
    let member = |name: &str| {
        members.split(',').find_map(|member| member.strip_prefix(name)?.strip_prefix('='))
    };
    let number = |name| member(name).and_then(|number| number.parse().ok());
    let title = member("title").unwrap_or_default();
    let (coded, rest) = rule(message);
    let (rule, message) = if coded.is_empty() { (title, message) } else { (coded, rest) };
    let (file, base) = (member("file")?.to_owned(), printed.finding(rule, message));
    Some(Finding { file, line: number("line"), column: number("col"), is_error, ..base })
}

/// A tool's severity, and the rest of the message.
enum Severity<'a> {
    Known(bool, &'a str),
    Note(&'a str),
    Unknown,
}

fn severity(message: &str) -> Severity<'_> {
    // The single letters are RuboCop's.
    const WORDS: [(&str, bool); 12] = [
        ("fatal error: ", true),
        ("error: ", true),
        ("Error: ", true),
        ("ERROR: ", true),
        ("[error] ", true),
        ("F: ", true),
        ("E: ", true),
        ("warning: ", false),
        ("Warning: ", false),
        ("[warning] ", false),
        ("W: ", false),
        ("C: ", false),
    ];
    const NOTES: [&str; 3] = ["note: ", "help: ", "info: "];
    if let Some(note) = NOTES.iter().find_map(|word| message.strip_prefix(word)) {
        return Severity::Note(note);
    }
    let known = WORDS.iter().find_map(|(word, is_error)| {
        message.strip_prefix(word).map(|rest| (*is_error, rest.trim_start()))
    });
    // RuboCop marks offences that it can correct, which does not describe the offence.
    let known = known
        .map(|(is_error, rest)| (is_error, rest.strip_prefix("[Correctable] ").unwrap_or(rest)));
    if let Some((is_error, rest)) = known {
        return Severity::Known(is_error, rest);
    }
    // `error[E0308]: …` and `error TS2322: …`: the rule follows the word.
    for (word, is_error) in [("error", true), ("warning", false)] {
        let rest = message.strip_prefix(word).filter(|rest| rest.starts_with(['[', ' ']));
        let rest = rest.map(str::trim_start).filter(|rest| !rule(rest).0.is_empty());
        if let Some(rest) = rest {
            return Severity::Known(is_error, rest);
        }
    }
    Severity::Unknown
}

/// The tool's name for the problem, at the start or at the end of a message.
fn rule(message: &str) -> (&str, &str) {
    leading_rule(message).or_else(|| trailing_rule(message)).unwrap_or(("", message))
}

/// `E501 line too long`, `TS2322: …`, `[E0308]: …`, `Style/Documentation: …`.
fn leading_rule(message: &str) -> Option<(&str, &str)> {
    if let Some((name, rest)) = message.strip_prefix('[').and_then(|rest| rest.split_once("]: ")) {
        return is_name(name).then_some((name, rest));
    }
    let (word, rest) = message.split_once(' ')?;
    let name = word.strip_suffix(':').unwrap_or(word);
    let letters = name.bytes().take_while(u8::is_ascii_uppercase).count();
    let digits = &name[letters..];
    let is_code = (1..=7).contains(&letters)
        && (2..=6).contains(&digits.len())
        && digits.bytes().all(|digit| digit.is_ascii_digit());
    let is_cop = word.ends_with(':')
        && name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.split_once('/').is_some_and(|(group, cop)| is_word(group) && is_word(cop));
    (is_code || is_cop).then(|| (name, rest.trim_start()))
}

fn is_word(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// `…  [arg-type]`, `… (document-start)`.
fn trailing_rule(message: &str) -> Option<(&str, &str)> {
    let square = message.strip_suffix(']').and_then(|rest| rest.rsplit_once(" ["));
    let round = || message.strip_suffix(')').and_then(|rest| rest.rsplit_once(" ("));
    let (before, name) = square.or_else(round)?;
    (is_name(name) && !before.is_empty()).then(|| (name, before.trim_end()))
}

/// True for the name of a rule, as opposed to a mere number or a sentence.
fn is_name(name: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "-_./@()".contains(letter);
    name.len() >= 3
        && name.contains(|one: char| one.is_ascii_alphabetic())
        && name.chars().all(is_part)
}

// Finds a place at the start of a line: `a.go:7:6`, `a.cs(7,6)`, `a.sh: line 3`.
//
// Times, addresses and versions contain numbers and colons too, so the file must look like a file
// name or be the edited file.

/// How many numbers of a line are tried as the line number.
const MOST_TRIED: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LineLocation<'a> {
    file: &'a str,
    line: u32,
    column: Option<u32>,
}

/// The place at the start of the line, and the text after it.
fn leading<'a>(line: &'a str, edited: &str) -> Option<(LineLocation<'a>, &'a str)> {
    with_colons(line, edited).or_else(|| with_parentheses(line, edited))
}

/// `a.go:7:6: …`, `a.go:7: …`, `a.go:7:6 …`, `a.sh: line 3: …`, `a.sh: 3: …`.
fn with_colons<'a>(line: &'a str, edited: &str) -> Option<(LineLocation<'a>, &'a str)> {
    let behind = |(at, _): (usize, &'a str)| {
        let behind = &line[at + 1..];
        let spaced = behind.strip_prefix(" line ").or_else(|| behind.strip_prefix(' '));
        let (number, rest) = number(spaced.unwrap_or(behind))?;
        Some((at, spaced, number, rest))
    };
    line.match_indices(':').filter_map(behind).take(MOST_TRIED).find_map(
        |(at, spaced, number, rest)| {
            let file = file(&line[..at], edited)?;
            // After a blank the number needs a colon, because `a.py: 3 problems` is not a place.
            if spaced.is_some() {
                let rest = rest.strip_prefix(": ")?;
                return Some((LineLocation { file, line: number, column: None }, rest));
            }
            let column =
                rest.strip_prefix(':').and_then(self::number).filter(|(_, rest)| is_end(rest));
            let (column, rest) = match column {
                Some((column, rest)) => (Some(column), rest),
                None => (None, rest),
            };
            is_end(rest).then_some((LineLocation { file, line: number, column }, after(rest)))
        },
    )
}

/// `a.cs(7,6): …`.
fn with_parentheses<'a>(line: &'a str, edited: &str) -> Option<(LineLocation<'a>, &'a str)> {
    let behind = |(at, _): (usize, &'a str)| {
        let (number, rest) = number(&line[at + 1..])?;
        Some((at, number, rest))
    };
    line.match_indices('(').filter_map(behind).take(MOST_TRIED).find_map(|(at, number, rest)| {
        let file = file(&line[..at], edited)?;
        let column = rest.strip_prefix(',').and_then(self::number);
        let (column, rest) = match column {
            Some((column, rest)) => (Some(column), rest),
            None => (None, rest),
        };
        let rest = rest.strip_prefix(')')?.strip_prefix(':')?;
        Some((LineLocation { file, line: number, column }, rest.trim_start()))
    })
}

/// PHP: `… in a.php on line 2`.
fn trailing<'a>(line: &'a str, edited: &str) -> Option<(LineLocation<'a>, &'a str)> {
    let (before, number) = line.rsplit_once(" on line ")?;
    let (message, name) = before.rsplit_once(" in ")?;
    let line = number.parse().ok()?;
    Some((LineLocation { file: file(name, edited)?, line, column: None }, message))
}

/// Python: `File "a.py", line 1`, followed by nothing but a function's name.
fn quoted(line: &str) -> Option<LineLocation<'_>> {
    let (file, rest) = line.strip_prefix("File \"")?.split_once("\", line ")?;
    let (line, rest) = number(rest)?;
    let is_file = !file.is_empty() && !file.starts_with('<');
    let is_whole = rest.is_empty() || rest.starts_with(", in ");
    (is_file && is_whole).then_some(LineLocation { file, line, column: None })
}

fn is_end(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with([':', ' '])
}

fn after(rest: &str) -> &str {
    let rest = rest.strip_prefix(':').unwrap_or(rest).trim_start();
    rest.strip_prefix("- ").unwrap_or(rest)
}

/// A line or a column, from 1.
fn number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let number = text[..end].parse().ok().filter(|number| *number > 0)?;
    Some((number, &text[end..]))
}

/// The file name at the end of the text; a program may have put its own name in front.
fn file<'a>(before: &'a str, edited: &str) -> Option<&'a str> {
    let name = before.rsplit_once(": ").map_or(before, |(_, name)| name);
    let is_edited = !name.is_empty() && std::path::Path::new(edited).ends_with(name);
    let looks_like_one = name.contains(char::is_alphabetic)
        && name.contains(['.', '/'])
        && !name.contains("://")
        && !name.contains(|sign: char| sign.is_whitespace() || "\"'`<>|()".contains(sign));
    (is_edited || looks_like_one).then_some(name)
}
