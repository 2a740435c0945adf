//! The type checkers that the project configures.
//!
//! A checker from outside the project needs the path of the project's Python, because otherwise it
//! cannot find the installed packages and reports every import as an error.

use std::path::Path;

use super::super::super::parsers::OutputFormat;
use super::super::super::workspace::Around;
use super::super::check_builder::CheckBuilder;
use super::super::config_files::{ConfigFiles, configured};
use super::super::text_of;

const PYRIGHT: ConfigFiles =
    ConfigFiles { files: &["pyrightconfig.json"], tables: &[("pyproject.toml", "tool.pyright")] };
const BASEDPYRIGHT: ConfigFiles =
    ConfigFiles { files: &[], tables: &[("pyproject.toml", "tool.basedpyright")] };
const MYPY: ConfigFiles = ConfigFiles {
    files: &["mypy.ini", ".mypy.ini"],
    tables: &[("pyproject.toml", "tool.mypy"), ("setup.cfg", "mypy")],
};

pub(super) fn wanted(around: &dyn Around, wanted: &mut CheckBuilder) {
    pyright(around, PYRIGHT, "pyright", wanted);
    pyright(around, BASEDPYRIGHT, "basedpyright", wanted);
    mypy(around, wanted);
}

fn pyright(around: &dyn Around, places: ConfigFiles, name: &str, wanted: &mut CheckBuilder) {
    let remedy = format!("run `pip install {name}`");
    let Some(found) = configured(around, places, (name, &remedy), wanted) else { return };
    let mut program = found.tool.with(&["--outputjson"]);
    if !["venv", "venvPath"].iter().any(|key| sets(around, &found.folder, key)) {
        program.line.extend(python(around, "--pythonpath"));
    }
    program.line.push(text_of(around.file()));
    wanted.look(name, program, OutputFormat::Pyright).at(&found.folder).because(found.why);
}

fn mypy(around: &dyn Around, wanted: &mut CheckBuilder) {
    let named = ("mypy", "run `pip install mypy`");
    let Some(found) = configured(around, MYPY, named, wanted) else { return };
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
    wanted.look("mypy", program, OutputFormat::Plain).at(&found.folder).because(found.why);
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

#[cfg(test)]
mod tests {
    use super::super::super::world::FileFixture;

    const MYPY_LINE: &str = "--no-error-summary --hide-error-context --show-column-numbers \
                             --no-pretty --cache-dir /kept/";

    #[track_caller]
    fn check(path: &str, text: &str, expected: &str) {
        let tools = &["pyright", "basedpyright", "mypy"];
        FileFixture::edits("a/b/c.py").file(path, text).on_path(tools).plans(expected);
    }

    #[test]
    fn a_type_checker_runs_where_it_is_configured() {
        check("pyrightconfig.json", "", "look pyright");
        check("a/pyproject.toml", "[tool.pyright]", "look pyright @a");
        check("pyproject.toml", "[tool.basedpyright]", "look basedpyright");
        check("a/mypy.ini", "", "look mypy @a");
        check(".mypy.ini", "", "look mypy");
        check("pyproject.toml", "[tool.mypy]", "look mypy");
        check("setup.cfg", "[mypy]", "look mypy");
        check("pyproject.toml", "[project]", "");
    }

    #[test]
    fn it_is_lacking_where_it_is_not_installed() {
        let world = FileFixture::edits("a.py").files(&["pyrightconfig.json", "mypy.ini"]);
        world.plans("lacking pyright | lacking mypy");
        world.says(
            "pyright",
            "`pyrightconfig.json` configures it, but it is not installed; run `pip install \
             pyright`",
        );
    }

    #[test]
    fn pyright_is_told_of_the_project_s_python() {
        let world =
            FileFixture::edits("a/b.py").files(&["pyrightconfig.json"]).on_path(&["pyright"]);
        world.runs("pyright", "pyright --outputjson a/b.py");
        world.says("pyright", "`pyrightconfig.json` configures it");
        let world = world.installed(".venv/bin/python3");
        world.runs("pyright", "pyright --outputjson --pythonpath .venv/bin/python3 a/b.py");
        let world = world.file("pyrightconfig.json", "{\"exclude\": [\".venv\", \"venv\"]}");
        world.runs("pyright", "pyright --outputjson --pythonpath .venv/bin/python3 a/b.py");
    }

    #[test]
    fn pyright_keeps_the_python_that_its_configuration_chooses() {
        let keeps = |path, text| {
            FileFixture::edits("a/b.py")
                .file(path, text)
                .on_path(&["pyright"])
                .installed(".venv/bin/python3")
                .runs("pyright", "pyright --outputjson a/b.py");
        };
        keeps("pyrightconfig.json", "{\"venv\": \"other\"}");
        keeps("pyrightconfig.json", "{\"venvPath\" : \"other\"}");
        keeps("pyproject.toml", "[tool.pyright]\nvenvPath = \"other\"");
    }

    #[test]
    fn mypy_is_told_of_the_project_s_python_and_keeps_its_cache_elsewhere() {
        let world = FileFixture::edits("a/b.py").files(&["mypy.ini"]).on_path(&["mypy"]);
        world.runs("mypy", &format!("mypy {MYPY_LINE}w a/b.py"));
        world.says("mypy", "`mypy.ini` configures it");
        let world = world.installed(".venv/bin/python3");
        world.runs(
            "mypy",
            &format!("mypy {MYPY_LINE}w --python-executable .venv/bin/python3 a/b.py"),
        );
        let world = world.file("mypy.ini", "[mypy]\npython_executable = x");
        world.runs("mypy", &format!("mypy {MYPY_LINE}w a/b.py"));
    }
}
