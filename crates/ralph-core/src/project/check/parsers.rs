//! Parses the output of tools into findings. Those that are JSON are in `json`.
//!
//! A tool with unexpected output has not checked the file: that is reported, and never taken for
//! "nothing found".

#[cfg(test)]
mod edges;
mod failure;
mod json;
mod lines;
#[cfg(test)]
mod tests;
mod whole;

use super::finding::Finding;
use crate::text::truncate::bounded;
use serde::{Deserialize, Serialize};

/// How many findings of one run are kept.
const MOST: usize = 2_000;

/// Length limit of a message in characters; [`OutputFormat::Whole`] allows twice as many.
const LONGEST: usize = 1_000;

/// The format of a tool's output.
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
    /// The report of `vitest --reporter=json` and of `jest --json`, which use the same format.
    #[serde(alias = "jest")]
    Vitest,
    /// The short summary of `pytest`.
    Pytest,
    /// `deno check`, `deno lint --compact`, `deno fmt`.
    Deno,
    /// The JSON of `supabase db lint`.
    Supabase,
    /// SARIF 2.1.0, as many tools write it.
    Sarif,
    /// Lines such as `file:line:column: message`; the fallback for every other tool.
    Plain,
    /// Exit code 0 means success; otherwise the whole output is one finding. For formatters, and
    /// for test runners without a better format.
    Whole,
}

/// A tool's output, and how the tool ended.
#[derive(Debug, Clone, Copy)]
pub struct Printed<'a> {
    /// The tool's name, for the findings.
    pub check: &'a str,
    /// The file that it ran for, absolute.
    pub file: &'a str,
    pub stdout: &'a str,
    pub stderr: &'a str,
    /// `None` if a signal ended it.
    pub code: Option<i32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParsedOutput {
    /// The tool checked the file, and these are its findings; empty if all is well.
    Found(Vec<Finding>),
    /// The tool did not check the file; why, in one line: "could not find its configuration".
    DidNotRun(String),
}

/// Parses a tool's output.
pub fn read(form: OutputFormat, printed: &Printed<'_>) -> ParsedOutput {
    if let Some(why) = failure::never_ran(printed) {
        return ParsedOutput::DidNotRun(why);
    }
    let said = match form {
        OutputFormat::Eslint => json::eslint(printed),
        OutputFormat::Ruff => json::ruff(printed),
        OutputFormat::Tsc => lines::tsc(printed),
        OutputFormat::Shellcheck => json::shellcheck(printed),
        OutputFormat::Cargo => json::cargo(printed),
        OutputFormat::Pyright => json::pyright(printed),
        OutputFormat::Vitest => json::vitest(printed),
        OutputFormat::Pytest => lines::pytest(printed),
        OutputFormat::Deno => lines::deno(printed),
        OutputFormat::Supabase => json::supabase(printed),
        OutputFormat::Sarif => json::sarif(printed),
        OutputFormat::Plain => lines::plain(printed),
        OutputFormat::Whole => whole::read(printed),
    };
    match said {
        ParsedOutput::Found(mut findings) => {
            findings.truncate(MOST);
            let longest = if form == OutputFormat::Whole { whole::LONGEST } else { LONGEST };
            findings.iter_mut().for_each(|finding| tidy(finding, longest));
            ParsedOutput::Found(findings)
        }
        // A message of tsc may have several lines.
        ParsedOutput::DidNotRun(why) => {
            let line = why.lines().next().unwrap_or_default();
            ParsedOutput::DidNotRun(bounded(line, failure::LONGEST))
        }
    }
}

/// The findings; or why there are none, if the exit code shows that something is wrong.
fn found(findings: Vec<Finding>, printed: &Printed<'_>) -> ParsedOutput {
    match findings.is_empty() && printed.code != Some(0) {
        true => ParsedOutput::DidNotRun(failure::why(printed)),
        false => ParsedOutput::Found(findings),
    }
}

impl Printed<'_> {
    /// An error without a place, as a base.
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

    /// Both streams, without colours.
    fn text(&self) -> String {
        let mut text = crate::text::sanitize::plain(self.stdout);
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&crate::text::sanitize::plain(self.stderr));
        text
    }
}

/// Cleans a finding: a tool may print anything, and quotes the project's own text.
fn tidy(finding: &mut Finding, longest: usize) {
    finding.message = bounded(crate::text::sanitize::plain(&finding.message).trim(), longest);
    // Lines and columns count from 1; some tools use 0 for an unknown one.
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
