use super::*;

/// The values that would be changed, and what to.
#[track_caller]
pub(super) fn check(path: &str, text: &str, expected: &[(&str, &str)]) {
    let found = find(path, text);
    let pairs: Vec<(&str, &str)> =
        found.iter().map(|one| (one.was.as_str(), one.becomes.as_str())).collect();
    assert_eq!(pairs, expected, "{path}: {text}");
    for one in &found {
        assert_ne!(one.alter(text), text);
    }
}

#[test]
fn the_last_value_of_an_assertion_is_the_expected_one() {
    check("tests/test_a.py", "def test_a():\n    assert add(1, 2) == 3\n", &[("3", "2")]);
    check(
        "test_a.py",
        "class T:\n    def test_a(self):\n        self.assertEqual(f('x'), 'abc')\n",
        &[("'abc'", "'abq'")],
    );
    check(
        "a.test.js",
        "test('adds 2', () => {\n  expect(add(1, 2)).toBe(3);\n});\n",
        &[("3", "2")],
    );
    check(
        "a.test.js",
        "it('adds', () => {\n  assert.strictEqual(add(1, 2), 3);\n});\n",
        &[("3", "2")],
    );
    check("a.spec.js", "it('a', () => { expect(f(1)).to.equal('a9'); });", &[("'a9'", "'a8'")]);
    check("tests/a.rs", "#[test]\nfn a() {\n    assert_eq!(add(1, 2), 3);\n}\n", &[("3", "2")]);
    check(
        "tests/a.rs",
        "#[test]\nfn a() {\n    assert!(is(1) == 1_000u32, \"no {}\", 5);\n}\n",
        &[("1_000u32", "1_001u32")],
    );
    check(
        "a_test.go",
        "func TestA(t *testing.T) {\n\tif got := Add(1, 2); got != 3 {\n\t\tt.Errorf(\"got %d\", 7)\n\t}\n}\n",
        &[("3", "2")],
    );
    check("tests/a.cpp", "TEST(A, B) {\n  EXPECT_EQ(f(2), 4);\n}\n", &[("4", "3")]);
    check("tests/a.c", "int main(void) {\n  assert(f(2) == 4);\n}\n", &[("4", "3")]);
    check(
        "tests/run.sh",
        "out=$(./a)\n[ \"$out\" = \"abc\" ] || exit 1\n",
        &[("\"abc\"", "\"abq\"")],
    );
    check("tests/run.sh", "test \"$(./a)\" = ok\n", &[("ok", "oq")]);
    check("tests/run.sh", "./a | grep -q \"one two\"\n", &[("\"one two\"", "\"one twq\"")]);
    // A title is not what is expected.
    check("tests/run.sh", "assert_equal \"adds\" \"$(add 1 2)\" 3\n", &[("3", "2")]);
    check("tests/run.sh", "assert_equal \"adds\" \"$(add 1 2)\" x3\n", &[("x3", "x2")]);
    check("tests/run.sh", "assert_equal \"adds\" 3 \"$(add 1 2)\"\n", &[("3", "2")]);
    check("tests/run.sh", "assert_equal \"adds\" \"$(add 1 2)\" \"$wanted\"\n", &[]);
}

#[test]
fn an_assertion_over_several_lines_is_one() {
    check(
        "tests/a.rs",
        "#[test]\nfn a() {\n    assert_eq!(\n        f(1),\n        \"ab\",\n    );\n}\n",
        &[("\"ab\"", "\"aq\"")],
    );
    check(
        "a.test.ts",
        "it('a', () => {\n  expect(\n    f(1),\n  ).toEqual({ a: 1, b: 2 });\n});\n",
        &[("2", "1")],
    );
}

#[test]
fn what_may_pass_with_another_value_is_left_out() {
    for line in [
        "assert f() != 3",
        "assert f() > 3",
        "assert f(4)",
        "self.assertTrue(f(4))",
        "self.assertNotEqual(f(), 4)",
    ] {
        check("test_a.py", &format!("def test_a(self):\n    {line}\n"), &[]);
    }
    check("a.test.js", "test('a', () => {\n  expect(f(1)).not.toBe(3);\n});\n", &[]);
    check("tests/a.rs", "#[test]\nfn a() {\n    assert_ne!(f(), 3);\n}\n", &[]);
}

#[test]
fn messages_tolerances_indexes_and_keywords_are_no_values() {
    check("test_a.py", "def test_a():\n    assert f() == 3, \"three is 9\"\n", &[("3", "2")]);
    check(
        "test_a.py",
        "def test_a(self):\n    self.assertAlmostEqual(f(), 2.5, 3)\n",
        &[("2.5", "2.4")],
    );
    check(
        "test_a.py",
        "def test_a():\n    assert f() == approx(2.5, abs=0.1)\n",
        &[("2.5", "2.4")],
    );
    check(
        "a.test.js",
        "test('a', () => {\n  expect(f()).toBeCloseTo(2.5, 1);\n});\n",
        &[("2.5", "2.4")],
    );
    check("test_a.py", "def test_a():\n    assert f(3) == xs[0]\n", &[]);
    check("a.test.js", "test('a', () => {\n  assert.equal(f(1), 3, 'is 3');\n});\n", &[("3", "2")]);
}

/// A test may pass with another input.
#[test]
fn what_is_given_to_the_product_is_no_expected_value() {
    let python = |line: &str| format!("def test_a(self):\n    {line}\n");
    for (line, expected) in [
        ("assert f('x') is None", &[][..]),
        ("assert 3 == f(4)", &[("3", "2")]),
        ("assert f(4) == -3 and g(5) == h", &[("3", "2")]),
        ("assert 'a1' in f('b2')", &[("'a1'", "'a2'")]),
        ("assert f('b2') in ('a1', 'a3')", &[]),
        ("self.assertEqual(f(4), None)", &[]),
        ("self.assertEqual(3, f(4))", &[("3", "2")]),
    ] {
        check("test_a.py", &python(line), expected);
    }
    let rust = |line: &str| format!("#[test]\nfn a() {{\n    {line}\n}}\n");
    for (line, expected) in [
        ("assert_eq!(parse(\"ABC\"), None);", &[][..]),
        ("assert_eq!(parse(\"XVI\"), Some(16));", &[("16", "15")]),
        ("assert_eq!(f(1), \"ab\".to_owned());", &[("\"ab\"", "\"aq\"")]),
        ("assert_eq!(f(1), vec![2, 3]);", &[("3", "2")]),
        ("assert!(f(1) == g(2));", &[]),
    ] {
        check("tests/a.rs", &rust(line), expected);
    }
    let go = |line: &str| format!("func TestA(t *testing.T) {{\n\t{line}\n}}\n");
    for (line, expected) in [
        ("assert.Equal(t, 3, Add(1, 2))", &[("3", "2")][..]),
        ("assert.Equal(t, Add(1, 2), 3, \"is 3\")", &[("3", "2")]),
        ("if got, err := Add(1, 2); got != 3 || err != nil {\n\t\tt.Fatal()\n\t}", &[("3", "2")]),
        ("if Add(1, 2) != want {\n\t\tt.Error(7)\n\t}", &[]),
    ] {
        check("a_test.go", &go(line), expected);
    }
    let js = |line: &str| format!("test('a', () => {{\n  {line}\n}});\n");
    for (line, expected) in [
        ("expect(f('x')).toBe(wanted);", &[][..]),
        ("expect(f('x')).toBeNull();", &[]),
        ("expect(f(1)).to.deep.equal([1, 2]);", &[("2", "1")]),
        ("assert.equal(f(1), g(2));", &[]),
    ] {
        check("a.test.js", &js(line), expected);
    }
    check("tests/a.php", "$this->assertSame(3, add(1, 2));\n", &[("3", "2")]);
    check("spec/a_spec.rb", "it 'a' do\n  expect(f(1)).to eq 3\nend\n", &[("3", "2")]);
    check("test/a_test.rb", "def test_a\n  assert_equal 3, f(1)\nend\n", &[("3", "2")]);
}

#[test]
fn a_skipped_test_has_none() {
    check(
        "test_a.py",
        "@unittest.skip('x')\ndef test_a(self):\n    self.assertEqual(f(), 3)\n",
        &[],
    );
    check("a.test.js", "test.skip('a', () => {\n  expect(f()).toBe(3);\n});\n", &[]);
    check("tests/a.rs", "#[test]\n#[ignore]\nfn a() {\n    assert_eq!(f(), 3);\n}\n", &[]);
    check(
        "a_test.go",
        "func TestA(t *testing.T) {\n\tt.Skip(\"x\")\n\tif f() != 3 {\n\t\tt.Error()\n\t}\n}\n",
        &[],
    );
}

/// A changed value makes them fail as well, and so pass.
#[test]
fn a_test_that_passes_by_failing_has_none() {
    let rust = |attribute: &str, name: &str| {
        format!("#[test]\n{attribute}\nfn {name}() {{\n    assert_eq!(f(), 3);\n    g();\n}}\n")
    };
    check("tests/a.rs", &rust("#[should_panic]", "a"), &[]);
    // Another failure is noticed.
    check("tests/a.rs", &rust("#[should_panic(expected = \"empty\")]", "a"), &[("3", "2")]);
    check("tests/a.rs", &rust("", "should_panic_or_ignore_or_skip"), &[("3", "2")]);
    check(
        "test_a.py",
        "    @unittest.expectedFailure\n    def test_a(self):\n        self.assertEqual(f(), 3)\n",
        &[],
    );
    check("a.test.js", "test.failing('a', () => {\n  expect(f()).toBe(3);\n});\n", &[]);
    check(
        "a.test.js",
        "test('skips the disabled', () => {\n  expect(f()).toBe(3);\n});\n",
        &[("3", "2")],
    );
}

#[test]
fn a_text_keeps_its_quotes_escapes_and_interpolations() {
    for (was, becomes) in [
        ("\"abc\\n\"", Some("\"abq\\n\"")),
        ("f\"{x}\"", None),
        ("f\"a {x}\"", Some("f\"q {x}\"")),
        ("`a${x}`", Some("`q${x}`")),
        ("\"%d\"", None),
        ("''", None),
        ("'q'", Some("'z'")),
        ("\"é!\"", None),
    ] {
        assert_eq!(other_text(was).as_deref(), becomes, "{was}");
    }
    for (was, becomes) in [
        ("0", Some("1")),
        ("1", Some("2")),
        ("01", Some("02")),
        ("10", Some("11")),
        ("31", Some("30")),
        ("2.5e3", Some("2.4e3")),
        ("0.30000000000000004", Some("0.31000000000000004")),
        ("12345.5", Some("12335.5")),
        ("0755", Some("0754")),
    ] {
        assert_eq!(other_number(was).as_deref(), becomes, "{was}");
    }
}

/// A value that does not compile would fail the test without a comparison.
#[test]
fn the_last_number_of_a_type_stays_within_it() {
    for (was, becomes) in [
        ("255u8", "254u8"),
        ("127", "126"),
        ("128i8", "127i8"),
        ("65_535", "65_534"),
        ("2147483647", "2147483646"),
        ("2_147_483_648", "2_147_483_647"),
        ("4294967295", "4294967294"),
        ("9223372036854775807L", "9223372036854775806L"),
        ("18446744073709551615n", "18446744073709551614n"),
        ("340282366920938463463374607431768211455", "340282366920938463463374607431768211454"),
        ("1.7976931348623157e308", "1.7876931348623157e308"),
        ("4'294'967'295", "4'294'967'294"),
        ("0xFFFFFFFF", "0xFFFFFFFe"),
        ("0x7f_u8", "0x7e_u8"),
        ("0xA0", "0xA1"),
        ("0x8a", "0x89"),
        ("0b1111", "0b1110"),
        ("0b1", "0b0"),
        ("0o377", "0o376"),
        ("0377", "0376"),
    ] {
        assert_eq!(other_number(was).as_deref(), Some(becomes), "{was}");
    }
    for (was, becomes) in [
        ("'\\377'", "'\\376'"),
        ("\"\\xff\"", ""),
        ("\"a\\u00ef\"", "\"a\\u01ef\""),
        ("\"é\\u{1F60e}\"", "\"é\\u{1F61e}\""),
        ("\"2026-01-31\"", "\"2026-01-30\""),
    ] {
        assert_eq!(other_text(was).unwrap_or_default(), becomes, "{was}");
    }
}

#[test]
fn a_snapshot_counts_as_one_and_a_table_by_its_rows() {
    let snap = "// Jest Snapshot v1\n\nexports[`adds 1`] = `\"abc\"`;\n";
    check("__snapshots__/a.test.js.snap", snap, &[("a", "q")]);
    let table = "func TestA(t *testing.T) {\n\tfor _, c := range []struct{ a, b int }{\n\t\t{1, 2},\n\t\t{3, 4},\n\t} {\n\t\tif f(c.a) != c.b {\n\t\t\tt.Error(c)\n\t\t}\n\t}\n}\n";
    check("a_test.go", table, &[("2", "1"), ("4", "3")]);
}

#[test]
fn new_tests_come_first_and_each_test_once() {
    let old = "def test_a():\n    assert f() == 1\n    assert g() == 2\n\ndef test_b():\n    assert h() == 3\n";
    let new = format!("{old}\ndef test_c():\n    assert i() == 4\n");
    let file = Candidate { path: "test_a.py", text: &new, start: Some(old), is_read: true };
    let chosen = choose(&[file], &[], 3);
    let values: Vec<&str> = chosen.iter().map(|(_, one)| one.was.as_str()).collect();
    assert_eq!(values, ["4", "1", "3"]);
    assert_eq!(chosen[0].1.describe(), "== 4");
}

#[test]
fn a_test_that_fails_without_the_change_comes_before_all_others() {
    let text = "func TestA(t *testing.T) {\n\tif f() != 1 {\n\t\tt.Error()\n\t}\n}\n\nfunc TestB(t *testing.T) {\n\tclose(t, f(2), 5)\n}\n";
    let file = Candidate { path: "a_test.go", text, start: Some(text), is_read: true };
    let values = |failing: &[&str]| {
        let failing: Vec<String> = failing.iter().map(|name| (*name).to_owned()).collect();
        let chosen = choose(&[file], &failing, 3);
        chosen.into_iter().map(|(_, one)| one.was).collect::<Vec<_>>()
    };
    assert_eq!(values(&[]), ["1"]);
    assert_eq!(values(&["TestB/sub"]), ["5", "1"]);
    // Another test's name begins with it.
    assert_eq!(values(&["Test"]), ["1"]);
    check(
        "tests/test_a.py",
        "def test_a(self):\n    self.assertSeconds('2h', 7200)\n    self.assertTrue(f(1), 'is 1')\n",
        &[("7200", "7201")],
    );
}

#[test]
fn a_script_is_tested_by_functions_of_its_own() {
    let text =
        ". ./lib.sh\ncheck \"a file\" \"$(leaf a/b)\" b\ncheck \"a folder\" \"$(leaf a/c/)\" c\n";
    let file = Candidate { path: "tests/run.sh", text, start: Some(text), is_read: true };
    let chosen = choose(&[file], &["a folder".to_owned()], 3);
    let values: Vec<&str> = chosen.iter().map(|(_, one)| one.was.as_str()).collect();
    assert_eq!(values, ["c"]);
    assert_eq!(chosen[0].1.alter(text), text.replace("\" c", "\" q"));
}
