//! The recordings; `tests/fixtures/runners/README.md` states their origin.
#![allow(clippy::disallowed_methods)]

use super::NoTests::{AllSkipped, FilteredOut, NoneFound};
use super::TestsRun::{None, Ran, Some, Unknown};
use super::*;
use std::path::{Path, PathBuf};

/// Each recording, the command that printed it, and the expected result.
const RECORDINGS: &[(&str, &str, TestsRun)] = &[
    ("cargo-test/pass", "cargo test", Ran(4)),
    ("cargo-test/quiet", "cargo test -q", Ran(4)),
    ("cargo-test/terse", "cargo test -- --format terse", Ran(4)),
    ("cargo-test/fail", "cargo test", Ran(2)),
    ("cargo-test/none", "cargo test", None(NoneFound)),
    ("cargo-test/all-ignored-docs", "cargo test", None(AllSkipped)),
    ("cargo-test/filtered", "cargo test nothing_of_this_name", None(FilteredOut)),
    ("cargo-nextest/pass", "cargo nextest run", Ran(3)),
    ("cargo-nextest/pass-slim", "cargo nextest run --status-level none", Ran(3)),
    ("cargo-nextest/one-filtered", "cargo nextest run one", Ran(1)),
    ("cargo-nextest/fail", "cargo nextest run", Ran(2)),
    ("cargo-nextest/none", "cargo nextest run --no-tests=warn", None(NoneFound)),
    ("cargo-nextest/all-ignored-ok", "cargo nextest run --no-tests=pass", None(AllSkipped)),
    // nextest reports filtered tests as skipped.
    ("cargo-nextest/filtered", "cargo nextest run --no-tests=pass nothing", None(AllSkipped)),
    ("pytest/pass", "python -m pytest test_ok.py", Ran(2)),
    ("pytest/quiet", "pytest -q test_ok.py", Ran(2)),
    ("pytest/quieter", "pytest -qq test_ok.py", Unknown),
    ("pytest/color", "pytest --color=yes test_ok.py", Ran(2)),
    ("pytest/xdist", "pytest -n 2 test_ok.py", Ran(2)),
    ("pytest/some-deselected", "pytest -k one test_ok.py", Ran(1)),
    ("pytest/fail", "pytest test_fail.py", Ran(2)),
    ("pytest/error", "pytest test_err.py", Ran(1)),
    ("pytest/none", "pytest empty_module.py", None(NoneFound)),
    ("pytest/skipped", "pytest test_skip.py", None(AllSkipped)),
    ("pytest/skipped-quiet", "pytest -q test_skip.py", None(AllSkipped)),
    ("pytest/xfail", "pytest test_ok.py -k four", None(AllSkipped)),
    ("pytest/deselected", "pytest -k nothing test_ok.py", None(FilteredOut)),
    ("pytest/deselected-quiet", "pytest -q -k nothing test_ok.py", None(FilteredOut)),
    ("unittest/pass", "python -m unittest test_unit", Ran(2)),
    ("unittest/pass-v", "python -m unittest -v test_unit", Ran(2)),
    ("unittest/fail", "python -m unittest test_unit_fail", Ran(2)),
    ("unittest/none", "python -m unittest empty_module", None(NoneFound)),
    ("unittest/skipped", "python -m unittest test_unit_skip", None(AllSkipped)),
    ("unittest/filtered", "python -m unittest -k nothing test_unit", None(NoneFound)),
    ("jest/pass", "jest ok", Ran(2)),
    ("jest/two", "jest ok skip", Ran(2)),
    ("jest/fail", "jest fail", Ran(2)),
    ("jest/none", "jest --passWithNoTests nothing", None(NoneFound)),
    ("jest/skipped", "jest skip", None(AllSkipped)),
    ("jest/filtered", "jest ok -t nothing", None(AllSkipped)),
    ("vitest/pass", "vitest run ok", Ran(2)),
    ("vitest/dot", "vitest run --reporter=dot ok", Ran(2)),
    ("vitest/tap", "vitest run --reporter=tap-flat ok", Ran(2)),
    ("vitest/fail", "vitest run fail", Ran(2)),
    ("vitest/none", "vitest run --passWithNoTests nothing", None(NoneFound)),
    ("vitest/skipped", "vitest run skip", None(AllSkipped)),
    ("vitest/filtered", "vitest run ok -t nothing", None(AllSkipped)),
    ("mocha/pass", "mocha ok.js", Ran(2)),
    ("mocha/dot", "mocha -R dot ok.js", Ran(2)),
    ("mocha/min", "mocha -R min ok.js", Ran(2)),
    ("mocha/tap", "mocha -R tap ok.js", Ran(2)),
    ("mocha/fail", "mocha fail.js", Ran(2)),
    ("mocha/none", "mocha none.js", None(NoneFound)),
    ("mocha/skipped", "mocha skip.js", None(AllSkipped)),
    ("mocha/filtered", "mocha -g nothing ok.js", None(NoneFound)),
    ("node/pass-tap", "node --test ok.test.js", Ran(2)),
    ("node/pass-spec", "node --test --test-reporter=spec ok.test.js", Ran(2)),
    ("node/fail", "node --test fail.test.js", Ran(2)),
    ("node/fail-spec", "node --test --test-reporter=spec fail.test.js", Ran(2)),
    ("node/dot", "node --test --test-reporter=dot ok.test.js", Unknown),
    // Node counts a file that exits with 0 as a passed test.
    ("node/empty-file", "node --test none.test.js", Ran(1)),
    ("node/none", "node --test", None(NoneFound)),
    ("node/skipped", "node --test skip.test.js", None(AllSkipped)),
    ("node/skipped-spec", "node --test --test-reporter=spec skip.test.js", None(AllSkipped)),
    ("node/filtered", "node --test --test-name-pattern=nothing", None(AllSkipped)),
    ("go/pass", "go test ./...", Some),
    ("go/cover", "go test -cover ./a", Some),
    ("go/verbose", "go test -v ./...", Ran(3)),
    ("go/json", "go test -json ./...", Ran(3)),
    ("go/fail", "go test ./d", Some),
    ("go/fail-v", "go test -v ./d", Ran(2)),
    ("go/no-files", "go test ./b", None(NoneFound)),
    ("go/filtered", "go test -run Nothing ./...", None(NoneFound)),
    ("go/filtered-v", "go test -v -run Nothing ./...", None(NoneFound)),
    ("go/filtered-json", "go test -json -run Nothing ./...", None(NoneFound)),
    // Without -v, nothing shows that the only test was skipped.
    ("go/skipped", "go test ./c", Some),
    ("go/skipped-v", "go test -v ./c", None(AllSkipped)),
    ("go/skipped-json", "go test -json ./c", None(AllSkipped)),
    ("rspec/pass", "rspec ok_spec.rb", Ran(2)),
    ("rspec/doc", "rspec -fd ok_spec.rb", Ran(2)),
    ("rspec/fail", "rspec fail_spec.rb", Ran(2)),
    ("rspec/json", "rspec -fj ok_spec.rb", Unknown),
    ("rspec/none", "rspec none_spec.rb", None(NoneFound)),
    ("rspec/skipped", "rspec skip_spec.rb", None(AllSkipped)),
    ("rspec/filtered", "rspec -e nothing ok_spec.rb", None(FilteredOut)),
    ("phpunit/pass", "phpunit ok", Ran(2)),
    ("phpunit/testdox", "phpunit --testdox ok", Ran(2)),
    ("phpunit/mixed", "phpunit MixTest.php", Ran(1)),
    ("phpunit/fail", "phpunit fail", Ran(2)),
    ("phpunit/none", "phpunit none", None(NoneFound)),
    ("phpunit/skipped", "phpunit skip", None(AllSkipped)),
    ("phpunit/filtered", "phpunit --filter nothing ok", None(NoneFound)),
    ("maven/pass", "mvn -B test", Ran(3)),
    ("maven/modules-surefire-3", "mvn -B test", Ran(5)),
    ("maven/fail", "mvn -B test", Ran(2)),
    ("maven/none", "mvn -B test", None(NoneFound)),
    ("maven/skipped", "mvn -B test", None(AllSkipped)),
    ("maven/skip-tests", "mvn -B verify -DskipTests", None(AllSkipped)),
    ("gradle/pass", "./gradlew test", Some),
    ("gradle/pass-4.4", "gradle test", Some),
    ("gradle/up-to-date", "./gradlew test", Some),
    ("gradle/no-annotation", "gradle test", Some),
    ("gradle/fail", "gradle test", Ran(3)),
    ("gradle/no-source", "./gradlew test", None(NoneFound)),
    ("gradle/no-source-4", "./gradlew build", None(NoneFound)),
    ("ctest/pass", "ctest --test-dir build", Ran(2)),
    ("ctest/mixed", "ctest --test-dir build", Ran(2)),
    ("ctest/fail", "ctest --test-dir build", Ran(3)),
    ("ctest/none", "ctest --test-dir build", None(NoneFound)),
    ("ctest/filtered", "ctest --test-dir build -R nothing", None(NoneFound)),
    ("ctest/skipped", "ctest --test-dir build", None(AllSkipped)),
    ("ctest/disabled", "ctest --test-dir build", None(AllSkipped)),
    ("bats/pass-tap", "bats ok.bats", Ran(2)),
    ("bats/pass-pretty", "bats --pretty ok.bats", Ran(2)),
    ("bats/fail-tap", "bats fail.bats", Ran(2)),
    ("bats/fail-pretty", "bats --pretty fail.bats", Ran(2)),
    ("bats/none", "bats none.bats", None(NoneFound)),
    ("bats/none-pretty", "bats --pretty none.bats", None(NoneFound)),
    ("bats/skipped-tap", "bats skip.bats", None(AllSkipped)),
    ("bats/skipped-pretty", "bats --pretty skip.bats", None(AllSkipped)),
    ("bats/filtered", "bats -f nothing ok.bats", None(NoneFound)),
    ("bats/filtered-pretty", "bats --pretty -f nothing ok.bats", None(NoneFound)),
    ("minitest/pass", "ruby ok.rb", Ran(2)),
    ("minitest/fail", "ruby fail.rb", Ran(2)),
    ("minitest/none", "ruby none.rb", None(NoneFound)),
    ("minitest/skipped", "ruby skip.rb", None(AllSkipped)),
    ("minitest/filtered", "bin/rails test -n nothing", None(NoneFound)),
    ("test-unit/pass", "ruby tu.rb", Ran(1)),
    ("test-unit/skipped", "ruby tus.rb", None(AllSkipped)),
    ("swift/pass-xctest", "swift test", Ran(2)),
    ("swift/tail-of-xctest", "swift test | tail -4", Ran(2)),
    ("swift/selected-one-by-one", "swift test --filter Memory", Ran(2)),
    ("swift/pass-testing", "swift test", Ran(2)),
    ("swift/fail-testing", "swift test", Ran(1)),
    ("swift/none-xctest", "swift test", None(NoneFound)),
    ("swift/none-testing", "swift test", None(NoneFound)),
    ("swift/skipped-testing", "swift test", None(AllSkipped)),
    ("dotnet/pass", "dotnet test", Ran(5)),
    ("dotnet/pass-3.1", "dotnet test", Ran(5)),
    ("dotnet/pass-platform", "dotnet test", Ran(2)),
    ("dotnet/two-assemblies", "dotnet test", Ran(7)),
    ("dotnet/fail", "dotnet test", Ran(5)),
    ("dotnet/none", "dotnet test", None(NoneFound)),
    ("dotnet/none-platform", "dotnet test", None(NoneFound)),
    ("dotnet/none-terminal-logger", "dotnet test", None(NoneFound)),
    ("dotnet/skipped", "dotnet test", None(AllSkipped)),
    ("dotnet/filtered", "dotnet test --filter Nothing", None(FilteredOut)),
    ("deno/pass", "deno test", Ran(2)),
    ("deno/fail", "deno test", Ran(2)),
    ("deno/none", "deno test", None(NoneFound)),
    ("deno/skipped", "deno test", None(AllSkipped)),
    ("deno/filtered", "deno test --filter nothing", None(FilteredOut)),
    ("bun/pass", "bun test", Ran(2)),
    ("bun/fail", "bun test", Ran(2)),
    ("bun/none", "bun test", None(NoneFound)),
    ("bun/skipped", "bun test", None(AllSkipped)),
    ("bun/filtered", "bun test -t nothing", Unknown),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/runners")
}

fn recording(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(format!("{name}.txt"))).unwrap()
}

fn scan(pieces: impl IntoIterator<Item = impl AsRef<[u8]>>) -> TestsRun {
    let mut scanner = Scanner::default();
    pieces.into_iter().for_each(|piece| scanner.feed(piece.as_ref()));
    scanner.finish()
}

#[track_caller]
fn check(output: &str, expected: TestsRun) {
    assert_eq!(scan([output]), expected, "{output}");
}

#[test]
fn every_recording_says_what_its_runner_ran() {
    for (name, _, expected) in RECORDINGS {
        assert_eq!(scan([recording(name)]), *expected, "{name}");
    }
}

#[test]
fn every_recording_says_whether_a_test_failed() {
    for (name, ..) in RECORDINGS {
        let mut scanner = Scanner::default();
        scanner.feed(&recording(name));
        let summary = scanner.summarise();
        let (_, kind) = name.split_once('/').unwrap();
        match kind.split('-').next().unwrap() {
            "fail" | "error" => assert!(summary.failed > 0, "{name}: {summary:?}"),
            "mixed" => {}
            _ => assert_eq!(summary.failed, 0, "{name}: {summary:?}"),
        }
        let all_skipped = matches!(summary.tests, None(AllSkipped));
        assert!(!all_skipped || summary.skipped > 0, "{name}: {summary:?}");
    }
}

#[test]
fn prove_is_read_with_and_without_the_lines_of_its_tests() {
    let end = "All tests successful.\nFiles=1, Tests=3,  0 wallclock secs ( 0.01 usr)\n";
    check(&format!("t/a.t .. ok\n{end}Result: PASS\n"), Ran(3));
    check(&format!("ok 1\nok 2\nok 3 # SKIP x\n1..3\nok\n{end}Result: PASS\n"), Ran(2));
    let mut scanner = Scanner::default();
    scanner.feed(format!("{end}Result: FAIL\n").as_bytes());
    assert_eq!(scanner.summarise().failed, 1);
    check("Files=0, Tests=0,  0 wallclock secs\nResult: NOTESTS\n", None(NoneFound));
}

#[test]
fn every_recording_is_named_in_the_table() {
    let mut names = Vec::new();
    for runner in std::fs::read_dir(folder()).unwrap().map(Result::unwrap) {
        let Ok(files) = std::fs::read_dir(runner.path()) else { continue };
        for file in files.map(Result::unwrap) {
            let name = file.path().with_extension("").display().to_string();
            let parts: Vec<&str> = name.rsplitn(3, '/').collect();
            names.push(format!("{}/{}", parts[1], parts[0]));
        }
    }
    let known: Vec<&str> = RECORDINGS.iter().map(|(name, ..)| *name).collect();
    names.retain(|name| !known.contains(&name.as_str()));
    assert_eq!(names, Vec::<String>::new());
}

#[test]
fn it_does_not_matter_how_the_output_is_split_coloured_or_ended() {
    for (name, _, expected) in RECORDINGS {
        let bytes = recording(name);
        assert_eq!(scan(bytes.chunks(1)), *expected, "{name}, byte by byte");
        let text = String::from_utf8(bytes).unwrap();
        let dos = text.replace('\n', "\r\n");
        assert_eq!(scan([&dos]), *expected, "{name}, with CRLF");
        assert_eq!(scan([coloured(&text)]), *expected, "{name}, coloured");
        let over = text.replace('\n', "\n\u{1b}[2K 12% …\r");
        assert_eq!(scan([&over]), *expected, "{name}, with progress");
    }
}

/// Adds a colour around every word, and a title and a link before every line.
fn coloured(text: &str) -> String {
    let lines = text.split('\n').map(|line| {
        let words: Vec<String> =
            line.split(' ').map(|word| format!("\u{1b}[1;32m{word}\u{1b}[0m")).collect();
        format!("\u{1b}]0;title\u{7}\u{1b}]8;;http://x\u{1b}\\{}\u{1b}(B", words.join(" "))
    });
    lines.collect::<Vec<String>>().join("\n")
}

#[test]
fn arbitrary_bytes_do_no_harm() {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    let recordings: Vec<Vec<u8>> = RECORDINGS.iter().map(|(name, ..)| recording(name)).collect();
    for round in 0..600 {
        let mut bytes = recordings[round % recordings.len()].clone();
        for _ in 0..8 {
            let at = usize::try_from(next() % (bytes.len() as u64 + 1)).unwrap();
            let byte = u8::try_from(next() & 0xff).unwrap();
            match next() % 3 {
                0 => bytes.insert(at, byte),
                1 => bytes.truncate(at),
                _ => bytes.extend([byte, b'\n', b'9', b'9', b'9', b' ']),
            }
        }
        scan([bytes]);
    }
}

#[test]
fn a_flood_is_read_in_little_memory() {
    let mut scanner = Scanner::default();
    for _ in 0..4_000 {
        scanner.feed(&[b'.'; 1024]);
    }
    assert!(scanner.lines.memory() <= 8 * 1024);
    scanner.feed(b"\n2 passed in 0.01s\n");
    assert_eq!(scanner.finish(), Ran(2));
}

#[test]
fn all_summaries_of_an_output_add_up() {
    let twelve = "test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
    let none = "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 5 filtered out\n";
    check(&[twelve, none].concat(), Ran(12));
    check(&[none, none].concat(), None(FilteredOut));
    check(&[twelve, "3 passed in 0.1s\n"].concat(), Ran(15));
    check(&[none, "ok  \tdemo/a\t0.1s\n"].concat(), Some);
}

#[test]
fn a_count_beyond_any_is_no_number_and_never_overflows() {
    check("99999999999999999999 passed in 0.1s", Unknown);
    check("9999999999999 passed in 0.1s", Unknown);
    let line = "999999999999 passed in 0.1s\n";
    assert_eq!(scan(vec![line; 3]), Ran(2_999_999_999_997));
}

#[test]
fn what_no_runner_says_is_unknown() {
    for output in [
        "",
        "Finished in 3.2s\nno problems\n",
        "1 warning in 0.3s\n",
        "0 errors, 0 warnings\n",
        "ok 1 of 3\nok 2 of 3\n",
        "Tests are important. All 0 of them.\n",
        "    test result: ok. 0 passed; 0 failed; 0 ignored\n",
        "5 tests, 7 assertions\n",
        "Downloaded 3 packages in 2.1s\n",
        "> Task :testClasses NO-SOURCE\n> Task :pmdTest NO-SOURCE\n",
        "Total: 0\nPassed: 0\n",
        "?   \tdemo/b\t[cached]\n",
        "FAIL\tdemo/x [build failed]\n",
        "{\"Time\":\"2026\",\"Action\":\"output\",\"Output\":\"hello\"}\n",
        "3 tests completed\n",
        "> Task :compileTest\n> Task :pmdTest SKIPPED\n",
        "FAILURE: Executed 3 steps in 1.2s\n",
        "2 failing\n2 pending\n",
        "3 examples, 2 errors\n",
        "Executed 3 steps, with 2 failures\nExecuted 3 tests, with care\n",
        "Test run with 3 steps after 1 second\nTest run with 3 tests begins\n",
        "# pass 3\n# fail 1\n# skipped 2\n",
    ] {
        check(output, Unknown);
    }
}

#[test]
fn what_no_recording_holds_is_read_as_well() {
    for (output, expected) in [
        ("2 passed, 1 warning in 0.3s", Ran(2)),
        ("100% tests passed, 0 tests failed out of 1\nThe second (Skipped)\n", Ran(1)),
        ("Total tests: 2\n     Skipped: 2\n", None(AllSkipped)),
        ("Test run summary: Failed!\n  total: 0\n", None(NoneFound)),
        ("Test summary: total: 3, failed: 1, succeeded: 2, skipped: 0, duration: 1s", Ran(3)),
        ("SUCCESS: Executed 3 tests in 1.2s", Ran(3)),
        ("FAILURE: Executed 5 tests in 1.2s (1 failed, 3 skipped)", Ran(2)),
        ("5 tests completed, 1 failed, 3 skipped", Ran(2)),
        ("> Task :test SKIPPED", None(AllSkipped)),
        ("> Task :smokeTest", Some),
        ("3 tests, 0 failures, 2 excluded", Ran(3)),
        ("2 tests, 0 failures, 2 excluded", Some),
        ("0 tests, 0 failures, 2 excluded", None(FilteredOut)),
        ("1..0 # SKIP nothing to do here", None(AllSkipped)),
    ] {
        check(output, expected);
    }
}

#[test]
fn a_line_is_read_up_to_its_longest() {
    let padded = |length: usize| format!("{:=>length$}", " 2 passed in 0.01s");
    check(&padded(4096), Ran(2));
    check(&padded(4097), Unknown);
}

#[test]
fn each_reason_for_no_tests_stands_behind_the_command() {
    let reasons = [NoneFound, AllSkipped, FilteredOut].map(NoTests::reason);
    assert_eq!(
        reasons,
        ["it found no tests", "all of its tests are skipped", "its filter leaves no test",]
    );
}

#[test]
fn what_nextest_shows_of_its_tests_is_not_added() {
    let output = "    Starting 1 test across 1 binary\n\
                  running 1 test\ntest a ... ok\n\n\
                  test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n\
                  \x20    Summary [   0.018s] 1 test run: 1 passed, 0 skipped\n\
                  test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
    check(output, Ran(2));
    let another = "Starting 3 tests\nStarting 2 workers across 2 machines\n\
                   test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
    check(another, Ran(1));
}

#[track_caller]
fn check_names(name: &str, tests: &[&str]) {
    let output = recording(name);
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
        check_names(name, tests);
    }
}

#[test]
fn jest_names_a_failure_also_where_it_lists_no_tests() {
    let output = "● Multiple configurations found:\n  ● Console\n\n  ● Test suite failed to run\n\n  ● weeks › a Sunday\n\n    expect(1)\n";
    assert_eq!(Failures::parse(output).tests, ["weeks › a Sunday"]);
}

#[test]
fn a_test_that_is_skipped_or_still_to_be_done_has_not_failed() {
    let output = "not ok 1 - a # TODO later\nnot ok 2 - b #skip\nnot ok 3 - c # time=3ms\n";
    assert_eq!(Failures::parse(output).tests, ["c"]);
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
        check_names(name, &[]);
    }
}

#[test]
fn the_error_is_the_line_that_states_it() {
    let error = |name: &str| Failures::parse(&String::from_utf8_lossy(&recording(name))).error;
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
        assert_eq!(Failures::parse(line).error == line, states, "{line}");
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
        assert_eq!(Failures::parse(line).error == line.trim(), states, "{line}");
    }
    let both = "sh: 1: jest: not found\nerror: build failed\n";
    assert_eq!(Failures::parse(both).error, "sh: 1: jest: not found");
}

#[test]
fn an_inner_test_replaces_the_outer_one_and_no_name_comes_twice() {
    let go = "--- FAIL: TestWeek (0.00s)\n    --- FAIL: TestWeek/iso (0.00s)\n    --- FAIL: TestWeek/us (0.00s)\n";
    assert_eq!(Failures::parse(go).tests, ["TestWeek/iso", "TestWeek/us"]);
    let many: String = (0..20).map(|n| format!("test t{n} ... FAILED\n")).collect();
    assert_eq!(Failures::parse(&many).tests.len(), 8);
}

#[test]
fn no_frame_of_a_stack_is_left_over() {
    for name in ["node/fail-spec", "mocha/fail", "jest/fail", "cargo-test/fail", "unittest/fail"] {
        let text = without_frames(&String::from_utf8_lossy(&recording(name)));
        for frame in ["node:internal", "    at ", "File \"", "backtrace", "Traceback", "/rustc/"] {
            assert!(!text.contains(frame), "{name}: {frame} in {text}");
        }
    }
}
