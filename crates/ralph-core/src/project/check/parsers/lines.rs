//! Formats of lines: a place and a message, such as `file:line:column: message`, and those of tsc, deno and pytest, whose
//! findings have several lines.
//!
//! The plain form is the fallback for every tool without a format of its own. A failed run that names no place is one
//! finding with the last lines of the output.

use super::json::path_of;
use super::{LONGEST, MOST, ParsedOutput, Printed, failure, found, whole};
use crate::project::check::finding::{Finding, OF_TEST};
use regex_lite::{Captures, Regex, escape};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

/// How many characters of a line are searched for a place. No path is longer.
const LONGEST_HEAD: usize = 1_024;

/// A pattern of ours. Its groups `file`, `line`, `column`, `rule` and `message` are those of a finding.
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a test compiles every pattern")
}

fn group<'a>(at: &Captures<'a>, name: &str) -> &'a str {
    at.name(name).map_or("", |part| part.as_str())
}

fn finding(at: &Captures<'_>, printed: &Printed<'_>) -> Finding {
    let number = |name| group(at, name).parse().ok();
    let base = printed.finding(group(at, "rule"), group(at, "message"));
    let file = group(at, "file").to_owned();
    Finding { file, line: number("line"), column: number("column"), ..base }
}

/// The text with a further line, unless it is longer than a message can be anyway.
fn add_line(text: &mut String, start: &str, line: &str) {
    if text.len() < LONGEST * 4 {
        text.push('\n');
        text.push_str(start);
        text.push_str(line.trim_end());
    }
}

// The plain form.

/// Messages about code that could not be fetched, for which no place is to blame.
const CODE_NOT_FETCHED: [&str; 2] = ["goproxy=off", "you're using offline mode"];

/// Where a line names its place; `{file}` stands for a name that looks like one of a file, or for the edited file's, and a
/// program may have put its own name in front.
const PLACES: [&str; 5] = [
    // PHP.
    r"^(?:PHP )?(?<message>.*) in {file} on line (?<line>[1-9]\d{0,8})$",
    // After a blank the number needs a colon, because `a.py: 3 problems` is not a place.
    r"^(?:.*?: )??{file}: (?:line )?(?<line>[1-9]\d{0,8}): (?<message>.*)$",
    r"^(?:.*?: )??{file}:(?<line>[1-9]\d{0,8})(?::(?<column>\d+))?(?:[: ]\s*(?:- )?(?<message>.*))?$",
    r"^(?:.*?: )??{file}\((?<line>[1-9]\d{0,8})(?:,(?<column>\d+))?\):\s*(?<message>.*)$",
    r"^(?:.*?: )??{file}: (?<message>(?:error|warning): .*)$",
];

/// Times, addresses and versions contain numbers and colons too.
const LOOKS_LIKE_A_FILE: &str = r#"[^\s"'`<>|()]*?[./][^\s"'`<>|()]*?"#;

/// Python's place, followed by nothing but a function's name; the message comes later.
static QUOTED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#"^File "(?<file>[^"<][^"]*)", line (?<line>[1-9]\d{0,8})(?:, in .*)?$"#)
});

/// GitHub's form, which many tools can print.
static ANNOTATION: LazyLock<Regex> =
    LazyLock::new(|| pattern("^::(?<level>error|warning|notice) (?<members>.*?)::(?<message>.*)$"));

/// The message for an earlier place: `SyntaxError: …`.
static ERROR_NAME: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[\w.]*(?:Error|Exception): "));

static NOTE: LazyLock<Regex> = LazyLock::new(|| pattern("^(?:note|help|info): (?<message>.*)$"));

/// A tool's severity. The single letters are RuboCop's, which also marks the offences that it can correct.
static SEVERITY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:(?<error>(?:fatal error|error|Error|ERROR|F|E): |\[error\] )|(?:warning|Warning|W|C): |\[warning\] )\s*(?:\[Correctable\] )?(?<message>.*)$",
    )
});

/// `error[E0308]: …` and `error TS2322: …`: the rule follows the word.
static SEVERITY_OF_RULE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:(?<error>error)|warning) ?(?<message>[\[A-Z].*)$"));

/// `E501 line too long`, `TS2322: …`, `[E0308]: …`, `Style/Documentation: …`.
static LEADING_RULE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:\[(?<name>[\w./@()-]+)\]: |(?<code>[A-Z]{1,7}\d{2,6}):? |(?<cop>[A-Z][A-Za-z0-9]*/[A-Za-z0-9]+): )\s*(?<message>.*)$",
    )
});

/// `…  [arg-type]`, `… (document-start)`.
static TRAILING_RULE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?<message>.+?)\s+[\[(](?<name>[\w./@()-]+)[\])]$"));

pub(super) fn plain(printed: &Printed<'_>) -> ParsedOutput {
    let is_good = printed.code == Some(0);
    let not_fetched = || failure::line_with(printed, &CODE_NOT_FETCHED);
    if let Some(line) = (!is_good).then(not_fetched).flatten() {
        return ParsedOutput::DidNotRun(format!("wants the network: {line}"));
    }
    let mut findings = plain_findings(printed);
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

/// What a line of the plain form is.
enum PlainLine<'a> {
    /// A complete finding, and whether it is labelled as an error or a warning.
    Finding(Finding, bool),
    /// A note on the previous finding.
    Note(&'a str),
    /// A place whose message follows, as Python, Node and others print it.
    Opens(Finding),
    /// The message for an earlier place.
    Names(&'a str),
    Other,
}

/// The findings in the lines, each with whether it is labelled as an error or a warning.
fn plain_findings(printed: &Printed<'_>) -> Vec<(Finding, bool)> {
    let text = printed.text();
    let places = places(printed.file);
    let mut findings: Vec<(Finding, bool)> = Vec::new();
    let mut open: Option<Finding> = None;
    for line in text.lines() {
        match plain_line(line.trim(), &places, printed) {
            _ if findings.len() == MOST => break,
            PlainLine::Finding(finding, is_labelled) => {
                open = None;
                let found = (finding, is_labelled);
                // PHP prints an error on both streams if it displays and logs errors.
                if findings.last() != Some(&found) {
                    findings.push(found);
                }
            }
            PlainLine::Note(note) => {
                if let Some((last, _)) = findings.last_mut() {
                    add_line(&mut last.message, "note: ", note);
                }
            }
            PlainLine::Opens(place) => open = Some(place),
            PlainLine::Names(message) => {
                let named =
                    open.take().map(|place| Finding { message: message.to_owned(), ..place });
                findings.extend(named.map(|finding| (finding, true)));
            }
            PlainLine::Other => {}
        }
    }
    findings
}

/// The patterns of a place. The edited file may have any name.
fn places(edited: &str) -> Vec<Regex> {
    let parts = Path::new(edited)
        .ancestors()
        .filter_map(|folder| Path::new(edited).strip_prefix(folder).ok());
    let names = parts.filter_map(Path::to_str).chain([edited]).filter(|name| !name.is_empty());
    let names: Vec<String> = names.map(escape).collect();
    let file = format!("(?<file>{LOOKS_LIKE_A_FILE}|{})", names.join("|"));
    PLACES.iter().filter_map(|text| Regex::new(&text.replace("{file}", &file)).ok()).collect()
}

fn plain_line<'a>(line: &'a str, places: &[Regex], printed: &Printed<'_>) -> PlainLine<'a> {
    // A stack frame names a place, but not the place of the error.
    if line.starts_with("at ") {
        return PlainLine::Other;
    }
    if let Some(finding) = annotation(line, printed) {
        return PlainLine::Finding(finding, true);
    }
    if let Some(at) = QUOTED.captures(line) {
        return PlainLine::Opens(finding(&at, printed));
    }
    let head = line.char_indices().nth(LONGEST_HEAD).map_or(line, |(end, _)| &line[..end]);
    let is_file = |at: &Captures<'_>| {
        let file = group(at, "file");
        let looks_like_one = file.contains(char::is_alphabetic) && !file.contains("://");
        looks_like_one || Path::new(printed.file).ends_with(file)
    };
    let placed = places.iter().filter_map(|place| place.captures(head));
    let Some(at) = placed.into_iter().find(is_file) else {
        return if ERROR_NAME.is_match(line) { PlainLine::Names(line) } else { PlainLine::Other };
    };
    // The whole message, even if it is longer than the head.
    let message = match at.name("message") {
        Some(message) if message.end() == head.len() => &line[message.start()..],
        Some(message) => message.as_str(),
        None => "",
    };
    match NOTE.captures(message) {
        _ if message.is_empty() => PlainLine::Opens(finding(&at, printed)),
        Some(note) => PlainLine::Note(group(&note, "message")),
        None => labelled(message, finding(&at, printed)),
    }
}

/// Splits the message of a finding into severity, rule and message.
fn labelled<'a>(message: &str, place: Finding) -> PlainLine<'a> {
    let of_rule =
        || SEVERITY_OF_RULE.captures(message).filter(|at| !rule(group(at, "message")).0.is_empty());
    let labelled = SEVERITY.captures(message).or_else(of_rule);
    let is_error = labelled.as_ref().map(|at| at.name("error").is_some());
    let (rule, message) = rule(labelled.map_or(message, |at| group(&at, "message")));
    let (is_error, rule) = match rule.split_once('/') {
        // oxlint: `[Warning/eslint(no-debugger)]`.
        Some(("Error", rule)) => (Some(true), rule),
        Some(("Warning", rule)) => (Some(false), rule),
        // oxlint prints `[Error]` for a file that it could not read.
        None if matches!(rule, "Error" | "Warning") => (Some(rule == "Error"), ""),
        _ => (is_error, rule),
    };
    let (rule, message) = (rule.to_owned(), message.to_owned());
    let finding = Finding { rule, message, is_error: is_error.unwrap_or(true), ..place };
    PlainLine::Finding(finding, is_error.is_some())
}

/// The tool's name for the problem, at the start or at the end of a message, as opposed to a mere number or a sentence.
fn rule(message: &str) -> (&str, &str) {
    let is_name =
        |name: &str| name.len() >= 3 && name.contains(|one: char| one.is_ascii_alphabetic());
    for pattern in [&LEADING_RULE, &TRAILING_RULE] {
        let Some(at) = pattern.captures(message) else { continue };
        let names = ["name", "code", "cop"].map(|name| group(&at, name));
        if let Some(name) = names.into_iter().find(|name| is_name(name)) {
            return (name, group(&at, "message"));
        }
    }
    ("", message)
}

fn annotation(line: &str, printed: &Printed<'_>) -> Option<Finding> {
    let at = ANNOTATION.captures(line)?;
    let member = |name: &str| {
        let mut members = group(&at, "members").split(',');
        members.find_map(|member| member.strip_prefix(name)?.strip_prefix('='))
    };
    let number = |name| member(name).and_then(|number| number.parse().ok());
    let (coded, message) = rule(group(&at, "message"));
    let rule = if coded.is_empty() { member("title").unwrap_or_default() } else { coded };
    let (file, base) = (member("file")?.to_owned(), printed.finding(rule, message));
    let is_error = group(&at, "level") == "error";
    Some(Finding { file, line: number("line"), column: number("col"), is_error, ..base })
}

// `tsc --pretty false`, and its coloured output if a project insists on colours.
//
// Further lines of a message follow directly and are indented.

static TSC: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:(?<file>.+?)[(:](?<line>[1-9]\d{0,8})[,:](?<column>\d+)(?:\): | - ))?error (?<rule>TS\d+): (?<message>.*)$",
    )
});

/// tsc's errors if there is no project. A project without files (TS18003) is a finding.
const NO_PROJECT: [&str; 3] = ["TS5057", "TS5058", "TS5081"];

/// tsc's error for a referenced project without build output: no edit in this project causes it,
/// and the content of the other one is not checked.
const NOT_BUILT: &str = "TS6305";

pub(super) fn tsc(printed: &Printed<'_>) -> ParsedOutput {
    let text = crate::text::sanitize::plain(printed.stdout);
    let mut findings: Vec<Finding> = Vec::new();
    let mut not_built: Option<String> = None;
    let mut goes_on = false;
    for line in text.lines() {
        if let Some(at) = TSC.captures(line) {
            if findings.len() == MOST {
                break;
            }
            let finding = finding(&at, printed);
            goes_on = finding.rule != NOT_BUILT;
            match goes_on {
                true => findings.push(finding),
                false => drop(not_built.get_or_insert(finding.message)),
            }
        } else {
            goes_on = goes_on && line.starts_with("  ") && !line.trim().is_empty();
            let last = findings.last_mut().filter(|_| goes_on);
            last.into_iter().for_each(|last| add_line(&mut last.message, "", line));
        }
    }
    match (findings.as_slice(), not_built) {
        ([only], _) if NO_PROJECT.contains(&only.rule.as_str()) => {
            ParsedOutput::DidNotRun(format!("{}: {}", only.rule, only.message))
        }
        ([], Some(line)) => {
            ParsedOutput::DidNotRun(format!("run `tsc --build` first: {NOT_BUILT}: {line}"))
        }
        _ => found(findings, printed),
    }
}

// `deno check`, `deno lint --compact` and `deno fmt`, all of which write to standard error.
//
// The compiler prints the place below its message. Lines that are indented further below it
// concern another, related place.

static DENO_LINT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?<file>file://.+?): line (?<line>\d+), col (?<column>\d+) - (?<message>.*) \((?<rule>.*?)\)$",
    )
});

/// The heading of a message. After the first kind a place must follow, or the message does not concern the code; the last
/// kind is of commands that continue after an error, and has the message on the next line.
static DENO_HEADING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:error: (?<other>.*)|(?<rule>TS\d+) \[ERROR\]: (?<message>.*)|Error (?:linting|formatting): (?<file>.*))$",
    )
});

static DENO_PLACE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^    at (?<file>.+):(?<line>[1-9]\d{0,8}):(?<column>[1-9]\d*)$"));

/// Messages about code that Deno could not fetch, for which no place is to blame.
const NOT_LOADED: [&str; 2] = ["failed to load", "failed loading"];

/// Limit on the lines of a message and the code below it.
const MOST_LINES: usize = 40;

/// A message until its place.
struct DenoMessage<'a> {
    start: Finding,
    needs_place: bool,
    lines: Vec<&'a str>,
}

pub(super) fn deno(printed: &Printed<'_>) -> ParsedOutput {
    let text = printed.text();
    let mut findings: Vec<Finding> = Vec::new();
    let mut open: Option<DenoMessage<'_>> = None;
    for line in text.lines() {
        if findings.len() >= MOST {
            break;
        }
        let place = DENO_PLACE.captures(line).map(|at| finding(&at, printed));
        let lint = DENO_LINT.captures(line).map(|at| finding(&at, printed));
        let heading = DENO_HEADING.captures(line);
        if place.is_some() || lint.is_some() || heading.is_some() || line.is_empty() {
            findings.extend(open.take().and_then(|message| message.ended(place)));
            findings.extend(lint);
            open = heading.map(|at| DenoMessage {
                start: finding(&at, printed),
                needs_place: at.name("other").is_some(),
                lines: at
                    .name("other")
                    .or(at.name("message"))
                    .map(|it| it.as_str())
                    .into_iter()
                    .collect(),
            });
        } else if let Some(message) = open.as_mut().filter(|it| it.lines.len() < MOST_LINES) {
            message.lines.push(line);
        }
    }
    findings.extend(open.and_then(|message| message.ended(None)));
    let named = findings.iter_mut().filter(|finding| finding.file.starts_with("file:"));
    named.for_each(|finding| finding.file = path_of(&finding.file));
    found(findings, printed)
}

impl DenoMessage<'_> {
    fn ended(self, place: Option<Finding>) -> Option<Finding> {
        let lower = self.lines.join("\n").to_ascii_lowercase();
        let was_not_fetched = || {
            failure::is_about_network(&lower) || NOT_LOADED.iter().any(|word| lower.contains(word))
        };
        if self.needs_place && (place.is_none() || was_not_fetched()) {
            return None;
        }
        let rule = self.start.rule.clone();
        let place = place.unwrap_or(self.start);
        Some(Finding { rule, message: deno_message(&self.lines), ..place })
    }
}

/// The message without the line of code at its end and the marks below that: the place is enough,
/// and they change with every edit nearby.
fn deno_message(lines: &[&str]) -> String {
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

// `pytest`: its short summary, and the places from the sections above it.

/// A row of the summary. A parameter in brackets may contain anything.
static PYTEST_ROW: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?<kind>FAILED|ERROR) (?<file>.+?)(?:::(?<test>.+?(?:\[.*?\])?))?(?: - (?<said>.*))?$",
    )
});

/// `===== 2 failed in 0.1s =====` (with `-q` without the frame) and `!!!!! Interrupted: …`.
static PYTEST_END: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:==|!!|\d+ .*(?:failed|passed|error).* in )"));

static PYTEST_PLACE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?<file>[^ :][^:]*):(?<line>[1-9]\d{0,8}):"));

/// The exit code if there was no test to run.
const NO_TESTS: i32 = 5;

pub(super) fn pytest(printed: &Printed<'_>) -> ParsedOutput {
    let text = crate::text::sanitize::plain(printed.stdout);
    let rows = summary(&text, printed);
    match printed.code {
        _ if !rows.is_empty() => ParsedOutput::Found(rows),
        Some(0 | NO_TESTS) => ParsedOutput::Found(Vec::new()),
        Some(1) => ParsedOutput::Found(vec![whole::last_lines(printed)]),
        _ => ParsedOutput::DidNotRun(why_pytest_failed(printed)),
    }
}

/// Why nothing was collected. If a `conftest.py` cannot be loaded, its error is added.
fn why_pytest_failed(printed: &Printed<'_>) -> String {
    let stderr = crate::text::sanitize::plain(printed.stderr);
    let error = stderr.lines().find_map(|line| line.strip_prefix("E   "));
    let why = [Some(failure::why(printed)), error.map(str::to_owned)];
    why.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The rows below the summary's heading, each with its continuation lines.
fn summary(text: &str, printed: &Printed<'_>) -> Vec<Finding> {
    let sections = sections(text);
    let mut rows: Vec<Finding> = Vec::new();
    let is_heading = |line: &&str| line.starts_with("==") && line.contains(" short test summary ");
    for line in text.lines().skip_while(|line| !is_heading(line)).skip(1) {
        if PYTEST_END.is_match(line) || rows.len() == MOST {
            break;
        }
        match (PYTEST_ROW.captures(line), rows.last_mut()) {
            (Some(row), _) => rows.push(of_row(&row, &sections, printed)),
            (None, Some(last)) => add_line(&mut last.message, "", line),
            (None, None) => {}
        }
    }
    rows
}

/// `test_a.py::test_wrong - AssertionError: …`; the message starts with the test's name. The line comes from the row's
/// section, and what the test said if the summary has nothing of it.
fn of_row(
    row: &Captures<'_>,
    sections: &BTreeMap<&str, FailureSection<'_>>,
    printed: &Printed<'_>,
) -> Finding {
    let (file, test) = (group(row, "file"), group(row, "test"));
    // A failure outside the tests themselves (collection, setup, teardown) is an error.
    let is_of_test = group(row, "kind") == "FAILED";
    let (name, parameters) = test.split_at(test.find('[').unwrap_or(test.len()));
    let name = format!("{}{parameters}", name.replace("::", "."));
    let headings = match (is_of_test, name.is_empty()) {
        (true, _) => vec![name],
        (false, true) => vec![format!("ERROR collecting {file}")],
        (false, false) => ["setup", "teardown"].map(|at| format!("ERROR at {at} of {name}")).into(),
    };
    let section = headings.iter().find_map(|heading| sections.get(heading.as_str()));
    let own = section.and_then(|section| {
        section.places.iter().rev().find(|(place, _)| *place == file).map(|(_, line)| *line)
    });
    let errors = section.map(|section| section.errors.join("\n")).unwrap_or_default();
    let said = Some(group(row, "said")).filter(|said| !said.is_empty()).unwrap_or(&errors);
    let message = [test, said].into_iter().filter(|part| !part.is_empty());
    let message = message.collect::<Vec<_>>().join(": ");
    let base = printed.finding(if is_of_test { OF_TEST } else { "error" }, message);
    Finding { file: file.to_owned(), line: own, ..base }
}

/// A section above the summary.
#[derive(Debug, Default)]
struct FailureSection<'a> {
    /// The lines `test_a.py:7: AssertionError`.
    places: Vec<(&'a str, u32)>,
    /// The lines that begin with `E`.
    errors: Vec<&'a str>,
}

/// The sections by heading, `____ Class.test[param] ____`.
fn sections(text: &str) -> BTreeMap<&str, FailureSection<'_>> {
    const LINES: usize = 10;
    let mut sections: BTreeMap<&str, FailureSection<'_>> = BTreeMap::new();
    let mut heading = "";
    for line in text.lines() {
        if line.starts_with("__") && line.ends_with("__") {
            heading = line.trim_matches(['_', ' ']);
        } else if line.starts_with("==") {
            heading = "";
        } else if !heading.is_empty() {
            let section = sections.entry(heading).or_default();
            if let Some(error) = line.strip_prefix("E   ") {
                section.errors.extend((section.errors.len() < LINES).then_some(error));
            } else if let Some(at) = PYTEST_PLACE.captures(line) {
                section
                    .places
                    .extend(group(&at, "line").parse().ok().map(|line| (group(&at, "file"), line)));
            }
        }
    }
    sections
}

#[cfg(test)]
mod lines_tests {
    use super::*;

    #[test]
    fn a_message_grows_until_it_is_longer_than_any_is_shown() {
        let grown = |length: usize| {
            let mut text = "x".repeat(length);
            add_line(&mut text, "> ", "more  ");
            text[length..].to_owned()
        };
        assert_eq!(grown(0), "\n> more");
        assert_eq!(grown(LONGEST * 4 - 1), "\n> more");
        assert_eq!(grown(LONGEST * 4), "");
    }

    #[test]
    fn a_rule_has_three_signs_and_a_letter() {
        for (message, expected) in [
            ("[E501]: too long", ("E501", "too long")),
            ("[E5]: too long", ("", "[E5]: too long")),
            ("[501]: too long", ("", "[501]: too long")),
        ] {
            assert_eq!(rule(message), expected, "{message}");
        }
    }

    #[test]
    fn what_stands_below_a_heading_is_of_its_section() {
        let text = "E   before\n____ a ____\nE   one\ntest_a.py:7: AssertionError\nother\n\
                    ==== end\nE   two\n__init__.py is odd\nE   three\n____ b\nE   four\n";
        let found = sections(text);
        assert_eq!(found.keys().copied().collect::<Vec<_>>(), ["a"]);
        assert_eq!(
            (&found["a"].errors, &found["a"].places),
            (&vec!["one"], &vec![("test_a.py", 7)])
        );
        let long = format!("__ a __\n{}", "E   x\n".repeat(11));
        assert_eq!(sections(&long)["a"].errors.len(), 10);
    }

    #[test]
    fn a_message_that_is_longer_than_a_head_is_kept_whole() {
        let (check, file, stdout, stderr, code) = ("t", "/p/a.ts", "", "", Some(1));
        let printed = Printed { check, file, stdout, stderr, code };
        for length in [1, LONGEST_HEAD, 2 * LONGEST_HEAD] {
            let line = format!("a.ts:3:5: error: {}", "x".repeat(length));
            let found = plain_line(&line, &places(file), &printed);
            let PlainLine::Finding(found, is_labelled) = found else { panic!("{line}") };
            assert_eq!((found.line, found.column, is_labelled), (Some(3), Some(5), true));
            assert_eq!(found.message.len(), length);
        }
    }
}
