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
