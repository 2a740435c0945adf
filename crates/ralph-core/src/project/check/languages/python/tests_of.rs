//! The tests that belong to a Python file, and their runner.
//!
//! A test is `test_name.py` or `name_test.py` beside `name.py`, or in `tests/` or `test/` of a
//! parent folder, where the path from there may be mirrored: `tests/sub/test_a.py` for
//! `src/pkg/sub/a.py`.

use std::path::{Path, PathBuf};

use super::super::super::Program;
use super::super::super::parsers::OutputFormat;
use super::super::super::workspace::{Around, ToolCommand};
use super::super::check_builder::CheckBuilder;
use super::super::config_files::{has_table, upward};
use super::super::{folder_of, name_of, said, text_of};

/// Files that mark the folder in which tests run.
const PROJECT: &[&str] =
    &["pyproject.toml", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg", "setup.py"];

/// More files in which a project names its dependencies or its test runner.
const REQUIREMENTS: &[&str] = &[
    "Pipfile",
    "requirements.txt",
    "requirements-dev.txt",
    "requirements_dev.txt",
    "dev-requirements.txt",
    "requirements-test.txt",
    "test-requirements.txt",
];

pub(super) fn wanted(around: &dyn Around, wanted: &mut CheckBuilder) {
    let tests = related(around);
    let Some(first) = tests.first() else { return };
    let text = around.text(first).unwrap_or_default();
    let folder = around.nearest(PROJECT);
    let folder = folder.as_deref().map_or(around.root(), folder_of);
    if uses_pytest(around, folder, &text) {
        pytest(around, folder, &tests, wanted);
    } else if text.contains("unittest") {
        unittest(around, folder, &tests, wanted);
    }
}

/// The tests of a file, all in one folder; the file alone if it is a test.
fn related(around: &dyn Around) -> Vec<PathBuf> {
    let file = around.file();
    let Some(stem) = name_of(file).strip_suffix(".py") else { return Vec::new() };
    if stem.starts_with("test_") || stem.ends_with("_test") {
        return vec![file.to_path_buf()];
    }
    let names = [format!("test_{stem}.py"), format!("{stem}_test.py")];
    let in_folder = |folder: PathBuf| -> Option<Vec<PathBuf>> {
        let paths = names.iter().map(|name| folder.join(name));
        let there: Vec<PathBuf> = paths.filter(|path| around.exists(path)).collect();
        (!there.is_empty()).then_some(there)
    };
    folders(around).find_map(in_folder).unwrap_or_default()
}

/// The folders that may contain the file's tests, nearest first; at the same level, the one that
/// mirrors most of the path.
fn folders(around: &dyn Around) -> impl Iterator<Item = PathBuf> {
    let own = folder_of(around.file());
    let above = upward(around).flat_map(move |folder| {
        let below = own.strip_prefix(folder).unwrap_or(Path::new(""));
        ["tests", "test"].into_iter().flat_map(move |name| mirrored(&folder.join(name), below))
    });
    std::iter::once(own.to_path_buf()).chain(above)
}

/// `tests/src/pkg`, `tests/pkg` and `tests` for `src/pkg`.
fn mirrored(tests: &Path, below: &Path) -> Vec<PathBuf> {
    let n_parts = below.iter().count();
    (0..=n_parts)
        .map(|n_left_out| tests.join(below.iter().skip(n_left_out).collect::<PathBuf>()))
        .collect()
}

/// True if the project mentions pytest anywhere, or if no other runner could run the test.
fn uses_pytest(around: &dyn Around, folder: &Path, test: &str) -> bool {
    let named = |folder: &Path| {
        let mut texts =
            PROJECT.iter().chain(REQUIREMENTS).filter_map(|name| around.text(&folder.join(name)));
        texts.any(|text| text.contains("pytest"))
    };
    let by_test = test.contains("import pytest") || test.contains("from pytest");
    let by_form =
        test.lines().any(|line| line.starts_with("def test") || line.starts_with("async def test"));
    by_test
        || by_form
        || around.nearest(&["conftest.py", "pytest.ini", ".pytest.ini"]).is_some()
        || named(folder)
        || named(around.root())
}

/// `--no-cov`: the tests of one file cannot reach the coverage that a project requires from all of
/// them.
fn pytest(around: &dyn Around, folder: &Path, tests: &[PathBuf], wanted: &mut CheckBuilder) {
    let Some(tool) = pytest_of(around) else {
        let why = "the project uses it and it is not installed; run `pip install pytest`";
        return wanted.lacks("pytest", why);
    };
    let mut program = tool.with(&["-q", "--no-header", "-rfE", "-p", "no:cacheprovider"]);
    if measures_coverage(around, folder) {
        program.line.push("--no-cov".to_owned());
    }
    add_tests(around, folder, tests, &mut program);
    wanted.test("pytest", program, OutputFormat::Pytest).at(folder).because(why(around, tests));
}

/// The project's own pytest: another one would not find the packages of the project's Python.
fn pytest_of(around: &dyn Around) -> Option<ToolCommand> {
    match around.own_tool("python3") {
        Some(_) => around.own_tool("pytest"),
        None => around.tool("pytest"),
    }
}

fn unittest(around: &dyn Around, folder: &Path, tests: &[PathBuf], wanted: &mut CheckBuilder) {
    let Some(python) = around.tool("python3") else { return };
    let mut program = python.with(&["-m", "unittest"]);
    add_tests(around, folder, tests, &mut program);
    wanted.test("unittest", program, OutputFormat::Whole).at(folder).because(why(around, tests));
}

/// Python's compiled files are kept outside the project, so that its tree does not change.
fn add_tests(around: &dyn Around, folder: &Path, tests: &[PathBuf], program: &mut Program) {
    program.line.extend(tests.iter().map(|path| text_of(path)));
    let kept = text_of(&around.kept(&format!("pycache {}", folder.display())));
    program.variables.push(("PYTHONPYCACHEPREFIX".to_owned(), kept));
}

fn measures_coverage(around: &dyn Around, folder: &Path) -> bool {
    let options = ["pyproject.toml", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg"];
    options.iter().filter_map(|name| around.text(&folder.join(name))).any(|text| {
        let is_options = ["tool.pytest", "pytest", "tool:pytest"];
        is_options.iter().any(|table| has_table(&text, table)) && text.contains("--cov")
    })
}

fn why(around: &dyn Around, tests: &[PathBuf]) -> String {
    if tests.iter().any(|test| test == around.file()) {
        return "it is a test".to_owned();
    }
    match tests.iter().map(|test| said(around, test)).collect::<Vec<_>>().as_slice() {
        [one] => format!("{one} belongs to it"),
        several => format!("{} belong to it", several.join(" and ")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::super::CheckMethod;
    use super::super::super::world::FileFixture;
    use super::*;

    /// Finds the tests of a file among these files.
    #[track_caller]
    fn check(file: &str, files: &[&str], expected: &[&str]) {
        let found = related(&FileFixture::edits(file).files(files));
        let expected: Vec<PathBuf> = expected.iter().map(|one| Path::new("/w").join(one)).collect();
        assert_eq!(found, expected, "{file}");
    }

    #[test]
    fn a_test_is_its_own() {
        check("a/test_b.py", &["a/test_test_b.py"], &["a/test_b.py"]);
        check("a/b_test.py", &[], &["a/b_test.py"]);
        check("a/testing.py", &[], &[]);
        check("a/test_b.pyi", &[], &[]);
    }

    #[test]
    fn tests_stand_beside_the_file_or_in_a_folder_of_tests() {
        check("a/b.py", &["a/test_b.py", "a/b_test.py"], &["a/test_b.py", "a/b_test.py"]);
        check("a/b.py", &["a/tests/test_b.py"], &["a/tests/test_b.py"]);
        check("a/b.py", &["a/test/b_test.py"], &["a/test/b_test.py"]);
        check("a/b.py", &["tests/test_b.py"], &["tests/test_b.py"]);
        check("a/b.py", &["test_b.py", "a/tests/test_c.py", "a/c/test_b.py"], &[]);
        check("b.py", &["tests/test_b.py"], &["tests/test_b.py"]);
    }

    #[test]
    fn the_path_may_be_mirrored_from_any_folder_on() {
        check("src/a/b/c.py", &["tests/src/a/b/test_c.py"], &["tests/src/a/b/test_c.py"]);
        check("src/a/b/c.py", &["tests/b/test_c.py"], &["tests/b/test_c.py"]);
        check("src/a/b/c.py", &["src/tests/b/test_c.py"], &["src/tests/b/test_c.py"]);
        check("src/a/b/c.py", &["tests/other/test_c.py"], &[]);
    }

    #[test]
    fn the_nearest_tests_are_meant_and_of_those_the_closest_mirror() {
        let nearest = &["src/a/tests/test_b.py"];
        check("src/a/b.py", &["tests/test_b.py", "src/a/tests/test_b.py"], nearest);
        let mirror = &["tests/a/test_b.py"];
        check("src/a/b.py", &["tests/test_b.py", "tests/a/test_b.py"], mirror);
        check("a/b.py", &["a/tests/test_b.py", "a/test_b.py"], &["a/test_b.py"]);
    }

    /// A test with this text, in a project with this file and with all tools installed.
    #[track_caller]
    fn runner(test: &str, (path, text): (&str, &str), expected: &str) {
        FileFixture::edits("a/test_b.py")
            .file(path, text)
            .file("a/test_b.py", test)
            .on_path(&["pytest", "python3"])
            .plans(&format!("look py_compile @a{expected}"));
    }

    #[test]
    fn pytest_runs_where_the_project_or_the_test_speaks_of_it() {
        let none = ("other", "");
        let case = "import unittest\n";
        runner("import pytest\n", none, " | test pytest");
        runner("from pytest import raises\n", none, " | test pytest");
        runner("def test_a():\n", none, " | test pytest");
        runner("async def test_a():\n", none, " | test pytest");
        runner(case, ("conftest.py", ""), " | test pytest");
        runner(case, ("a/pytest.ini", ""), " | test pytest @a");
        runner(case, ("pyproject.toml", "dev = [\"pytest>=8\"]"), " | test pytest");
        runner(case, ("requirements-dev.txt", "pytest\n"), " | test pytest");
    }

    #[test]
    fn unittest_runs_its_own_cases() {
        runner("import unittest\n", ("other", ""), " | test unittest");
        runner("x = 1\n", ("other", ""), "");
        runner("    def test_a(self):\n", ("other", ""), "");
        let world = FileFixture::edits("a/test_b.py").file("a/test_b.py", "import unittest");
        world.plans("");
        let world = world.on_path(&["python3"]);
        world.runs("unittest", "python3 -m unittest a/test_b.py");
        world.says("unittest", "it is a test");
        assert_eq!(variables(&world, "unittest"), "PYTHONPYCACHEPREFIX=/kept/w");
    }

    #[test]
    fn a_root_that_speaks_of_pytest_does_so_for_its_parts() {
        FileFixture::edits("a/test_b.py")
            .files(&["a/setup.py"])
            .file("requirements.txt", "pytest")
            .on_path(&["pytest"])
            .plans("test pytest @a");
        FileFixture::edits("a/test_b.py")
            .files(&["requirements.txt"])
            .file("a/setup.py", "pytest")
            .on_path(&["pytest"])
            .plans("test pytest @a");
    }

    #[test]
    fn pytest_is_lacking_where_it_is_used_and_not_installed() {
        let world = FileFixture::edits("a/b.py").files(&["conftest.py"]);
        world.plans("");
        let world = world.files(&["tests/test_b.py"]);
        world.plans("lacking pytest");
        world.says(
            "pytest",
            "the project uses it and it is not installed; run `pip install pytest`",
        );
    }

    #[test]
    fn a_project_with_its_own_python_has_its_own_pytest() {
        let world = FileFixture::edits("test_b.py")
            .files(&["conftest.py"])
            .on_path(&["pytest"])
            .installed(".venv/bin/python3");
        world.plans("look py_compile | lacking pytest");
        let world = world.installed(".venv/bin/pytest");
        world.plans("look py_compile | test pytest");
    }

    const PYTEST: &str = "pytest -q --no-header -rfE -p no:cacheprovider";

    #[test]
    fn pytest_leaves_nothing_in_the_project() {
        let world = FileFixture::edits("a/b.py")
            .files(&["a/test_b.py", "a/b_test.py", "conftest.py"])
            .on_path(&["pytest"]);
        world.runs("pytest", &format!("{PYTEST} a/test_b.py a/b_test.py"));
        world.says("pytest", "`a/test_b.py` and `a/b_test.py` belong to it");
        assert_eq!(variables(&world, "pytest"), "PYTHONPYCACHEPREFIX=/kept/w");
    }

    #[test]
    fn what_all_tests_must_cover_is_not_asked_of_some() {
        let line = |path, text, expected: &str| {
            let world = FileFixture::edits("test_a.py").file(path, text).on_path(&["pytest"]);
            world.runs("pytest", &format!("{PYTEST} {expected}test_a.py"));
        };
        line("pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"--cov\"", "--no-cov ");
        line("pytest.ini", "[pytest]\naddopts = --cov=a", "--no-cov ");
        line("setup.cfg", "[tool:pytest]\naddopts = --cov", "--no-cov ");
        line("pytest.ini", "[pytest]\naddopts = -ra", "");
        line("tox.ini", "[testenv]\ncommands = pytest --cov", "");
    }

    fn variables(world: &FileFixture, name: &str) -> String {
        let CheckMethod::Program(program) = world.check(name).by else {
            panic!("{name} is a program")
        };
        let said = program.variables.iter().map(|(name, value)| format!("{name}={value}"));
        said.collect::<Vec<_>>().join(" ")
    }
}
