//! Reads from a command's output how many tests ran, and which failed.
//!
//! A command that exits with 0 after running nothing proves nothing. Only a known runner's own
//! summary counts. Without one the result is [`TestsRun::Unknown`], which does not fail the
//! criterion: calling a real pass empty would keep a loop from ever ending. Output is read once,
//! line by line, in constant memory.

mod runners;

use crate::text::truncate::bounded;
use runners::{Runners, has_directive};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What is known about the tests that a command ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestsRun {
    /// No known runner printed a summary, so nothing is known (a linter, a type check, a custom
    /// script).
    #[default]
    Unknown,
    /// This many tests passed or failed, summed over all summaries. Skipped, ignored, todo,
    /// expected-failure and filtered tests are not counted.
    Ran(u64),
    /// A known runner ran tests without a count (plain `go test`).
    Some,
    /// A known runner reported that it ran no tests.
    None(NoTests),
}

impl TestsRun {
    /// The number of tests; `None` if it is unknown.
    pub fn count(self) -> Option<u64> {
        match self {
            TestsRun::Ran(n) => Some(n),
            TestsRun::None(_) => Some(0),
            TestsRun::Some | TestsRun::Unknown => None,
        }
    }
}

/// Why no test ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoTests {
    /// The runner found no tests.
    NoneFound,
    /// All tests are skipped, ignored, todo or expected to fail.
    AllSkipped,
    /// The command's own filter excludes all tests.
    FilteredOut,
}

impl NoTests {
    /// The reason, to print after the command.
    pub fn reason(self) -> &'static str {
        match self {
            NoTests::NoneFound => "it found no tests",
            NoTests::AllSkipped => "all of its tests are skipped",
            NoTests::FilteredOut => "its filter leaves no test",
        }
    }
}

/// Reads the output of a command in pieces.
#[derive(Debug, Clone, Default)]
pub struct Scanner {
    lines: Lines,
    runners: Runners,
}

impl Scanner {
    /// Feeds the next piece of output; it may be split anywhere.
    pub fn feed(&mut self, bytes: &[u8]) {
        let runners = &mut self.runners;
        self.lines.feed(bytes, |line| runners.line(line));
    }

    /// Returns how many tests ran.
    pub fn finish(self) -> TestsRun {
        self.summarise().tests
    }

    /// Returns the sum of all runner summaries.
    pub fn summarise(mut self) -> Summary {
        let runners = &mut self.runners;
        self.lines.finish(|line| runners.line(line));
        let tally = self.runners.tally();
        Summary { tests: tally.answer(), failed: tally.failed, skipped: tally.skipped }
    }
}

/// The sum of the runner summaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Summary {
    pub tests: TestsRun,
    /// Failed tests, or failed packages if the runner counts only packages. Excludes expected
    /// failures.
    #[serde(default)]
    pub failed: u64,
    /// Tests that were skipped, ignored, todo or expected to fail.
    #[serde(default)]
    pub skipped: u64,
}

/// The counts of one runner so far.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    /// Tests that passed or failed.
    ran: u64,
    failed: u64,
    skipped: u64,
    filtered: u64,
    /// Something ran without a count.
    some: bool,
    /// There was a summary, possibly of zero tests.
    spoke: bool,
}

impl Tally {
    /// A summary of zero tests.
    const EMPTY: Tally =
        Tally { ran: 0, failed: 0, skipped: 0, filtered: 0, some: false, spoke: true };
    /// Tests ran, but their number is unknown.
    const SOME: Tally = Tally { some: true, ..Tally::EMPTY };

    fn ran(ran: u64) -> Tally {
        Tally { ran, ..Tally::EMPTY }
    }

    fn failed(count: u64) -> Tally {
        Tally { failed: count, ..Tally::ran(count) }
    }

    /// Of `all` tests, `skipped` did not run.
    fn of_all(all: u64, skipped: u64) -> Tally {
        Tally { ran: all.saturating_sub(skipped), skipped, ..Tally::EMPTY }
    }

    fn add(&mut self, other: Tally) {
        self.ran = self.ran.saturating_add(other.ran);
        self.failed = self.failed.saturating_add(other.failed);
        self.skipped = self.skipped.saturating_add(other.skipped);
        self.filtered = self.filtered.saturating_add(other.filtered);
        self.some |= other.some;
        self.spoke |= other.spoke;
    }

    fn answer(self) -> TestsRun {
        match self {
            Tally { ran: 1.., .. } => TestsRun::Ran(self.ran),
            Tally { some: true, .. } => TestsRun::Some,
            Tally { spoke: false, .. } => TestsRun::Unknown,
            Tally { skipped: 1.., .. } => TestsRun::None(NoTests::AllSkipped),
            Tally { filtered: 1.., .. } => TestsRun::None(NoTests::FilteredOut),
            _ => TestsRun::None(NoTests::NoneFound),
        }
    }
}

/// Summaries are short; the rest of a longer line is dropped.
const LONGEST: usize = 4 * 1024;

/// Splits a byte stream into lines without colours.
///
/// A carriage return also ends a line: progress bars redraw the same line, and the summary that
/// follows must not be joined to them.
#[derive(Debug, Clone, Default)]
struct Lines {
    line: Vec<u8>,
    state: State,
}

/// Position of the stream in a terminal control sequence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    Escape,
    /// `ESC [ … letter`: colours, cursor movements.
    Control,
    /// `ESC ] … BEL` or `ESC ] … ESC \`: titles, links.
    Title,
}

impl Lines {
    fn feed(&mut self, bytes: &[u8], mut each: impl FnMut(&str)) {
        for &byte in bytes {
            self.byte(byte, &mut each);
        }
    }

    /// Current memory use.
    #[cfg(test)]
    fn memory(&self) -> usize {
        self.line.capacity()
    }

    /// Ends the stream; the last line may lack a line ending.
    fn finish(&mut self, mut each: impl FnMut(&str)) {
        self.end(&mut each);
    }

    fn byte(&mut self, byte: u8, each: &mut impl FnMut(&str)) {
        match (self.state, byte) {
            // Also inside a control sequence: an unterminated one must not hide the rest.
            (_, b'\n' | b'\r') => {
                self.state = State::Text;
                self.end(each);
            }
            (_, 0x1b) => self.state = State::Escape,
            (State::Text, _) => {
                if self.line.len() < LONGEST {
                    self.line.push(byte);
                }
            }
            (State::Escape, b'[') => self.state = State::Control,
            (State::Escape, b']') => self.state = State::Title,
            // `ESC ( B` and similar sequences have intermediate bytes.
            (State::Escape, 0x20..=0x2f) => {}
            (State::Escape, _) | (State::Control, 0x40..=0x7e) | (State::Title, 0x07) => {
                self.state = State::Text;
            }
            (State::Control | State::Title, _) => {}
        }
    }

    fn end(&mut self, each: &mut impl FnMut(&str)) {
        match String::from_utf8_lossy(&self.line) {
            Cow::Borrowed(line) => each(line.trim_end()),
            Cow::Owned(line) => each(line.trim_end()),
        }
        self.line.clear();
    }
}

// Names the tests that failed, for a person and a model who ask what to fix first.
//
// A runner prints the names once or twice, often far above the end of its output and followed by
// pages of its own stack frames. Every line is read once, in constant memory. A missed name costs
// nothing but a less helpful message, so a form needs no context beyond its own line.

/// Longest name or error line, in UTF-16 units.
const LONGEST_NAME: usize = 120;

/// Names that are kept; more are only counted by the runner.
const MOST_NAMES: usize = 8;

/// What failed in the output of a command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Failures {
    /// Names of failed tests, in the order of the output.
    pub tests: Vec<String>,
    /// The first line that states an error; empty if there is none.
    pub error: String,
}

/// Reads the output of a command in pieces.
#[derive(Debug, Clone, Default)]
pub struct FailureScanner {
    lines: Lines,
    found: Failures,
    /// True below rspec's heading of pending examples, which are numbered like failures.
    pending: bool,
}

impl FailureScanner {
    /// Feeds the next piece of output; it may be split anywhere.
    pub fn feed(&mut self, bytes: &[u8]) {
        let (found, pending) = (&mut self.found, &mut self.pending);
        self.lines.feed(bytes, |line| found.line(line, pending));
    }

    /// Returns what failed.
    pub fn finish(mut self) -> Failures {
        let (found, pending) = (&mut self.found, &mut self.pending);
        self.lines.finish(|line| found.line(line, pending));
        self.found
    }
}

impl Failures {
    /// What failed in an output that is at hand.
    pub fn parse(output: &str) -> Failures {
        let mut scanner = FailureScanner::default();
        scanner.feed(output.as_bytes());
        scanner.finish()
    }

    fn line(&mut self, line: &str, pending: &mut bool) {
        match line.trim_start() {
            "Pending:" => *pending = true,
            "Failures:" => *pending = false,
            text if text.starts_with("Pending: (") => *pending = true,
            _ => {}
        }
        if is_frame(line) || *pending {
            return;
        }
        if let Some(name) = failed_test(line) {
            self.name(name);
        } else if self.error.is_empty()
            && let Some(error) = error(line).or_else(|| missing(line))
        {
            self.error = bounded(error, LONGEST_NAME);
        }
    }

    fn name(&mut self, name: &str) {
        let name = bounded(name.trim(), LONGEST_NAME);
        // A test inside another one says more: go prints the outer one first, vitest and the
        // summaries of others repeat a name with its file or suite in front.
        let outer = |known: &String| name.starts_with(&format!("{known}/"));
        let is_known = |known: &String| {
            let is_part = |long: &str, short: &str| long.ends_with(&format!(" {short}"));
            *known == name
                || is_part(&name, known)
                || is_part(known, &name)
                || known.starts_with(&format!("{name}/"))
        };
        if let Some(at) = self.tests.iter().position(outer) {
            self.tests[at] = name;
        } else if !name.is_empty()
            && self.tests.len() < MOST_NAMES
            && !self.tests.iter().any(is_known)
        {
            self.tests.push(name);
        }
    }
}

/// How a line names a failed test: the text before the name, after any indentation; the text after it, if there is any;
/// what the line must contain.
const FORMS: [(&str, &str, &str); 12] = [
    // cargo test, deno
    ("test ", " ... FAILED", " ... FAILED"),
    ("", " ... FAILED", " ... FAILED"),
    // go test
    ("--- FAIL: ", " (", " ("),
    // pytest
    ("FAILED ", " - ", "::"),
    // unittest
    ("FAIL: ", " (", " ("),
    ("ERROR: ", " (", " ("),
    // jest, vitest, bats and node's spec reporter
    ("✕ ", "\n", ""),
    ("× ", "\n", ""),
    ("✖ ", "\n", ""),
    ("✗ ", "\n", ""),
    // jest, where it lists no tests
    ("● ", "\n", ""),
    // bun
    ("(fail) ", " [", ""),
];

/// The name of the failed test that this line reports.
fn failed_test(line: &str) -> Option<&str> {
    let text = line.trim_start();
    let read = |(before, after, has): &(&str, &str, &str)| {
        let rest = text.strip_prefix(before).filter(|rest| rest.contains(has))?;
        Some(rest.split(after).next().unwrap_or(rest))
    };
    // `1) parses ISO weeks` of mocha, rspec and phpunit.
    let numbered = || {
        let (number, name) = text.split_once(") ")?;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then_some(name)
    };
    let nextest = || text.strip_prefix("FAIL [")?.split_once(") ").map(|(_, name)| name);
    // `2/2 Test #2: limit ......***Failed    0.00 sec`
    let ctest = || {
        let (name, end) = text.split_once("Test #")?.1.split_once(": ")?.1.split_once("***")?;
        let has_failed = ["Failed", "Timeout", "Exception"].iter().any(|it| end.starts_with(it));
        has_failed.then(|| name.trim_end_matches('.'))
    };
    let form = FORMS.iter().find_map(read);
    let found = form.or_else(nextest).or_else(|| tap(text)).or_else(numbered).or_else(ctest)?;
    let found = without_time(found.trim());
    // Headings and counts, which some reporters print in the same form.
    let is_heading = found.ends_with("tests:")
        || found.starts_with(|first: char| first.is_ascii_digit()) && found.ends_with("failed");
    let is_other = matches!(found, "Failure:" | "Error:" | "Console" | "Test suite failed to run")
        // `● Multiple configurations found:`
        || text.starts_with("● ") && found.ends_with(':');
    (!is_heading && !is_other).then(|| found.trim_end_matches(':'))
}

/// `not ok 2 - parses` of node, bats, mocha and vitest; a test that is skipped or still to be done
/// has not failed.
fn tap(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("not ok ")?;
    let name = rest.trim_start_matches(|letter: char| letter.is_ascii_digit()).trim_start();
    let name = name.strip_prefix("- ").unwrap_or(name);
    let (name, _) = name.split_once(" # ").unwrap_or((name, ""));
    (!has_directive(rest)).then_some(name)
}

/// Removes `(2 ms)` or `3ms` at the end.
fn without_time(text: &str) -> &str {
    let is_time = |word: &str| {
        let number = word.trim_matches(['(', ')']).trim_end_matches(['m', 's']).trim_end();
        number.parse::<f64>().is_ok() && number != word
    };
    let name = text.rsplit_once(" (").or_else(|| text.rsplit_once(' '));
    name.filter(|(_, time)| is_time(time)).map_or(text, |(name, _)| name)
}

/// The text of a line in which a compiler, a test or an interpreter states what is wrong.
fn error(line: &str) -> Option<&str> {
    // pytest puts `E   ` in front.
    let text = line.trim().trim_start_matches("E ").trim_start();
    let first = text.split([':', ' ', '[']).next().unwrap_or_default();
    let named = |word: &str| word.ends_with("Error") || word.ends_with("Exception");
    let states = (named(first) && text[first.len()..].starts_with([':', '[']))
        || matches!(first, "error" | "Error" | "ERROR" | "fatal" | "assert" | "assertion")
        || text.contains(": error: ")
        || text.contains(": error TS")
        || text.contains(" panicked at ");
    states.then_some(text)
}

/// The text of a line in which a shell, an interpreter or a script runner misses what it should
/// run: a program, a module, a script.
fn missing(line: &str) -> Option<&str> {
    let text = line.trim();
    let is_missing = || {
        let (before, end) = text.rsplit_once(": ")?;
        // `sh: 1: cargo: not found`, `make: cargo: No such file or directory`.
        let says = ["not found", "command not found", "No such file or directory"].contains(&end);
        let name = before.rsplit(": ").next()?;
        Some(says && !name.is_empty() && !name.contains(char::is_whitespace))
    };
    let states = text.contains(": No module named ")
        || text.contains("Missing script: ")
        || text.contains(": command not found: ")
        || is_missing() == Some(true);
    states.then_some(text)
}

/// How a line of a stack trace begins, after its indentation, and what else it contains.
const FRAMES: [(&str, &str); 13] = [
    ("at ", "("),
    ("at ", ":"),
    ("at ", "/"),
    ("", "node:internal/"),
    ("", " (node:"),
    ("File \"", "\", line "),
    ("Traceback (most recent call last)", ""),
    ("stack backtrace:", ""),
    ("note: run with `RUST_BACKTRACE", ""),
    ("note: Some details are omitted", ""),
    ("Node.js v", ""),
    ("goroutine ", ":"),
    // Go: `/project/a.go:12 +0x1d`
    ("", " +0x"),
];

/// True for a line of a stack trace, which tells where the runner stood and not what is wrong.
fn is_frame(line: &str) -> bool {
    let text = line.trim_start();
    let numbered = || {
        let rest = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
        rest.len() < text.len() && rest.starts_with(": ")
    };
    FRAMES.iter().any(|(begins, has)| text.starts_with(begins) && text.contains(has))
        || (line.starts_with(' ') && numbered())
        || (!text.is_empty() && text.bytes().all(|byte| matches!(byte, b'^' | b'~' | b' ')))
}

/// The output without stack frames and empty lines.
pub(crate) fn without_frames(output: &str) -> String {
    let mut kept = Vec::new();
    let mut after_frame = false;
    for line in output.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
        let python = line.trim_start().starts_with("File \"");
        // Python quotes the source below each frame.
        if !is_frame(line) && !after_frame {
            kept.push(line);
        }
        after_frame = python && is_frame(line);
    }
    kept.join("\n")
}

#[cfg(test)]
mod lines_tests;
#[cfg(test)]
mod tests;
