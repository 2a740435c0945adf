//! What tools print, read into findings.
//!
//! A tool that printed something else than it should has not looked at the file: that is said, and
//! never taken for "nothing found".

mod cargo;
mod deno;
#[cfg(test)]
mod edges;
mod eslint;
mod failure;
mod json;
mod plain;
mod pyright;
mod pytest;
mod ruff;
mod sarif;
mod shellcheck;
mod supabase;
#[cfg(test)]
mod tests;
mod tsc;
mod vitest;
mod whole;

use super::finding::Finding;
use crate::text::truncate::bounded;
use serde::{Deserialize, Serialize};

/// The most findings that are kept of one run.
const MOST: usize = 2_000;

/// The most characters of a message; what is given whole may be twice as long.
const LONGEST: usize = 1_000;

/// The form of a tool's output. Each has a file of its own here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputFormat {
    /// `eslint --format json`.
    Eslint,
    /// `ruff check --output-format json`.
    Ruff,
    /// `tsc --pretty false`.
    Tsc,
    /// `shellcheck --format json1`.
    Shellcheck,
    /// `cargo … --message-format json`.
    Cargo,
    /// `pyright --outputjson`.
    Pyright,
    /// The report of `vitest --reporter=json` and of `jest --json`, which have one form.
    #[serde(alias = "jest")]
    Vitest,
    /// `pytest`, its short summary.
    Pytest,
    /// `deno check`, `deno lint --compact`, `deno fmt`.
    Deno,
    /// `supabase db lint`, which prints JSON.
    Supabase,
    /// SARIF 2.1.0, as many tools write it.
    Sarif,
    /// Lines `file:line:column: message` and their kin; the fallback for every other tool.
    Plain,
    /// Exit code 0 is good; else what was printed is one finding. For formatters, and for runners of
    /// tests that say no more.
    Whole,
}

/// What a tool printed, and how it ended.
#[derive(Debug, Clone, Copy)]
pub struct Printed<'a> {
    /// Its name, for the findings.
    pub check: &'a str,
    /// The file it was run for, absolute.
    pub file: &'a str,
    /// On standard output.
    pub stdout: &'a str,
    /// On standard error.
    pub stderr: &'a str,
    /// The exit code; none if a signal ended it.
    pub code: Option<i32>,
}

/// What the output says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParsedOutput {
    /// It looked, and this is what it found; empty if all is well.
    Found(Vec<Finding>),
    /// It did not look; why, in one line: "could not find its configuration".
    DidNotRun(String),
}

/// Reads what a tool printed.
pub fn read(form: OutputFormat, printed: &Printed<'_>) -> ParsedOutput {
    if let Some(why) = failure::never_ran(printed) {
        return ParsedOutput::DidNotRun(why);
    }
    let said = match form {
        OutputFormat::Eslint => eslint::read(printed),
        OutputFormat::Ruff => ruff::read(printed),
        OutputFormat::Tsc => tsc::read(printed),
        OutputFormat::Shellcheck => shellcheck::read(printed),
        OutputFormat::Cargo => cargo::read(printed),
        OutputFormat::Pyright => pyright::read(printed),
        OutputFormat::Vitest => vitest::read(printed),
        OutputFormat::Pytest => pytest::read(printed),
        OutputFormat::Deno => deno::read(printed),
        OutputFormat::Supabase => supabase::read(printed),
        OutputFormat::Sarif => sarif::read(printed),
        OutputFormat::Plain => plain::read(printed),
        OutputFormat::Whole => whole::read(printed),
    };
    match said {
        ParsedOutput::Found(mut findings) => {
            findings.truncate(MOST);
            let longest = if form == OutputFormat::Whole { whole::LONGEST } else { LONGEST };
            findings.iter_mut().for_each(|finding| tidy(finding, longest));
            ParsedOutput::Found(findings)
        }
        // A message of tsc may have several.
        ParsedOutput::DidNotRun(why) => {
            ParsedOutput::DidNotRun(why.lines().next().unwrap_or_default().to_owned())
        }
    }
}

/// What was found; or why nothing was, where the exit code says that something is wrong.
fn found(findings: Vec<Finding>, printed: &Printed<'_>) -> ParsedOutput {
    match findings.is_empty() && printed.code != Some(0) {
        true => ParsedOutput::DidNotRun(failure::why(printed)),
        false => ParsedOutput::Found(findings),
    }
}

impl Printed<'_> {
    /// An error without a place, to be filled in.
    fn finding(&self, rule: &str, message: impl Into<String>) -> Finding {
        Finding {
            check: self.check.to_owned(),
            file: String::new(),
            line: None,
            column: None,
            rule: rule.to_owned(),
            message: message.into(),
            is_error: true,
        }
    }

    /// All that was printed, without colours.
    fn text(&self) -> String {
        let mut text = crate::text::sanitize::plain(self.stdout);
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&crate::text::sanitize::plain(self.stderr));
        text
    }
}

/// A tool may print anything, and quotes the project's own text.
fn tidy(finding: &mut Finding, longest: usize) {
    finding.message = bounded(crate::text::sanitize::plain(&finding.message).trim(), longest);
    // They count from 1; 0 is how some say that they know none.
    for number in [&mut finding.line, &mut finding.column] {
        *number = number.filter(|number| *number > 0);
    }
    for word in [&mut finding.rule, &mut finding.file] {
        *word = bounded(
            &crate::text::sanitize::plain(word).replace(crate::text::sanitize::acts, ""),
            LONGEST,
        );
    }
}
