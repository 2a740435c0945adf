//! Gradle, which prints test counts only if a test fails or the build has a test logger.
//!
//! Otherwise a pass only shows that a test task ran. `UP-TO-DATE` and `FROM-CACHE` count as passes:
//! the same inputs have passed before.

use super::words::{counted, singular};
use super::{Runner, Tally};

#[derive(Debug, Clone, Default)]
pub(super) struct Gradle {
    tally: Tally,
}

impl Runner for Gradle {
    fn line(&mut self, line: &str) {
        let task = line.strip_prefix("> Task ").unwrap_or(line);
        if task.starts_with(':') {
            return self.tally.add(outcome(task).unwrap_or_default());
        }
        let executed = line.find(": Executed ").and_then(|at| {
            let logged = matches!(line.get(..at)?.trim(), "SUCCESS" | "FAILURE");
            logged.then(|| line.get(at + ": Executed ".len()..)).flatten()
        });
        let tally = match executed {
            Some(counts) => logger(counts),
            None if line.contains(" completed, ") => completed(line),
            None => None,
        };
        self.tally.add(tally.unwrap_or_default());
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}

/// `:app:test NO-SOURCE`
fn outcome(task: &str) -> Option<Tally> {
    // Before Gradle 5, a Java warning from the tests is appended to the task name.
    if task.contains(":testWARNING: ") {
        return Some(Tally::SOME);
    }
    let (path, outcome) = task.split_once(' ').unwrap_or((task, ""));
    let name = path.rsplit(':').next()?;
    match outcome {
        "" | "UP-TO-DATE" | "FROM-CACHE" if may_test(name) => Some(Tally::SOME),
        "FAILED" if may_test(name) => Some(Tally { failed: 1, ..Tally::SOME }),
        "NO-SOURCE" if tests(name) => Some(Tally::EMPTY),
        "SKIPPED" if tests(name) => Some(Tally { skipped: 1, ..Tally::EMPTY }),
        _ => None,
    }
}

/// True for a task that certainly runs tests; `pmdTest` only analyses them and may have no input.
fn tests(name: &str) -> bool {
    matches!(name, "test" | "integrationTest" | "functionalTest" | "jvmTest")
        || (name.starts_with("test") && name.ends_with("UnitTest"))
}

/// True for any task that may run tests, but not `testClasses`.
fn may_test(name: &str) -> bool {
    let builds = ["compile", "assemble", "process", "package", "generate", "pre", "check", "lint"];
    name == "test"
        || (name.ends_with("Test") && !builds.iter().any(|prefix| name.starts_with(prefix)))
}

/// `3 tests completed, 1 failed, 1 skipped`
fn completed(line: &str) -> Option<Tally> {
    let mut parts = line.split(", ").map(counted);
    let (all, word) = parts.next()??;
    let (failed, skipped) = failed_and_skipped(parts.flatten());
    matches!(word, "tests completed" | "test completed")
        .then(|| Tally { failed, ..Tally::of_all(all, skipped) })
}

/// `3 tests in 1.2s (1 skipped)`, from the plugin `com.adarshr.test-logger`.
fn logger(counts: &str) -> Option<Tally> {
    let (all, rest) = counted(counts)?;
    let (word, rest) = rest.split_once(" in ")?;
    let details = rest.split_once('(').map_or("", |(_, details)| details.trim_end_matches(')'));
    let (failed, skipped) = failed_and_skipped(details.split(", ").filter_map(counted));
    (singular(word) == "test").then(|| Tally { failed, ..Tally::of_all(all, skipped) })
}

fn failed_and_skipped<'a>(parts: impl Iterator<Item = (u64, &'a str)>) -> (u64, u64) {
    parts.fold((0, 0), |(failed, skipped), (count, word)| match word {
        "failed" => (count, skipped),
        "skipped" => (failed, count),
        _ => (failed, skipped),
    })
}
