//! The tests that belong to a Python file, and what runs them.
//!
//! A test is `test_name.py` or `name_test.py` beside `name.py`, or in `tests/` or `test/` of a folder
//! above, where the path from there may be mirrored: `tests/sub/test_a.py` for `src/pkg/sub/a.py`.

use std::path::{Path, PathBuf};

use super::super::super::Program;
use super::super::super::around::Around;
use super::super::super::forms::Form;
use super::super::places::{has_table, upward};
use super::super::wanted::Wanted;
use super::super::{folder_of, name_of, text_of};

/// What marks the folder in which tests are run.
const PROJECT: &[&str] =
    &["pyproject.toml", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg", "setup.py"];

/// The files in which a project names what it needs or how its tests run.
const NAMING: &[&str] = &[
    "pyproject.toml",
    "pytest.ini",
    ".pytest.ini",
    "tox.ini",
    "setup.cfg",
    "setup.py",
    "Pipfile",
    "requirements.txt",
    "requirements-dev.txt",
    "requirements_dev.txt",
    "dev-requirements.txt",
    "requirements-test.txt",
    "test-requirements.txt",
];

pub(super) fn wanted(around: &dyn Around, wanted: &mut Wanted) {
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

/// The folders that may hold the tests of the file, the nearest first, and of those at one height
/// the one that mirrors most of the path.
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

/// True if the project says so anywhere, or the test could be run by nothing else.
fn uses_pytest(around: &dyn Around, folder: &Path, test: &str) -> bool {
    let named = |folder: &Path| {
        let mut texts = NAMING.iter().filter_map(|name| around.text(&folder.join(name)));
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

/// `--no-cov`: one file's tests do not cover what a project asks of all of them.
fn pytest(around: &dyn Around, folder: &Path, tests: &[PathBuf], wanted: &mut Wanted) {
    let Some(tool) = around.tool("pytest") else {
        let why = "the project uses it and it is not installed; run `pip install pytest`";
        return wanted.lacks("pytest", why);
    };
    let mut program = tool.with(&["-q", "--no-header", "-rfE", "-p", "no:cacheprovider"]);
    if measures_coverage(around, folder) {
        program.line.push("--no-cov".to_owned());
    }
    add_tests(around, folder, tests, &mut program);
    wanted.test("pytest", program, Form::Pytest).at(folder).because(why(around, tests));
}

fn unittest(around: &dyn Around, folder: &Path, tests: &[PathBuf], wanted: &mut Wanted) {
    let Some(python) = around.tool("python3") else { return };
    let mut program = python.with(&["-m", "unittest"]);
    add_tests(around, folder, tests, &mut program);
    wanted.test("unittest", program, Form::Whole).at(folder).because(why(around, tests));
}

/// What Python compiles is kept outside the project, so that its tree stays as it is.
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
    let names = tests.iter().map(|test| super::super::said(around, test)).collect::<Vec<_>>();
    format!("{} belongs to it", names.join(" and "))
}
