//! Python: the interpreter's own parser, ruff, the project's type checker and formatter, and the
//! tests that belong to the file.

use super::super::CheckKind::{Fix, Look, Test};
use super::super::Program;
use super::super::parsers::OutputFormat;
use super::super::workspace::{Around, ToolCommand};
use super::{
    CheckBuilder, ConfigFiles, configured, folder_of, has, has_table, name_of, nearest, said,
    text_of, upward,
};
use std::path::{Path, PathBuf};

// Tools leave caches where they run, so their caches are disabled or kept out of the project's
// tree.

const RUFF: ConfigFiles =
    ConfigFiles { files: &["ruff.toml", ".ruff.toml"], tables: &[("pyproject.toml", "tool.ruff")] };

/// Compiles a file and writes nothing: `py_compile` would leave a `__pycache__` beside it. Errors
/// are printed in the format of other tools; a traceback would show this script too.
const COMPILE: &str = r#"import sys
f = sys.argv[1]
try:
    compile(open(f, "rb").read(), f, "exec", dont_inherit=True)
except (SyntaxError, ValueError) as e:
    at = (f, getattr(e, "lineno", 1) or 1, getattr(e, "offset", 1) or 1)
    sys.exit("%s:%s:%s: error: %s: %s" % (at + (type(e).__name__, getattr(e, "msg", e))))
"#;

pub(super) fn wanted(around: &dyn Around, wanted: &mut CheckBuilder) {
    lint(around, wanted);
    format(around, wanted);
    compile(around, wanted);
    types(around, wanted);
    tests_of(around, wanted);
}

/// The checks for a notebook: ruff reads the Python in its cells. The editing tool keeps its JSON
/// valid.
pub(super) fn notebook(around: &dyn Around, wanted: &mut CheckBuilder) {
    lint(around, wanted);
}

/// `--force-exclude`: otherwise ruff checks a file that is named although the project excludes it.
/// F401: an import is often added one edit before its first use, so it is reported and not removed.
fn lint(around: &dyn Around, wanted: &mut CheckBuilder) {
    let (remedy, why) = ("run `pip install ruff`", Some("ruff is installed"));
    let Some(ruff) = configured(around, RUFF, "ruff", remedy, why, wanted) else { return };
    let file = text_of(around.file());
    let line = ["check", "--fix", "--extend-unfixable", "F401", "--no-cache", "--force-exclude"];
    let arguments = [&line[..], &["--output-format", "json", &file]].concat();
    wanted.run(Fix, "ruff", &ruff, &arguments, OutputFormat::Ruff);
}

/// ruff cannot replace this check: it may be switched off, or accept a newer Python than the
/// project's.
///
/// `-I -S` ignores the project's modules, and `-W ignore` keeps warnings out of the output.
fn compile(around: &dyn Around, wanted: &mut CheckBuilder) {
    let Some(python) = around.tool("python3") else { return };
    let file = text_of(around.file());
    let program = python.with(&["-I", "-S", "-B", "-W", "ignore", "-c", COMPILE, &file]);
    wanted.add(Look, "py_compile", program, OutputFormat::Plain).because("it is Python");
}

// Formats a Python file with one formatter, and only if the project uses one.
//
// Any other formatter would rewrite every line of the project's files, so a configuration of
// ruff's linter alone counts only if nothing names another formatter.

const RUFF_FORMAT: ConfigFiles = ConfigFiles {
    files: &[],
    tables: &[
        ("pyproject.toml", "tool.ruff.format"),
        ("ruff.toml", "format"),
        (".ruff.toml", "format"),
    ],
};
const BLACK: ConfigFiles = ConfigFiles { files: &[], tables: &[("pyproject.toml", "tool.black")] };
const OTHERS: ConfigFiles = ConfigFiles {
    files: &[".style.yapf"],
    tables: &[
        ("pyproject.toml", "tool.yapf"),
        ("pyproject.toml", "tool.autopep8"),
        ("setup.cfg", "yapf"),
    ],
};

const PRE_COMMIT: &str = ".pre-commit-config.yaml";

fn format(around: &dyn Around, wanted: &mut CheckBuilder) {
    let of_ruff = || nearest(around, RUFF_FORMAT).or_else(|| hook(around, "ruff-format"));
    let of_black = || nearest(around, BLACK).or_else(|| hook(around, "black"));
    let by_default = || nearest(around, OTHERS).is_none().then(|| nearest(around, RUFF))?;
    if let Some(by) = of_ruff() {
        ruff(around, &by, wanted);
    } else if let Some(by) = of_black() {
        black(around, &by, wanted);
    } else if let Some(by) = by_default() {
        ruff(around, &by, wanted);
    }
}

/// The pre-commit configuration that contains a hook with this id.
fn hook(around: &dyn Around, id: &str) -> Option<PathBuf> {
    // `- id: black`, with or without quotes or a comment.
    let names = format!(r#"^\s*(?:- +)?id:\s*["']?{id}["']?(?:\s|$)"#);
    upward(around)
        .map(|folder| folder.join(PRE_COMMIT))
        .find(|path| around.text(path).is_some_and(|text| has(&text, &names)))
}

/// If ruff is missing, its lint check reports that.
fn ruff(around: &dyn Around, by: &Path, wanted: &mut CheckBuilder) {
    let Some(tool) = around.tool("ruff") else { return };
    let line = ["format", "--quiet", "--no-cache", "--force-exclude", &text_of(around.file())];
    wanted
        .add(Fix, "ruff format", tool.with(&line), OutputFormat::Whole)
        .at(folder_of(by))
        .because(format!("{} names it", said(around, by)));
}

fn black(around: &dyn Around, by: &Path, wanted: &mut CheckBuilder) {
    let remedy = "run `pip install black`";
    let Some(black) = wanted.configured(around, "black", by, remedy) else { return };
    let arguments = ["--quiet", &text_of(around.file())];
    wanted
        .run(Fix, "black", &black, &arguments, OutputFormat::Whole)
        .because(format!("{} names it", said(around, by)));
}

// The type checkers that the project configures.
//
// A checker from outside the project needs the path of the project's Python, because otherwise it
// cannot find the installed packages and reports every import as an error.

const PYRIGHT: ConfigFiles =
    ConfigFiles { files: &["pyrightconfig.json"], tables: &[("pyproject.toml", "tool.pyright")] };
const BASEDPYRIGHT: ConfigFiles =
    ConfigFiles { files: &[], tables: &[("pyproject.toml", "tool.basedpyright")] };
const MYPY: ConfigFiles = ConfigFiles {
    files: &["mypy.ini", ".mypy.ini"],
    tables: &[("pyproject.toml", "tool.mypy"), ("setup.cfg", "mypy")],
};

fn types(around: &dyn Around, wanted: &mut CheckBuilder) {
    pyright(around, PYRIGHT, "pyright", wanted);
    pyright(around, BASEDPYRIGHT, "basedpyright", wanted);
    mypy(around, wanted);
}

fn pyright(around: &dyn Around, places: ConfigFiles, name: &str, wanted: &mut CheckBuilder) {
    let remedy = format!("run `pip install {name}`");
    let Some(found) = configured(around, places, name, &remedy, None, wanted) else { return };
    let mut program = found.tool.with(&["--outputjson"]);
    if !["venv", "venvPath"].iter().any(|key| sets(around, &found.folder, key)) {
        program.line.extend(python(around, "--pythonpath"));
    }
    program.line.push(text_of(around.file()));
    wanted.add(Look, name, program, OutputFormat::Pyright).at(&found.folder).because(found.why);
}

fn mypy(around: &dyn Around, wanted: &mut CheckBuilder) {
    let remedy = "run `pip install mypy`";
    let Some(found) = configured(around, MYPY, "mypy", remedy, None, wanted) else { return };
    let cache = text_of(&around.kept(&format!("mypy {}", found.folder.display())));
    let mut program = found.tool.with(&[
        "--no-error-summary",
        "--hide-error-context",
        "--show-column-numbers",
        "--no-pretty",
        "--cache-dir",
        &cache,
    ]);
    if !sets(around, &found.folder, "python_executable") {
        program.line.extend(python(around, "--python-executable"));
    }
    program.line.push(text_of(around.file()));
    wanted.add(Look, "mypy", program, OutputFormat::Plain).at(&found.folder).because(found.why);
}

/// The project's own Python as an option; empty if there is none or it is started through a runner.
fn python(around: &dyn Around, option: &str) -> Vec<String> {
    match around.own_tool("python3").map(|python| python.line).as_deref() {
        Some([python]) => vec![option.to_owned(), python.clone()],
        _ => Vec::new(),
    }
}

/// True if a configuration in this folder sets the key and so selects a Python itself. The word
/// alone is not enough: it may be in the list of excluded folders.
fn sets(around: &dyn Around, folder: &Path, key: &str) -> bool {
    let files = ["pyrightconfig.json", "mypy.ini", ".mypy.ini", "pyproject.toml", "setup.cfg"];
    let mut texts = files.iter().filter_map(|name| around.text(&folder.join(name)));
    texts.any(|text| {
        let text = text.replace([' ', '\t', '"'], "");
        text.contains(&format!("{key}=")) || text.contains(&format!("{key}:"))
    })
}

// The tests that belong to a Python file, and their runner.
//
// A test is `test_name.py` or `name_test.py` beside `name.py`, or in `tests/` or `test/` of a
// parent folder, where the path from there may be mirrored: `tests/sub/test_a.py` for
// `src/pkg/sub/a.py`.

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

fn tests_of(around: &dyn Around, wanted: &mut CheckBuilder) {
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
    wanted
        .add(Test, "pytest", program, OutputFormat::Pytest)
        .at(folder)
        .because(why(around, tests));
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
    wanted
        .add(Test, "unittest", program, OutputFormat::Whole)
        .at(folder)
        .because(why(around, tests));
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
mod tests;
