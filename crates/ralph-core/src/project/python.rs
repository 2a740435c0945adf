//! Python projects: pytest, and the type checker or linter that the project configures.

use super::{EcosystemCommands, RootFiles};

const MANIFESTS: [&str; 8] = [
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "tox.ini",
    "pytest.ini",
    "Pipfile",
    "requirements.txt",
    "requirements-dev.txt",
];

pub(super) fn find(files: &RootFiles<'_>) -> EcosystemCommands {
    if !files.has_any(&MANIFESTS) {
        return EcosystemCommands::default();
    }
    let run = runner(files);
    EcosystemCommands {
        tests: has_tests(files).then(|| format!("{run}pytest")),
        check: checker(files).map(|tool| format!("{run}{tool}")),
    }
}

fn has_tests(files: &RootFiles<'_>) -> bool {
    let configured = files.has_any(&["pytest.ini", ".pytest.ini", "conftest.py"])
        || files.says("pyproject.toml", "[tool.pytest")
        || files.says("setup.cfg", "[tool:pytest]")
        || files.says("tox.ini", "[pytest]");
    configured || files.has_any(&["tests", "test"])
}

fn checker(files: &RootFiles<'_>) -> Option<&'static str> {
    let tool = |section: &str| files.says("pyproject.toml", section);
    if files.has_any(&["mypy.ini", ".mypy.ini"])
        || tool("[tool.mypy")
        || files.says("setup.cfg", "[mypy")
    {
        Some("mypy .")
    } else if files.has("pyrightconfig.json") || tool("[tool.pyright") {
        Some("pyright")
    } else if files.has_any(&["ruff.toml", ".ruff.toml"]) || tool("[tool.ruff") {
        Some("ruff check .")
    } else {
        None
    }
}

/// The prefix that runs a tool in the project's own environment.
fn runner(files: &RootFiles<'_>) -> &'static str {
    let managed = [
        ("uv.lock", "uv run "),
        ("poetry.lock", "poetry run "),
        ("pdm.lock", "pdm run "),
        ("Pipfile.lock", "pipenv run "),
        ("Pipfile", "pipenv run "),
        (".venv", ".venv/bin/python -m "),
        ("venv", "venv/bin/python -m "),
    ];
    managed.iter().find(|(name, _)| files.has(name)).map_or("python3 -m ", |(_, run)| run)
}
