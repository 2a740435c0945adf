//! A criterion whose runner says less than before, or something else than its exit code, is not
//! proven.
//!
//! The runners are stand-ins that print what a real one printed, and always exit with 0.

use crate::world::{Ran, World};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Mutex;

const TOKEN: &str = "RALPH_COMPLETE";

/// Every runner of the table: its command, and what it prints when all is well and when a test
/// fails.
const RUNNERS: &[(&str, &str, &str)] = &[
    ("cargo test", "cargo-test/pass", "cargo-test/fail"),
    ("cargo nextest run", "cargo-nextest/pass", "cargo-nextest/fail"),
    ("pytest", "pytest/pass", "pytest/fail"),
    ("python3 -m unittest", "unittest/pass", "unittest/fail"),
    ("jest", "jest/pass", "jest/fail"),
    ("vitest run", "vitest/pass", "vitest/fail"),
    ("mocha", "mocha/pass", "mocha/fail"),
    ("node --test", "node/pass-spec", "node/fail-spec"),
    ("bun test", "bun/pass", "bun/fail"),
    ("deno test", "deno/pass", "deno/fail"),
    ("go test ./...", "go/pass", "go/fail"),
    ("rspec", "rspec/pass", "rspec/fail"),
    ("phpunit", "phpunit/pass", "phpunit/fail"),
    ("mvn test", "maven/pass", "maven/fail"),
    ("gradle test", "gradle/pass", "gradle/fail"),
    ("ctest", "ctest/pass", "ctest/fail"),
    ("bats test", "bats/pass-pretty", "bats/fail-pretty"),
    ("swift test", "swift/pass-testing", "swift/fail-testing"),
    ("dotnet test", "dotnet/pass", "dotnet/fail"),
    ("rails test", "minitest/pass", "minitest/fail"),
];

fn program(world: &mut World, name: &str, script: &str) {
    let folder = world.root().join("bin");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let rest = world.env["PATH"].clone();
    let first = format!("{}:", folder.display());
    if !rest.starts_with(&first) {
        world.set("PATH", &(first + &rest));
    }
}

fn refusal(ran: Ran, what: &str) -> String {
    assert_eq!(ran.json()["hookSpecificOutput"]["hookEventName"], "Stop", "{what}: {ran:?}");
    ran.context()
}

fn recording(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/runners");
    fs::read_to_string(folder.join(format!("{name}.txt"))).unwrap()
}

/// A loop whose runner prints what stands in `says`, which is no part of the project.
fn with_runner(command: &str) -> World {
    let mut world = World::new();
    let says = world.root().join("says");
    let name = command.split(' ').next().unwrap();
    program(&mut world, name, &format!("test -e work.c && cat '{}'", says.display()));
    world.start(&format!("--ac \"it={command}\""));
    world
}

fn says(world: &World, text: &str) {
    fs::write(world.root().join("says"), text).unwrap();
    world.write("work.c", text);
}

fn state_of(world: &World) -> String {
    let told: serde_json::Value =
        serde_json::from_str(&world.ralph(&["status", "--json"]).text).unwrap();
    told["loops"][0]["criteria"][0]["state"].as_str().unwrap().to_owned()
}

#[test]
fn neither_a_hidden_failure_nor_silence_after_a_report_is_proof_for_any_runner() {
    let runners = crate::sample(RUNNERS.to_vec(), 5);
    let next = Mutex::new(runners.iter());
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                loop {
                    let Some(runner) = next.lock().unwrap().next() else { return };
                    let (command, pass, fail) = *runner;
                    let world = with_runner(command);
                    says(&world, &recording(fail));
                    let reason = refusal(world.stop(TOKEN), command);
                    assert!(reason.contains("summary reports failures"), "{command}: {reason}");
                    assert_eq!(state_of(&world), "hides_failures", "{command}");
                    for silent in ["", "all good\n", "ok\n"] {
                        says(&world, silent);
                        let reason = refusal(world.stop(TOKEN), command);
                        assert!(reason.contains("reported no tests"), "{command}: {reason}");
                        assert_eq!(state_of(&world), "fewer_tests", "{command}");
                        world.edit_state(|state| state["progress"] = json!({}));
                    }
                    let taken = world.elsewhere(&["criteria", "accept"]);
                    assert!(taken.text.contains("no count of the tests"), "{}", taken.text);
                    says(&world, &recording(pass));
                    let said = world.stop(TOKEN);
                    assert!(said.out().contains("Ralph: done in "), "{command}: {said:?}");
                }
            });
        }
    });
}

/// The one open criterion in the refusal, in the status (as text and as JSON) and at the end.
fn told_everywhere(world: &World, state: &str, why: &str) {
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let reason = world.step(&world.stop(TOKEN));
    assert!(reason.contains("Completion was requested and is refused"), "{reason}");
    assert!(reason.contains(&format!("- AC-1 {why}")), "{why} in the refusal: {reason}");
    assert!(!reason.contains("- AC-2"), "{reason}");
    assert_eq!(state_of(world), state);
    let told = one_line(&world.elsewhere(&["status"]).text);
    let word = state.replace('_', " ");
    assert!(told.contains(&word) && told.contains(why), "{why} in the status: {told}");
    let said = world.stop(TOKEN).message();
    assert!(said.contains("Ralph: stopped after 2 turns, "), "{said}");
    let holding = format!("1 of 2 criteria hold: AC-1 {why}");
    assert!(said.contains(&holding), "{why} at the end: {said}");
    assert_eq!(world.archived()[0]["acceptance_criteria"][0]["verified"], false);
}

#[test]
fn fewer_tests_and_hidden_failures_are_named_in_the_refusal_the_status_and_the_ending() {
    const TAKE: &str = "or ask the user to accept it with `ralph criteria accept`";
    let flags = "--max-iterations 1 --ac \"it=jest\" --ac \"one=grep -q one tracked\"";
    let begun = |says: &str| {
        let mut world = World::new();
        program(&mut world, "jest", "cat \"$SAYS\"");
        let place = world.root().join("says");
        world.set("SAYS", place.to_str().unwrap());
        fs::write(&place, says).unwrap();
        world.start(flags);
        assert!(world.ralph(&["verify"]).success);
        world
    };
    let now_says = |world: &World, says: &str| {
        fs::write(world.root().join("says"), says).unwrap();
        world.write("change", says);
    };
    let three = "Tests:       3 passed, 3 total\n";

    let world = begun(three);
    now_says(&world, "Tests:       2 passed, 2 total\n");
    let why = format!("ran 2 tests, and 3 at the start; bring the others back, {TAKE}");
    told_everywhere(&world, "fewer_tests", &why);

    let world = begun(three);
    now_says(&world, "");
    let why = format!("reported no tests, and 3 at the start; bring the others back, {TAKE}");
    told_everywhere(&world, "fewer_tests", &why);

    let world = begun(three);
    now_says(&world, "Tests:       1 failed, 3 passed, 4 total\n");
    let why = format!(
        "exited with 0 although its own summary reports failures (1); make the command fail with them, {TAKE}"
    );
    told_everywhere(&world, "hides_failures", &why);
}

#[test]
fn more_skipped_tests_than_at_the_start_are_named_at_the_end() {
    let world = with_runner("pytest");
    says(&world, "3 passed, 1 skipped in 0.01s\n");
    assert!(world.ralph(&["verify"]).success);
    says(&world, "3 passed, 4 skipped in 0.01s\n");
    let said = world.stop(TOKEN).out();
    assert!(said.contains("AC-1 skips 4 tests, and 1 at the start"), "{said}");
}
