//! Reads the number of tests from a command's output.
//!
//! A command that exits with 0 after running nothing proves nothing. Only a known runner's own
//! summary counts. Without one the result is [`TestsRun::Unknown`], which does not fail the
//! criterion: calling a real pass empty would keep a loop from ever ending. Output is read once,
//! line by line, in constant memory.

mod failures;
mod runners;

use crate::shell::{self, Simple};
pub(crate) use failures::without_frames;
pub use failures::{FailureScanner, Failures};
use runners::Runners;
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
    /// The command only lists, builds or counts tests.
    NoSummary,
}

impl NoTests {
    /// The reason, to print after the command.
    pub fn reason(self) -> &'static str {
        match self {
            NoTests::NoneFound => "it found no tests",
            NoTests::AllSkipped => "all of its tests are skipped",
            NoTests::FilteredOut => "its filter leaves no test",
            NoTests::NoSummary => "it does not run the tests, it only builds, lists or counts them",
        }
    }
}

/// Reads the output of a command in pieces.
#[derive(Debug, Clone, Default)]
pub struct Scanner {
    lines: Lines,
    runners: Runners,
    runs_no_tests: bool,
}

impl Scanner {
    /// Creates a scanner for a criterion's command: the flags of some commands show that no test
    /// runs, whatever is printed.
    pub fn new(command: &str) -> Scanner {
        Scanner { runs_no_tests: runs_no_tests(command), ..Scanner::default() }
    }

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
        let tests = match self.runs_no_tests {
            true => TestsRun::None(NoTests::NoSummary),
            false => tally.answer(),
        };
        Summary { tests, failed: tally.failed, skipped: tally.skipped }
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

/// A runner, and the arguments with which it only lists, builds or counts tests. Their output may
/// look like a pass (`rspec --dry-run` counts its examples), so the argument decides.
const IDLE: [(&[&str], &[&str]); 18] = [
    (&["cargo", "test"], &["--no-run", "--list"]),
    (&["cargo", "t"], &["--no-run", "--list"]),
    (&["cargo", "nextest"], &["list", "--no-run"]),
    (&["pytest"], &["--collect-only", "--co", "--setup-plan"]),
    (&["py.test"], &["--collect-only", "--co", "--setup-plan"]),
    (&["go", "test"], &["-list", "--list", "-c"]),
    (&["jest"], &["--listTests", "--showConfig"]),
    (&["vitest", "list"], &["list"]),
    (&["mocha"], &["--dry-run"]),
    (&["rspec"], &["--dry-run"]),
    (&["phpunit"], &["--list-tests", "--list-suites", "--list-groups"]),
    (&["ctest"], &["-N", "--show-only"]),
    (&["bats"], &["--count", "-c"]),
    (&["deno", "test"], &["--no-run"]),
    (&["dotnet", "test"], &["--list-tests"]),
    (&["swift", "test"], &["list", "--list-tests"]),
    (&["gradle", "test"], &["--dry-run", "-m"]),
    (&["mvn", "test"], &["-DskipTests", "-Dmaven.test.skip"]),
];

/// Commands around the runner that prove nothing themselves.
const PREPARES: [&str; 10] =
    ["cd", "export", "set", "echo", "printf", "mkdir", "pwd", ":", "true", "sleep"];

/// True if the command line only lists or builds tests, and no other command in it could prove
/// something.
fn runs_no_tests(command: &str) -> bool {
    let Some(programs) = shell::programs(command) else { return false };
    let is_real =
        |simple: &&Simple| !simple.program().is_empty() && !PREPARES.contains(&simple.name());
    let mut real = programs.iter().filter(is_real).peekable();
    real.peek().is_some() && real.all(only_names)
}

/// The runner may follow a word that starts it: `npx jest`, `python3 -m pytest`.
fn only_names(simple: &Simple) -> bool {
    if !simple.is_plain() {
        return false;
    }
    let words: Vec<&str> = simple.program().iter().map(|word| word.text.as_str()).collect();
    let names: Vec<&str> =
        words.iter().map(|word| word.rsplit('/').next().unwrap_or(word)).collect();
    IDLE.iter().any(|(runner, idle)| {
        let begins = names.windows(runner.len()).take(3).position(|at| at == *runner);
        let arguments = begins.and_then(|at| words.get(at + 1..)).unwrap_or_default();
        arguments.iter().any(|word| {
            let flag = word.split('=').next().unwrap_or(word);
            idle.contains(&flag) && !word.ends_with("=false")
        })
    })
}

#[cfg(test)]
mod tests;
