//! Detects commands that start a test runner without running tests.
//!
//! Their output may look like a pass (`rspec --dry-run` counts its examples), so the flag decides.
//! It decides only if no other command in the line could prove something.

use crate::shell::{self, Simple};

/// A runner's first words, and the arguments with which it runs no tests.
const TABLE: [(&[&str], &[&str]); 21] = [
    (&["cargo", "test"], &["--no-run", "--list"]),
    (&["cargo", "t"], &["--no-run", "--list"]),
    (&["cargo", "nextest", "list"], &["list"]),
    (&["cargo", "nextest", "run"], &["--no-run"]),
    (&["pytest"], &["--collect-only", "--co", "--setup-plan"]),
    (&["py.test"], &["--collect-only", "--co", "--setup-plan"]),
    (&["go", "test"], &["-list", "--list", "-c"]),
    (&["jest"], &["--listTests", "--showConfig"]),
    (&["vitest", "list"], &["list"]),
    (&["mocha"], &["--dry-run"]),
    (&["rspec"], &["--dry-run"]),
    (&["phpunit"], &["--list-tests", "--list-suites", "--list-groups"]),
    (&["vendor/bin/phpunit"], &["--list-tests", "--list-suites", "--list-groups"]),
    (&["ctest"], &["-N", "--show-only"]),
    (&["bats"], &["--count", "-c"]),
    (&["deno", "test"], &["--no-run"]),
    (&["dotnet", "test"], &["--list-tests"]),
    (&["swift", "test"], &["list", "--list-tests"]),
    (&["gradle", "test"], &["--dry-run", "-m"]),
    (&["./gradlew", "test"], &["--dry-run", "-m"]),
    (&["mvn", "test"], &["-DskipTests", "-Dmaven.test.skip"]),
];

/// Wrappers that start another program of the project.
const STARTERS: [&[&str]; 9] = [
    &["npx"],
    &["bunx"],
    &["pnpm", "exec"],
    &["yarn", "exec"],
    &["uv", "run"],
    &["poetry", "run"],
    &["bundle", "exec"],
    &["python", "-m"],
    &["python3", "-m"],
];

/// Commands around the runner that prove nothing themselves.
const PREPARES: [&str; 10] =
    ["cd", "export", "set", "echo", "printf", "mkdir", "pwd", ":", "true", "sleep"];

/// True if the command line only lists or builds tests.
pub(super) fn runs_no_tests(command: &str) -> bool {
    let reading = shell::read(command, &[]);
    let mut real = reading
        .commands
        .iter()
        .filter(|simple| !simple.words.is_empty() && !PREPARES.contains(&simple.base()))
        .peekable();
    reading.opaque.is_empty() && real.peek().is_some() && real.all(only_names)
}

fn only_names(simple: &Simple) -> bool {
    let words: Option<Vec<&str>> = simple.words.iter().map(|word| word.literal()).collect();
    let Some(words) = words else { return false };
    let mut words = words.as_slice();
    while let Some(starter) = STARTERS.iter().find(|starter| words.starts_with(starter)) {
        words = words.get(starter.len()..).unwrap_or_default();
    }
    TABLE.iter().any(|(runner, idle)| {
        words.starts_with(runner)
            && words.iter().skip(1).any(|word| {
                let flag = word.split('=').next().unwrap_or(word);
                idle.contains(&flag) && !word.ends_with("=false")
            })
    })
}
