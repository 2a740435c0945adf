//! `go test`: plain, `-v` and `-json`.
//!
//! Without flags, a package that passed prints `ok` and no number, and only failures have their own
//! lines: counting those would give a wrong total. A package that reports no tests has run none. If
//! all tests of a package skip themselves, only `-v` shows it.

use super::{Runner, Tally};

#[derive(Debug, Clone, Default)]
pub(super) struct Go {
    /// True after `=== RUN` in this package: every test has its own line.
    verbose: bool,
    package: Tally,
    tally: Tally,
}

impl Runner for Go {
    fn line(&mut self, line: &str) {
        if line.starts_with('{') {
            return self.tally.add(event(line).unwrap_or_default());
        }
        if line.starts_with("=== RUN") {
            self.verbose = true;
        } else if let Some(result) = line.trim_start().strip_prefix("--- ") {
            self.package.add(test(result));
        } else if line.contains('\t') {
            self.package_line(line);
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

impl Go {
    /// Fields separated by tabs: `ok`, `demo/a`, `0.003s`; `?`, `demo/b`, `[no test files]`.
    fn package_line(&mut self, line: &str) {
        let mut fields = line.split('\t');
        let verdict = fields.next().unwrap_or_default().trim_end();
        if !matches!(verdict, "ok" | "FAIL" | "?") || fields.clone().count() < 2 {
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

fn says_none(text: &str) -> bool {
    text.contains("[no tests to run]") || text.contains("[no test files]")
}

/// `PASS: TestOne (0.00s)`
fn test(result: &str) -> Tally {
    match result.split_once(": ") {
        Some(("PASS", _)) => Tally::ran(1),
        Some(("FAIL", _)) => Tally::failed(1),
        Some(("SKIP", _)) => Tally { skipped: 1, ..Tally::EMPTY },
        _ => Tally::default(),
    }
}

/// A line of `-json`. Quotes inside its strings are escaped, so a plain search for a key is safe.
fn event(line: &str) -> Option<Tally> {
    let (keys, output) = line.split_once(r#""Output":""#).unwrap_or((line, ""));
    let (_, action) = keys.split_once(r#""Action":""#)?;
    let is_test = keys.contains(r#""Test":""#);
    match action.split('"').next()? {
        "pass" if is_test => Some(Tally::ran(1)),
        "fail" if is_test => Some(Tally::failed(1)),
        "skip" if is_test => Some(Tally { skipped: 1, ..Tally::EMPTY }),
        "output" if !is_test && says_none(output) => Some(Tally::EMPTY),
        _ => None,
    }
}
