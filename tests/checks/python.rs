//! Python: ruff, pytest, and mypy where the project wants it.

use crate::Test;
use crate::project::Project;

pub(crate) const TESTS: &[Test] = tests![
    a_finding_of_ruff_is_told_and_the_file_is_formatted,
    a_syntax_error_is_told_once,
    a_related_test_that_fails_is_told_by_name,
    a_type_error_is_told_where_mypy_is_configured,
];

const RUFF: (&str, &str) = ("pyproject.toml", "[tool.ruff]\nline-length = 88\n");

fn a_finding_of_ruff_is_told_and_the_file_is_formatted() {
    let project = Project::of_python(&[RUFF]).patient().looping();
    project
        .write("app.py", "def f( x ):\n    return undefined_name+x\n")
        .says(&[
            "app.py:2:12 error F821 (ruff): Undefined name `undefined_name`",
            "app.py was changed by ruff",
        ])
        .says_nothing_of(&["did not"]);
    assert_eq!(project.read("app.py"), "def f(x):\n    return undefined_name + x\n");
}

fn a_syntax_error_is_told_once() {
    let project = Project::of_python(&[RUFF]).patient().looping();
    let answer = project.write("app.py", "def f(:\n    pass\n");
    let answer = answer.says(&["app.py:1"]).says_nothing_of(&["did not", "ruff format"]);
    assert!(answer.text.lines().count() < 6, "{}", answer.text);
}

fn a_related_test_that_fails_is_told_by_name() {
    let project = Project::of_python(&[
        (
            "pyproject.toml",
            "[tool.pytest.ini_options]\npythonpath = [\"src\"]\ntestpaths = [\"tests\"]\n",
        ),
        ("src/sums.py", "def add(a, b):\n    return a + b\n"),
        (
            "tests/test_sums.py",
            "from sums import add\n\n\ndef test_adds():\n    assert add(1, 2) == 3\n\n\n\
             def test_was_broken_before():\n    assert add(1, 2) == 4\n",
        ),
    ])
    .patient()
    .looping();
    project
        .write("src/sums.py", "def add(a, b):\n    return a - b\n")
        .says(&["tests/test_sums.py", "test_adds", "(pytest)", "1 new error and 1 new warning"])
        .says(&["(it failed before this work, in another way)"])
        .says_nothing_of(&["did not"]);
}

fn a_type_error_is_told_where_mypy_is_configured() {
    let project = Project::of_python(&[("pyproject.toml", "[tool.mypy]\nstrict = true\n")])
        .patient()
        .looping();
    project
        .write("app.py", "def f(x: int) -> str:\n    return x\n")
        .says(&["app.py:2", "return-value", "(mypy)"])
        .says_nothing_of(&["did not"]);
}
