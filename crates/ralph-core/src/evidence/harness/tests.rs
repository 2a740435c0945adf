use super::*;

fn around<'a>(named: &'a [String], start: &'a BTreeSet<String>) -> Around<'a> {
    Around { named, start, now: start, toml: |_| None }
}

/// What each path belongs to, in a project with a manifest at its top.
#[track_caller]
fn check(expected: Kind, paths: &[&str]) {
    let start: BTreeSet<String> = ["package.json".to_owned()].into();
    for path in paths {
        assert_eq!(kind(path, &around(&[], &start)), expected, "{path}");
    }
}

#[test]
fn tests_configuration_and_recipes_are_harness() {
    check(
        Kind::Harness,
        &[
            "tests/data.txt",
            "spec/a",
            "src/__tests__/a.js",
            "a/testdata/c",
            "pkg/b_test.go",
            "src/x.spec.ts",
            "src/FooTest.java",
            "test_x.py",
            "conftest.py",
            "jest.config.js",
            "Makefile",
            "package.json",
            ".eslintrc",
            ".github/workflows/ci.yml",
            "src/__snapshots__/a.js.snap",
            "tsconfig.json",
            "scripts/check.sh",
            "CMakeLists.txt",
            "lib/foo.test.js",
            "tests/conftest.py",
        ],
    );
}

#[test]
fn sources_templates_styles_and_data_are_code() {
    check(
        Kind::Code,
        &[
            "src/lib.rs",
            "src/contest.py",
            "src/latest.ts",
            "templates/page.html",
            "src/app.css",
            "locale/de.po",
            "migrations/1.sql",
            "src/schema.graphql",
            "lib/config.py",
            "assets/logo.svg",
        ],
    );
    check(Kind::Dependencies, &["package-lock.json", "Cargo.lock", "go.sum", "pnpm-lock.yaml"]);
    check(Kind::Documentation, &["README.md", "docs/guide.rst", "LICENSE"]);
}

#[track_caller]
fn parted(path: &str, start: Option<&str>, now: Option<&str>) -> Parted {
    let files = BTreeSet::new();
    let versions = Versions { start: start.map(str::as_bytes), now: now.map(str::as_bytes) };
    part(path, versions, &around(&[], &files))
}

fn text(seen: &SeenFile) -> String {
    match seen {
        SeenFile::AsNow => "as now".to_owned(),
        SeenFile::Absent => "absent".to_owned(),
        SeenFile::Other(bytes) => String::from_utf8(bytes.clone()).unwrap(),
    }
}

#[test]
fn a_file_of_one_kind_is_exchanged_whole() {
    let code = parted("src/a.py", Some("old"), Some("new"));
    assert_eq!(
        (text(&code.original_tests), text(&code.without_change)),
        ("as now".into(), "old".into())
    );
    let test = parted("tests/test_a.py", Some("old"), Some("new"));
    assert_eq!(
        (text(&test.original_tests), text(&test.without_change)),
        ("old".into(), "as now".into())
    );
    let added = parted("src/b.py", None, Some("new"));
    assert_eq!(text(&added.without_change), "absent");
    assert_eq!(text(&parted("tests/test_b.py", None, Some("new")).original_tests), "absent");
}

#[test]
fn the_test_module_of_a_rust_source_is_exchanged_by_itself() {
    let start = "pub fn f() -> u8 { 1 }\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() { assert_eq!(super::f(), 1); }\n}\n";
    let now = "pub fn f() -> u8 { 2 }\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() { assert_eq!(super::f(), 2); }\n}\n";
    let one = parted("src/lib.rs", Some(start), Some(now));
    assert!(one.code_changed && one.harness_changed);
    let original = text(&one.original_tests);
    assert!(original.contains("u8 { 2 }") && original.contains("super::f(), 1"), "{original}");
    let without = text(&one.without_change);
    assert!(without.contains("u8 { 1 }") && without.contains("super::f(), 2"), "{without}");
    let only_tests =
        parted("src/lib.rs", Some(start), Some(&start.replace("f(), 1", "f(), 1 + 0")));
    assert!(!only_tests.code_changed && only_tests.harness_changed);
}

#[test]
fn tests_that_cannot_be_parted_from_code_are_code_and_are_named() {
    let rust = |value: u8| {
        format!(
            "/// ```\n/// assert_eq!(x::f(), {value});\n/// ```\npub fn f() -> u8 {{ {value} }}\n"
        )
    };
    let python =
        |value: u8| format!("def f():\n    \"\"\"\n    >>> f()\n    {value}\n    \"\"\"\n");
    for (path, start, now) in
        [("src/lib.rs", rust(1), rust(2)), ("shop/f.py", python(1), python(2))]
    {
        let parted = parted(path, Some(&start), Some(&now));
        assert_eq!((parted.kind, parted.tests_in_code), (Kind::Code, true));
        assert_eq!(text(&parted.without_change), start);
    }
}

#[test]
fn a_manifest_keeps_its_dependencies_as_they_are_now() {
    let start = r#"{"scripts":{"test":"jest"},"dependencies":{"a":"1"}}"#;
    let now = r#"{"scripts":{"test":"true"},"dependencies":{"a":"2"}}"#;
    let one = parted("package.json", Some(start), Some(now));
    assert!(one.harness_changed && one.dependencies_changed && !one.code_changed);
    let original: serde_json::Value = serde_json::from_str(&text(&one.original_tests)).unwrap();
    assert_eq!(
        original,
        serde_json::json!({"scripts": {"test": "jest"}, "dependencies": {"a": "2"}})
    );
    let upgraded = parted("package.json", Some(start), Some(&start.replace("\"1\"", "\"2\"")));
    assert!(!upgraded.harness_changed && upgraded.dependencies_changed);
    assert_eq!(text(&upgraded.original_tests), "as now");
}

#[test]
fn a_new_file_that_a_command_asks_for_may_be_the_work() {
    for path in ["report.txt", "out/a.csv", "done"] {
        assert!(may_be_result(path), "{path}");
    }
    for path in ["check.txt", "tests/a.txt", "run.sh", "Makefile", ".env", "test_a.txt"] {
        assert!(!may_be_result(path), "{path}");
    }
}

/// What each path belongs to, if the start holds these files and a command names those.
#[track_caller]
fn check_among(start: &[&str], named: &[&str], rows: &[(&str, Kind)]) {
    let start: BTreeSet<String> = start.iter().map(|path| (*path).to_owned()).collect();
    let named: Vec<String> = named.iter().map(|path| (*path).to_owned()).collect();
    for (path, expected) in rows {
        assert_eq!(kind(path, &around(&named, &start)), *expected, "{path}");
    }
}

#[test]
fn what_a_command_names_may_be_judged_by_it_or_judge() {
    let all = ["data/in.csv", "lib/verify.py", "lib/a.py", "docs/x.md", "lib/run.sh"];
    let plain = [Kind::Code, Kind::Code, Kind::Code, Kind::Documentation, Kind::Code];
    let named = [Kind::Harness, Kind::Harness, Kind::Code, Kind::Code, Kind::Harness];
    let rows = |kinds: [Kind; 5]| all.into_iter().zip(kinds).collect::<Vec<_>>();
    check_among(&[], &[], &rows(plain));
    check_among(&[], &all, &rows(named));
    check_among(&[], &["data"], &rows(plain));
    for word in [
        "test",
        "spec",
        "e2e",
        "check",
        "checks",
        "verify",
        "validate",
        "smoke",
        "accept",
        "lint",
        "acceptance",
        "assert",
        "bench",
        "eval",
        "grade",
    ] {
        assert!(judges(word), "{word}");
    }
    assert!(!judges("run") && !judges("checked"));
}

#[test]
fn the_place_of_a_file_comes_before_its_name() {
    check_among(
        &[],
        &[],
        &[
            ("tests/README.md", Kind::Harness),
            ("tests/Cargo.lock", Kind::Harness),
            (".github/README.md", Kind::Documentation),
            (".cache/Cargo.lock", Kind::Dependencies),
            (".a/b.py", Kind::Harness),
            ("a/.b/c.py", Kind::Harness),
            ("a/b.c/d.py", Kind::Code),
            ("a.snap", Kind::Harness),
            ("a/b.mk", Kind::Harness),
        ],
    );
}

#[test]
fn documents_and_locks_are_known_by_their_names() {
    for name in [
        "a.md",
        "a.markdown",
        "a.rst",
        "a.adoc",
        "LICENSE",
        "COPYING",
        "NOTICE.txt",
        "AUTHORS",
        "CONTRIBUTING",
        "CHANGES.txt",
        "README",
    ] {
        assert!(is_documentation(name, extension(name)), "{name}");
    }
    for name in ["a.txt", "README.html", "notes", "a.mdx"] {
        assert!(!is_documentation(name, extension(name)), "{name}");
    }
    for name in [
        "Cargo.lock",
        "bun.lockb",
        "gradle.lockfile",
        "Package.resolved",
        "go.sum",
        "go.work.sum",
        "npm-shrinkwrap.json",
        "pnpm-lock.yaml",
        "a-lock.yml",
        ".terraform.lock.hcl",
    ] {
        assert!(is_lock(name), "{name}");
    }
    for name in ["clock.json", "lock.json", "a-lock.ts", "a.sum", "a-locks.json", "lock"] {
        assert!(!is_lock(name), "{name}");
    }
}

#[test]
fn tests_snapshots_and_recipes_are_known_by_their_names() {
    for folder in [
        "tests",
        "a/spec/b",
        "my-tests",
        "tests-old",
        "e2e",
        "a/__mocks__",
        "testdata",
        "fixtures/b",
        "snapshots",
        "FooTests",
        "specs",
    ] {
        assert!(in_test_folder(folder), "{folder}");
    }
    for folder in ["", "src", "latest", "a-test-b", "____", "__a", "a__", "contests", "fixture"] {
        assert!(!in_test_folder(folder), "{folder}");
    }
    for name in [
        "test.py",
        "tests.py",
        "date_test.go",
        "DateTests.cs",
        "a.spec.ts",
        "a-e2e.js",
        "my_test_case_a.py",
        "setupTests.ts",
        "conftest.py",
        "a.bats",
        "a.t",
        "a.test.config.js",
        "a_test",
        "TestCase.java",
        "MyTestCase.java",
    ] {
        let expected = name != "my_test_case_a.py";
        assert_eq!(is_test_name(name), expected, "{name}");
    }
    for name in [
        "latest.py",
        "contest.py",
        "spec.rb",
        "specs.rb",
        "e2e.js",
        "a.ts",
        "t",
        "bats",
        "case.py",
        "myconftest.py",
        "a_tested.py",
    ] {
        assert!(!is_test_name(name), "{name}");
    }
    for path in [
        "a.snap",
        "a.golden.txt",
        "b/a.ambr",
        "a.approved.txt",
        "golden/a",
        "goldens/a",
        "b/snapshots/a",
        "__snapshots__/a",
    ] {
        assert!(is_snapshot(path), "{path}");
    }
    for path in ["snap", "golden", "golden.rs", "a/approved.rs", "agolden/b"] {
        assert!(!is_snapshot(path), "{path}");
    }
    for name in [
        "Makefile",
        "Rakefile",
        "justfile",
        "CMakeLists.txt",
        "meson.build",
        "a.csproj",
        "package.json",
        "a.gradle",
    ] {
        assert!(is_recipe(name, extension(name)), "{name}");
    }
    for name in ["a.file", "file.txt", "a.txt", "a.json", "files"] {
        assert!(!is_recipe(name, extension(name)), "{name}");
    }
    for (name, expected) in [
        ("setupTests", &["setup", "tests"][..]),
        ("HTTPServer", &["http", "server"]),
        ("JSONTest2.a_b-c", &["json", "test2", "a", "b", "c"]),
        ("FOO", &["foo"]),
        ("fooBAR", &["foo", "bar"]),
        ("aB", &["a", "b"]),
        ("", &[]),
        ("..", &[]),
    ] {
        assert_eq!(words(name), expected, "{name}");
    }
}

#[test]
fn configuration_is_known_by_where_it_is() {
    let start = ["package.json", "libs/x/Cargo.toml", "src/package.json", "libs/x/src/go.mod"];
    let harness = [
        "scripts/a.py",
        "tools/a.rb",
        "ci/a.py",
        "check/a.py",
        "checks/a.py",
        "scripts/deep/a.py",
        "bin/run",
        "bin/run.sh",
        "bin/run.bash",
        "libs/x/scripts/a.py",
        "web/jest.config.js",
        "web/a.setup.ts",
        "app.yaml",
        "app.properties",
        "libs/x/app.yaml",
        "VERSION",
        "setup.py",
        "Package.swift",
        "mix.exs",
        "build.zig",
        "libs/x/build.zig",
        "check.py",
        "checks.py",
        "bench.py",
        "benchmark.py",
        "benchmarks.js",
        "check_all.py",
        "build.rs",
        "setup.js",
        "gulpfile.js",
        "jest_config.js",
        "babel-setup.ts",
        "libs/x/bin/run",
    ];
    let code = [
        "a/scripts/b.py",
        "libs/y/scripts/a.py",
        "bin/app.js",
        "src/jest.config.js",
        "web/config.js",
        "config.js",
        "libs/y/app.yaml",
        "src/app.yaml",
        "libs/x/src/app.yaml",
        "libs/y/build.zig",
        "libs/y/check.py",
        "build_all.rs",
        "gulpfile_x.js",
        "a.py",
        "libs/y/VERSION",
        "mycheck.py",
        "src/scripts/a.py",
        "scriptsx/a.py",
        "libs/scripts/a.py",
        "jest_config_x.js",
    ];
    check_among(&start, &[], &harness.map(|path| (path, Kind::Harness)));
    check_among(&start, &[], &code.map(|path| (path, Kind::Code)));
    // Nothing is built here.
    check_among(
        &["a.py"],
        &[],
        &[
            ("VERSION", Kind::Code),
            ("app.yaml", Kind::Harness),
            ("scripts/a.py", Kind::Harness),
            ("check.py", Kind::Harness),
        ],
    );
}

#[test]
fn a_test_file_holds_tests_or_expected_results() {
    for path in [
        "a/__snapshots__/x",
        "tests/a.py",
        "src/a.test.ts",
        "tests/run.sh",
        "tests/run.bash",
        "tests/run",
        "test_a.py",
        "tests/golden/a.json",
    ] {
        assert!(is_test_file(path), "{path}");
    }
    for path in [
        "src/a.py",
        "tests/fixtures/a.py",
        "tests/fixture/a.py",
        "tests/testdata/x.go",
        "tests/__mocks__/a.js",
        "tests/conftest.py",
        "tests/setup.py",
        "setupTests.ts",
        "tests/__init__.py",
        "tests/data.json",
        "tests/run.zsh",
        "tests/a.csv",
        "fixtures/test_a.py",
    ] {
        assert!(!is_test_file(path), "{path}");
    }
}

#[test]
fn a_result_is_neither_a_test_nor_a_script_nor_a_recipe() {
    for path in [
        "a.txt", "b/a.csv", "a.tsv", "a.out", "a.log", "a.dat", "a.bin", "a.md", "a.html", "a.pdf",
        "done",
    ] {
        assert!(may_be_result(path), "{path}");
    }
    for path in [
        "a.rs",
        "a.json",
        "tests/a.txt",
        ".a/b.txt",
        "a/.b.txt",
        "test_a.txt",
        "golden/a.txt",
        "Makefile",
        "CMakeLists.txt",
        "requirements.txt",
        "check.txt",
        "a/smoke.log",
    ] {
        assert!(!may_be_result(path), "{path}");
    }
}

#[test]
fn assertions_belong_to_tests_in_some_parts_of_a_source() {
    let rust = "fn f() {}\n#[test]\nfn a() {}\n";
    let vitest = "f();\nif (import.meta.vitest) {}\n";
    let tests_only = "#![cfg(test)]\nfn f() {}\n";
    let one = |region: Range<usize>| vec![region];
    let whole = |text: &str| one(0..text.len());
    for (path, text, expected) in [
        ("src/a.rs", rust, one(10..rust.len() - 1)),
        ("src/a.rs", "fn f() {}", vec![]),
        ("src/a.rs", "fn f() {", whole("fn f() {")),
        ("tests/a.rs", rust, whole(rust)),
        ("src/a.rs", tests_only, whole(tests_only)),
        ("src/a.ts", vitest, one(9..vitest.len())),
        ("src/a.test.ts", vitest, whole(vitest)),
        ("src/a.py", rust, whole(rust)),
    ] {
        assert_eq!(test_regions(path, text), expected, "{path}: {text}");
        let is_inside = expected != whole(text) && !is_test_file(path);
        assert_eq!(has_tests_inside(path, text), is_inside, "{path}: {text}");
    }
}

/// A changed file of this kind, of which all is as now.
fn as_now(kind: Kind) -> Parted {
    Parted {
        kind,
        harness_changed: kind == Kind::Harness,
        code_changed: kind == Kind::Code,
        dependencies_changed: kind == Kind::Dependencies,
        original_tests: SeenFile::AsNow,
        without_change: SeenFile::AsNow,
        tests_in_code: false,
    }
}

fn other(text: &str) -> SeenFile {
    SeenFile::Other(text.as_bytes().to_vec())
}

#[test]
fn a_changed_file_is_exchanged_in_the_form_of_its_kind() {
    let nothing = |kind| Parted {
        harness_changed: false,
        code_changed: false,
        dependencies_changed: false,
        ..as_now(kind)
    };
    let (a, b) = (Some("a\n"), Some("b\n"));
    for (path, kind) in [
        ("tests/a.py", Kind::Harness),
        ("src/a.py", Kind::Code),
        ("Cargo.lock", Kind::Dependencies),
        ("a.md", Kind::Documentation),
    ] {
        assert_eq!(parted(path, a, a), nothing(kind), "{path}");
    }
    assert_eq!(parted("Cargo.lock", a, b), as_now(Kind::Dependencies));
    assert_eq!(parted("a.md", a, b), as_now(Kind::Documentation));
    let code = as_now(Kind::Code);
    assert_eq!(
        parted("src/a.py", a, None),
        Parted { without_change: other("a\n"), ..code.clone() }
    );
    assert_eq!(
        parted("src/a.py", None, b),
        Parted { without_change: SeenFile::Absent, ..code.clone() }
    );
    let harness = as_now(Kind::Harness);
    let only = "#![cfg(test)]\n";
    let expected = Parted { original_tests: other(only), ..harness.clone() };
    assert_eq!(parted("src/a.rs", Some(only), a), expected);
    let expected = Parted { original_tests: SeenFile::Absent, ..harness.clone() };
    assert_eq!(parted("src/a.rs", None, Some(only)), expected);
    // A manifest that is new, or that cannot be read.
    assert_eq!(parted("package.json", None, Some("{}")), expected);
    let expected = Parted { original_tests: other("{"), ..harness };
    assert_eq!(parted("package.json", Some("{"), Some("{}")), expected);
}

#[test]
fn bytes_that_are_no_text_are_exchanged_whole() {
    let files = BTreeSet::new();
    let of = |path: &str, start: &[u8], now: &[u8]| {
        part(path, Versions { start: Some(start), now: Some(now) }, &around(&[], &files))
    };
    let rust = b"#[test]\nfn a() {}\n";
    let bytes = b"\xff";
    let code = Parted { without_change: SeenFile::Other(bytes.to_vec()), ..as_now(Kind::Code) };
    assert_eq!(of("src/a.rs", bytes, rust), code);
    let code = Parted { without_change: SeenFile::Other(rust.to_vec()), ..as_now(Kind::Code) };
    assert_eq!(of("src/a.rs", rust, bytes), code);
    let harness =
        Parted { original_tests: SeenFile::Other(bytes.to_vec()), ..as_now(Kind::Harness) };
    assert_eq!(of("package.json", bytes, b"{}"), harness);
}

#[test]
fn a_rust_source_that_is_new_or_gone_has_its_tests_alone_exchanged() {
    let (code, tests) = ("fn f() {}\n", "#[test]\nfn a() {}\n");
    let both = format!("{code}{tests}");
    let gone = parted("src/a.rs", Some(&both), None);
    let expected = Parted {
        harness_changed: true,
        without_change: other(&both),
        tests_in_code: true,
        ..as_now(Kind::Code)
    };
    assert_eq!(gone, expected);
    let expected = Parted { without_change: other(code), ..as_now(Kind::Code) };
    assert_eq!(parted("src/a.rs", Some(code), None), expected);
    let new = parted("src/a.rs", None, Some(&both));
    let expected = Parted {
        harness_changed: true,
        original_tests: other("fn f() {}\n\n"),
        without_change: SeenFile::Absent,
        ..as_now(Kind::Code)
    };
    assert_eq!(new, expected);
    let moved = format!("{tests}{code}");
    let expected = Parted { code_changed: false, ..as_now(Kind::Code) };
    assert_eq!(parted("src/a.rs", Some(&both), Some(&moved)), expected);
    let expected = Parted { without_change: other(&both), ..as_now(Kind::Code) };
    assert_eq!(parted("src/a.rs", Some(&both), Some("fn f() {")), expected);
}

#[test]
fn a_test_of_a_package_that_was_added_stays() {
    let all =
        |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<BTreeSet<String>>();
    for (start, now, path, is_new) in [
        (&["package.json"][..], &["pkg/package.json"][..], "pkg/a.test.js", true),
        (&["package.json"], &["pkg/package.json"], "pkg/deep/a.test.js", true),
        (&["package.json", "pkga/x", "pkg.txt"], &["pkg/package.json"], "pkg/a.test.js", true),
        (&["libs/go.mod"], &["libs/new/go.mod"], "libs/new/a_test.go", true),
        (&["go.mod"], &["libs/new/go.mod"], "libs/new/a_test.go", true),
        (&["Cargo.toml"], &["pkg/package.json"], "pkg/a.test.js", false),
        (&["package.json"], &[], "pkg/a.test.js", false),
        (&["package.json", "pkg/old.js"], &["pkg/package.json"], "pkg/a.test.js", false),
        (&["package.json"], &["tests/pkg/package.json"], "tests/pkg/a.js", false),
        (&["package.json"], &["package.json"], "a.test.js", false),
        (&["other/go.mod"], &["libs/new/go.mod"], "libs/new/a_test.go", false),
    ] {
        let start = all(start);
        let now: BTreeSet<String> = start.iter().cloned().chain(all(now)).collect();
        let around = Around { named: &[], start: &start, now: &now, toml: |_| None };
        let versions = Versions { start: None, now: Some(b"x") };
        let expected = if is_new { SeenFile::AsNow } else { SeenFile::Absent };
        assert_eq!(part(path, versions, &around).original_tests, expected, "{path}: {start:?}");
    }
}
