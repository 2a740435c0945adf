//! SARIF 2.1.0.

use super::json::{items, path_of, position, text};
use super::{ParsedOutput, Printed, failure, found, json};
use crate::project::check::finding::Finding;
use serde_json::Value;

pub(super) fn read(printed: &Printed<'_>) -> ParsedOutput {
    let is_report = |value: &Value| value["runs"].is_array();
    let report = json::document(printed.stdout, is_report)
        .or_else(|| json::document(printed.stderr, is_report));
    let Some(report) = report else { return ParsedOutput::DidNotRun(failure::why(printed)) };
    let runs = items(&report, "runs");
    let findings: Vec<Finding> = runs.iter().flat_map(|run| of_run(run, printed)).collect();
    match (findings.is_empty(), runs.iter().find_map(failed)) {
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
            is_error: level(result, run) == "error",
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
fn level<'a>(result: &'a Value, run: &'a Value) -> &'a str {
    let rule = || {
        let index = usize::try_from(result["ruleIndex"].as_u64()?).ok()?;
        run["tool"]["driver"]["rules"][index]["defaultConfiguration"]["level"].as_str()
    };
    result["level"].as_str().or_else(rule).unwrap_or("warning")
}

/// Why the tool itself failed, if it reports that.
fn failed(run: &Value) -> Option<String> {
    let failed = |one: &&Value| one["executionSuccessful"] == false;
    let invocation = items(run, "invocations").iter().find(failed)?;
    let notice = items(invocation, "toolExecutionNotifications").first();
    let why = notice.map(|notice| text(&notice["message"], "text")).filter(|why| !why.is_empty());
    let why = why.and_then(|why| why.lines().next());
    Some(crate::text::truncate::bounded(
        &crate::text::sanitize::plain(why.unwrap_or("says that it failed")),
        300,
    ))
}
