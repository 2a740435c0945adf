//! How many tests each runner ran, read from the lines of its summary.
//!
//! Almost every summary is a list of counts, each with one of a few words. A row names the beginning of
//! such a line and what else it must contain. Code follows only where one line is not enough.

use super::Tally;

/// A line that holds all counts of a summary.
struct Row {
    /// The beginning of the line; a space in front stands for any indentation.
    begins: &'static str,
    /// The counts follow this text; empty if they follow the beginning.
    from: &'static str,
    /// What the counts must contain.
    has: &'static str,
}

const ROWS: [Row; 13] = [
    // `test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s`
    Row { begins: "test result: ok. ", from: "", has: " passed;" },
    Row { begins: "test result: FAILED. ", from: "", has: " passed;" },
    // cargo nextest: `Summary [   0.018s] 3 tests run: 3 passed, 1 skipped`
    Row { begins: " Summary [", from: " run: ", has: "" },
    // deno: `ok | 2 passed (1 step) | 0 failed | 1 ignored (24ms)`
    Row { begins: "ok | ", from: "", has: " passed" },
    Row { begins: "FAILED | ", from: "", has: " passed" },
    // jest: `Tests:       1 skipped, 2 passed, 3 total`
    Row { begins: " Tests: ", from: "", has: " total" },
    // vitest: `Tests  1 failed | 2 passed | 1 skipped (4)`
    Row { begins: " Tests  ", from: "", has: " (" },
    // PHPUnit: `Tests: 3, Assertions: 1, Failures: 1, Skipped: 1.`
    Row { begins: "Tests: ", from: "", has: ", Assertions: " },
    // PHPUnit, and JUnit 4's own runner: `OK (3 tests, 5 assertions)`
    Row { begins: "OK (", from: "", has: " test" },
    // Gradle; its plugin `com.adarshr.test-logger`: `SUCCESS: Executed 3 tests in 1.2s (1 skipped)`
    Row { begins: " ", from: "", has: " completed, " },
    Row { begins: " SUCCESS: Executed ", from: "", has: " test" },
    Row { begins: " FAILURE: Executed ", from: "", has: " test" },
    // rspec: `3 examples, 0 failures, 1 pending`; bats, minitest, test-unit and ExUnit: `3 tests, …`
    Row { begins: "", from: "", has: " failure" },
];

/// The beginnings of lines in which a runner states that it ran nothing.
const NOTHING: [(&str, Tally); 11] = [
    ("No test files found, exiting with code ", Tally::EMPTY),
    ("Tests  no tests", Tally::EMPTY),
    ("No tests found, exiting with code ", Tally::EMPTY),
    ("No tests found related to files changed since ", Tally::EMPTY),
    ("No tests executed!", Tally::EMPTY),
    ("No tests to run.", Tally::EMPTY),
    ("There are no tests to run.", Tally::EMPTY),
    ("No test is available in ", Tally::EMPTY),
    ("All examples were filtered out", Tally { filtered: 1, ..Tally::EMPTY }),
    ("No test matches the given testcase filter", Tally { filtered: 1, ..Tally::EMPTY }),
    ("Tests are skipped.", Tally { skipped: 1, ..Tally::EMPTY }),
];

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Passed,
    Failed,
    Skipped,
    Filtered,
    /// All tests, those that were skipped included.
    All,
    /// Counts something else.
    Other,
}

/// What a word beside a count means.
const WORDS: [(Kind, &[&str]); 6] = [
    (Kind::Passed, &["passed", "xpassed", "succeeded", "measured"]),
    (Kind::Failed, &["failed", "failure", "error", "timed", "unexpected"]),
    (
        Kind::Skipped,
        &[
            "skipped",
            "skip",
            "ignored",
            "todo",
            "pending",
            "omission",
            "not",
            "expected",
            "xfailed",
            "incomplete",
        ],
    ),
    (Kind::Filtered, &["filtered", "deselected", "excluded"]),
    (Kind::All, &["test", "doctest", "example", "run", "total"]),
    (Kind::Other, &["warning", "rerun", "assertion", "notification", "subtest"]),
];

/// `12`, and nothing else. Text with more than 12 digits is not a count.
fn number(text: &str) -> Option<u64> {
    let digits = (1..=12).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// `3 passed` as 3 and `passed`, ignoring white space around both.
fn counted(text: &str) -> Option<(u64, &str)> {
    let (count, word) = text.trim().split_once(' ')?;
    Some((number(count)?, word.trim_start()))
}

/// `Failed:   0` or `failures=0` as 0 and its name, ignoring a final full stop.
fn labelled(text: &str) -> Option<(u64, &str)> {
    let (label, count) = text.trim().trim_end_matches('.').split_once([':', '='])?;
    Some((number(count.trim())?, label.trim()))
}

/// What the words beside a count mean: `tests` alone is all of them, `tests skipped` is not.
fn kind(words: &str) -> Option<Kind> {
    let of = |word: &str| {
        let is = |known: &&str| {
            word.eq_ignore_ascii_case(known)
                || word.strip_suffix('s').is_some_and(|one| one.eq_ignore_ascii_case(known))
        };
        WORDS.iter().find(|(_, words)| words.iter().any(is)).map(|(kind, _)| *kind)
    };
    let mut kinds = words.split(' ').filter_map(of);
    let first = kinds.next()?;
    Some(if first == Kind::All { kinds.next().unwrap_or(first) } else { first })
}

/// The counts of a summary.
struct Counts {
    tally: Tally,
    /// There is a count of all tests.
    all: bool,
    /// There is nothing but counts.
    only: bool,
}

fn counts(text: &str) -> Option<Counts> {
    let (mut tally, mut all, mut only) = (Tally::default(), None, true);
    let parts = text.split([',', ';', '|', '(', ')']).flat_map(|part| part.split(" and "));
    for part in parts.map(|part| part.trim().trim_start_matches("with ")) {
        let found = counted(part).or_else(|| labelled(part));
        let found = found.and_then(|(count, words)| Some((count, kind(words)?)));
        match found.or_else(|| Some((number(part)?, Kind::All))) {
            Some((count, Kind::Passed)) => tally.add(Tally::ran(count)),
            Some((count, Kind::Failed)) => tally.add(Tally::failed(count)),
            Some((count, Kind::Skipped)) => tally.add(Tally { skipped: count, ..Tally::EMPTY }),
            Some((count, Kind::Filtered)) => tally.add(Tally { filtered: count, ..Tally::EMPTY }),
            Some((count, Kind::All)) => all = Some(count.saturating_add(all.unwrap_or_default())),
            Some((_, Kind::Other)) => {}
            None => only &= part.is_empty(),
        }
    }
    if let Some(all) = all {
        tally = Tally { ran: all.saturating_sub(tally.skipped), spoke: true, ..tally };
        // ExUnit reports excluded tests; it is unclear whether the first number includes them.
        if (1..=tally.filtered).contains(&tally.ran) {
            tally = Tally { ran: 0, some: true, filtered: 0, ..tally };
        }
    }
    tally.spoke.then_some(Counts { tally, all: all.is_some(), only })
}

impl Row {
    fn read(&self, line: &str) -> Option<Tally> {
        let rest = match self.begins.strip_prefix(' ') {
            Some(begins) => line.trim_start().strip_prefix(begins)?,
            None => line.strip_prefix(self.begins)?,
        };
        let rest = if self.from.is_empty() { rest } else { rest.split_once(self.from)?.1 };
        let found = counts(rest).filter(|_| rest.contains(self.has))?;
        // Without a beginning of its own, a line must hold nothing but counts.
        (!self.begins.trim().is_empty() || found.all && found.only).then_some(found.tally)
    }
}

/// `1 failed, 2 passed in 0.02s`, `… in 61.20s (0:01:01)`; the line of `=` around it may be missing.
fn pytest(line: &str) -> Option<Tally> {
    let (text, time) = line.trim_matches(['=', ' ']).rsplit_once(" in ")?;
    let is_time = time.starts_with(|first: char| first.is_ascii_digit()) && time.contains('s');
    match text {
        _ if !is_time => None,
        "no tests ran" => Some(Tally::EMPTY),
        _ => counts(text).filter(|found| found.only && !found.all).map(|found| found.tally),
    }
}

/// What the runners have said so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Runners {
    /// The sum of the summaries that are complete.
    tally: Tally,
    in_nextest: bool,
    in_mocha: bool,
    /// bun's column, which its last line makes a summary.
    bun: Tally,
    /// unittest's count, whose verdict is on the next line.
    unittest: Option<u64>,
    ctest: Ctest,
    dotnet: Dotnet,
    go: Go,
    maven: Maven,
    swift: Swift,
    tap: Tap,
}

impl Runners {
    pub(super) fn line(&mut self, line: &str) {
        if !could_be_a_summary(line) {
            return;
        }
        let text = line.trim_start();
        if let Some((count, rest)) = text.strip_prefix("Starting ").and_then(counted) {
            self.in_nextest |= count > 0 && rest.starts_with("test") && rest.contains(" across ");
        }
        self.in_nextest &= !text.starts_with("Summary [");
        // nextest runs each test in a process with Rust's harness and may show its output.
        if self.in_nextest && line.starts_with("test result: ") {
            return;
        }
        let bare = without_level(text);
        let nothing = NOTHING.iter().find(|(begins, _)| bare.starts_with(begins));
        let whole = nothing
            .map(|(_, tally)| *tally)
            .or_else(|| ROWS.iter().find_map(|row| row.read(line)))
            .or_else(|| pytest(line))
            .or_else(|| gradle(text));
        if let Some(tally) = whole {
            return self.tally.add(tally);
        }
        self.mocha(text);
        self.bun(line);
        self.unittest(line);
        self.ctest.line(line);
        self.dotnet.line(line);
        self.go.line(line);
        self.maven.line(bare);
        self.swift.line(text);
        self.tap.line(line);
    }

    pub(super) fn tally(&self) -> Tally {
        let mut sum = self.tally;
        sum.add(self.unittest.map(Tally::ran).unwrap_or_default());
        sum.add(self.ctest.tally());
        sum.add(self.dotnet.tally());
        sum.add(self.go.tally());
        sum.add(if self.maven.totals.spoke { self.maven.totals } else { self.maven.classes });
        sum.add(self.swift.tally);
        sum.add(self.swift.closed);
        sum.add(self.tap.tally());
        sum
    }

    /// mocha, Cypress and Hardhat: `2 passing (3ms)`, `1 failing`, `1 pending`, on three lines.
    fn mocha(&mut self, text: &str) {
        match counted(text) {
            Some((count, word)) if word.starts_with("passing (") => {
                self.in_mocha = true;
                self.tally.add(Tally::ran(count));
            }
            Some((count, "failing")) if self.in_mocha => self.tally.add(Tally::failed(count)),
            Some((count, "pending")) if self.in_mocha => {
                self.tally.add(Tally { skipped: count, ..Tally::EMPTY });
            }
            _ => {}
        }
    }

    /// `bun test`: a column of counts, then `Ran 3 tests across 1 file.`
    fn bun(&mut self, line: &str) {
        match counted(line) {
            Some((count, "pass")) if line.starts_with(' ') => self.bun.add(Tally::ran(count)),
            Some((count, "fail")) if line.starts_with(' ') => self.bun.add(Tally::failed(count)),
            Some((count, "skip" | "todo")) if line.starts_with(' ') => {
                self.bun.add(Tally { skipped: count, ..Tally::EMPTY });
            }
            _ if line.starts_with("Ran ") && line.contains(" across ") => {
                self.tally.add(std::mem::take(&mut self.bun));
            }
            _ => {}
        }
    }

    /// Python's unittest, Django, nose2: `Ran 3 tests in 0.001s`, then `FAILED (failures=1, skipped=1)`.
    fn unittest(&mut self, line: &str) {
        if let Some((count, rest)) = line.strip_prefix("Ran ").and_then(counted) {
            if rest.starts_with("test") && rest.contains(" in ") && rest.ends_with('s') {
                self.tally.add(self.unittest.map(Tally::ran).unwrap_or_default());
                self.unittest = Some(count);
            }
            return;
        }
        let verdict =
            ["OK", "FAILED", "NO TESTS RAN"].iter().find_map(|word| line.strip_prefix(word));
        let Some(details) = verdict.filter(|rest| rest.is_empty() || rest.starts_with(" (")) else {
            return;
        };
        if let Some(all) = self.unittest.take() {
            let details = counts(details).map(|found| found.tally).unwrap_or_default();
            self.tally.add(Tally { failed: details.failed, ..Tally::of_all(all, details.skipped) });
        }
    }
}

/// Cheap check for commands with much output: every relevant line starts with one of a few
/// characters, or has a digit and two words, or is a plan of TAP (`1..3`).
fn could_be_a_summary(line: &str) -> bool {
    let line = line.trim_start();
    let first = line.as_bytes().first().copied().unwrap_or_default();
    matches!(first, b'A'..=b'Z' | b'>' | b':' | b'=' | b'?' | b'[' | b'{' | b'o' | 0x80..)
        || (line.contains(' ') || line.starts_with("1.."))
            && line.bytes().any(|byte| byte.is_ascii_digit())
}

/// The line without `[INFO] `, `[ERROR] ` or Ant's `[junit] `.
fn without_level(line: &str) -> &str {
    let level = line.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    level.map_or(line, |(_, rest)| rest.trim_start())
}

/// `> Task :app:test NO-SOURCE`. Gradle prints counts only if a test fails or the build has a test
/// logger; otherwise a pass only shows that a test task ran. `UP-TO-DATE` and `FROM-CACHE` count as
/// passes: the same inputs have passed before.
fn gradle(line: &str) -> Option<Tally> {
    let task = line.strip_prefix("> Task ").unwrap_or(line);
    let (path, outcome) = task.strip_prefix(':')?.split_once(' ').unwrap_or((&task[1..], ""));
    let name = path.rsplit(':').next()?;
    // Certainly runs tests; `pmdTest` only analyses them and may have no input.
    let is_test = matches!(name, "test" | "integrationTest" | "functionalTest" | "jvmTest")
        || (name.starts_with("test") && name.ends_with("UnitTest"));
    let builds = ["compile", "assemble", "process", "package", "generate", "pre", "check", "lint"];
    let may_test = name == "test"
        || (name.ends_with("Test") && !builds.iter().any(|prefix| name.starts_with(prefix)));
    match outcome {
        // Before Gradle 5, a Java warning from the tests is appended to the task name.
        _ if path.ends_with(":testWARNING:") || path == "testWARNING:" => Some(Tally::SOME),
        "" | "UP-TO-DATE" | "FROM-CACHE" if may_test => Some(Tally::SOME),
        "FAILED" if may_test => Some(Tally { failed: 1, ..Tally::SOME }),
        "NO-SOURCE" if is_test => Some(Tally::EMPTY),
        "SKIPPED" if is_test => Some(Tally { skipped: 1, ..Tally::EMPTY }),
        _ => None,
    }
}

/// `50% tests passed, 1 tests failed out of 2`. The total includes skipped tests, which are listed
/// below it, but not disabled ones.
#[derive(Debug, Clone, Default)]
struct Ctest {
    all: u64,
    failed: u64,
    skipped: u64,
    disabled: u64,
    spoke: bool,
}

impl Ctest {
    fn line(&mut self, line: &str) {
        if let Some((text, total)) = line.rsplit_once(" failed out of ") {
            let failed =
                text.split_once("% tests passed, ").and_then(|(_, failed)| counted(failed));
            if let (Some((failed, _)), Some(all)) = (failed, number(total)) {
                self.failed = self.failed.saturating_add(failed);
                self.all = self.all.saturating_add(all);
                self.spoke = true;
            }
        } else if line.starts_with("No tests were found!!!") {
            self.spoke = true;
        } else if line.ends_with(" (Disabled)") || line.contains("***Not Run (Disabled)") {
            self.disabled = self.disabled.saturating_add(1);
        } else if self.spoke && line.ends_with(" (Skipped)") {
            // `3 - name (Skipped)`
            let is_listed = counted(line).is_some_and(|(_, rest)| rest.starts_with("- "));
            self.skipped = self.skipped.saturating_add(u64::from(is_listed));
        }
    }

    fn tally(&self) -> Tally {
        if !self.spoke {
            return Tally::default();
        }
        let skipped = self.skipped.saturating_add(self.disabled);
        Tally { skipped, failed: self.failed, ..Tally::of_all(self.all, self.skipped) }
    }
}

/// One run may be reported in two of three formats, so they are not added up.
#[derive(Debug, Clone, Default)]
struct Dotnet {
    /// VSTest: `Passed!  - Failed: 0, Passed: 3, Skipped: 0, Total: 3, …` for each assembly.
    assemblies: Tally,
    /// VSTest: `Total tests: 3`, `Passed: 2`, `Skipped: 1`, each on its own line.
    totals: Tally,
    /// Microsoft.Testing.Platform: `Test run summary: Passed!` and a column, or
    /// `Test summary: total: 3, failed: 1, …`.
    platform: Tally,
    /// The format whose column the next lines may continue: they are indented under its heading.
    column: Column,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Column {
    #[default]
    None,
    Totals,
    Platform,
}

impl Dotnet {
    fn line(&mut self, line: &str) {
        let text = line.trim_start();
        let listed = |counts_of: &str, word: &str| {
            let found = counts(counts_of).filter(|found| found.all && counts_of.contains(word));
            found.map(|found| found.tally).unwrap_or_default()
        };
        let verdicts = ["Passed!", "Failed!", "Skipped!"];
        if let Some(rest) = verdicts.iter().find_map(|verdict| text.strip_prefix(verdict)) {
            return self.assemblies.add(listed(rest, "Total:"));
        }
        if let Some(rest) = text.strip_prefix("Test summary: ") {
            return self.platform.add(listed(rest, "total:"));
        }
        if let Some(verdict) = text.strip_prefix("Test run summary: ") {
            self.column = Column::Platform;
            let is_empty = verdict.starts_with("Zero tests ran");
            return self.platform.add(if is_empty { Tally::EMPTY } else { Tally::default() });
        }
        if !line.starts_with(' ') {
            self.column = Column::None;
        }
        // `duration: 1s` and the like may be between the counts.
        let Some((count, label)) = labelled(text) else { return };
        if label == "Total tests" {
            self.column = Column::Totals;
        }
        let tally = match label {
            "Passed" | "succeeded" => Tally::ran(count),
            "Failed" | "failed" => Tally::failed(count),
            "Skipped" | "skipped" => Tally { skipped: count, ..Tally::EMPTY },
            "Total tests" | "total" => Tally::EMPTY,
            _ => return,
        };
        match self.column {
            Column::None => {}
            Column::Totals => self.totals.add(tally),
            Column::Platform => self.platform.add(tally),
        }
    }

    fn tally(&self) -> Tally {
        let forms = [self.assemblies, self.totals, self.platform];
        let most = forms.into_iter().max_by_key(|form| (form.ran, form.skipped, form.spoke));
        most.unwrap_or_default()
    }
}

/// `go test`: plain, `-v` and `-json`.
///
/// Without flags, a package that passed prints `ok` and no number, and only failures have their own
/// lines: counting those would give a wrong total. A package that reports no tests has run none. If
/// all tests of a package skip themselves, only `-v` shows it.
#[derive(Debug, Clone, Default)]
struct Go {
    /// True after `=== RUN` in this package: every test has its own line.
    verbose: bool,
    package: Tally,
    tally: Tally,
}

impl Go {
    fn line(&mut self, line: &str) {
        let says_none =
            |text: &str| text.contains("[no tests to run]") || text.contains("[no test files]");
        if line.starts_with('{') {
            // Quotes inside the strings of `-json` are escaped, so a plain search for a key is safe.
            let (keys, output) = line.split_once(r#""Output":""#).unwrap_or((line, ""));
            let action =
                keys.split_once(r#""Action":""#).and_then(|(_, rest)| rest.split('"').next());
            self.tally.add(match (action, keys.contains(r#""Test":""#)) {
                (Some("output"), false) if says_none(output) => Tally::EMPTY,
                (Some(verdict), true) => go_test(verdict),
                _ => Tally::default(),
            });
        } else if line.starts_with("=== RUN") {
            self.verbose = true;
        } else if let Some((verdict, _)) =
            line.trim_start().strip_prefix("--- ").and_then(|test| test.split_once(": "))
        {
            self.package.add(go_test(&verdict.to_ascii_lowercase()));
        } else if let Some((verdict, rest)) = line.split_once('\t') {
            // `ok`, `demo/a`, `0.003s`; `?`, `demo/b`, `[no test files]`
            let verdict = verdict.trim_end();
            if !matches!(verdict, "ok" | "FAIL" | "?") || !rest.contains('\t') {
                return;
            }
            let tests = std::mem::take(&mut self.package);
            let is_verbose = std::mem::take(&mut self.verbose);
            self.tally.add(match verdict {
                _ if says_none(line) => Tally::EMPTY,
                _ if is_verbose => tests,
                "?" => Tally::default(),
                // A package that failed to build also reports `FAIL`.
                "FAIL" => Tally { failed: 1, ..Tally::SOME },
                _ => Tally::SOME,
            });
        }
    }

    fn tally(&self) -> Tally {
        let mut tally = self.tally;
        if self.verbose {
            // A test binary that is run directly prints no package lines.
            tally.add(self.package);
        }
        tally
    }
}

fn go_test(verdict: &str) -> Tally {
    match verdict {
        "pass" => Tally::ran(1),
        "fail" => Tally::failed(1),
        "skip" => Tally { skipped: 1, ..Tally::EMPTY },
        _ => Tally::default(),
    }
}

/// JUnit and TestNG under Maven Surefire and Failsafe, and under Ant: a line for each class, then the
/// total of the module. The class lines count only if no total was printed.
#[derive(Debug, Clone, Default)]
struct Maven {
    classes: Tally,
    totals: Tally,
}

impl Maven {
    /// `Tests run: 3, Failures: 0, Errors: 0, Skipped: 1, Time elapsed: …`
    fn line(&mut self, line: &str) {
        let Some(rest) =
            line.strip_prefix("Tests run:").filter(|rest| rest.contains(", Failures: "))
        else {
            return;
        };
        let is_class = rest.contains("Time elapsed:");
        let which = if is_class { &mut self.classes } else { &mut self.totals };
        which.add(counts(rest).map(|found| found.tally).unwrap_or_default());
    }
}

/// `swift test`: XCTest and swift-testing, which run in sequence.
///
/// XCTest prints a count after each class, each bundle and the whole run. Only the outermost count
/// is used, which is the last one before another run begins (even if the start of the output was
/// cut off). An empty XCTest run before swift-testing's is normal and does not mean that there are
/// no tests.
#[derive(Debug, Clone, Default)]
struct Swift {
    depth: u32,
    /// XCTest's most recent count.
    closed: Tally,
    /// Tests skipped by swift-testing; its total includes them.
    skipped: u64,
    tally: Tally,
}

impl Swift {
    fn line(&mut self, line: &str) {
        if let Some(suite) = line.strip_prefix("Test Suite '") {
            if suite.contains("' started at ") {
                if self.depth == 0 {
                    self.tally.add(std::mem::take(&mut self.closed));
                }
                self.depth = self.depth.saturating_add(1);
            } else if suite.contains("' passed at ") || suite.contains("' failed at ") {
                self.depth = self.depth.saturating_sub(1);
            }
        } else if let Some(rest) = line.strip_prefix("Executed ") {
            // `3 tests, with 1 test skipped and 0 failures (0 unexpected) in 0.001 (0.001) seconds`
            let text = rest.split(" (").next().unwrap_or_default();
            let found = counts(text).filter(|found| found.all && text.contains(" failure"));
            self.closed = found.map_or(self.closed, |found| found.tally);
        } else if let Some((count, rest)) =
            line.split_once("Test run with ").and_then(|(_, run)| counted(run))
        {
            // `3 tests passed after 0.001 seconds.`, `3 tests in 1 suite passed after …`
            if rest.starts_with("test") && rest.contains(" after ") {
                let failed = u64::from(rest.contains(" failed after "));
                let skipped = std::mem::take(&mut self.skipped);
                self.tally.add(Tally { failed, ..Tally::of_all(count, skipped) });
            }
        } else if line.contains(" Test ")
            && (line.ends_with(" skipped.") || line.contains(" skipped: "))
        {
            // `➜ Test later() skipped: "…"`
            self.skipped = self.skipped.saturating_add(1);
        }
    }
}

/// The Test Anything Protocol (bats, vitest's and mocha's reporters, prove), and the summary of
/// Node's test runner, which follows such lines or a tree.
///
/// The summary is more precise than the lines: it excludes suites and counts their tests. So the
/// lines before a summary are discarded.
#[derive(Debug, Clone, Default)]
struct Tap {
    /// The counts of the summaries.
    summaries: Tally,
    /// Test lines since the last summary.
    points: Tally,
    /// True after a plan (`1..N`): without one, the lines could come from any program. It may come
    /// last.
    planned: bool,
}

impl Tap {
    fn line(&mut self, line: &str) {
        if let Some(fact) = line.strip_prefix("# ").or_else(|| line.strip_prefix("ℹ ")) {
            self.fact(fact);
        } else if let Some(point) = line.strip_prefix("ok ") {
            self.points.add(point_of(point, Tally::ran(1)));
        } else if let Some(point) = line.strip_prefix("not ok ") {
            self.points.add(point_of(point, Tally::failed(1)));
        } else if let Some((_, rest)) =
            line.strip_prefix("Files=").and_then(|rest| rest.split_once(", Tests="))
        {
            // `prove` prints this at the end, and shows the lines of the tests only on request.
            if let Some(ran) = rest.split(',').next().and_then(number) {
                let points = std::mem::take(&mut self.points);
                let not_run = points.skipped.min(ran);
                self.summaries.add(Tally { failed: points.failed, ..Tally::of_all(ran, not_run) });
            }
        } else if line == "Result: FAIL" && self.summaries.spoke {
            self.summaries.failed = self.summaries.failed.max(1);
        } else if let Some(plan) = line.strip_prefix("1..") {
            let (last, comment) = plan.split_once(' ').unwrap_or((plan, ""));
            self.planned |= number(last).is_some();
            if number(last) == Some(0) {
                let skipped = u64::from(has_directive(comment));
                self.points.add(Tally { skipped, ..Tally::EMPTY });
            }
        }
    }

    /// `tests 3`, `pass 2`, `fail 1`, `skipped 0`
    fn fact(&mut self, fact: &str) {
        let Some((what, count)) = fact.split_once(' ') else { return };
        let Some(count) = number(count.trim_start()) else { return };
        match what {
            "tests" => {
                self.points = Tally::default();
                self.summaries.add(Tally::EMPTY);
            }
            _ if !self.summaries.spoke => {}
            "pass" => self.summaries.add(Tally::ran(count)),
            "fail" | "cancelled" => self.summaries.add(Tally::failed(count)),
            "skipped" | "todo" => self.summaries.add(Tally { skipped: count, ..Tally::EMPTY }),
            _ => {}
        }
    }

    fn tally(&self) -> Tally {
        let mut tally = self.summaries;
        if self.planned {
            tally.add(self.points);
        }
        tally
    }
}

/// `3 - a name # SKIP later`: the verdict, unless the test was skipped.
fn point_of(text: &str, verdict: Tally) -> Tally {
    let digits = text.split(' ').next().unwrap_or_default();
    match number(digits) {
        None => Tally::default(),
        Some(_) if has_directive(text) => Tally { skipped: 1, ..Tally::EMPTY },
        Some(_) => verdict,
    }
}

/// True for a test that is skipped, or still to be done: that one may fail, and so proves nothing.
pub(super) fn has_directive(text: &str) -> bool {
    text.rsplit_once('#').is_some_and(|(_, directive)| {
        let word = directive.trim_start().get(..4).unwrap_or_default();
        word.eq_ignore_ascii_case("skip") || word.eq_ignore_ascii_case("todo")
    })
}
