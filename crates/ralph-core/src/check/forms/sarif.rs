//! SARIF 2.1.0.

use super::json::{items, position, text};
use super::{Printed, Said, failure, found, json};
use crate::check::finding::Finding;
use serde_json::Value;

pub(super) fn read(printed: &Printed<'_>) -> Said {
    let is_report = |value: &Value| value["runs"].is_array();
    let report = json::document(printed.stdout, is_report)
        .or_else(|| json::document(printed.stderr, is_report));
    let Some(report) = report else { return Said::DidNotRun(failure::why(printed)) };
    let runs = items(&report, "runs");
    let findings: Vec<Finding> = runs.iter().flat_map(|run| of_run(run, printed)).collect();
    match (findings.is_empty(), runs.iter().find_map(failed)) {
        (true, Some(why)) => Said::DidNotRun(why),
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
            file: path(text(&place["artifactLocation"], "uri")),
            line: position(&place["region"], "startLine"),
            column: position(&place["region"], "startColumn"),
            is_error: level(result, run) == "error",
            ..printed.finding(rule, message.unwrap_or(rule))
        }
    })
}

/// A result may also say that all is well, or that a person has dealt with it.
fn is_problem(result: &Value) -> bool {
    !matches!(text(result, "kind"), "pass" | "notApplicable")
        && items(result, "suppressions").is_empty()
}

/// A result without a level has its rule's.
fn level<'a>(result: &'a Value, run: &'a Value) -> &'a str {
    let rule = || {
        let index = usize::try_from(result["ruleIndex"].as_u64()?).ok()?;
        run["tool"]["driver"]["rules"][index]["defaultConfiguration"]["level"].as_str()
    };
    result["level"].as_str().or_else(rule).unwrap_or("warning")
}

/// Why the tool itself failed, if it says so.
fn failed(run: &Value) -> Option<String> {
    let failed = |one: &&Value| one["executionSuccessful"] == false;
    let invocation = items(run, "invocations").iter().find(failed)?;
    let notice = items(invocation, "toolExecutionNotifications").first();
    let why = notice.map(|notice| text(&notice["message"], "text")).filter(|why| !why.is_empty());
    let why = why.and_then(|why| why.lines().next());
    Some(super::shorten(&crate::plain::plain(why.unwrap_or("says that it failed")), 300))
}

/// A path as it is written in a file system.
fn path(uri: &str) -> String {
    let path = uri.strip_prefix("file://localhost").or_else(|| uri.strip_prefix("file://"));
    let Some(path) = path else { return decoded(uri) };
    decoded(path)
}

/// `%20` as a blank. Bytes that are no text, and signs that begin no such pair, stay as they are.
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
