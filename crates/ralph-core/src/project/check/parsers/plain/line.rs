//! Classifies one line: a finding, a note on the previous one, or a part of several lines.

use super::super::Printed;
use super::place::{self, LineLocation};
use crate::project::check::finding::Finding;

/// How many characters of a line are searched for a place.
const LONGEST_HEAD: usize = 1_024;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum OutputLine<'a> {
    /// A complete finding.
    Finding(LocatedMessage<'a>),
    /// A note on the previous finding.
    Note(&'a str),
    /// A place whose message follows.
    Opens(LineLocation<'a>),
    /// The message for an earlier place: `SyntaxError: …`.
    Names(&'a str),
    Other,
}

/// A message with its place.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LocatedMessage<'a> {
    pub(super) place: Option<(&'a str, Option<u32>, Option<u32>)>,
    pub(super) rule: &'a str,
    pub(super) message: &'a str,
    /// `None` if the line is labelled neither as an error nor as a warning.
    pub(super) is_error: Option<bool>,
}

impl LocatedMessage<'_> {
    pub(super) fn finding(&self, printed: &Printed<'_>) -> Finding {
        let (file, line, column) = self.place.unwrap_or_default();
        Finding {
            file: file.to_owned(),
            line,
            column,
            is_error: self.is_error.unwrap_or(true),
            ..printed.finding(self.rule, self.message)
        }
    }
}

/// Classifies a line. `edited` is the edited file, which may have any name.
pub(super) fn read<'a>(line: &'a str, edited: &str) -> OutputLine<'a> {
    let line = line.trim();
    // A stack frame names a place, but not the place of the error.
    if line.starts_with("at ") {
        return OutputLine::Other;
    }
    if let Some(found) = annotation(line) {
        return OutputLine::Finding(found);
    }
    if let Some(place) = place::quoted(line) {
        return OutputLine::Opens(place);
    }
    let head = match line.char_indices().nth(LONGEST_HEAD) {
        Some((end, _)) => &line[..end],
        None => line,
    };
    if let Some((place, message)) = place::trailing(head, edited) {
        return finding(place, message.strip_prefix("PHP ").unwrap_or(message));
    }
    match place::leading(head, edited) {
        Some((place, "")) => OutputLine::Opens(place),
        // The whole message, even if it is longer than the head.
        Some((place, rest)) => finding(place, &line[head.len() - rest.len()..]),
        None => without_line(head, line, edited),
    }
}

/// Splits the text after a place into severity, rule and message.
fn finding<'a>(place: LineLocation<'a>, message: &'a str) -> OutputLine<'a> {
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
    let place = Some((place.file, Some(place.line), place.column));
    OutputLine::Finding(LocatedMessage { place, rule, message, is_error })
}

/// `a.py: error: …` for a whole file, or the last of several lines, `SyntaxError: …`.
fn without_line<'a>(head: &'a str, line: &'a str, edited: &str) -> OutputLine<'a> {
    for (word, is_error) in [(": error: ", true), (": warning: ", false)] {
        let at = head.find(word);
        if let Some((at, file)) = at.and_then(|at| Some((at, place::file(&head[..at], edited)?))) {
            let (rule, message) = rule(&line[at + word.len()..]);
            let place = Some((file, None, None));
            return OutputLine::Finding(LocatedMessage {
                place,
                rule,
                message,
                is_error: Some(is_error),
            });
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
fn annotation(line: &str) -> Option<LocatedMessage<'_>> {
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
    let place = Some((member("file")?, number("line"), number("col")));
    Some(LocatedMessage { place, rule, message, is_error: Some(is_error) })
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
