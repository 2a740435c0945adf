//! How many tests each runner ran, read from the lines of its summary.
//!
//! Almost every summary is a list of counts, each with one of a few words, in one line or in a column. A row says how such a
//! line begins and what else it contains. Code follows only where one line is not enough.

use super::Tally;

/// The forms of summaries, in the order in which their sums are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Any that stands in one line.
    Line,
    Mocha,
    Bun,
    Node,
    VsTest,
    VsTestColumn,
    TestingPlatform,
    MavenClass,
    MavenModule,
}

/// Lines that hold all counts of a summary: how they begin (a space in front stands for any indentation), what their
/// counts must contain, and the form.
const LINES: [(&str, &str, Form); 18] = [
    // `test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s`
    ("test result: ok. ", " passed;", Form::Line),
    ("test result: FAILED. ", " passed;", Form::Line),
    // deno: `ok | 2 passed (1 step) | 0 failed | 1 ignored (24ms)`
    ("ok | ", " passed", Form::Line),
    ("FAILED | ", " passed", Form::Line),
    // jest: `Tests:       1 skipped, 2 passed, 3 total`
    (" Tests: ", " total", Form::Line),
    // vitest: `Tests  1 failed | 2 passed | 1 skipped (4)`
    (" Tests  ", " (", Form::Line),
    // PHPUnit: `Tests: 3, Assertions: 1, Failures: 1, Skipped: 1.`
    ("Tests: ", ", Assertions: ", Form::Line),
    // PHPUnit, and JUnit 4's own runner: `OK (3 tests, 5 assertions)`
    ("OK (", " test", Form::Line),
    // Gradle; its plugin `com.adarshr.test-logger`: `SUCCESS: Executed 3 tests in 1.2s (1 skipped)`
    (" ", " completed, ", Form::Line),
    (" SUCCESS: Executed ", " test", Form::Line),
    (" FAILURE: Executed ", " test", Form::Line),
    // `Passed!  - Failed: 0, Passed: 3, Skipped: 0, Total: 3, …` for each assembly
    (" Passed!", "Total:", Form::VsTest),
    (" Failed!", "Total:", Form::VsTest),
    (" Skipped!", "Total:", Form::VsTest),
    (" Test summary: ", "total:", Form::TestingPlatform),
    // JUnit and TestNG under Surefire, Failsafe and Ant: a line for each class, then the total of the module:
    // `Tests run: 3, Failures: 0, Errors: 0, Skipped: 1, Time elapsed: …`
    (" Tests run:", "Time elapsed:", Form::MavenClass),
    (" Tests run:", ", Failures: ", Form::MavenModule),
    // rspec: `3 examples, 0 failures, 1 pending`; bats, minitest, test-unit and ExUnit: `3 tests, …`
    ("", " failure", Form::Line),
];

/// Counts on lines of their own: `{}` stands for the count, one space in front for any indentation, two for some.
const COLUMNS: [(Form, &str, Kind); 27] = [
    (Form::Mocha, " {} passing (", Kind::Passed),
    (Form::Mocha, " {} failing", Kind::Failed),
    (Form::Mocha, " {} pending", Kind::Skipped),
    (Form::Bun, "  {} pass", Kind::Passed),
    (Form::Bun, "  {} fail", Kind::Failed),
    (Form::Bun, "  {} skip", Kind::Skipped),
    (Form::Bun, "  {} todo", Kind::Skipped),
    (Form::Node, "# tests {}", Kind::All),
    (Form::Node, "# pass {}", Kind::Passed),
    (Form::Node, "# fail {}", Kind::Failed),
    (Form::Node, "# cancelled {}", Kind::Failed),
    (Form::Node, "# skipped {}", Kind::Skipped),
    (Form::Node, "# todo {}", Kind::Skipped),
    (Form::Node, "ℹ tests {}", Kind::All),
    (Form::Node, "ℹ pass {}", Kind::Passed),
    (Form::Node, "ℹ fail {}", Kind::Failed),
    (Form::Node, "ℹ cancelled {}", Kind::Failed),
    (Form::Node, "ℹ skipped {}", Kind::Skipped),
    (Form::Node, "ℹ todo {}", Kind::Skipped),
    (Form::VsTestColumn, " Total tests: {}", Kind::All),
    (Form::VsTestColumn, "  Passed: {}", Kind::Passed),
    (Form::VsTestColumn, "  Failed: {}", Kind::Failed),
    (Form::VsTestColumn, "  Skipped: {}", Kind::Skipped),
    (Form::TestingPlatform, "  total: {}", Kind::All),
    (Form::TestingPlatform, "  succeeded: {}", Kind::Passed),
    (Form::TestingPlatform, "  failed: {}", Kind::Failed),
    (Form::TestingPlatform, "  skipped: {}", Kind::Skipped),
];

/// How a line above or below a column begins, and what it contains. Without it, the counts are of something else.
const BESIDE_COLUMNS: [(Form, &str, &str); 6] = [
    // mocha, Cypress and Hardhat
    (Form::Mocha, "", " passing ("),
    // `Ran 3 tests across 1 file.`
    (Form::Bun, "Ran ", " across "),
    (Form::Node, "# tests ", ""),
    (Form::Node, "ℹ tests ", ""),
    (Form::VsTestColumn, "Total tests: ", ""),
    (Form::TestingPlatform, "Test run summary: ", ""),
];

/// The beginnings of lines in which a runner states that it ran nothing.
const NOTHING: [(&str, Tally); 13] = [
    ("No test files found, exiting with code ", Tally::EMPTY),
    ("Tests  no tests", Tally::EMPTY),
    ("No tests found, exiting with code ", Tally::EMPTY),
    ("No tests found related to files changed since ", Tally::EMPTY),
    ("No tests executed!", Tally::EMPTY),
    ("No tests to run.", Tally::EMPTY),
    ("No tests were found!!!", Tally::EMPTY),
    ("Test run summary: Zero tests ran", Tally::EMPTY),
    ("There are no tests to run.", Tally::EMPTY),
    ("No test is available in ", Tally::EMPTY),
    ("All examples were filtered out", Tally { filtered: 1, ..Tally::EMPTY }),
    ("No test matches the given testcase filter", Tally { filtered: 1, ..Tally::EMPTY }),
    ("Tests are skipped.", Tally { skipped: 1, ..Tally::EMPTY }),
];

#[derive(Debug, Clone, Copy, PartialEq)]
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
const WORDS: [(Kind, &[&str]); 7] = [
    (Kind::Passed, &["passed", "xpassed", "succeeded", "measured"]),
    (Kind::Failed, &["failed", "failure", "error", "timed", "unexpected"]),
    (Kind::Skipped, &["skipped", "skip", "ignored", "todo", "pending", "omission", "not"]),
    (Kind::Skipped, &["expected", "xfailed", "incomplete"]),
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

/// The count in a line of a column.
fn in_column(form: &str, line: &str) -> Option<u64> {
    let (before, after) = form.split_once("{}")?;
    let is_indented = line.starts_with([' ', '\t']);
    let rest = match before.trim_start() {
        unindented if unindented == before => line.strip_prefix(before)?,
        _ if before.starts_with("  ") && !is_indented => return None,
        text => line.trim_start().strip_prefix(text)?,
    };
    let text = rest.trim_start();
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let is_whole =
        if after.ends_with('(') { text[end..].starts_with(after) } else { text[end..] == *after };
    number(&text[..end]).filter(|_| is_whole)
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
            Some((count, Kind::All)) => all = Some(count.saturating_add(all.unwrap_or_default())),
            Some((count, kind)) => tally.add(kind.tally(count)),
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

impl Kind {
    fn tally(self, count: u64) -> Tally {
        match self {
            Kind::Passed => Tally::ran(count),
            Kind::Failed => Tally::failed(count),
            Kind::Skipped => Tally { skipped: count, ..Tally::EMPTY },
            Kind::Filtered => Tally { filtered: count, ..Tally::EMPTY },
            // The parts are counted.
            Kind::All => Tally::EMPTY,
            Kind::Other => Tally::default(),
        }
    }
}

/// The counts of a line of [`LINES`]; `bare` is the line without indentation and level.
fn whole_summary(line: &str, bare: &str) -> Option<(Tally, Form)> {
    LINES.iter().find_map(|(begins, has, form)| {
        let rest = match begins.strip_prefix(' ') {
            Some(begins) => bare.strip_prefix(begins)?,
            None => line.strip_prefix(begins)?,
        };
        let found = counts(rest).filter(|_| rest.contains(has))?;
        // Without a beginning of its own, a line must hold nothing but counts.
        (!begins.trim().is_empty() || found.all && found.only).then_some((found.tally, *form))
    })
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
    /// The sum of the summaries of each form, and whether there was one.
    forms: [(Tally, bool); 9],
    in_nextest: bool,
    in_ctest: bool,
    /// unittest has told its count, and its verdict follows.
    in_unittest: bool,
    go: Go,
    swift: Swift,
    tap: Tap,
}

impl Runners {
    pub(super) fn line(&mut self, line: &str) {
        if !could_be_a_summary(line) {
            return;
        }
        let text = line.trim_start();
        let bare = without_level(text);
        if self.is_of_nextest(text) {
            return;
        }
        let nothing = NOTHING.iter().find(|(begins, _)| bare.starts_with(begins));
        let whole = nothing
            .map(|(_, tally)| *tally)
            .or_else(|| pytest(line))
            .or_else(|| gradle(text))
            .map(|tally| (tally, Form::Line))
            .or_else(|| whole_summary(line, bare));
        if let Some((tally, form)) = whole {
            self.forms[form as usize].0.add(tally);
            self.forms[form as usize].1 = true;
            return;
        }
        for (form, counts, kind) in COLUMNS {
            let tally = in_column(counts, line).map(|count| kind.tally(count));
            self.forms[form as usize].0.add(tally.unwrap_or_default());
        }
        for (form, begins, has) in BESIDE_COLUMNS {
            self.forms[form as usize].1 |= text.starts_with(begins) && text.contains(has);
        }
        self.unittest(line);
        self.ctest(line);
        self.go.line(line);
        self.swift.line(text);
        self.tap.line(line);
    }

    pub(super) fn tally(&self) -> Tally {
        let of = |forms: &[Form]| {
            let shown = forms.iter().map(|form| self.forms[*form as usize]).filter(|one| one.1);
            shown
                .map(|one| one.0)
                .max_by_key(|it| (it.ran, it.skipped, it.spoke))
                .unwrap_or_default()
        };
        let mut sum = self.forms[Form::Line as usize].0;
        [Form::Mocha, Form::Bun, Form::Node].iter().for_each(|form| sum.add(of(&[*form])));
        // These may tell of the same run, so only the largest counts.
        sum.add(of(&[Form::VsTest, Form::VsTestColumn, Form::TestingPlatform]));
        sum.add(of(&[Form::MavenClass, Form::MavenModule]));
        sum.add(self.go.tally());
        sum.add(self.swift.tally);
        sum.add(self.swift.closed);
        sum.add(self.tap.tally());
        sum
    }

    /// `Summary [   0.018s] 3 tests run: 3 passed, 1 skipped`. True for such a line and for what the tests print before it: nextest
    /// runs each in a process with Rust's harness and may show its output.
    fn is_of_nextest(&mut self, text: &str) -> bool {
        if let Some((count, rest)) = text.strip_prefix("Starting ").and_then(counted) {
            self.in_nextest |= count > 0 && rest.starts_with("test") && rest.contains(" across ");
        }
        let summary = text.strip_prefix("Summary [");
        if let Some(found) = summary.and_then(|it| counts(it.split_once(" run: ")?.1)) {
            self.forms[Form::Line as usize].0.add(found.tally);
        }
        self.in_nextest &= summary.is_none();
        summary.is_some() || self.in_nextest && text.starts_with("test result: ")
    }

    /// Python's unittest, Django, nose2: `Ran 3 tests in 0.001s`, then `FAILED (failures=1, skipped=1)`.
    fn unittest(&mut self, line: &str) {
        let sum = &mut self.forms[Form::Line as usize].0;
        if let Some((count, rest)) = line.strip_prefix("Ran ").and_then(counted) {
            if rest.starts_with("test") && rest.contains(" in ") && rest.ends_with('s') {
                sum.add(Tally::ran(count));
                self.in_unittest = true;
            }
        } else if let Some(details) =
            ["OK (", "FAILED ("].iter().find_map(|word| line.strip_prefix(word))
            && std::mem::take(&mut self.in_unittest)
        {
            // The first count holds them all.
            let details = counts(details).map(|found| found.tally).unwrap_or_default();
            sum.add(Tally { ran: 0, ..details });
            sum.ran = sum.ran.saturating_sub(details.skipped);
        }
    }

    /// `50% tests passed, 1 tests failed out of 2`. The total includes skipped tests, which are listed below it, but not
    /// disabled ones.
    fn ctest(&mut self, line: &str) {
        let sum = &mut self.forms[Form::Line as usize].0;
        if let Some((text, all)) = line.rsplit_once(" failed out of ") {
            let failed =
                text.split_once("% tests passed, ").and_then(|(_, failed)| counted(failed));
            if let (Some((failed, _)), Some(all)) = (failed, number(all)) {
                sum.add(Tally { failed, ..Tally::ran(all) });
                self.in_ctest = true;
            }
        } else if line.contains("***Not Run (Disabled)") {
            sum.add(Tally { skipped: 1, ..Tally::default() });
        } else if self.in_ctest && line.ends_with(" (Skipped)") {
            // `3 - name (Skipped)`
            let is_listed = counted(line).is_some_and(|(_, rest)| rest.starts_with("- "));
            sum.add(Tally { skipped: is_listed.into(), ..Tally::default() });
            sum.ran = sum.ran.saturating_sub(is_listed.into());
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

/// `go test`: plain, `-v` and `-json`.
///
/// Without flags, a package that passed prints `ok` and no number, and only failures have their own
/// lines: counting those would give a wrong total. A package that reports no tests has run none. If
/// all tests of a package skip themselves, only `-v` shows it.
#[derive(Debug, Clone, Default)]
struct Go {
    /// True after `=== RUN`: every test has its own line, and packages add nothing.
    verbose: bool,
    tests: Tally,
    packages: Tally,
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
            self.packages.add(match (action, keys.contains(r#""Test":""#)) {
                (Some("output"), false) if says_none(output) => Tally::EMPTY,
                (Some(verdict), true) => go_test(verdict),
                _ => Tally::default(),
            });
        } else if line.starts_with("=== RUN") {
            self.verbose = true;
        } else if let Some((verdict, _)) =
            line.trim_start().strip_prefix("--- ").and_then(|test| test.split_once(": "))
        {
            self.tests.add(go_test(&verdict.to_ascii_lowercase()));
        } else if let Some((verdict, rest)) =
            line.split_once('\t').filter(|(_, it)| it.contains('\t'))
        {
            // `ok`, `demo/a`, `0.003s`; `?`, `demo/b`, `[no test files]`
            self.packages.add(match verdict.trim_end() {
                "ok" | "FAIL" | "?" if says_none(rest) => Tally::EMPTY,
                "ok" => Tally::SOME,
                // A package that failed to build also reports `FAIL`.
                "FAIL" => Tally { failed: 1, ..Tally::SOME },
                _ => Tally::default(),
            });
        }
    }

    fn tally(&self) -> Tally {
        if self.verbose { self.tests } else { self.packages }
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

/// `swift test`: XCTest and swift-testing, which run in sequence.
///
/// XCTest prints a count after each class, each bundle and the whole run. Only that of the run
/// is used, which is the last one before another run begins (even if the start of the output was
/// cut off). An empty XCTest run before swift-testing's is normal and does not mean that there are
/// no tests.
#[derive(Debug, Clone, Default)]
struct Swift {
    /// XCTest's most recent count.
    closed: Tally,
    /// Tests skipped by swift-testing; its total includes them.
    skipped: u64,
    tally: Tally,
}

impl Swift {
    fn line(&mut self, line: &str) {
        let runs = ["Test Suite 'All tests' started", "Test Suite 'Selected tests' started"];
        if runs.iter().any(|run| line.starts_with(run)) {
            self.tally.add(std::mem::take(&mut self.closed));
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

/// The Test Anything Protocol (bats, vitest's and mocha's reporters, prove).
///
/// A summary of prove or Node that follows such lines is more precise: it excludes suites and counts their tests. So the
/// lines before it are discarded.
#[derive(Debug, Clone, Default)]
struct Tap {
    /// The counts of prove's summaries.
    summaries: Tally,
    /// Test lines since the last summary.
    points: Tally,
    /// True after a plan (`1..N`): without one, the lines could come from any program. It may come
    /// last.
    planned: bool,
}

impl Tap {
    fn line(&mut self, line: &str) {
        if line.starts_with("# tests ") || line.starts_with("ℹ tests ") {
            self.points = Tally::default();
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

#[cfg(test)]
mod tests;
