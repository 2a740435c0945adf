//! Each form of a line that names a failure, states an error or belongs to a stack.

use super::*;

#[test]
fn each_form_of_a_failed_test_gives_its_name() {
    for (line, expected) in [
        ("test a::b ... FAILED", Some("a::b")),
        ("  a b ... FAILED (3ms)", Some("a b")),
        ("    --- FAIL: TestA/b (0.00s)", Some("TestA/b")),
        ("--- FAIL: TestA", None),
        ("FAILED t.py::test_a - assert 1 == 2", Some("t.py::test_a")),
        ("FAILED t.py", None),
        ("FAIL: test_a (t.T.test_a)", Some("test_a")),
        ("ERROR: test_a (t.T)", Some("test_a")),
        ("ERROR: something", None),
        ("  ✕ adds (2 ms)", Some("adds")),
        ("  × adds 3ms", Some("adds")),
        ("✖ adds", Some("adds")),
        (" ✗ adds", Some("adds")),
        ("  ● suite › adds", Some("suite › adds")),
        ("● Multiple configurations found:", None),
        ("● Console", None),
        ("(fail) adds [0.1ms]", Some("adds")),
        ("FAIL [   0.005s] crate t::a", None),
        ("FAIL [   0.005s] (1/2) crate t::a", Some("crate t::a")),
        ("1) parses weeks", Some("parses weeks")),
        ("  12) parses weeks:", Some("parses weeks")),
        (") parses", None),
        ("1a) parses", None),
        ("not ok 2 - adds", Some("adds")),
        ("2/2 Test #2: limit ......***Failed    0.00 sec", Some("limit")),
        ("2/2 Test #2: limit ......***Timeout    0.00 sec", Some("limit")),
        ("2/2 Test #2: limit ......***Exception: x", Some("limit")),
        ("2/2 Test #2: limit ......***Skipped    0.00 sec", None),
        ("✖ failing tests:", None),
        ("✗ 3 of 4 failed", None),
        ("✗ it has not failed", Some("it has not failed")),
        ("1) Failure:", None),
        ("2) Error:", None),
        ("● Test suite failed to run", None),
        ("plain", None),
        ("", None),
    ] {
        assert_eq!(failed_test(line), expected, "{line}");
    }
    for (text, expected) in [
        ("a (2 ms)", "a"),
        ("a 3ms", "a"),
        ("a (1.5s)", "a"),
        ("a (b)", "a (b)"),
        ("a 3", "a 3"),
        ("a ms", "a ms"),
        ("3ms", "3ms"),
    ] {
        assert_eq!(without_time(text), expected, "{text}");
    }
    for (text, expected) in [
        ("not ok 2 - adds # time=3ms", Some("adds")),
        ("not ok adds", Some("adds")),
        ("not ok 2 adds", Some("adds")),
        ("not ok 2 - adds # TODO", None),
        ("not ok 2 - adds # skip it", None),
        ("ok 2 - adds", None),
    ] {
        assert_eq!(tap(text), expected, "{text}");
    }
}

#[test]
fn pending_examples_are_no_failures_and_those_below_the_next_heading_are() {
    let of = |text: &str| Failures::parse(text).tests;
    assert_eq!(of("Pending:\n  1) a b\nFailures:\n  1) c d\n"), ["c d"]);
    assert_eq!(of("  Pending: (Failures listed here are expected)\n  1) a b\n"), [""; 0]);
    assert_eq!(of("Pending things\n  1) a b\n"), ["a b"]);
    let failures = Failures::parse("Pending:\nerror: x\nFailures:\nerror: y\nerror: z\n");
    assert_eq!(failures.error, "error: y");
}

#[test]
fn a_name_is_kept_once_and_an_inner_one_in_place_of_the_outer() {
    let names = |all: &[&str]| {
        let mut found = Failures::default();
        all.iter().for_each(|name| found.name(name));
        found.tests
    };
    assert_eq!(names(&["a", "a", " a "]), ["a"]);
    assert_eq!(names(&["a", "a/b", "a/c", "a"]), ["a/b", "a/c"]);
    assert_eq!(names(&["suite a", "a"]), ["suite a"]);
    assert_eq!(names(&["a", "suite a"]), ["a"]);
    assert_eq!(names(&["a", "ab", "b"]), ["a", "ab", "b"]);
    assert_eq!(names(&["", " "]), [""; 0]);
    let many: Vec<String> = (0..9).map(|at| format!("t{at}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(names(&many), many[..MOST_NAMES]);
    let long = "x".repeat(LONGEST_NAME + 1);
    assert_eq!(names(&[&long]), [format!("{}…", "x".repeat(LONGEST_NAME - 1))]);
    assert_eq!(names(&[&long[1..]]), [&long[1..]]);
}

#[test]
fn a_line_states_an_error_in_one_of_some_forms() {
    for line in [
        "TypeError: x",
        "ValueError[1]",
        "a.b.SomeException: x",
        "E   AssertionError: x",
        "error: x",
        "Error: x",
        "ERROR x",
        "fatal: x",
        "assert 1 == 2",
        "assertion `left == right`",
        "a.c:3: error: x",
        "a.ts(3): error TS1: x",
        "thread 'a' panicked at a.rs:1:",
    ] {
        let stated = line.trim_start_matches("E ").trim_start();
        assert_eq!(error(line), Some(stated), "{line}");
    }
    for line in
        ["TypeError x", "Errors: 3", "an error: x", "asserts x", "MyErrors: x", "x panicked", ""]
    {
        assert_eq!(error(line), None, "{line}");
    }
}

#[test]
fn the_lines_of_a_stack_are_known_in_each_language() {
    for line in [
        "    at f (a.js:1:2)",
        "  at a.rs:3",
        "at /a/b",
        "node:internal/modules:1",
        "x (node:1)",
        "  File \"a.py\", line 3, in f",
        "Traceback (most recent call last):",
        "stack backtrace:",
        "note: run with `RUST_BACKTRACE=1`",
        "note: Some details are omitted, x",
        "Node.js v20",
        "goroutine 1 [running]:",
        "\t/a.go:12 +0x1d",
        "   3: core::f",
        "  ^^^^ ~~",
        "^",
    ] {
        assert!(is_frame(line), "{line}");
    }
    for line in [
        "at last",
        "3: core::f",
        "  : x",
        "  3 x",
        "  3:x",
        "^a",
        "",
        "File \"a.py\"",
        "goroutine",
        "left: 1",
    ] {
        assert!(!is_frame(line), "{line}");
    }
    let output = "a\n\n  File \"x.py\", line 3, in f\n    source()\nb\nFile \"y\"\nc  \n    at f (a.js:1:2)\nd\n";
    assert_eq!(without_frames(output), "a\nb\nFile \"y\"\nc\nd");
}

#[test]
fn control_sequences_are_left_out_wherever_they_end() {
    let lines = |bytes: &[u8]| {
        let (mut lines, mut found) = (Lines::default(), Vec::new());
        lines.feed(bytes, |line| found.push(line.to_owned()));
        lines.finish(|line| found.push(line.to_owned()));
        found
    };
    for (bytes, expected) in [
        (&b"a\nb"[..], &["a", "b"][..]),
        (b"a \t\r\nb\n", &["a", "", "b", ""]),
        (b"\x1b[1;31ma\x1b[0mb", &["ab"]),
        (b"\x1b]0;title\x07a\x1b]8;;x\x1b\\b", &["ab"]),
        (b"\x1b(Ba\x1b=b", &["ab"]),
        (b"\x1b[1\na\x1b]t\nb", &["", "a", "b"]),
        (b"\x1b[1\x1b[2ma", &["a"]),
        (b"a\xffb", &["a\u{fffd}b"]),
    ] {
        assert_eq!(lines(bytes), expected, "{bytes:?}");
    }
    assert_eq!(lines(&[b'x'; LONGEST + 1]), ["x".repeat(LONGEST)]);
}

#[test]
fn the_counts_of_several_runners_are_added_and_answered() {
    let tally = |ran, skipped, filtered, some, spoke| Tally {
        ran,
        failed: 1,
        skipped,
        filtered,
        some,
        spoke,
    };
    for (tally, expected) in [
        (tally(1, 1, 1, true, true), TestsRun::Ran(1)),
        (tally(0, 1, 1, true, true), TestsRun::Some),
        (tally(0, 1, 1, false, false), TestsRun::Unknown),
        (tally(0, 1, 1, false, true), TestsRun::None(NoTests::AllSkipped)),
        (tally(0, 0, 1, false, true), TestsRun::None(NoTests::FilteredOut)),
        (tally(0, 0, 0, false, true), TestsRun::None(NoTests::NoneFound)),
    ] {
        assert_eq!(tally.answer(), expected);
    }
    let mut sum = tally(1, 2, 3, false, false);
    sum.add(tally(10, 20, 30, true, true));
    assert_eq!((sum.ran, sum.failed, sum.skipped, sum.filtered), (11, 2, 22, 33));
    assert!(sum.some && sum.spoke);
    let counts =
        [TestsRun::Ran(3), TestsRun::None(NoTests::NoneFound), TestsRun::Some, TestsRun::Unknown];
    assert_eq!(counts.map(TestsRun::count), [Some(3), Some(0), None, None]);
}
