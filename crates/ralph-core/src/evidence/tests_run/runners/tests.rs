use super::*;

#[test]
fn a_count_in_a_column_has_its_indentation_and_fills_its_line() {
    for (form, line, expected) in [
        ("# tests {}", "# tests 3", Some(3)),
        ("# tests {}", "  # tests 3", None),
        ("# tests {}", "# tests  3", Some(3)),
        ("# tests {}", "# tests 3 x", None),
        ("# tests {}", "# tests", None),
        (" {} passing (", "3 passing (2ms)", Some(3)),
        (" {} passing (", "    3 passing (2ms)", Some(3)),
        (" {} passing (", "  3 passing", None),
        (" {} failing", "  3 failing", Some(3)),
        (" {} failing", "  3 failing x", None),
        ("  {} pass", "  3 pass", Some(3)),
        ("  {} pass", "\t3 pass", Some(3)),
        ("  {} pass", "3 pass", None),
        ("  {} pass", "  3 passing", None),
        ("  Passed: {}", "     Passed: 5", Some(5)),
        ("  Passed: {}", "Passed: 5", None),
        (" Total tests: {}", "Total tests: 5", Some(5)),
    ] {
        assert_eq!(in_column(form, line), expected, "{form}: {line}");
    }
    for (text, expected) in [
        ("1", Some(1)),
        ("999999999999", Some(999_999_999_999)),
        ("9999999999999", None),
        ("", None),
        ("1a", None),
        ("-1", None),
    ] {
        assert_eq!(number(text), expected, "{text}");
    }
    assert_eq!(counted("  3   passed "), Some((3, "passed")));
    assert_eq!(counted("3"), None);
    assert_eq!(labelled(" failures=0. "), Some((0, "failures")));
    assert_eq!(labelled("Failed:   2"), Some((2, "Failed")));
    assert_eq!(labelled("Failed 2"), None);
}

#[test]
fn a_line_that_cannot_be_a_summary_is_passed_over() {
    for line in [
        "ok",
        "  ok 1",
        "Ran",
        "> a",
        ": a",
        "= a",
        "? a",
        "[a",
        "{a",
        "é",
        "1..3",
        "a 1",
        "# tests 3",
    ] {
        assert!(could_be_a_summary(line), "{line}");
    }
    for line in ["", "abc", "abc1", "a b", "1.3", "..1", "#1"] {
        assert!(!could_be_a_summary(line), "{line}");
    }
    assert_eq!(without_level("[INFO]  Tests run: 3"), "Tests run: 3");
    assert_eq!(without_level("[INFO] "), "");
    assert_eq!(without_level("INFO] x"), "INFO] x");
    assert_eq!(without_level("[INFO"), "[INFO");
}

#[test]
fn the_words_beside_a_count_say_what_it_counts() {
    for (words, expected) in [
        ("passed", Some(Kind::Passed)),
        ("Failures", Some(Kind::Failed)),
        ("tests", Some(Kind::All)),
        ("tests skipped", Some(Kind::Skipped)),
        ("test x", Some(Kind::All)),
        ("x tests", Some(Kind::All)),
        ("expected failures", Some(Kind::Skipped)),
        ("unexpected", Some(Kind::Failed)),
        ("deselected", Some(Kind::Filtered)),
        ("warnings", Some(Kind::Other)),
        ("steps", None),
        ("", None),
    ] {
        assert_eq!(kind(words), expected, "{words}");
    }
    for (kind, ran, failed, skipped, filtered, spoke) in [
        (Kind::Passed, 2, 0, 0, 0, true),
        (Kind::Failed, 2, 2, 0, 0, true),
        (Kind::Skipped, 0, 0, 2, 0, true),
        (Kind::Filtered, 0, 0, 0, 2, true),
        (Kind::All, 0, 0, 0, 0, true),
        (Kind::Other, 0, 0, 0, 0, false),
    ] {
        let found = kind.tally(2);
        let found = (found.ran, found.failed, found.skipped, found.filtered, found.spoke);
        assert_eq!(found, (ran, failed, skipped, filtered, spoke), "{kind:?}");
    }
}

/// `ran failed skipped`, and `some` where something ran without a count.
fn tally_text(tally: Tally) -> String {
    let some = if tally.some { " some" } else { "" };
    format!("{} {} {}{some}", tally.ran, tally.failed, tally.skipped)
}

#[test]
fn a_task_of_gradle_tells_whether_tests_ran() {
    for (line, expected) in [
        ("> Task :test", Some("0 0 0 some")),
        (":test", Some("0 0 0 some")),
        ("> Task :app:test UP-TO-DATE", Some("0 0 0 some")),
        ("> Task :test FROM-CACHE", Some("0 0 0 some")),
        ("> Task :test FAILED", Some("0 1 0 some")),
        ("> Task :smokeTest FAILED", Some("0 1 0 some")),
        ("> Task :compileJava FAILED", None),
        ("> Task :compileTest FAILED", None),
        ("> Task :compileJava", None),
        ("> Task :checkTest UP-TO-DATE", None),
        ("> Task :test NO-SOURCE", Some("0 0 0")),
        ("> Task :integrationTest NO-SOURCE", Some("0 0 0")),
        ("> Task :functionalTest NO-SOURCE", Some("0 0 0")),
        ("> Task :jvmTest SKIPPED", Some("0 0 1")),
        ("> Task :testDebugUnitTest SKIPPED", Some("0 0 1")),
        ("> Task :testDebug SKIPPED", None),
        ("> Task :debugUnitTest NO-SOURCE", None),
        ("> Task :pmdTest SKIPPED", None),
        (":app:testWARNING: a", Some("0 0 0 some")),
        (":testWARNING: a", Some("0 0 0 some")),
        ("> Task test", None),
        ("> Task :test OTHER", None),
    ] {
        assert_eq!(gradle(line).map(tally_text).as_deref(), expected, "{line}");
    }
}

#[test]
fn the_last_line_of_pytest_has_nothing_but_counts_and_a_time() {
    for (line, expected) in [
        ("=== 1 failed, 2 passed in 0.02s ===", Some("3 1 0")),
        ("2 passed in 61.20s (0:01:01)", Some("2 0 0")),
        ("no tests ran in 0.01s", Some("0 0 0")),
        ("2 passed, 1 skipped, 1 xfailed in 0.1s", Some("2 0 2")),
        ("2 passed in a second", None),
        ("2 passed in 3", None),
        ("2 passed and more in 0.1s", None),
        ("2 tests in 0.1s", None),
    ] {
        assert_eq!(pytest(line).map(tally_text).as_deref(), expected, "{line}");
    }
}

fn all(lines: &[&str]) -> String {
    let mut runners = Runners::default();
    lines.iter().for_each(|line| runners.line(line));
    tally_text(runners.tally())
}

#[test]
fn what_more_than_one_line_tells_is_put_together() {
    let result = "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
    for (lines, expected) in [
        (&["Starting 0 tests across 0 binaries", result][..], "1 0 0"),
        (&["Starting 1 test across 1 binary", result], "0 0 0"),
        (
            &[
                "Starting 1 test across 1 binary",
                "Summary [ 0.1s] 2 tests run: 1 passed, 1 failed, 3 skipped",
                result,
            ],
            "3 1 3",
        ),
        (&["Ran 3 tests in 0.001s", "FAILED (failures=1, skipped=1)"], "2 1 1"),
        (&["Ran 3 tests in 0.001s", "OK (skipped=3)"], "0 0 3"),
        (&["Ran 3 tests in 0.001s", "FAILED (failures=1)", "FAILED (failures=1)"], "3 1 0"),
        (&["Ran 3 steps in 0.001s", "Ran 3 tests across 1 file."], "0 0 0"),
        (
            &[
                "50% tests passed, 1 tests failed out of 2",
                "2 - b (Skipped)",
                "c (Skipped)",
                "3 b (Skipped)",
            ],
            "1 1 1",
        ),
        (&["2 - b (Skipped)"], "0 0 0"),
        (
            &[
                "1/2 Test #1: a ...***Not Run (Disabled)",
                "100% tests passed, 0 tests failed out of 1",
            ],
            "1 0 1",
        ),
        (
            &["ok  \tdemo/a\t0.1s", "FAIL\tdemo/b\t0.1s", "?   \tdemo/c\t[no test files]"],
            "0 1 0 some",
        ),
        (
            &[
                "=== RUN   TestA",
                "--- PASS: TestA (0.00s)",
                "--- SKIP: TestB (0.00s)",
                "    --- FAIL: TestC/d (0.00s)",
                "ok  \tdemo\t0.1s",
            ],
            "2 1 1",
        ),
        (&["--- FAIL: TestA (0.00s)", "FAIL\tdemo/b\t0.1s"], "0 1 0 some"),
        (
            &[
                "{\"Action\":\"pass\",\"Test\":\"A\"}",
                "{\"Action\":\"pass\"}",
                "{\"Action\":\"skip\",\"Test\":\"B\"}",
                "{\"Action\":\"run\",\"Test\":\"B\"}",
            ],
            "1 0 1",
        ),
        (
            &[
                "Executed 3 tests, with 1 test skipped and 1 failures (0 unexpected) in 0.1 (0.1) seconds",
            ],
            "2 1 1",
        ),
        (
            &[
                "➜ Test a() skipped: \"x\"",
                "✔ Test b() skipped.",
                "✘ Test run with 3 tests failed after 0.1 seconds.",
            ],
            "1 1 2",
        ),
        (&["1..2", "ok 1 - a", "not ok 2 - b # SKIP c", "ok b"], "1 0 1"),
        (&["1..x", "ok 1 - a"], "0 0 0"),
        (&["1..1", "ok 1 - a", "# tests 3", "# pass 2", "# fail 1"], "3 1 0"),
        (
            &[
                "1..2",
                "ok 1",
                "not ok 2 # skip",
                "Files=1, Tests=2,  0 wallclock secs",
                "Result: FAIL",
            ],
            "1 1 1",
        ),
        (&["Result: FAIL"], "0 0 0"),
    ] {
        assert_eq!(all(lines), expected, "{lines:?}");
    }
    for (text, expected) in [
        ("a # SKIP", true),
        ("a # todo later", true),
        ("a #skip", true),
        ("a # skp", false),
        ("a # b # TODO", true),
        ("a # TODO # b", false),
        ("skip", false),
    ] {
        assert_eq!(has_directive(text), expected, "{text}");
    }
}
