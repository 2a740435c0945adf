//! Formats that are JSON: finds the document in a tool's output, and reads its members.

use super::{ParsedOutput, Printed, failure, found, whole};
use crate::project::check::finding::{Finding, OF_TEST};
use regex_lite::{Regex, escape};
use serde_json::Value;

// Wrappers around a tool may print lines of their own before and after the document.

/// The first document that starts at the beginning of a line and passes `fits`.
///
/// Each line is parsed at most twice: after a false start, the search continues where parsing
/// failed.
fn document(text: &str, fits: fn(&Value) -> bool) -> Option<Value> {
    let mut rest = text;
    loop {
        rest = from_opening_line(rest)?;
        let mut documents = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let read = match documents.next()? {
            Ok(value) if fits(&value) => return Some(value),
            Ok(_) => documents.byte_offset(),
            Err(broken) => after_lines(rest, broken.line().saturating_sub(1)),
        };
        // The first line is never tried again.
        rest = &rest[read.max(after_lines(rest, 1))..];
    }
}

/// The text from the first line that could start a document.
fn from_opening_line(text: &str) -> Option<&str> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.starts_with(['{', '[']) {
            return Some(&text[at..]);
        }
        at += line.len();
    }
    None
}

fn after_lines(text: &str, count: usize) -> usize {
    text.split_inclusive('\n').take(count).map(str::len).sum()
}

/// A string member; empty if it is not a string.
fn text<'a>(of: &'a Value, name: &str) -> &'a str {
    of[name].as_str().unwrap_or_default()
}

/// A list; empty if it is not one.
fn rows(list: &Value) -> &[Value] {
    list.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A list member; empty if it is not a list.
fn items<'a>(of: &'a Value, name: &str) -> &'a [Value] {
    rows(&of[name])
}

/// True for a list of objects with this member.
fn is_list_of(value: &Value, is_member: impl Fn(&Value) -> bool) -> bool {
    value.as_array().is_some_and(|rows| rows.iter().all(is_member))
}

/// What the report in a tool's output says; why the tool did not run, if there is none.
fn of_report(
    printed: &Printed<'_>,
    fits: fn(&Value) -> bool,
    read: impl FnOnce(&Value) -> ParsedOutput,
) -> ParsedOutput {
    let none = || ParsedOutput::DidNotRun(failure::why(printed));
    document(printed.stdout, fits).map_or_else(none, |report| read(&report))
}

/// A member that is a line or a column.
fn position(of: &Value, name: &str) -> Option<u32> {
    of[name].as_u64().and_then(|number| u32::try_from(number).ok())
}

/// The file system path of a `file:` URI.
pub(super) fn path_of(uri: &str) -> String {
    let path = uri.strip_prefix("file://localhost").or_else(|| uri.strip_prefix("file://"));
    decoded(path.unwrap_or(uri))
}

/// Decodes `%20` to a blank. Invalid escapes stay, and if the result is not UTF-8 the whole text
/// stays.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let pair = after.get(..2).filter(|_| first == b'%');
        let digits = pair.and_then(|pair| std::str::from_utf8(pair).ok());
        let is_hex = |pair: &&str| pair.bytes().all(|byte| byte.is_ascii_hexdigit());
        let code = digits.filter(is_hex).and_then(|pair| u8::from_str_radix(pair, 16).ok());
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

// `eslint --format json`.
//
// Without a configuration, or with a broken one, ESLint prints no JSON and exits with 2.

pub(super) fn eslint(printed: &Printed<'_>) -> ParsedOutput {
    let is_report = |value: &Value| is_list_of(value, |file| file["messages"].is_array());
    of_report(printed, is_report, |files| {
        let messages = |file| items(file, "messages").iter().map(move |message| (file, message));
        let (ignored, said): (Vec<_>, Vec<_>) = rows(files)
            .iter()
            .flat_map(messages)
            .partition(|(_, message)| is_about_ignoring(message));
        let finding = |(file, message): (&Value, &Value)| Finding {
            file: text(file, "filePath").to_owned(),
            line: position(message, "line"),
            column: position(message, "column"),
            is_error: message["severity"] == 2,
            ..printed.finding(eslint_rule(message), text(message, "message"))
        };
        // With `--max-warnings 0` the notice itself fails the run, but the file was still not checked.
        match said.is_empty() && !ignored.is_empty() {
            true => ParsedOutput::Found(Vec::new()),
            false => found(said.into_iter().map(finding).collect(), printed),
        }
    })
}

fn eslint_rule(message: &Value) -> &str {
    match message["fatal"] == true && message["ruleId"].is_null() {
        true => "parse",
        false => text(message, "ruleId"),
    }
}

/// True for the notice that the configuration excludes the file.
fn is_about_ignoring(message: &Value) -> bool {
    message["ruleId"].is_null() && text(message, "message").starts_with("File ignored")
}

// `ruff check --output-format json`.

pub(super) fn ruff(printed: &Printed<'_>) -> ParsedOutput {
    let is_report = |value: &Value| is_list_of(value, |row| row["filename"].is_string());
    let finding = |row: &Value| Finding {
        file: text(row, "filename").to_owned(),
        line: position(&row["location"], "row"),
        column: position(&row["location"], "column"),
        // Older versions have no severities; they print errors only.
        is_error: !matches!(text(row, "severity"), "warning" | "info"),
        // Before 0.12, a syntax error had no code.
        ..printed.finding(row["code"].as_str().unwrap_or("invalid-syntax"), text(row, "message"))
    };
    of_report(printed, is_report, |report| {
        found(rows(report).iter().map(finding).collect(), printed)
    })
}

// `pyright --outputjson`.
//
// Its positions count from 0.

pub(super) fn pyright(printed: &Printed<'_>) -> ParsedOutput {
    let from_0 = |number: &Value| u32::try_from(number.as_u64()?).ok()?.checked_add(1);
    let finding = |row: &Value| Finding {
        file: text(row, "file").to_owned(),
        line: from_0(&row["range"]["start"]["line"]),
        column: from_0(&row["range"]["start"]["character"]),
        is_error: row["severity"] == "error",
        ..printed.finding(text(row, "rule"), text(row, "message"))
    };
    of_report(
        printed,
        |value| value["generalDiagnostics"].is_array(),
        |report| {
            let rows = items(report, "generalDiagnostics");
            if rows.is_empty() && report["summary"]["filesAnalyzed"] == 0 {
                return ParsedOutput::DidNotRun("its configuration leaves the file out".to_owned());
            }
            found(rows.iter().map(finding).collect(), printed)
        },
    )
}

// SARIF 2.1.0.

pub(super) fn sarif(printed: &Printed<'_>) -> ParsedOutput {
    let is_report = |value: &Value| value["runs"].is_array();
    let report =
        document(printed.stdout, is_report).or_else(|| document(printed.stderr, is_report));
    let Some(report) = report else { return ParsedOutput::DidNotRun(failure::why(printed)) };
    let runs = items(&report, "runs");
    let findings: Vec<Finding> = runs.iter().flat_map(|run| of_run(run, printed)).collect();
    match (findings.is_empty(), runs.iter().find_map(failed_run)) {
        (true, Some(why)) => ParsedOutput::DidNotRun(why),
        _ => found(findings, printed),
    }
}

fn of_run<'a>(run: &'a Value, printed: &'a Printed<'_>) -> impl Iterator<Item = Finding> + 'a {
    let results = items(run, "results").iter().filter(|result| is_problem(result));
    results.map(move |result| {
        let place = &result["locations"][0]["physicalLocation"];
        let rule = text(result, "ruleId");
        let message = Some(text(&result["message"], "text")).filter(|said| !said.is_empty());
        Finding {
            file: path_of(text(&place["artifactLocation"], "uri")),
            line: position(&place["region"], "startLine"),
            column: position(&place["region"], "startColumn"),
            is_error: sarif_level(result, run) == "error",
            ..printed.finding(rule, message.unwrap_or(rule))
        }
    })
}

/// A result may also report success, or be suppressed by a person.
fn is_problem(result: &Value) -> bool {
    !matches!(text(result, "kind"), "pass" | "notApplicable")
        && items(result, "suppressions").is_empty()
}

/// A result without a level has the level of its rule.
fn sarif_level<'a>(result: &'a Value, run: &'a Value) -> &'a str {
    let rule = || {
        let index = usize::try_from(result["ruleIndex"].as_u64()?).ok()?;
        run["tool"]["driver"]["rules"][index]["defaultConfiguration"]["level"].as_str()
    };
    result["level"].as_str().or_else(rule).unwrap_or("warning")
}

/// Why the tool itself failed, if it reports that.
fn failed_run(run: &Value) -> Option<String> {
    let failed = |one: &&Value| one["executionSuccessful"] == false;
    let invocation = items(run, "invocations").iter().find(failed)?;
    let notice = items(invocation, "toolExecutionNotifications").first();
    let why = notice.map(|notice| text(&notice["message"], "text")).filter(|why| !why.is_empty());
    Some(crate::text::sanitize::plain(why.unwrap_or("says that it failed")))
}

// `shellcheck --format json1`.
//
// For a file that it cannot open, ShellCheck also prints a valid empty report, and exits with 2.

pub(super) fn shellcheck(printed: &Printed<'_>) -> ParsedOutput {
    let finding = |comment: &Value| Finding {
        file: text(comment, "file").to_owned(),
        line: position(comment, "line"),
        column: position(comment, "column"),
        is_error: comment["level"] == "error",
        ..printed.finding(&format!("SC{}", comment["code"]), text(comment, "message"))
    };
    of_report(
        printed,
        |value| value["comments"].is_array(),
        |report| found(items(report, "comments").iter().map(finding).collect(), printed),
    )
}

// `supabase db lint`: the problems in the functions of a database.
//
// It names a function instead of a file, and by default it exits with 0 whatever it finds.

/// Messages after a completed check. If there are functions without problems, Supabase names the
/// checked schemas and prints no report.
const LOOKED: &[&str] = &["no schema errors found", "linting schema"];

pub(super) fn supabase(printed: &Printed<'_>) -> ParsedOutput {
    let is_report = |value: &Value| is_list_of(value, |one| one["issues"].is_array());
    let Some(report) = document(printed.stdout, is_report) else {
        let is_clean = printed.code == Some(0) && failure::line_with(printed, LOOKED).is_some();
        return match is_clean {
            true => ParsedOutput::Found(Vec::new()),
            false => ParsedOutput::DidNotRun(failure::why(printed)),
        };
    };
    found(rows(&report).iter().flat_map(|one| of_function(one, printed)).collect(), printed)
}

fn of_function<'a>(of: &'a Value, printed: &'a Printed<'_>) -> impl Iterator<Item = Finding> + 'a {
    items(of, "issues").iter().map(move |issue| {
        // No line: an issue's line is in the function, not in the migration.
        let mut message = format!("{}: {}", text(of, "function"), text(issue, "message"));
        for more in ["detail", "hint"].map(|name| text(issue, name)) {
            if !more.is_empty() {
                message.push('\n');
                message.push_str(more);
            }
        }
        let is_error = text(issue, "level").starts_with("error");
        Finding { is_error, ..printed.finding(text(issue, "sqlState"), message) }
    })
}

// The report of `vitest --reporter=json` and of `jest --json`.
//
// Tests print to the same standard output, with or without a final newline.

/// How the report of both starts.
const BEGINS: &str = "{\"num";

/// The messages of both if there is no test to run.
const NO_TESTS: [&str; 3] = ["no test files found", "no tests found", "no test suite found"];

pub(super) fn vitest(printed: &Printed<'_>) -> ParsedOutput {
    let Some(report) = test_report(printed.stdout) else {
        let no_tests = failure::line_with(printed, &NO_TESTS).is_some();
        return match no_tests {
            true => ParsedOutput::Found(Vec::new()),
            false => ParsedOutput::DidNotRun(failure::why(printed)),
        };
    };
    let files = items(&report, "testResults");
    let mut findings: Vec<Finding> = Vec::new();
    for file in files {
        of_test_file(file, printed, &mut findings);
    }
    // Every test passed but the run failed: an error outside the tests, or a coverage threshold.
    if findings.is_empty() && !files.is_empty() && printed.code != Some(0) {
        let only_stderr = Printed { stdout: "", ..*printed };
        findings.push(whole::last_lines(&only_stderr));
    }
    ParsedOutput::Found(findings)
}

fn test_report(stdout: &str) -> Option<Value> {
    let is_report = |value: &Value| value["testResults"].is_array();
    let at_line = document(stdout, is_report);
    at_line.or_else(|| document(&stdout[stdout.rfind(BEGINS)?..], is_report))
}

fn of_test_file(file: &Value, printed: &Printed<'_>, findings: &mut Vec<Finding>) {
    let name = text(file, "name");
    let failed = items(file, "assertionResults").iter().filter(|one| one["status"] == "failed");
    let before = findings.len();
    findings.extend(failed.map(|test| of_test(test, name, printed)));
    if findings.len() == before && file["status"] == "failed" {
        let message = useful_lines(text(file, "message"));
        let (line, column) = place_in_stack(text(file, "message"), name).unzip();
        findings.push(Finding {
            file: name.to_owned(),
            line,
            column,
            ..printed.finding("suite", message)
        });
    }
}

fn of_test(test: &Value, file: &str, printed: &Printed<'_>) -> Finding {
    let failure = test["failureMessages"][0].as_str().unwrap_or_default();
    let (line, column) = place_in_stack(failure, file).unzip();
    // The name ends at the first colon.
    let name = text(test, "fullName").replace(": ", " ");
    let message = format!("{name}: {}", useful_lines(failure));
    Finding { file: file.to_owned(), line, column, ..printed.finding(OF_TEST, message) }
}

/// The message without stack frames, blank lines and Jest's heading.
fn useful_lines(message: &str) -> String {
    const LINES: usize = 20;
    let plain = crate::text::sanitize::plain(message);
    let lines = plain.lines().map(str::trim_end).filter(|line| {
        let said = line.trim_start();
        !said.is_empty() && !said.starts_with("at ") && !said.starts_with("● Test suite failed")
    });
    lines
        .take(LINES)
        .map(|line| crate::text::truncate::bounded(line, 300))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The first frame in the test's own file: `at … (/project/a.test.js:2:36)`.
fn place_in_stack(message: &str, file: &str) -> Option<(u32, u32)> {
    let frame = Regex::new(&format!(r"(?m)^\s*at .*?{}:(\d+):(\d+)", escape(file))).ok()?;
    let at = frame.captures(message).filter(|_| !file.is_empty())?;
    Some((at[1].parse().ok()?, at[2].parse().ok()?))
}

// `cargo … --message-format json`: one document per line.
//
// The compiler's messages are on standard output; if cargo did not reach the compiler, the reason
// is on standard error.

pub(super) fn cargo(printed: &Printed<'_>) -> ParsedOutput {
    let rows = printed.stdout.lines().filter(|line| line.starts_with('{'));
    let rows = rows.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let findings = rows.filter_map(|row| cargo_finding(&row, printed));
    let findings: Vec<Finding> = findings.take(super::MOST).collect();
    // Warnings do not fail a build: if there is no error, something else failed.
    match printed.code == Some(0) || findings.iter().any(|finding| finding.is_error) {
        true => ParsedOutput::Found(findings),
        false => ParsedOutput::DidNotRun(failure::why(printed)),
    }
}

fn cargo_finding(row: &Value, printed: &Printed<'_>) -> Option<Finding> {
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

#[cfg(test)]
mod supabase_tests {
    use super::*;

    #[track_caller]
    fn check(code: i32, stderr: &str, is_clean: bool) {
        let printed =
            Printed { check: "supabase", file: "/a.sql", stdout: "", stderr, code: Some(code) };
        assert_eq!(
            supabase(&printed) == ParsedOutput::Found(Vec::new()),
            is_clean,
            "{code} {stderr}"
        );
    }

    #[test]
    fn functions_without_mistakes_are_not_reported() {
        check(0, "Connecting to local database...\nLinting schema: public\n", true);
        check(0, "\nNo schema errors found\n", true);
    }

    #[test]
    fn a_run_that_did_not_look_is_not_clean() {
        check(0, "", false);
        check(0, "Connecting to local database...\n", false);
        check(1, "Linting schema: public\nfailed to query rows\n", false);
    }
}
