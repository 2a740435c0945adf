//! Cases that are not in any recording: other forms of a line, rare members, network errors.

use super::tests::{read_as, shown};
use super::*;

#[track_caller]
fn check(form: OutputFormat, code: i32, stdout: &str, expected: &[&str]) {
    assert_eq!(shown(&read_as(form, Some(code), stdout, "")), expected, "{stdout}");
}

#[test]
fn every_shape_of_a_place_is_read() {
    for (line, expected) in [
        ("a.go:7:6: it", "error a.go:7:6 <> it"),
        ("a.go:7: it", "error a.go:7 <> it"),
        ("a.go:7:6 it", "error a.go:7:6 <> it"),
        ("a.go:7:6 - error TS2322: it", "error a.go:7:6 <TS2322> it"),
        ("src/a.php:3:It has no blank", "error src/a.php:3 <> It has no blank"),
        ("a.cs(7,6): error CS1002: it", "error a.cs:7:6 <CS1002> it"),
        ("a.cs(7): it", "error a.cs:7 <> it"),
        ("a.sh: line 3: it", "error a.sh:3 <> it"),
        ("a.sh: 3: it", "error a.sh:3 <> it"),
        ("vet: ./a.go:7:6: it", "error ./a.go:7:6 <> it"),
        ("edited file:3: it", "error edited file:3 <> it"),
        ("a.c:1:2: fatal error: it", "error a.c:1:2 <> it"),
        ("a.py:1:1: E501 line too long", "error a.py:1:1 <E501> line too long"),
        ("a.rs:1:1: error[E0308]: it", "error a.rs:1:1 <E0308> it"),
        ("a.rb:1:1: C: Style/Documentation: it", "warning a.rb:1:1 <Style/Documentation> it"),
        ("a.rb:1:1: C: [Correctable] Style/Alias: it", "warning a.rb:1:1 <Style/Alias> it"),
        ("a.rb:1:1: E: Lint/Syntax: it", "error a.rb:1:1 <Lint/Syntax> it"),
        ("a.go:1:2: it (govet)", "error a.go:1:2 <govet> it"),
        ("a.js:1:2: it [Error/eslint(no-undef)]", "error a.js:1:2 <eslint(no-undef)> it"),
        ("a.js:1:2: it [Warning/react(jsx-key)]", "warning a.js:1:2 <react(jsx-key)> it"),
        ("a.js:1:2: it [Error]", "error a.js:1:2 <> it"),
        ("a.js:1:2: it [Warning]", "warning a.js:1:2 <> it"),
        ("it in a.php on line 2", "error a.php:2 <> it"),
        ("::warning file=a.ts,line=2,col=3,title=x::it", "warning a.ts:2:3 <x> it"),
        ("::error file=a.ts::it", "error a.ts <> it"),
    ] {
        check(OutputFormat::Plain, 1, line, &[expected]);
    }
}

#[test]
fn what_looks_like_a_place_and_is_none_is_told_as_it_is() {
    for line in [
        "12:30:45: it",
        "2026/01/02 12:30:45: it",
        "http://localhost.de:80: it",
        "127.0.0.1:8080: it",
        "localhost:8080: it",
        "at f (a.js:1:2): it",
        "a.py:0: it",
        "a.py:99999999999: it",
        "a.py: 3 problems",
        "a.py(3) it",
        "\"a.py:3: it",
        "::debug file=a.ts::it",
        "it on line 3",
    ] {
        check(OutputFormat::Plain, 1, line, &[&format!("error  <> {line}")]);
    }
}

#[test]
fn only_what_is_called_a_problem_is_one_where_all_is_well() {
    check(OutputFormat::Plain, 0, "a.py:1: it\na.py:2: warning: it\n", &["warning a.py:2 <> it"]);
    check(OutputFormat::Plain, 0, "nothing to say", &[]);
}

#[test]
fn notes_belong_to_the_finding_before() {
    let lines =
        "a.py:1: note: alone\na.py:2: error: it\na.py:1: note: more\na.py:1: note: and more\n";
    check(OutputFormat::Plain, 1, lines, &["error a.py:2 <> it\\nnote: more\\nnote: and more"]);
}

#[test]
fn a_message_that_follows_its_place_is_joined_to_the_nearest() {
    let lines = "File \"<string>\", line 9\nFile \"a.py\", line 1, in f\nFile \"b.py\", line 2\n\
                 some code\nValueError: it\nKeyError: later\n";
    check(OutputFormat::Plain, 1, lines, &["error b.py:2 <> ValueError: it"]);
}

#[test]
fn a_tool_that_wanted_the_network_did_not_run() {
    let refused =
        "failed to connect to postgres: dial tcp 127.0.0.1:54322: connect: connection refused";
    for form in [OutputFormat::Supabase, OutputFormat::Plain, OutputFormat::Whole] {
        check(form, 1, refused, &[&format!("did not run: its database is unreachable: {refused}")]);
    }
    let lookup = "npm ERR! getaddrinfo EAI_AGAIN registry.npmjs.org";
    check(OutputFormat::Eslint, 1, lookup, &[&format!("did not run: wants the network: {lookup}")]);
    // A long test run may mention networks without needing one.
    let few = format!("{}{lookup}", "ok\n".repeat(29));
    check(OutputFormat::Whole, 1, &few, &[&format!("did not run: wants the network: {lookup}")]);
    let many = shown(&read_as(OutputFormat::Whole, Some(1), &format!("ok\n{few}"), ""));
    assert!(many[0].starts_with("error  <> ok"), "{many:?}");
    check(OutputFormat::Whole, 0, lookup, &[]);
}

#[test]
fn a_whole_output_keeps_its_beginning_and_its_end() {
    let message = |text: &str| match read_as(OutputFormat::Whole, Some(1), text, "") {
        ParsedOutput::Found(findings) => findings[0].message.clone(),
        ParsedOutput::DidNotRun(why) => panic!("{why}"),
    };
    assert_eq!(message(&"é".repeat(2_000)), "é".repeat(2_000));
    let long = format!("begin{}end", "é".repeat(5_000));
    let shown = message(&long);
    assert!(shown.starts_with("begin") && shown.ends_with("end"), "{shown}");
    assert!(shown.contains("… (3142 characters left out) …"), "{shown}");
    assert!(shown.chars().count() <= 2_000);
}

#[test]
fn the_last_lines_are_given_where_no_place_is_named() {
    let lines: Vec<String> = (1..=20).map(|number| format!("step {number}")).collect();
    check(
        OutputFormat::Plain,
        1,
        &lines.join("\n"),
        &[&format!("error  <> {}", lines[8..].join("\\n"))],
    );
}

#[test]
fn the_findings_of_a_database_name_the_function() {
    let report = r#"[{"function":"public.f","issues":[
        {"level":"error","message":"no column","sqlState":"42703","hint":"look","detail":""},
        {"level":"warning extra","message":"unused"}]}]"#;
    check(
        OutputFormat::Supabase,
        0,
        report,
        &["error  <42703> public.f: no column\\nlook", "warning  <> public.f: unused"],
    );
    check(OutputFormat::Supabase, 0, "No schema errors found", &[]);
    check(
        OutputFormat::Supabase,
        1,
        "No schema errors found",
        &["did not run: No schema errors found"],
    );
}

#[test]
fn sarif_knows_levels_of_rules_and_results_that_are_no_problems() {
    let result = |more: &str| {
        format!(
            r#"{{"runs":[{{"tool":{{"driver":{{"rules":[{{"defaultConfiguration":{{"level":"error"}}}}]}}}},
            "results":[{{"ruleId":"R","message":{{"text":"it"}}{more}}}]}}]}}"#
        )
    };
    for (more, expected) in [
        ("", "warning  <R> it"),
        (r#","ruleIndex":0"#, "error  <R> it"),
        (r#","ruleIndex":0,"level":"note""#, "warning  <R> it"),
        (r#","ruleIndex":7,"kind":"fail""#, "warning  <R> it"),
        (r#","kind":"pass""#, "did not run: {\"runs\":[{\"tool\":"),
        (r#","suppressions":[{}]"#, "did not run: {\"runs\":[{\"tool\":"),
    ] {
        let said = shown(&read_as(OutputFormat::Sarif, Some(1), &result(more), ""));
        assert!(said.len() == 1 && said[0].starts_with(expected), "{more}: {said:?}");
    }
    let place = r#","locations":[{"physicalLocation":{"artifactLocation":{"uri":"file:///a%20b%2.ts%"},"region":{"startLine":3}}}]"#;
    check(OutputFormat::Sarif, 1, &result(place), &["warning /a b%2.ts%:3 <R> it"]);
    let failed = r#"{"runs":[{"results":[],"invocations":[{"executionSuccessful":false,"toolExecutionNotifications":[{"message":{"text":"it broke\nbadly"}}]}]}]}"#;
    check(OutputFormat::Sarif, 0, failed, &["did not run: it broke"]);
}

#[test]
fn cargo_names_files_from_the_root_of_the_workspace() {
    let row = |source: &str, manifest: &str, file: &str| {
        format!(
            r#"{{"reason":"compiler-message","manifest_path":"{manifest}","target":{{"src_path":"{source}"}},"message":{{"level":"error","message":"it","code":null,"children":[],"spans":[{{"is_primary":true,"file_name":"{file}","line_start":1,"column_start":2}}]}}}}"#
        )
    };
    for (source, manifest, file, expected) in [
        (
            "/w/crates/a/src/lib.rs",
            "/w/crates/a/Cargo.toml",
            "crates/a/src/b.rs",
            "/w/crates/a/src/b.rs",
        ),
        ("/w/src/lib.rs", "/w/Cargo.toml", "src/b.rs", "/w/src/b.rs"),
        ("/src/src/lib.rs", "/src/Cargo.toml", "src/lib.rs", "/src/src/lib.rs"),
        ("/w/a/x.rs", "/w/a/Cargo.toml", "/abs/b.rs", "/abs/b.rs"),
    ] {
        let expected = format!("error {expected}:1:2 <> it");
        check(OutputFormat::Cargo, 101, &row(source, manifest, file), &[&expected]);
    }
}

#[test]
fn a_warning_of_the_compiler_does_not_explain_a_failed_build() {
    let row = |level: &str, message: &str| {
        format!(
            r#"{{"reason":"compiler-message","message":{{"level":"{level}","message":"{message}","spans":[]}}}}"#
        )
    };
    let both = |code| {
        shown(&read_as(OutputFormat::Cargo, Some(code), &row("warning", "odd"), "error: linker"))
    };
    assert_eq!(both(0), ["warning  <> odd"]);
    assert_eq!(both(101), ["did not run: error: linker"]);
    check(OutputFormat::Cargo, 0, &row("warning", "2 warnings emitted"), &[]);
    check(OutputFormat::Cargo, 0, &row("note", "a note"), &[]);
    check(OutputFormat::Cargo, 101, &row("error", "linking failed"), &["error  <> linking failed"]);
}

#[test]
fn a_count_with_a_place_is_a_finding_of_the_compiler() {
    let row = r#"{"reason":"compiler-message","message":{"level":"warning","message":"2 warnings emitted","spans":[{"is_primary":true,"file_name":"/a.rs","line_start":1,"column_start":2}]}}"#;
    check(OutputFormat::Cargo, 0, row, &["warning /a.rs:1:2 <> 2 warnings emitted"]);
}

#[test]
fn notes_of_the_compiler_are_added_while_there_is_room() {
    let message = |length: usize| {
        let row = format!(
            r#"{{"reason":"compiler-message","message":{{"level":"error","message":"{}","spans":[],"children":[{{"level":"note","message":"y"}}]}}}}"#,
            "x".repeat(length)
        );
        match read_as(OutputFormat::Cargo, Some(101), &row, "") {
            ParsedOutput::Found(findings) => findings[0].message.clone(),
            ParsedOutput::DidNotRun(why) => panic!("{why}"),
        }
    };
    assert_eq!(message(LONGEST), "x".repeat(LONGEST));
    assert_eq!(message(LONGEST - 1), "x".repeat(LONGEST - 1) + "…");
    assert_eq!(message(3), "xxx\nnote: y");
}

#[test]
fn a_document_within_a_line_is_none() {
    let report = r#"[{"filename":"a.py","code":"E1","message":"it"}]"#;
    for text in [format!(" {report}\n[x\n"), format!("[{report}\n"), format!("{{ {report}\n")] {
        let said = shown(&read_as(OutputFormat::Ruff, Some(1), &text, ""));
        assert!(said.len() == 1 && said[0].starts_with("did not run: "), "{text}: {said:?}");
    }
}

#[test]
fn the_severity_that_a_tool_names_is_that_of_the_finding() {
    for (form, report, expected) in [
        (
            OutputFormat::Eslint,
            r#"[{"filePath":"/a.js","messages":[{"ruleId":null,"severity":1,"message":"it","line":1,"column":2}]}]"#,
            "warning /a.js:1:2 <> it",
        ),
        (
            OutputFormat::Ruff,
            r#"[{"filename":"a.py","code":"E1","severity":"warning","message":"it"}]"#,
            "warning a.py <E1> it",
        ),
        (
            OutputFormat::Pyright,
            r#"{"generalDiagnostics":[{"file":"a.py","severity":"warning","message":"it"}]}"#,
            "warning a.py <> it",
        ),
    ] {
        check(form, 1, report, &[expected]);
    }
}

#[test]
fn a_test_file_that_fails_as_a_whole_has_the_place_of_its_stack() {
    let report = r#"{"testResults":[{"name":"/a.test.ts","status":"failed","assertionResults":[],"message":"it broke\n    at f (/a.test.ts:3:7)"}]}"#;
    check(OutputFormat::Vitest, 1, report, &["error /a.test.ts:3:7 <suite> it broke"]);
}

#[test]
fn tests_that_failed_without_a_summary_are_told_by_their_last_lines() {
    check(OutputFormat::Pytest, 1, "odd", &["error  <> odd"]);
    check(OutputFormat::Pytest, 2, "odd", &["did not run: odd"]);
}

#[test]
fn an_error_outside_of_the_tests_is_not_lost() {
    let report =
        r#"{"testResults":[{"name":"/a.test.ts","status":"passed","assertionResults":[]}]}"#;
    let said = read_as(OutputFormat::Vitest, Some(1), report, "Unhandled Rejection\nError: late\n");
    assert_eq!(shown(&said), ["error  <> Unhandled Rejection\\nError: late"]);
    assert_eq!(
        read_as(OutputFormat::Vitest, Some(0), report, "odd"),
        ParsedOutput::Found(Vec::new())
    );
    check(OutputFormat::Vitest, 1, "No test files found, exiting with code 1", &[]);
}

#[test]
fn a_configuration_that_leaves_the_file_out_is_said() {
    let none = r#"{"generalDiagnostics":[],"summary":{"filesAnalyzed":0}}"#;
    check(OutputFormat::Pyright, 0, none, &["did not run: its configuration leaves the file out"]);
}

#[test]
fn a_mistake_that_deno_names_ends_where_the_next_begins() {
    let lines = "TS1 [ERROR]: one\nTS2 [ERROR]: two\n  and why\nconst a;\n  ~~^\n    at file:///a%20b.ts:1:2\n\n\
                 \x20   Declared here.\n        at file:///c.ts:3:4\n    at file:///d.ts:3:4\n\
                 Error linting: /e.ts\n   it\nfile:///f.ts: line 5, col 6 - it (no-var)\n";
    let expected = [
        "error  <TS1> one",
        "error /a b.ts:1:2 <TS2> two\\n  and why",
        "error /e.ts <> it",
        "error /f.ts:5:6 <no-var> it",
    ];
    check(OutputFormat::Deno, 1, lines, &expected);
}

#[test]
fn what_deno_says_of_no_place_in_the_code_is_no_finding() {
    for line in [
        "error: it",
        "error: it\n    at file:///a.ts:0:1",
        "error: it\n    at f (a.ts)",
        "error: Failed loading x\n    at file:///a.ts:1:1",
        "error: connection refused\n    at file:///a.ts:1:1",
        "TSX [ERROR]: it",
        "a.ts: line 1, col 2 - it (no-var)",
    ] {
        let said = shown(&read_as(OutputFormat::Deno, Some(1), line, ""));
        assert!(said.len() == 1 && said[0].starts_with("did not run: "), "{said:?}");
    }
    check(OutputFormat::Deno, 1, "error: it\n    at file:///a.ts:1:1", &["error /a.ts:1:1 <> it"]);
}

#[test]
fn a_message_of_deno_is_bounded_and_two_thousand_of_them_are_enough() {
    let lines = format!("TS1 [ERROR]: one\n{}", "  more\n".repeat(5_000));
    let ParsedOutput::Found(found) = read_as(OutputFormat::Deno, Some(1), &lines, "") else {
        panic!("it is read");
    };
    assert_eq!((found.len(), found[0].message.lines().count()), (1, 40));
    let lines = "TS1 [ERROR]: one\n".repeat(2_500);
    assert_eq!(shown(&read_as(OutputFormat::Deno, Some(1), &lines, "")).len(), 2_000);
}

#[test]
fn a_line_or_column_0_is_none() {
    check(OutputFormat::Plain, 1, "::error file=a.ts,line=0,col=0::it", &["error a.ts <> it"]);
    check(OutputFormat::Deno, 1, "file:///a.ts: line 0, col 0 - it (x)", &["error /a.ts <x> it"]);
}

#[test]
fn why_a_tool_did_not_run_is_one_line() {
    check(
        OutputFormat::Tsc,
        2,
        "error TS5058: no project\n  in it\n",
        &["did not run: TS5058: no project"],
    );
}

#[test]
fn both_streams_are_read_one_after_the_other_each_from_a_line_of_its_own() {
    for (stdout, stderr, expected) in [
        ("", "", ""),
        ("", "b", "b"),
        ("a", "b", "a\nb"),
        ("a\n", "b", "a\nb"),
        ("\u{1b}[1ma\u{1b}[0m", "", "a\n"),
    ] {
        let printed = super::Printed { check: "x", file: "/a", stdout, stderr, code: Some(1) };
        assert_eq!(printed.text(), expected, "{stdout:?} {stderr:?}");
    }
}
