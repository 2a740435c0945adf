//! `supabase db lint`: the problems in the functions of a database.
//!
//! It names a function instead of a file, and by default it exits with 0 whatever it finds.

use super::json::{items, text};
use super::{ParsedOutput, Printed, failure, found, json};
use crate::project::check::finding::Finding;
use serde_json::Value;

/// Messages after a completed check. If there are functions without problems, Supabase names the
/// checked schemas and prints no report.
const LOOKED: &[&str] = &["no schema errors found", "linting schema"];

pub(super) fn read(printed: &Printed<'_>) -> ParsedOutput {
    let Some(report) = json::document(printed.stdout, is_report) else {
        let is_clean = printed.code == Some(0) && failure::line_with(printed, LOOKED).is_some();
        return match is_clean {
            true => ParsedOutput::Found(Vec::new()),
            false => ParsedOutput::DidNotRun(failure::why(printed)),
        };
    };
    let functions = report.as_array().map(Vec::as_slice).unwrap_or_default();
    found(functions.iter().flat_map(|function| of_function(function, printed)).collect(), printed)
}

fn is_report(value: &Value) -> bool {
    value.as_array().is_some_and(|functions| functions.iter().all(|one| one["issues"].is_array()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(code: i32, stderr: &str, is_clean: bool) {
        let printed =
            Printed { check: "supabase", file: "/a.sql", stdout: "", stderr, code: Some(code) };
        assert_eq!(read(&printed) == ParsedOutput::Found(Vec::new()), is_clean, "{code} {stderr}");
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
