//! Names the tests that failed, for a person and a model who ask what to fix first.
//!
//! A runner prints the names once or twice, often far above the end of its output and followed by
//! pages of its own stack frames. Every line is read once, in constant memory. A missed name costs
//! nothing but a less helpful message, so a form needs no context beyond its own line.

use super::Lines;
use super::runners::has_directive;
use crate::text::truncate::bounded;

/// Longest name or error line, in UTF-16 units.
const LONGEST: usize = 120;

/// Names that are kept; more are only counted by the runner.
const MOST: usize = 8;

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
    pub fn of(output: &str) -> Failures {
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
            self.error = bounded(error, LONGEST);
        }
    }

    fn name(&mut self, name: &str) {
        let name = bounded(name.trim(), LONGEST);
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
        } else if !name.is_empty() && self.tests.len() < MOST && !self.tests.iter().any(is_known) {
            self.tests.push(name);
        }
    }
}

/// How a line names a failed test.
struct Form {
    /// The text before the name, after any indentation.
    before: &'static str,
    /// The text after the name, if there is any.
    after: &'static str,
    /// What the line must contain.
    has: &'static str,
}

const FORMS: [Form; 12] = [
    // cargo test, deno
    Form { before: "test ", after: " ... FAILED", has: " ... FAILED" },
    Form { before: "", after: " ... FAILED", has: " ... FAILED" },
    // go test
    Form { before: "--- FAIL: ", after: " (", has: " (" },
    // pytest
    Form { before: "FAILED ", after: " - ", has: "::" },
    // unittest
    Form { before: "FAIL: ", after: " (", has: " (" },
    Form { before: "ERROR: ", after: " (", has: " (" },
    // jest, vitest, bats and node's spec reporter
    Form { before: "✕ ", after: "\n", has: "" },
    Form { before: "× ", after: "\n", has: "" },
    Form { before: "✖ ", after: "\n", has: "" },
    Form { before: "✗ ", after: "\n", has: "" },
    // jest, where it lists no tests
    Form { before: "● ", after: "\n", has: "" },
    // bun
    Form { before: "(fail) ", after: " [", has: "" },
];

/// The name of the failed test that this line reports.
fn failed_test(line: &str) -> Option<&str> {
    let text = line.trim_start();
    let read = |form: &Form| {
        let rest = text.strip_prefix(form.before).filter(|rest| rest.contains(form.has))?;
        Some(rest.split(form.after).next().unwrap_or(rest))
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
// Reads recordings.
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;

    fn recorded(name: &str) -> Vec<u8> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/runners");
        std::fs::read(format!("{folder}/{name}.txt")).unwrap()
    }

    #[track_caller]
    fn check(name: &str, tests: &[&str]) {
        let output = recorded(name);
        for size in [output.len(), 7] {
            let mut scanner = FailureScanner::default();
            output.chunks(size).for_each(|piece| scanner.feed(piece));
            assert_eq!(scanner.finish().tests, tests, "{name}");
        }
    }

    #[test]
    fn the_failing_test_of_each_runner_is_named() {
        for (name, tests) in [
            ("cargo-test/fail", &["t::a"][..]),
            ("cargo-nextest/fail", &["empty t::a"]),
            ("jest/fail", &["a"]),
            ("ctest/fail", &["a"]),
            ("vitest/fail", &["a"]),
            ("mocha/fail", &["a"]),
            ("node/fail", &["a"]),
            ("node/fail-spec", &["a"]),
            ("pytest/fail", &["test_fail.py::test_bad"]),
            ("unittest/fail", &["test_c"]),
            ("go/fail", &["TestBad"]),
            ("go/fail-v", &["TestBad"]),
            ("bats/fail-tap", &["a"]),
            ("bun/fail", &["a"]),
            ("deno/fail", &["a"]),
            ("rspec/fail", &["x c"]),
            ("phpunit/fail", &["FailTest::testOne"]),
        ] {
            check(name, tests);
        }
    }

    #[test]
    fn jest_names_a_failure_also_where_it_lists_no_tests() {
        let output = "● Multiple configurations found:\n  ● Console\n\n  ● Test suite failed to run\n\n  ● weeks › a Sunday\n\n    expect(1)\n";
        assert_eq!(Failures::of(output).tests, ["weeks › a Sunday"]);
    }

    #[test]
    fn a_test_that_is_skipped_or_still_to_be_done_has_not_failed() {
        let output = "not ok 1 - a # TODO later\nnot ok 2 - b #skip\nnot ok 3 - c # time=3ms\n";
        assert_eq!(Failures::of(output).tests, ["c"]);
    }

    #[test]
    fn a_run_without_failures_names_none() {
        for name in [
            "cargo-test/pass",
            "jest/pass",
            "vitest/pass",
            "mocha/pass",
            "node/pass-spec",
            "node/pass-tap",
            "node/skipped",
            "pytest/pass",
            "go/verbose",
            "rspec/pass",
            "unittest/pass-v",
        ] {
            check(name, &[]);
        }
    }

    #[test]
    fn the_error_is_the_line_that_states_it() {
        let error = |name: &str| Failures::of(&String::from_utf8_lossy(&recorded(name))).error;
        assert_eq!(
            error("pytest/error"),
            "ModuleNotFoundError: No module named 'nothing_of_this_name'"
        );
        assert_eq!(error("node/fail-spec"), "Error: x");
        assert_eq!(error("unittest/fail"), "AssertionError: x");
        for (line, states) in [
            ("src/a.ts(3,5): error TS2322: Type", true),
            ("error[E0425]: cannot find value", true),
            ("a.c:3:5: error: expected ';'", true),
            ("thread 'main' panicked at src/main.rs:2:5:", true),
            ("throw new Error('x')", false),
            ("0 errors", false),
            ("Errors are fine", false),
        ] {
            assert_eq!(Failures::of(line).error == line, states, "{line}");
        }
    }

    #[test]
    fn a_missing_program_module_or_script_is_the_error() {
        for (line, states) in [
            ("sh: 1: cargo: not found", true),
            ("cargo: not found", true),
            ("/bin/sh: ./run.sh: not found", true),
            ("bash: line 1: cargo: command not found", true),
            ("zsh: command not found: cargo", true),
            ("env: ‘node’: No such file or directory", true),
            ("make: jest: No such file or directory", true),
            ("/usr/bin/python3: No module named pytest", true),
            ("npm error Missing script: \"x\"", true),
            ("npm ERR! Missing script: \"x\"", true),
            (" ERR_PNPM_NO_SCRIPT  Missing script: x", true),
            ("GET /a page: not found", false),
            ("ls: cannot access 'a b': No such file or directory", false),
            ("3 links were not found", false),
            (": not found", false),
        ] {
            assert_eq!(Failures::of(line).error == line.trim(), states, "{line}");
        }
        let both = "sh: 1: jest: not found\nerror: build failed\n";
        assert_eq!(Failures::of(both).error, "sh: 1: jest: not found");
    }

    #[test]
    fn an_inner_test_replaces_the_outer_one_and_no_name_comes_twice() {
        let go = "--- FAIL: TestWeek (0.00s)\n    --- FAIL: TestWeek/iso (0.00s)\n    --- FAIL: TestWeek/us (0.00s)\n";
        assert_eq!(Failures::of(go).tests, ["TestWeek/iso", "TestWeek/us"]);
        let many: String = (0..20).map(|n| format!("test t{n} ... FAILED\n")).collect();
        assert_eq!(Failures::of(&many).tests.len(), MOST);
    }

    #[test]
    fn no_frame_of_a_stack_is_left_over() {
        for name in
            ["node/fail-spec", "mocha/fail", "jest/fail", "cargo-test/fail", "unittest/fail"]
        {
            let text = without_frames(&String::from_utf8_lossy(&recorded(name)));
            for frame in
                ["node:internal", "    at ", "File \"", "backtrace", "Traceback", "/rustc/"]
            {
                assert!(!text.contains(frame), "{name}: {frame} in {text}");
            }
        }
    }
}
