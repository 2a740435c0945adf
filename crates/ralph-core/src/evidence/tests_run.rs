//! Reads the number of tests from a command's output.
//!
//! A command that exits with 0 after running nothing proves nothing. Only a known runner's own
//! summary counts. Without one the result is [`TestsRun::Unknown`], which does not fail the
//! criterion: calling a real pass empty would keep a loop from ever ending. Output is read once,
//! line by line, in constant memory.

mod bun;
mod cargo;
mod ctest;
mod deno;
mod dotnet;
mod failures;
mod go;
mod gradle;
mod jest;
mod lines;
mod maven;
mod mocha;
mod not_run;
mod phpunit;
mod pytest;
mod rspec;
mod suites;
mod swift;
mod tap;
mod unittest;
mod vitest;
mod words;

pub(crate) use failures::without_frames;
pub use failures::{FailureScanner, Failures};
use lines::Lines;
use serde::{Deserialize, Serialize};

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
        Scanner { runs_no_tests: not_run::runs_no_tests(command), ..Scanner::default() }
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

    /// Adds tests that ran and failed.
    fn fail(&mut self, count: u64) {
        self.ran = self.ran.saturating_add(count);
        self.failed = self.failed.saturating_add(count);
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

/// A parser for the output of one runner.
trait Runner {
    /// Reads a line, without its line ending and colours.
    fn line(&mut self, line: &str);
    /// The counts so far.
    fn tally(&self) -> Tally;
}

/// Cheap check for commands with much output: every relevant line has a digit or starts with one of
/// a few characters.
fn could_be_a_summary(line: &str) -> bool {
    let first = line.trim_start().as_bytes().first().copied().unwrap_or_default();
    matches!(first, b'A'..=b'Z' | b'>' | b':' | b'=' | b'?' | b'[' | b'o' | 0x80..)
        || line.bytes().any(|byte| byte.is_ascii_digit())
}

#[derive(Debug, Clone, Default)]
struct Runners {
    bun: bun::Bun,
    cargo: cargo::Cargo,
    ctest: ctest::Ctest,
    deno: deno::Deno,
    dotnet: dotnet::Dotnet,
    go: go::Go,
    gradle: gradle::Gradle,
    jest: jest::Jest,
    maven: maven::Maven,
    mocha: mocha::Mocha,
    phpunit: phpunit::PhpUnit,
    pytest: pytest::Pytest,
    rspec: rspec::Rspec,
    suites: suites::Suites,
    swift: swift::Swift,
    tap: tap::Tap,
    unittest: unittest::Unittest,
    vitest: vitest::Vitest,
}

impl Runners {
    fn line(&mut self, line: &str) {
        if !could_be_a_summary(line) {
            return;
        }
        self.bun.line(line);
        self.cargo.line(line);
        self.ctest.line(line);
        self.deno.line(line);
        self.dotnet.line(line);
        self.go.line(line);
        self.gradle.line(line);
        self.jest.line(line);
        self.maven.line(line);
        self.mocha.line(line);
        self.phpunit.line(line);
        self.pytest.line(line);
        self.rspec.line(line);
        self.suites.line(line);
        self.swift.line(line);
        self.tap.line(line);
        self.unittest.line(line);
        self.vitest.line(line);
    }

    fn tally(&self) -> Tally {
        let all: [&dyn Runner; 18] = [
            &self.bun,
            &self.cargo,
            &self.ctest,
            &self.deno,
            &self.dotnet,
            &self.go,
            &self.gradle,
            &self.jest,
            &self.maven,
            &self.mocha,
            &self.phpunit,
            &self.pytest,
            &self.rspec,
            &self.suites,
            &self.swift,
            &self.tap,
            &self.unittest,
            &self.vitest,
        ];
        all.iter().fold(Tally::default(), |mut sum, runner| {
            sum.add(runner.tally());
            sum
        })
    }
}

#[cfg(test)]
mod tests;
