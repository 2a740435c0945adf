//! Why a tool did not check the file, in one line.
//!
//! Tools bury the reason in a page of advice and stack frames; this module finds the line that a
//! person would quote.

use super::{Printed, bounded};

/// Length limit of a reason in characters.
pub(super) const LONGEST: usize = 300;

/// Marks in front of a reason that carry no information.
const MARKS: [&str; 6] = ["Cause: ", "● ", "× ", "✖ ", "✘ ", "❌ "];

/// Prefixes of lines that are not a reason.
const NOISE: &[&str] = &[
    "at ",
    "Oops!",
    "ESLint: ",
    "(node:",
    "(Use `node",
    "npm warn",
    "npm notice",
    "npm WARN",
    "note:",
    "Traceback",
    "warning:",
    "Node.js v",
    "Blocking waiting",
    "Compiling ",
    "Checking ",
    "Finished ",
    "ruff failed",
    "ERROR: usage:",
    "usage:",
    "Usage:",
    "go: downloading ",
    "Connecting to ",
];

/// Words that appear in a line with a reason.
const TELLING: &[&str] = &[
    "error",
    "could not",
    "couldn't",
    "cannot",
    "can't",
    "failed",
    "not found",
    "no such",
    "unknown",
    "unrecognized",
    "unexpected",
    "invalid",
    "missing",
    "denied",
    "does not",
    "unable",
    "no files",
];

/// Words of a tool that tried to reach another machine. None of them alone is common in ordinary
/// code.
const NETWORK: &[&str] = &[
    "enotfound",
    "eai_again",
    "econnrefused",
    "etimedout",
    "enetunreach",
    "could not resolve host",
    "temporary failure in name resolution",
    "network is unreachable",
    "connection refused",
    "no such host",
    "could not connect",
    "failed to connect",
    "unable to connect",
    "network error",
    "no matching package named",
    "goproxy=off",
    "you're using offline mode",
    "fetch failed",
    "failed to fetch",
    "network request",
    "dial tcp",
];

/// Why the tool did not start or did not finish.
pub(super) fn never_ran(printed: &Printed<'_>) -> Option<String> {
    match printed.code {
        None => Some("was ended by a signal".to_owned()),
        // A shell reports a signal to its child this way.
        Some(code @ 129..=159) => Some(format!("was ended by signal {}", code - 128)),
        Some(126 | 127) => Some(match telling(printed) {
            Some(line) => format!("could not be started: {line}"),
            None => "could not be started".to_owned(),
        }),
        Some(_) => None,
    }
}

/// Why nothing in the output could be parsed.
pub(super) fn why(printed: &Printed<'_>) -> String {
    if let Some(wanted) = wanted_network(printed) {
        return wanted;
    }
    match (telling(printed), printed.code) {
        (Some(line), _) => line,
        (None, Some(code @ 1..)) => format!("ended with exit code {code} and printed no reason"),
        (None, _) => "printed nothing that could be read".to_owned(),
    }
}

/// The tool's message about the network.
pub(super) fn wanted_network(printed: &Printed<'_>) -> Option<String> {
    line_with(printed, NETWORK).map(|line| {
        let lower = line.to_ascii_lowercase();
        match lower.contains("postgres") || lower.contains("database") {
            true => format!("its database is unreachable: {line}"),
            false => format!("wants the network: {line}"),
        }
    })
}

/// The first line with one of these words, which are in lower case.
pub(super) fn line_with(printed: &Printed<'_>, words: &[&str]) -> Option<String> {
    let text = printed.text();
    let mut lines = text.lines().map(|line| bounded(line.trim(), LONGEST));
    lines.find(|line| has_one_of(line, words))
}

/// True if a lower-case text mentions an unreachable network.
pub(super) fn is_about_network(lower: &str) -> bool {
    NETWORK.iter().any(|word| lower.contains(word))
}

fn has_one_of(line: &str, words: &[&str]) -> bool {
    let lower = line.to_ascii_lowercase();
    words.iter().any(|word| lower.contains(word))
}

/// The most informative line of standard error, otherwise of standard output.
fn telling(printed: &Printed<'_>) -> Option<String> {
    most_telling(printed.stderr).or_else(|| most_telling(printed.stdout))
}

fn most_telling(text: &str) -> Option<String> {
    let text = crate::text::sanitize::plain(text);
    let lines = || text.lines().map(without_marks).filter(|line| is_said(line));
    let at = lines().position(|line| has_one_of(&bounded(line, LONGEST), TELLING)).unwrap_or(0);
    let mut lines = lines().skip(at);
    let line = lines.next()?;
    // A heading needs the line below it.
    let whole = match (line.ends_with(':'), lines.next()) {
        (true, Some(next)) => format!("{line} {next}"),
        _ => line.to_owned(),
    };
    Some(bounded(&whole, LONGEST))
}

fn without_marks(line: &str) -> &str {
    let line = line.trim();
    MARKS.iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line)
}

fn is_said(line: &str) -> bool {
    line.contains(char::is_alphabetic) && !NOISE.iter().any(|noise| line.starts_with(noise))
}
