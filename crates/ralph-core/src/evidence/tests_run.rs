//! Reads from a command's output how many tests it ran.
//!
//! A command that exits with 0 after running nothing proves nothing. Only what a runner's own
//! summary says counts: where no runner that is known here has spoken, the answer is
//! [`TestsRun::Unknown`], which is no accusation; a real pass that were called empty would keep a
//! loop from ever ending. Output is read once, line by line, in constant memory.

mod bun;
mod cargo;
mod ctest;
mod deno;
mod dotnet;
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

use lines::Lines;
use serde::{Deserialize, Serialize};

/// What is known of the tests that a command ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestsRun {
    /// No runner that is known here spoke: nothing can be said (a linter, a type check, a script
    /// of one's own).
    #[default]
    Unknown,
    /// So many tests passed or failed, all summaries of the output added up. What was skipped,
    /// ignored, left to do, expected to fail or filtered out is not among them.
    Ran(u64),
    /// A known runner ran something, and does not say how much (plain `go test`).
    Some,
    /// A known runner says that it ran none.
    None(NoTests),
}

/// Why no test ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoTests {
    /// The runner found no test at all.
    NoneFound,
    /// There are tests, and each is skipped, ignored, still to do or expected to fail.
    AllSkipped,
    /// There are tests, and the command's own filter left none of them.
    FilteredOut,
    /// The command only lists, builds or counts tests.
    NoSummary,
}

impl NoTests {
    /// In words, to be put after the command.
    pub fn reason(self) -> &'static str {
        match self {
            NoTests::NoneFound => "it found no tests",
            NoTests::AllSkipped => "all of its tests are skipped",
            NoTests::FilteredOut => "its filter leaves no test",
            NoTests::NoSummary => "it does not run the tests, it only builds, lists or counts them",
        }
    }
}

/// Reads the output of a command as it comes.
#[derive(Debug, Clone, Default)]
pub struct Scanner {
    lines: Lines,
    runners: Runners,
    runs_no_tests: bool,
}

impl Scanner {
    /// For a command as it is written in the criterion: some commands say by their flags that no
    /// test will run, whatever is printed.
    pub fn new(command: &str) -> Scanner {
        Scanner { runs_no_tests: not_run::runs_no_tests(command), ..Scanner::default() }
    }

    /// Takes the next piece of the output, split anywhere.
    pub fn feed(&mut self, bytes: &[u8]) {
        let runners = &mut self.runners;
        self.lines.feed(bytes, |line| runners.line(line));
    }

    /// How many tests ran.
    pub fn finish(self) -> TestsRun {
        self.summarise().tests
    }

    /// What the runners' summaries said, all added up.
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

/// What the runners' summaries said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Summary {
    /// How many tests ran.
    pub tests: TestsRun,
    /// Tests that failed, or packages where a runner counts only these. A test that is expected to
    /// fail is not among them.
    #[serde(default)]
    pub failed: u64,
    /// Tests that were skipped, ignored, left to do or expected to fail.
    #[serde(default)]
    pub skipped: u64,
}

/// What one runner has said so far.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    /// Passed and failed.
    ran: u64,
    /// Those that failed.
    failed: u64,
    skipped: u64,
    filtered: u64,
    /// Something ran that was not counted.
    some: bool,
    /// There was a summary, and it may have been of nothing.
    spoke: bool,
}

impl Tally {
    /// A summary that found nothing.
    const EMPTY: Tally =
        Tally { ran: 0, failed: 0, skipped: 0, filtered: 0, some: false, spoke: true };
    /// Something ran, nobody says how much.
    const SOME: Tally = Tally { some: true, ..Tally::EMPTY };

    fn ran(ran: u64) -> Tally {
        Tally { ran, ..Tally::EMPTY }
    }

    fn failed(count: u64) -> Tally {
        Tally { failed: count, ..Tally::ran(count) }
    }

    /// So many more tests ran and failed.
    fn fail(&mut self, count: u64) {
        self.ran = self.ran.saturating_add(count);
        self.failed = self.failed.saturating_add(count);
    }

    /// `skipped` are among `all`.
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

/// One kind of output.
trait Runner {
    /// Takes a line without its end and without colours.
    fn line(&mut self, line: &str);
    /// What has been said so far.
    fn tally(&self) -> Tally;
}

/// Cheap, for a command that floods its output: every line that is read for something has a digit,
/// or begins as only few lines do.
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
