use super::*;
use serde_json::json;

#[track_caller]
fn check_tests(path: &str, text: &str, expected: &[&str]) {
    let expected: BTreeSet<String> = expected.iter().map(|one| (*one).to_owned()).collect();
    assert_eq!(tests(path, text), expected, "{path}");
}

#[test]
fn tests_in_the_middle_of_code_are_found_in_the_form_of_the_language() {
    let prompts = "def f():\n    \"\"\"\n    >>> f()\n    1\n\n    text\n    >>> g()\n    2\n    \"\"\"\n    return 1\n";
    for path in ["a.py", "a.pyi", "a.md", "a.rst"] {
        check_tests(path, prompts, &["    >>> f()    1", "    >>> g()    2"]);
    }
    check_tests("a.py", "    >>> f()", &["    >>> f()"]);
    let elixir = "  iex> f()\n  1\n\n  >>> g()\n";
    for path in ["a.ex", "a.exs"] {
        check_tests(path, elixir, &["  iex> f()  1"]);
    }
    check_tests(
        "a.zig",
        "fn f() {}\ntest \"a\" {\n    if (x) {\n    }\n    y;\n}\nconst b = 1;\n  test \"c\" {\n z;\n  }\n",
        &["test \"a\" {    if (x) {    }    y;", "  test \"c\" { z;"],
    );
    check_tests("a.d", "int f;\nunittest {\n  f;\n}\ntest \"a\" {\n}\n", &["unittest {  f;"]);
    let vitest = "if (import.meta.vitest) {\n  it('a', () => {\n    x;\n  });\n  test('b', () => {\n    y;\n  });\n}\n";
    check_tests("a.ts", vitest, &["  it('a', () => {    x;", "  test('b', () => {    y;"]);
    check_tests("a.ts", &vitest.replace("vitest", "env"), &[]);
    let fences = "//! ```\n//! a();\n//! ```\n//! text\n/// ```rust\n/// b();\n/// ```\npub fn f() {}\n/// ```\n/// c();\npub fn g() {}\n// ```\n";
    check_tests("a.rs", fences, &["//! ```//! a();", "/// ```rust/// b();", "/// ```/// c();"]);
    check_tests("a.js", ">>> a\n```\nit('a')\n", &[]);
}

#[test]
fn a_moved_test_is_no_changed_one() {
    let (one, two) = (">>> a()\n1\n\n", ">>> b()\n2\n\n");
    assert!(!changes_tests("a.py", &format!("{one}{two}"), &format!("x\n{two}{one}")));
    assert!(changes_tests("a.py", one, &one.replace('1', "2")));
    assert!(changes_tests("a.py", one, ""));
}

#[test]
fn a_manifest_whose_dependencies_can_be_told_is_known_by_its_name() {
    for name in [
        "package.json",
        "composer.json",
        "Cargo.toml",
        "pyproject.toml",
        "Pipfile",
        "go.mod",
        "Gemfile",
        "requirements.txt",
        "requirements-dev.in",
        "constraints.txt",
    ] {
        assert!(is_parted(name), "{name}");
    }
    for name in
        ["deno.json", "ruff.toml", "go.sum", "requirements.md", "notes.txt", "a.in", "requirements"]
    {
        assert!(!is_parted(name), "{name}");
    }
}

#[test]
fn a_place_in_a_manifest_belongs_to_a_dependency_or_to_none() {
    for (keys, expected) in [
        (&[][..], None),
        (&["scripts", "test"], None),
        (&["dependencies"], Some(2)),
        (&["devDependencies", "a"], Some(2)),
        (&["project", "optional-dependencies"], Some(3)),
        (&["target", "unix", "dependencies", "a", "path"], Some(4)),
        (&["require"], Some(2)),
        (&["require-dev", "a"], Some(2)),
        (&["overrides"], Some(2)),
        (&["resolutions", "a"], Some(2)),
        (&["replace", "a"], Some(2)),
        (&["packages"], Some(2)),
        (&["dev-packages", "a"], Some(2)),
        (&["dependency-groups", "a"], Some(2)),
        (&["build-system", "requires"], Some(2)),
        (&["build-system", "build-backend"], None),
        (&["patch"], None),
        (&["patch", "crates-io"], Some(3)),
        (&["patch", "crates-io", "a"], Some(3)),
        (&["tool", "uv"], None),
        (&["tool", "uv", "sources"], Some(4)),
        (&["tool", "uv", "index"], None),
    ] {
        assert_eq!(dependency(keys), expected, "{keys:?}");
    }
}

/// Reads JSON where TOML is meant.
fn toml(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

/// The manifest with the harness of the start, whether that differs from now, and whether the dependencies differ from the
/// start.
#[track_caller]
fn check_json(start: &Value, now: &Value, expected: &Value, changed: (bool, bool)) {
    let made = original("a/package.json", &start.to_string(), &now.to_string(), toml).unwrap();
    let read: Value = serde_json::from_str(&made.text).unwrap();
    assert_eq!(&read, expected, "{start} {now}");
    assert_eq!((made.harness_changed, made.dependencies_changed), changed, "{start} {now}");
}

#[test]
fn a_manifest_has_its_tables_of_dependencies_as_now_and_the_rest_as_at_the_start() {
    // Changed, added and removed, of either kind.
    check_json(
        &json!({"scripts": {"test": "a", "gone": "b"}, "dependencies": {"a": "1", "gone": "1"}, "main": "x"}),
        &json!({"scripts": {"test": "c", "new": "d"}, "dependencies": {"a": "2", "new": "1"}, "type": "y"}),
        &json!({"scripts": {"test": "a", "gone": "b"}, "dependencies": {"a": "2", "new": "1"}, "main": "x"}),
        (true, true),
    );
    let both = json!({"scripts": {}, "dependencies": {}});
    check_json(&both, &both, &both, (false, false));
    // A table that only one of the two has.
    check_json(&json!({"dependencies": {"a": "1"}}), &json!({}), &json!({}), (false, true));
    check_json(
        &json!({}),
        &json!({"dependencies": {}}),
        &json!({"dependencies": {}}),
        (false, true),
    );
    check_json(
        &json!({"dependencies": {"a": "1"}}),
        &json!({"dependencies": {}}),
        &json!({"dependencies": {}}),
        (false, true),
    );
    check_json(&json!({"scripts": {}}), &json!({}), &json!({"scripts": {}}), (true, false));
    check_json(&json!({}), &json!({"jest": {"a": {"b": 1}}}), &json!({}), (true, false));
    // A list in place of a table.
    check_json(
        &json!({"dependencies": ["a"], "files": ["a"]}),
        &json!({"dependencies": ["b"], "files": ["b"]}),
        &json!({"dependencies": ["b"], "files": ["a"]}),
        (true, true),
    );
    check_json(&json!({"dependencies": ["a"]}), &json!({}), &json!({}), (false, true));
    check_json(&json!({"jest": 1}), &json!({"jest": {"a": 1}}), &json!({"jest": 1}), (true, false));
    check_json(
        &json!({"jest": {"a": 1}}),
        &json!({"jest": 1}),
        &json!({"jest": {"a": 1}}),
        (true, false),
    );
    // What stands within a dependency is never taken apart.
    check_json(
        &json!({"dependencies": {"a": {"version": "1", "optional": true}}}),
        &json!({"dependencies": {"a": {"version": "2"}}}),
        &json!({"dependencies": {"a": {"version": "2"}}}),
        (false, true),
    );
}

#[test]
fn a_dependency_that_leads_into_the_project_is_of_the_harness_if_the_start_knows_its_name() {
    for path in ["file:fake", "link:fake", "portal:fake", "./fake", "../fake"] {
        check_json(
            &json!({"dependencies": {"a": "1"}}),
            &json!({"dependencies": {"a": path, "b": path}}),
            &json!({"dependencies": {"a": "1", "b": path}}),
            (true, true),
        );
    }
    // At the start it led there.
    check_json(
        &json!({"dependencies": {"a": "file:a"}}),
        &json!({"dependencies": {"a": "1"}}),
        &json!({"dependencies": {"a": "file:a"}}),
        (true, false),
    );
    // A replacement always does, whoever is replaced.
    for table in ["overrides", "resolutions"] {
        check_json(
            &json!({table: {"old": "1"}}),
            &json!({table: {"old": "1", "new": "file:fake"}}),
            &json!({table: {"old": "1"}}),
            (true, false),
        );
        check_json(
            &json!({}),
            &json!({table: {"new": "2"}}),
            &json!({table: {"new": "2"}}),
            (false, true),
        );
    }
    check_json(
        &json!({"scripts": {"a": "./a"}}),
        &json!({"scripts": {"a": "./b"}}),
        &json!({"scripts": {"a": "./a"}}),
        (true, false),
    );
}

#[test]
fn the_values_of_the_start_are_written_as_they_were() {
    let start = r#"{"exports": {"./b": 1,   "./a": 2}, "name": "x", "dependencies": {"a": "1"}}"#;
    let now = r#"{"exports": {"./a": 2, "./b": 1}, "name": "y", "dependencies": {"a":  "2"}}"#;
    let made = original("package.json", start, now, toml).unwrap();
    let mut lines: Vec<&str> = made.text.lines().collect();
    lines.sort_unstable_by_key(|line| line.trim_end_matches(','));
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_end_matches(',')).collect();
    let expected = [
        "  \"dependencies\": {\"a\":\"2\"}",
        "  \"exports\": {\"./b\": 1,   \"./a\": 2}",
        "  \"name\": \"x\"",
        "{",
        "}",
    ];
    assert_eq!(lines, expected);
    assert!(made.text.starts_with("{\n") && made.text.ends_with("\n}\n"), "{}", made.text);
}

#[test]
fn a_manifest_in_toml_is_written_with_its_tables_inline() {
    // In the order of the alphabet, in which a build without `preserve_order` has them anyway.
    let start = json!({"package": {"bins": [{"n": 1}, true], "name": "a"}, "dependencies": {"b": "1", "c": {"path": "c"}}});
    let now = json!({"package": {"name": "z"}, "dependencies": {"b": "2", "c": {"path": "fake"}, "d": {"path": "d"}}});
    for name in ["Cargo.toml", "pyproject.toml", "Pipfile"] {
        let made = original(name, &start.to_string(), &now.to_string(), toml).unwrap();
        assert!((made.harness_changed, made.dependencies_changed) == (true, true));
        let mut lines: Vec<&str> = made.text.lines().collect();
        lines.sort_unstable();
        assert_eq!(
            lines,
            [
                "\"dependencies\" = { \"b\" = \"2\", \"c\" = { \"path\" = \"c\" }, \"d\" = { \"path\" = \"d\" } }",
                "\"package\" = { \"bins\" = [{ \"n\" = 1 }, true], \"name\" = \"a\" }",
            ]
        );
        assert!(made.text.ends_with('\n'));
    }
    let words = json!({"build-system": {"requires": ["b>=1", "x"]}, "project": {"dependencies": ["a @ file:fake", "b"]}});
    let then =
        json!({"build-system": {"requires": ["b>=1"]}, "project": {"dependencies": ["a", "b"]}});
    let made = original("pyproject.toml", &then.to_string(), &words.to_string(), toml).unwrap();
    assert!(made.text.contains("\"requires\" = [\"b>=1\", \"x\"]"), "{}", made.text);
    for (path, start) in
        [("deno.json", "{}"), ("package.json", "{"), ("Cargo.toml", "["), ("a.toml", "{}")]
    {
        assert!(original(path, start, "{}", toml).is_none(), "{path}");
        assert!(original(path, "{}", start, toml).is_none() || start == "{}", "{path}");
    }
    assert!(original("Cargo.toml", "{\"a\": null}", "{}", toml).is_none());
}

#[track_caller]
fn check_lines(name: &str, start: &str, now: &str, expected: &str, changed: (bool, bool)) {
    let made = original(&format!("a/{name}"), start, now, toml).unwrap();
    assert_eq!(made.text, expected, "{start} {now}");
    assert_eq!((made.harness_changed, made.dependencies_changed), changed, "{start} {now}");
}

#[test]
fn of_a_list_of_dependencies_only_the_lines_with_a_path_are_of_the_harness() {
    check_lines("requirements.txt", "a==1\n", "a==2\nb==1\n", "a==2\nb==1\n", (false, true));
    check_lines("requirements.txt", "a==1\n\n", "a==1", "a==1\n", (false, false));
    // A path for a known name is that of the start; for a new one it is spared.
    check_lines(
        "requirements.txt",
        "a==1\n",
        "a @ file:fake\nb @ file:new\n",
        "b @ file:new\na==1\n",
        (true, true),
    );
    check_lines("requirements.txt", "-e .\na\n", "a\n", "a\n-e .\n", (true, false));
    check_lines(
        "requirements.txt",
        "a\n-e ./a\n",
        "a\n--editable=./fake/a/\n",
        "a\n-e ./a\n",
        (true, false),
    );
    check_lines("requirements.txt", "-e ./lib\n", "-e ./fake/lib\n", "-e ./lib\n", (true, false));
    check_lines("constraints.txt", "a\n../a\n", "a\n", "a\n../a\n", (true, false));
    check_lines(
        "Gemfile",
        "gem \"a\"\n",
        "gem \"a\", path: \"./fake\"\n",
        "gem \"a\"\n",
        (true, false),
    );
    check_lines(
        "Gemfile",
        "gem \"a\"\n",
        "gem \"a\", \"~> 2\"\n",
        "gem \"a\", \"~> 2\"\n",
        (false, true),
    );
}

#[test]
fn a_replacement_in_a_module_of_go_is_of_the_harness() {
    let start = "module x\nrequire a v1\n";
    check_lines(
        "go.mod",
        start,
        "module x\nrequire a v2\nreplace a => ./fake\n",
        "module x\nrequire a v2\n",
        (true, true),
    );
    check_lines(
        "go.mod",
        "module x\nrequire a v1\nreplace (\n\ta => ./a\n)\n",
        "module x\nrequire a v1\nreplace (\n\ta => ./b\n)\n",
        "module x\nrequire a v1\nreplace (\n)\nreplace a => ./a\n",
        (true, false),
    );
    check_lines(
        "go.mod",
        "module x\nrequire a v1\nreplace a => ./a\n",
        "module x\nrequire a v1\n",
        "module x\nrequire a v1\nreplace a => ./a\n",
        (true, false),
    );
    // A comment leads nowhere, nor does a replacement by another version.
    let comment = "module x\nrequire a v1\n// replace a => ./fake\n";
    check_lines("go.mod", start, comment, comment, (false, true));
    let version = "module x\nrequire a v1\nreplace a => b v2\n";
    check_lines("go.mod", start, version, version, (false, true));
}

#[test]
fn the_subject_of_a_line_is_its_module_package_or_gem() {
    for (line, expected) in [
        ("a==1", "a"),
        ("\trequire a v1", "a"),
        ("replace a => ./b", "a"),
        ("gem 'a', '1'", "a"),
        ("-e ./x/a/", "a"),
        ("--editable=../b", "b"),
        ("-e .", "."),
        ("a[extra]>=1", "a"),
        ("", ""),
    ] {
        assert_eq!(subject(line), expected, "{line}");
    }
}

/// The texts of the tests and the lines of the code.
#[track_caller]
fn check_halves(text: &str, tests: &[&str], code: &[&str]) {
    let halves = Halves::parse(text).unwrap();
    assert_eq!(halves.tests(), tests, "{text}");
    assert_eq!(halves.code(), code, "{text}");
}

#[test]
fn a_rust_source_is_parted_at_the_items_of_its_tests() {
    check_halves("", &[], &[]);
    check_halves(
        "#![allow(x)]\nuse a::{b, c};\n\nconst X: [u8; 2] = [1, 2];  \n#[test]\nfn z() -> [u8; 2] {\n    X\n}\n/// About it.\n/// More.\n#[cfg(test)]\n#[path = \"t.rs\"]\nmod tests;\nfn f() {}\n",
        &[
            "#[test]\nfn z() -> [u8; 2] {\n    X\n}",
            "/// About it.\n/// More.\n#[cfg(test)]\n#[path = \"t.rs\"]\nmod tests;",
        ],
        &["#![allow(x)]", "use a::{b, c};", "const X: [u8; 2] = [1, 2];", "fn f() {}"],
    );
    check_halves(
        "#[cfg(test)]\nuse a::{b, c};\n#[cfg(test)]\nstatic A: B = B { c: 1 };\n#[cfg(test)]\nconst fn f() {}\nfn g() {}\n#[cfg(test)]\ntype T = [u8; 2];\n#[cfg(test)]\nmacro_rules! m { () => {} }\nstruct S;\n#[cfg(test)]\nconst C: B = B { c: 1 };",
        &[
            "#[cfg(test)]\nconst C: B = B { c: 1 };",
            "#[cfg(test)]\nconst fn f() {}",
            "#[cfg(test)]\nmacro_rules! m { () => {} }",
            "#[cfg(test)]\nstatic A: B = B { c: 1 };",
            "#[cfg(test)]\ntype T = [u8; 2];",
            "#[cfg(test)]\nuse a::{b, c};",
        ],
        &["fn g() {}", "struct S;"],
    );
    check_halves("#![a]\n#[test]\nfn t() {}\n", &["#[test]\nfn t() {}"], &["#![a]"]);
    // An attribute of another kind before or after it.
    check_halves(
        "#[a]\n#[test]\n#[b]\nfn t() {}\n#[a]\nfn f() {}\n",
        &["#[a]\n#[test]\n#[b]\nfn t() {}"],
        &["#[a]", "fn f() {}"],
    );
    for broken in ["fn f() {", "fn f() }", "#[test", "#![a", "fn f(]"] {
        assert!(Halves::parse(broken).is_none(), "{broken}");
    }
}

#[test]
fn the_attributes_of_tests_are_known() {
    for attribute in [
        "test",
        "tokio::test",
        "tokio::test(flavor = \"x\")",
        "rstest",
        "cfg(test)",
        "cfg( test )",
        "cfg(all(unix, test))",
    ] {
        assert!(is_of_tests(attribute), "{attribute}");
    }
    for attribute in [
        "cfg(not(test))",
        "cfg(all(unix, not(test)))",
        "cfg(feature = \"test\")",
        "cfg(my_test)",
        "cfg_attr(test, allow(x))",
        "doc = \"test\"",
        "derive(test)",
        "cfg(unix)",
    ] {
        assert!(!is_of_tests(attribute), "{attribute}");
    }
}

#[test]
fn tests_of_another_version_stand_in_the_place_of_their_name_or_at_the_end() {
    let own = "fn f() {}\n#[test]\nfn a() { 1 }\nfn g() {}\n#[test]\nfn gone() {}\n// end";
    let other =
        "#[test]\nfn new() {}\n#[test]\nfn a() { 2 }\nfn h() {}\n#[cfg(test)]\nconst X: u8 = 1;\n";
    let (own, other) = (Halves::parse(own).unwrap(), Halves::parse(other).unwrap());
    assert_eq!(
        own.with_tests_of(&other),
        "fn f() {}\n#[test]\nfn a() { 2 }\nfn g() {}\n\n// end\n#[test]\nfn new() {}\n\n#[cfg(test)]\nconst X: u8 = 1;\n"
    );
    let heads: Vec<&str> = other.tests.iter().map(|item| item.head).collect();
    assert_eq!(heads, ["fn new()", "fn a()", "const X: u8"]);
    assert_eq!(own.with_tests_of(&own), own.text);
}

#[test]
fn a_source_that_is_only_built_for_tests_is_all_tests() {
    assert!(is_all_tests("a.rs", "//! About it.\n#![cfg(test)]\n"));
    assert!(!is_all_tests("a.rs", "fn f() {}\n// #![cfg(test)]\n"));
    assert!(!is_all_tests("a.py", "#![cfg(test)]\n"));
}
