//! Which value of an assertion is the expected one, in every form.

use super::tests::check;
use super::*;

#[track_caller]
fn check_lines(path: &str, around: &str, rows: &[(&str, &[(&str, &str)])]) {
    for (line, expected) in rows {
        check(path, &around.replace('%', line), expected);
    }
}

const PYTHON: &str = "def test_a(self):\n    %\n";
const GO: &str = "func TestA(t *testing.T) {\n\t%\n}\n";

#[test]
fn a_value_has_its_place_its_test_and_what_stands_before_it() {
    let text = "def test_a():\n    x = 1\n    assert f() == 'ab'\n";
    let at = text.find("'ab'").unwrap();
    let expected = Literal {
        line: 3,
        test: "def test_a():".to_owned(),
        was: "'ab'".to_owned(),
        becomes: "'aq'".to_owned(),
        operator: "==",
        range: at..at + 4,
    };
    let found = find("test_a.py", text);
    assert_eq!(found, [expected]);
    assert_eq!(found[0].describe(), "== 'ab'");
    assert_eq!(found[0].alter(text), text.replace("'ab'", "'aq'"));
    let told = |path: &str, text: &str| find(path, text)[0].describe();
    assert_eq!(told("a.test.js", "assert(f() === 3)"), "=== 3");
    assert_eq!(told("a.test.js", "expect(f()).toBe(3)"), "3");
    assert_eq!(told("a.test.js", "expect(f()).toBe(`a\nb`)"), "`a b`");
    let long = format!("expect(f()).toBe('{}')", "a".repeat(50));
    assert_eq!(told("a.test.js", &long), format!("'{}…", "a".repeat(38)));
}

#[test]
fn a_word_that_begins_an_assertion_is_known_in_each_language() {
    for word in [
        "assert",
        "assertEquals",
        "ASSERT_EQ",
        "expect",
        "expectTrue",
        "should",
        "Equal",
        "EQUALS",
        "strictEqual",
        "deepEqual",
        "deepStrictEqual",
        "same",
        "CHECK",
        "REQUIRE",
        "CHECK_EQ",
        "REQUIRE_EQ",
        "PASS_REGULAR_EXPRESSION",
    ] {
        assert!(says_assert(word), "{word}");
    }
    for word in ["check", "require", "unassert", "equality", "sames", "f", ""] {
        assert!(!says_assert(word), "{word}");
    }
}

#[test]
fn a_name_that_is_defined_or_imported_asserts_nothing() {
    check_lines(
        "a.test.js",
        "%\n",
        &[
            ("assertIt(f(1) == 3)", &[("3", "2")]),
            ("function assertIt(a = f() == 3) {}", &[]),
            ("const assertIt = f(1) == 3", &[]),
            ("let assertIt = f(1) == 3", &[]),
            ("const a = { assertIt: f(1) == 3 }", &[]),
            ("import { b, assertIt } from 'c1'", &[]),
            ("import assertIt, { d } from 'c1'", &[]),
            ("x.should = f(1) == 3", &[("3", "2")]),
        ],
    );
    for word in ["def", "fn", "func", "function", "import", "use", "from", "const"] {
        check("a.test.js", &format!("{word} assertIt(f(1) == 3)\n"), &[]);
    }
}

#[test]
fn a_condition_that_reports_a_failure_compares() {
    for word in ["Error", "Errorf", "Fatal", "Fatalf"] {
        let line = format!("if f() != 3 {{\n\t\tt.{word}(\"x\")\n\t}}");
        check("a_test.go", &GO.replace('%', &line), &[("3", "2")]);
    }
    check_lines(
        "a_test.go",
        GO,
        &[
            ("if f() == 3 {\n\t\tt.Error()\n\t}", &[]),
            ("if f() != 3 {\n\t\tt.Log()\n\t}", &[]),
            ("if f() != 3 {\n\t}\n\tt.Error()", &[]),
            ("if f() != 3 {\n\t\tif x {\n\t\t\tt.Error()\n\t\t}\n\t}", &[]),
            ("if a := f(); a != 3 {\n\t\tt.Error()\n\t}", &[("3", "2")]),
            ("if f() != 3 && g() {\n\t\tt.Error()\n\t}", &[("3", "2")]),
        ],
    );
    // It is looked for in the next tokens only.
    let far = |n: usize| GO.replace('%', &format!("if f() != 3 {{ {} t.Error() }}", ";".repeat(n)));
    check("a_test.go", &far(30), &[("3", "2")]);
    check("a_test.go", &far(31), &[]);
}

#[test]
fn an_assertion_ends_with_its_line_or_with_what_it_opened() {
    check_lines(
        "a.test.js",
        "%\n",
        &[
            ("assert(f() == 3); g(1) == 4", &[("3", "2")]),
            ("assert f() == 3 && g() == 4", &[("3", "2")]),
            ("assert f() == 3 || g() == 4", &[("3", "2")]),
            ("run(assert x == 3) == 4", &[("3", "2")]),
            ("run[assert x == 3] == 4", &[("3", "2")]),
            ("assert f() == 3 { 4 }", &[("3", "2")]),
            ("assert(f() == 3 && g() == 4)", &[("4", "3")]),
            ("assert.equal([f()\n], 3)", &[("3", "2")]),
            ("assert f() == 3\n4", &[("3", "2")]),
            ("expect(f())\n  .toBe(3)", &[("3", "2")]),
            ("expect(f())\n  .to\n  .equal(3)", &[("3", "2")]),
        ],
    );
    let lines = |n: usize| format!("assert.equal(f(),{}3)\n", "\n".repeat(n));
    check("a.test.js", &lines(LONGEST), &[("3", "2")]);
    check("a.test.js", &lines(LONGEST + 1), &[]);
}

#[test]
fn what_must_not_hold_has_no_expected_value() {
    for word in NEGATIVE {
        check("test_a.py", &PYTHON.replace('%', &format!("assert x_{word}_y(f()) == 3")), &[]);
    }
    for operator in ["<", ">", "<=", ">=", "!=", "!=="] {
        check("test_a.py", &PYTHON.replace('%', &format!("assert f() {operator} 3")), &[]);
    }
    for word in ["ne", "assert_ne", "expect_ne", "assert_lt", "assert_gt"] {
        check("test_a.py", &PYTHON.replace('%', &format!("assert f() == 3, {word}(1)")), &[]);
    }
    check_lines(
        "test_a.py",
        PYTHON,
        &[
            ("assert xy(f()) == 3", &[("3", "2")]),
            ("assert f() == 'not 1'", &[("'not 1'", "'not 2'")]),
            ("assert f() == 'never'", &[("'never'", "'neveq'")]),
        ],
    );
    check_lines(
        "tests/run.sh",
        "%\n",
        &[
            ("./a | grep \"b1\"", &[("\"b1\"", "\"b2\"")]),
            ("./a | grep -q \"-v1\"", &[("\"-v1\"", "\"-v2\"")]),
            ("./a | grep -v \"b1\"", &[]),
            ("./a | grep -qv \"b1\"", &[]),
            ("./a | grep --invert-match \"b1\"", &[]),
            ("[ \"$a\" -ne 3 ]", &[]),
            ("[ \"$a\" -eq 3 ]", &[("3", "2")]),
            ("[ \"$a\" != \"b1\" ]", &[]),
            ("[[ \"$a\" =~ \"b1\" ]]", &[("\"b1\"", "\"b2\"")]),
        ],
    );
}

#[test]
fn what_compares_has_a_word_or_an_operator_for_it() {
    for word in COMPARE.iter().filter(|word| !word.starts_with('_')) {
        check("a.test.js", &format!("assert_{word}(3)\n"), &[("3", "2")]);
    }
    check_lines(
        "a.test.js",
        "%\n",
        &[
            ("assert_eq(3)", &[("3", "2")]),
            ("assertEq(f(), 3)", &[("3", "2")]),
            ("assert_x(3)", &[]),
            ("assert_x(\"equal1\")", &[]),
            ("assert_x(f() = 3)", &[]),
            ("assert_x(3 = f())", &[("3", "2")]),
            ("assert_x(3 === f())", &[("3", "2")]),
            ("assert_x(3 is f())", &[("3", "2")]),
            ("assert_x(3 in f())", &[("3", "2")]),
            ("assert_x(3 eq f())", &[("3", "2")]),
            ("assert_x(3 =~ f())", &[("3", "2")]),
            ("assert_x(3 is_it f())", &[]),
            // Two values and a name of the project's own.
            ("assertSeconds(\"2h\", 7200)", &[("7200", "7201")]),
            ("assertSeconds(7200)", &[]),
            ("expect(\"2h\", 7200)", &[]),
        ],
    );
}

#[test]
fn a_message_behind_the_values_is_none_of_them() {
    for word in ["true", "false", "none", "null", "nil", "instance", "ok"] {
        check("a.test.js", &format!("assert_{word}(f() == 3, 9)\n"), &[("3", "2")]);
    }
    for word in ["Equal", "Eq", "Same", "Almost"] {
        check("a.test.js", &format!("assert_x{word}(f() == g(), 3, 9)\n"), &[("3", "2")]);
    }
    check_lines(
        "a.test.js",
        "%\n",
        &[
            ("assert_sum(f() == 3, 9)", &[("9", "8")]),
            ("assert(f() == 3, 9)", &[("3", "2")]),
            ("assert f() == 3, 9", &[("3", "2")]),
            ("assert_equal(3, f(), 9)", &[("3", "2")]),
            ("assert_equal([1, 2], f(), 9)", &[("2", "1")]),
            ("assert_equal(f(), {a: 1, b: 2})", &[("2", "1")]),
        ],
    );
    check_lines(
        "a_test.go",
        GO,
        &[
            ("assert.Equal(t, f(), 3, \"is 9\")", &[("3", "2")]),
            ("assert.Equal(u, 3, 9)", &[("3", "2")]),
            ("assert.Equal(f(t), 3, 9)", &[("3", "2")]),
        ],
    );
}

#[test]
fn a_bracket_belongs_to_the_assertion_to_a_value_or_to_the_product() {
    for name in ["is", "eq", "equal", "equalTo", "approx", "from", "of", "Some"] {
        check("a.test.js", &format!("assert.deepEqual(f(), {name}(3))\n"), &[("3", "2")]);
    }
    check("a.test.js", "assert.deepEqual(f(), g(3))\n", &[]);
    check("a_test.go", &GO.replace('%', "assert.Equal(t, f(), Some(3))"), &[]);
    for name in ["Close", "Approx", "Within", "Delta"] {
        check("a.test.js", &format!("expect(f()).toBe{name}(2.5, 1)\n"), &[("2.5", "2.4")]);
    }
    check_lines(
        "a.test.js",
        "%\n",
        &[
            ("expect(f()).toBeX(2.5, 1)", &[("1", "2")]),
            ("expect(f()).to.be.equal(3)", &[("3", "2")]),
            ("expect(g(3)).to.equal(h)", &[]),
            ("assert.equal(f(1)[0], 3)", &[("3", "2")]),
            ("assert.equal(3, g.add(4).h(5))", &[("3", "2")]),
            ("assert.equal(f(), [3, 4])", &[("4", "3")]),
            ("expect(f()).toBe(approx(2.5, 1))", &[("2.5", "2.4")]),
            ("expect(3).toBe(f([4]))", &[("3", "2")]),
            ("expect(f(1)).toEqual(a\n.b(4))", &[]),
        ],
    );
    check("tests/a.rs", "#[test]\nfn a() {\n    assert_eq!(f(1), g!(3));\n}\n", &[]);
    check("tests/a.rs", "#[test]\nfn a() {\n    assert_eq!(f(1), E::Some(3));\n}\n", &[("3", "2")]);
}

#[test]
fn an_index_an_option_a_key_and_a_variable_are_not_expected() {
    check_lines(
        "test_a.py",
        PYTHON,
        &[
            ("assert f() == xs[0]", &[]),
            ("assert f() == g()[0]", &[]),
            ("assert f() == xs[i][0]", &[]),
            ("assert f() == [3]", &[("3", "2")]),
            ("assert f() == (a=3)", &[]),
            ("self.assertEqual(f(), {\"a1\": x})", &[]),
            ("self.assertEqual(f(), {1: x})", &[("1", "2")]),
            ("assert f() is True", &[("True", "False")]),
            ("assert f() is False", &[("False", "True")]),
            ("assert f() == true", &[("true", "false")]),
            ("assert f() == false", &[("false", "true")]),
            ("assert f() == wanted", &[]),
            ("assert f('b') in 'a1'", &[]),
        ],
    );
    check_lines(
        "tests/run.sh",
        "%\n",
        &[
            ("[ \"$a\" = b1 ]", &[("b1", "b2")]),
            ("[ \"$a\" == b1 ]", &[("b1", "b2")]),
            ("[ b1 = \"$a\" ]", &[]),
            ("[ 3 = \"$a\" ]", &[("3", "2")]),
            ("[ \"$a\" = $b ]", &[]),
            ("[ \"$a\" = b ] && [ \"$c\" = d1 ]", &[("b", "q"), ("d1", "d2")]),
            ("test \"$a\" = b || exit 5", &[("b", "q")]),
            ("./a && test \"$a\" = b", &[("b", "q")]),
            ("echo test x = b1", &[]),
            ("assert", &[]),
            ("assert x", &[("x", "q")]),
            ("assert_equal 3 $x", &[("3", "2")]),
            ("assert_equal 3 \"$(f)\" \"$x\"", &[]),
            ("assert_equal a \"$(f)\" \"b1\"", &[("\"b1\"", "\"b2\"")]),
        ],
    );
}

#[test]
fn the_rows_of_a_table_have_two_values_at_least() {
    check_lines(
        "a_test.go",
        "var cases = []int{\n%\n}\n",
        &[
            ("{1, 2},", &[("2", "1")]),
            ("(\"a\", 1),\n\n[3, 4],", &[("1", "2"), ("4", "3")]),
            ("{1},", &[]),
            ("{1, 2}", &[]),
            ("a, 1, 2,", &[]),
            ("{},", &[]),
            (",", &[]),
        ],
    );
}

#[test]
fn the_line_of_a_test_is_known_in_each_language() {
    for line in [
        "def test_a():",
        "  async def test_a():",
        "fn a() {",
        "pub fn a() {",
        "async fn a() {",
        "func TestA(t",
        "TEST(A, B) {",
        "SCENARIO(\"a\") {",
        "@test \"a\" {",
        "it('a', () => {",
        "it.each([])",
        "test('a', () => {",
        "test.only('a')",
        "it \"a\" do",
        "it 'a' do",
        "test \"a\" do",
        "test 'a' do",
        "xit('a')",
        "xtest('a')",
        "specify 'a' do",
        "public function testA()",
        "public void testA()",
        "BOOST_AUTO_TEST_CASE(a) test_case(a)",
        "#[test]",
        "test_a() {",
    ] {
        assert!(is_heading(line), "{line}");
    }
    for line in [
        "def a():",
        "func a(t",
        "expect('it(')",
        "test_a = 3",
        "a_test_b()",
        "void a()",
        "function a()",
        "#[tests]",
        "",
    ] {
        assert!(!is_heading(line), "{line}");
    }
}

#[test]
fn a_test_is_skipped_by_the_lines_above_it_its_own_line_and_its_body() {
    let python = |above: &str| format!("{above}def test_a(self):\n    self.assertEqual(f(), 3)\n");
    let some = &[("3", "2")][..];
    for (above, expected) in [
        ("", some),
        ("# skip\n", &[]),
        ("@skip\n@b\n@c\n", &[]),
        ("@skip\n@b\n@c\n@d\n", some),
        ("@skip\n\n", some),
        ("skip()\n", some),
        ("    [Ignore]\n", &[]),
        ("// todo: it fails\n", &[]),
        ("@pytest.mark.xfail\n", &[]),
        ("@Disabled\n", &[]),
        ("@unittest.expectedFailure\n", &[]),
        ("@other\n", some),
    ] {
        check("test_a.py", &python(above), expected);
    }
    for (heading, expected) in [
        ("it('skips')", some),
        ("it.skip('a')", &[]),
        ("it.todo('a')", &[]),
        ("it.failing('a')", &[]),
        ("xit('a')", &[]),
        ("TEST(A, DISABLED_B)", &[]),
        ("test('xit')", some),
    ] {
        check("a.test.js", &format!("{heading}\n  expect(f()).toBe(3);\n"), expected);
    }
    // In its body before the value only.
    let go = |before: &str, after: &str| {
        GO.replace('%', &format!("{before}assert.Equal(t, f(), 3)\n{after}"))
    };
    check("a_test.go", &go("t.SkipNow()\n\t", ""), &[]);
    check("a_test.go", &go("", "\tt.SkipNow()\n"), some);
    let long = format!("it('{}', () => {{\n  expect(f()).toBe(3);\n", "a".repeat(200));
    assert_eq!(find("a.test.js", &long)[0].test.encode_utf16().count(), 120);
    let script = "# it\n  [ \"$a\" = b ] # c\n";
    assert_eq!(find("tests/run.sh", script)[0].test, "[ \"$a\" = b ] # c");
    assert_eq!(find("a.test.js", "\nassert(f() == 3)\n")[0].test, "");
}

#[test]
fn the_values_of_a_source_of_the_product_are_those_of_its_tests() {
    let source =
        "fn f() {\n    assert_eq!(g(), 3);\n}\n#[test]\nfn a() {\n    assert_eq!(g(), 4);\n}\n";
    check("src/a.rs", source, &[("4", "3")]);
    let vitest = "assert(g() == 3);\nif (import.meta.vitest) {\n  it('a', () => {\n    assert(g() == 4);\n  });\n}\n";
    check("src/a.ts", vitest, &[("4", "3")]);
    let rows = "const A: X = [\n    (1, 2),\n];\n#[test]\nfn a() {\n    for x in [\n        (3, 4),\n    ] {}\n}\n";
    check("src/a.rs", rows, &[("4", "3")]);
}

#[test]
fn the_first_letter_of_a_snapshot_that_is_no_escape_is_changed() {
    let found = |text: &str| {
        find("__snapshots__/a.snap", text).first().map(|one| {
            (one.line, one.test.clone(), one.was.clone(), one.becomes.clone(), one.range.clone())
        })
    };
    let text = "// Jest\n\nexports[`adds 1`] = `\\n$x é2`;\n";
    let at = text.find('2').unwrap();
    let own = |line, was: &str, becomes: &str, at| {
        Some((line, "snapshot".to_owned(), was.to_owned(), becomes.to_owned(), at..at + 1))
    };
    assert_eq!(found(text), own(3, "2", "1", at));
    assert_eq!(found("é 11\n"), own(1, "1", "2", 3));
    assert_eq!(found("\n--\n"), None);
}

#[test]
fn a_test_is_found_by_its_whole_name() {
    for (heading, name, expected) in [
        ("def test_adds():", "test_adds", true),
        ("def test_adds_up():", "test_adds", false),
        ("def my_test_adds():", "test_adds", false),
        ("test_adds_up test_adds", "test_adds", true),
        ("adds", "adds", true),
        ("éadds", "adds", false),
        ("adds1", "adds", false),
        ("adds", "", false),
        ("", "", false),
    ] {
        assert_eq!(is_named(heading, name), expected, "{heading}: {name}");
    }
    for (name, expected) in [
        ("tests/test_a.py::test_b[1]", "test_b"),
        ("TestA/sub", "TestA"),
        ("suite › inner › title", "title"),
        ("suite > title", "title"),
        ("a::b::c", "c"),
        ("[x", "[x"),
        ("plain", "plain"),
    ] {
        assert_eq!(function(name), expected, "{name}");
    }
}

#[test]
fn a_function_of_the_tests_is_given_the_expected_value_last() {
    let helped = |path: &str, text: &str, tests: &[&str]| {
        let file = Candidate { path, text, start: None, is_read: true };
        let tests: Vec<String> = tests.iter().map(|name| (*name).to_owned()).collect();
        let found = by_helpers(&file, &tests);
        found.into_iter().map(|one| one.was).collect::<Vec<_>>()
    };
    for (line, expected) in [
        ("close(t, f(2), 5)", &["5"][..]),
        ("close(t, 2, 5)", &[]),
        ("close(t, 5, f(2))", &[]),
        ("close(t, f(2), wanted)", &[]),
        ("close(f(2), 4) + 5", &["4"]),
        ("close(f(2), 3, 4)", &["4"]),
        ("close(g(3), f(2), 4)", &["4"]),
        ("func close(f(2), 4)", &[]),
        ("x = close(f(2), [3, 4])", &["4"]),
        ("f(2), 4", &[]),
    ] {
        let text = GO.replace('%', line);
        assert_eq!(helped("a_test.go", &text, &["TestA"]), expected, "{line}");
        assert_eq!(helped("a_test.go", &text, &["TestB"]), [""; 0], "{line}");
        assert_eq!(helped("a_test.go", &text, &[]), [""; 0], "{line}");
        assert_eq!(helped("golden/a_test.go", &text, &["TestA"]), [""; 0], "{line}");
    }
    let script = "check \"a\" b\nsudo check \"$(f)\" c\n\ncheck \"$out\" d\n";
    assert_eq!(helped("run.sh", script, &["check"]), ["c"]);
}

#[test]
fn values_are_chosen_by_their_rank_and_not_more_than_asked_for() {
    let test =
        |name: &str, value: u8| format!("def test_{name}():\n    assert f() == {value}{value}\n");
    let old = test("a", 1);
    let first = [old.clone(), test("b", 2), test("c", 3)].concat();
    let second = test("d", 4);
    let file = |path, text, start, is_read| Candidate { path, text, start, is_read };
    let files = [
        file("test_a.py", first.as_str(), Some(old.as_str()), true),
        file("test_b.py", second.as_str(), None, true),
    ];
    let values = |files: &[Candidate<'_>], most: usize| {
        let chosen = choose(files, &[], most);
        chosen.into_iter().map(|(at, one)| format!("{at} {}", one.was)).collect::<Vec<_>>()
    };
    assert_eq!(values(&files, 9), ["0 22", "1 44", "0 33", "0 11"]);
    assert_eq!(values(&files, 1), ["0 22"]);
    assert_eq!(values(&files, 0), [""; 0]);
    let unread = [Candidate { is_read: false, ..files[0] }, files[1]];
    assert_eq!(values(&unread, 2), ["1 44", "0 22"]);
    // Without named tests each line is one.
    let script = "assert(f() == 1); assert(f() == 2);\nassert(f() == 3);\n";
    assert_eq!(values(&[file("a.test.js", script, None, true)], 9), ["0 1", "0 3"]);
}

#[test]
fn another_letter_is_of_the_same_kind() {
    for (before, letter, expected) in [
        (None, '0', '1'),
        (None, '1', '2'),
        (Some('0'), '1', '2'),
        (Some('1'), '1', '0'),
        (Some('9'), '1', '0'),
        (None, '2', '1'),
        (Some('5'), '9', '8'),
        (None, 'q', 'z'),
        (None, 'a', 'q'),
        (None, 'z', 'q'),
        (None, 'Q', 'Z'),
        (None, 'A', 'Q'),
        (None, 'Z', 'Q'),
    ] {
        assert_eq!(other(before, letter), expected, "{letter}");
    }
    for (was, becomes) in [
        ("0b0", Some("0b1")),
        ("0B10", Some("0B11")),
        ("0X1F", Some("0X1e")),
        ("0xa", Some("0x9")),
        ("0xb_u8", Some("0xa_u8")),
        ("0O7", Some("0O6")),
        ("1.25", Some("1.24")),
        ("1.255", Some("1.245")),
        ("1.", Some("2.")),
        ("0x", None),
    ] {
        assert_eq!(other_number(was).as_deref(), becomes, "{was}");
    }
    for (was, becomes) in [
        ("\"uab\"", Some("\"uaq\"")),
        ("\"\\xagb\"", Some("\"\\xagq\"")),
        ("\"\\xab\"", None),
        ("\"\\U0001F60e\"", Some("\"\\U0001F61e\"")),
        ("\"\\\\n\"", Some("\"\\\\q\"")),
        ("\"\\\\\\n\"", None),
        ("\"{ab}\"", Some("\"{aq}\"")),
        ("`a${b{c}d}`", Some("`q${b{c}d}`")),
        ("\"a#{b}\"", Some("\"q#{b}\"")),
        ("$\"a{b}\"", Some("$\"q{b}\"")),
        ("F'a{b}'", Some("F'q{b}'")),
        ("f'a}b'", Some("f'a}q'")),
        ("f'{x}b'", Some("f'{x}q'")),
        ("f'{x{y}}b'", Some("f'{x{y}}q'")),
        ("'{x}'", Some("'{q}'")),
        ("r\"é\"", None),
        ("b'a%d$e'", Some("b'q%d$e'")),
        ("word", Some("worq")),
    ] {
        assert_eq!(other_text(was).as_deref(), becomes, "{was}");
    }
    assert_eq!(line_starts("a\n\nb"), [0, 2, 3]);
}
