//! Python: the interpreter's own parser, ruff, the project's type checker and formatter, and the
//! tests that belong to the file.
//!
//! Tools leave caches where they run, so their caches are disabled or kept out of the project's
//! tree.

mod format;
mod tests_of;
mod types;

use super::super::CheckKind;
use super::super::parsers::OutputFormat;
use super::super::workspace::Around;
use super::check_builder::CheckBuilder;
use super::config_files::{ConfigFiles, configured_or_there};
use super::text_of;

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

pub(super) fn wanted(around: &dyn Around) -> CheckBuilder {
    let mut wanted = CheckBuilder::new(around);
    lint(around, &mut wanted);
    format::wanted(around, &mut wanted);
    compile(around, &mut wanted);
    types::wanted(around, &mut wanted);
    tests_of::wanted(around, &mut wanted);
    wanted
}

/// The checks for a notebook: ruff reads the Python in its cells. The editing tool keeps its JSON
/// valid.
pub(super) fn notebook(around: &dyn Around) -> CheckBuilder {
    let mut wanted = CheckBuilder::new(around);
    lint(around, &mut wanted);
    wanted
}

/// `--force-exclude`: otherwise ruff checks a file that is named although the project excludes it.
/// F401: an import is often added one edit before its first use, so it is reported and not removed.
fn lint(around: &dyn Around, wanted: &mut CheckBuilder) {
    let named = ("ruff", "run `pip install ruff`");
    let why = "ruff is installed";
    let Some(ruff) = configured_or_there(around, RUFF, named, why, wanted) else { return };
    let file = text_of(around.file());
    let line = ["check", "--fix", "--extend-unfixable", "F401", "--no-cache", "--force-exclude"];
    let arguments = [&line[..], &["--output-format", "json", &file]].concat();
    wanted.run(CheckKind::Fix, "ruff", &ruff, &arguments, OutputFormat::Ruff);
}

/// ruff cannot replace this check: it may be switched off, or accept a newer Python than the
/// project's.
///
/// `-I -S` ignores the project's modules, and `-W ignore` keeps warnings out of the output.
fn compile(around: &dyn Around, wanted: &mut CheckBuilder) {
    let Some(python) = around.tool("python3") else { return };
    let file = text_of(around.file());
    let program = python.with(&["-I", "-S", "-B", "-W", "ignore", "-c", COMPILE, &file]);
    wanted.look("py_compile", program, OutputFormat::Plain).because("it is Python");
}

#[cfg(test)]
mod tests {
    use super::super::super::CheckMethod;
    use super::super::world::FileFixture;
    use super::*;

    #[test]
    fn a_file_is_compiled_by_the_project_s_python() {
        FileFixture::edits("a.py").plans("");
        let world = FileFixture::edits("a/b.py").on_path(&["python3"]);
        world.plans("look py_compile @a");
        world.runs("py_compile", &format!("python3 -I -S -B -W ignore -c {COMPILE} a/b.py"));
        FileFixture::edits("a.pyi").on_path(&["python3"]).plans("look py_compile");
        let world = FileFixture::edits("a.py").on_path(&["python3"]).installed(".venv/bin/python3");
        let CheckMethod::Program(program) = world.check("py_compile").by else {
            panic!("a program")
        };
        assert_eq!(program.line[0], "/w/.venv/bin/python3");
    }

    #[test]
    fn ruff_fixes_wherever_it_is_installed() {
        let world = FileFixture::edits("a/b.py").on_path(&["ruff"]);
        world.plans("fix ruff @a");
        world.runs(
            "ruff",
            "ruff check --fix --extend-unfixable F401 --no-cache --force-exclude --output-format json a/b.py",
        );
        world.says("ruff", "ruff is installed");
    }

    #[test]
    fn ruff_runs_beside_its_configuration() {
        let plans =
            |path, text, expected| FileFixture::edits("a/b.py").file(path, text).plans(expected);
        plans("a/.ruff.toml", "", "lacking ruff");
        plans("pyproject.toml", "[tool.ruff.lint]", "lacking ruff");
        plans("pyproject.toml", "[project]", "");
        let world = FileFixture::edits("a/b/c.py").files(&["a/ruff.toml"]).on_path(&["ruff"]);
        world.plans("fix ruff @a | fix ruff format @a");
        world.says("ruff", "`a/ruff.toml` configures it");
    }

    #[test]
    fn ruff_reads_the_cells() {
        FileFixture::edits("a.ipynb").on_path(&["python3"]).plans("");
        let world = FileFixture::edits("a.ipynb").on_path(&["ruff", "python3", "pytest"]);
        world.plans("fix ruff");
        FileFixture::edits("a.ipynb").files(&["ruff.toml"]).plans("lacking ruff");
    }
}
