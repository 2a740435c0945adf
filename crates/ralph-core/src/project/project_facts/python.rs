//! Python: `pyproject.toml`, or else `setup.cfg`, `Pipfile` and the files of requirements.

use super::{Fact, FileFormat, Project, shape, show};
use serde_json::Value;

/// What says which program manages the environment: its lock file, or its table under `tool`.
const MANAGERS: [(&str, &str, &str); 5] = [
    ("uv", "uv.lock", "uv"),
    ("poetry", "poetry.lock", "poetry"),
    ("pdm", "pdm.lock", "pdm"),
    ("pipenv", "Pipfile.lock", "pipenv"),
    ("hatch", "hatch.toml", "hatch"),
];

pub(super) fn fact(project: &dyn Project) -> Option<Fact> {
    match project.document("pyproject.toml", FileFormat::Toml).filter(Value::is_object) {
        Some(document) => of_pyproject(project, &document),
        None => older(project),
    }
}

fn of_pyproject(project: &dyn Project, document: &Value) -> Option<Fact> {
    let (stated, poetry) = (&document["project"], &document["tool"]["poetry"]);
    let mut told = Vec::new();
    if let Some(name) = stated["name"].as_str().or_else(|| poetry["name"].as_str()) {
        told.push(show::quoted(name));
    }
    let python = stated["requires-python"].as_str();
    if let Some(python) = python.or_else(|| poetry["dependencies"]["python"].as_str()) {
        told.push(format!("python {}", show::quoted(python)));
    }
    told.extend(manager(project, document));
    if let Some(backend) = document["build-system"]["build-backend"].as_str() {
        told.push(format!("built with {}", show::quoted(backend)));
    }
    let mut lines = scripts(&stated["scripts"]);
    lines.extend(scripts(&poetry["scripts"]));
    lines.extend(line("dependencies", shape::texts(&stated["dependencies"]), 25));
    lines.extend(line("dependencies", requirements_of(poetry), 25));
    lines.extend(groups(&stated["optional-dependencies"], "optional"));
    lines.extend(groups(&document["dependency-groups"], "group"));
    for (name, group) in shape::members(&poetry["group"]).take(8) {
        let heading = format!("group {}", show::quoted(name));
        lines.extend(line(&heading, requirements_of(group), 10));
    }
    lines.extend(line("configured tools", shape::names(&document["tool"]), 16));
    // Many a project has only its build system here, and all else where it always was.
    if !stated.is_object() && !poetry.is_object() {
        lines.extend(older(project).map(|fact| fact.lines).unwrap_or_default());
    }
    let says_something = !told.is_empty() || !lines.is_empty();
    says_something.then(|| Fact { heading: with("pyproject.toml", &told), lines })
}

fn with(file: &str, told: &[String]) -> String {
    match told {
        [] => file.to_owned(),
        told => format!("{file}: {}", told.join(", ")),
    }
}

fn manager(project: &dyn Project, document: &Value) -> Option<String> {
    let entries = project.folder("").unwrap_or_default().entries;
    let has = |name: &str| entries.iter().any(|entry| entry.name == name);
    let locked = MANAGERS.iter().find(|(_, lock, _)| has(lock));
    let configured = || MANAGERS.iter().find(|(.., tool)| document["tool"][*tool].is_object());
    let (name, ..) = locked.or_else(configured)?;
    Some(format!("managed with {name}"))
}

fn scripts(scripts: &Value) -> Vec<String> {
    let calls = shape::members(scripts).filter_map(|(name, call)| Some((name, call.as_str()?)));
    let mut lines = show::pairs(calls, 8);
    if !lines.is_empty() {
        lines.insert(0, "scripts:".to_owned());
    }
    lines
}

fn groups(groups: &Value, kind: &str) -> Vec<String> {
    shape::members(groups)
        .take(8)
        .filter_map(|(name, wanted)| {
            line(&format!("{kind} {}", show::quoted(name)), shape::texts(wanted), 10)
        })
        .collect()
}

/// Poetry's table of names and versions. Python itself is told elsewhere.
fn requirements_of(table: &Value) -> Vec<&str> {
    let mut names = shape::names(&table["dependencies"]);
    names.retain(|name| *name != "python");
    names
}

fn line(heading: &str, texts: Vec<&str>, most: usize) -> Option<String> {
    (!texts.is_empty()).then(|| format!("{heading}: {}", show::list(texts, most)))
}

/// A project from before `pyproject.toml`.
fn older(project: &dyn Project) -> Option<Fact> {
    let mut found = Vec::new();
    let mut lines = Vec::new();
    if let Some(text) = project.text("setup.cfg") {
        let wanted = setting(&text, "options", "install_requires");
        let python = setting(&text, "options", "python_requires");
        let name = setting(&text, "metadata", "name");
        if !(wanted.is_empty() && python.is_empty() && name.is_empty()) {
            found.push("setup.cfg".to_owned());
        }
        lines.extend(line("name", name, 1));
        lines.extend(line("python", python, 1));
        lines.extend(line("dependencies", wanted, 25));
    }
    if let Some(pipfile) = project.document("Pipfile", FileFormat::Toml) {
        found.push("Pipfile".to_owned());
        lines.extend(line("packages", shape::names(&pipfile["packages"]), 25));
        lines.extend(line("dev-packages", shape::names(&pipfile["dev-packages"]), 15));
    }
    let entries = project.folder("").unwrap_or_default().entries;
    let is_list = |name: &&str| name.starts_with("requirements") && name.ends_with(".txt");
    for name in entries.iter().map(|entry| entry.name.as_str()).filter(is_list).take(4) {
        let text = project.text(name).unwrap_or_default();
        let wanted: Vec<&str> = text.lines().filter_map(requirement).collect();
        lines.extend(line(&show::quoted(name), wanted, 20));
    }
    let heading = match found.is_empty() {
        true => "python requirements".to_owned(),
        false => found.join(", "),
    };
    (!lines.is_empty()).then_some(Fact { heading, lines })
}

/// The lines of a setting: on its own line, or indented below it.
fn setting<'a>(text: &'a str, section: &str, key: &str) -> Vec<&'a str> {
    let (mut is_section, mut is_key) = (false, false);
    let mut values = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('[') {
            is_section = name.trim_end() == format!("{section}]");
            is_key = false;
        } else if is_section && !line.starts_with([' ', '\t']) {
            let stated = line.split_once('=').filter(|(name, _)| name.trim() == key);
            is_key = stated.is_some();
            values.extend(stated.map(|(_, value)| value.trim()));
        } else if is_key {
            values.push(line.trim());
        }
    }
    values.retain(|value| !value.is_empty() && !value.starts_with('#'));
    values
}

/// An option (`-r other.txt`, `--index-url …`) is none.
fn requirement(line: &str) -> Option<&str> {
    let line = line.split(" #").next().unwrap_or(line).trim().trim_end_matches('\\').trim_end();
    (!line.is_empty() && !line.starts_with(['#', '-'])).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::super::world::ProjectFixture;
    use super::fact;
    use serde_json::json;

    #[test]
    fn a_project_of_today() {
        let document = json!({
            "project": {
                "name": "api", "requires-python": ">=3.12",
                "dependencies": ["fastapi>=0.115", "ui @ https://me:pw@example.com/ui.whl"],
                "optional-dependencies": {"s3": ["boto3"]},
                "scripts": {"serve": "api.main:run"},
            },
            "dependency-groups": {"dev": ["pytest>=8", {"include-group": "lint"}]},
            "build-system": {"build-backend": "hatchling.build"},
            "tool": {"mypy": {}, "ruff": {}},
        });
        ProjectFixture::new().document("pyproject.toml", document).file("uv.lock", "").tells(
            fact,
            "pyproject.toml: \"api\", python \">=3.12\", managed with uv, \
             built with \"hatchling.build\"\n  \
             scripts:\n  \
             \"serve\": \"api.main:run\"\n  \
             dependencies: \"fastapi>=0.115\", \"ui @ https://example.com/ui.whl\"\n  \
             optional \"s3\": \"boto3\"\n  \
             group \"dev\": \"pytest>=8\"\n  \
             configured tools: \"mypy\", \"ruff\"",
        );
    }

    #[test]
    fn poetry_keeps_its_own_tables() {
        let poetry = json!({
            "name": "old", "dependencies": {"django": "^5", "python": "^3.11"},
            "group": {"dev": {"dependencies": {"pytest": "*"}}},
        });
        ProjectFixture::new()
            .document("pyproject.toml", json!({"tool": {"poetry": poetry}}))
            .tells(
                fact,
                "pyproject.toml: \"old\", python \"^3.11\", managed with poetry\n  \
             dependencies: \"django\"\n  \
             group \"dev\": \"pytest\"\n  \
             configured tools: \"poetry\"",
            );
    }

    #[test]
    fn an_older_project_is_told_from_its_lists() {
        ProjectFixture::new()
            .file(
                "setup.cfg",
                "[metadata]\nname = old\n[options]\npython_requires = >=3.8\ninstall_requires =\n    \
                 requests\n    # why\n    six>=1\nzip_safe = no\n",
            )
            .file(
                "requirements-dev.txt",
                "-r base.txt\n--index-url https://me:pw@example.com\n# x\npytest==8 # y\n\nmypy\n",
            )
            .tells(
                fact,
                "setup.cfg\n  name: \"old\"\n  python: \">=3.8\"\n  \
                 dependencies: \"requests\", \"six>=1\"\n  \
                 \"requirements-dev.txt\": \"pytest==8\", \"mypy\"",
            );
        ProjectFixture::new()
            .document("pyproject.toml", json!({"build-system": {"build-backend": "setuptools"}}))
            .file("setup.cfg", "[options]\ninstall_requires = six\n")
            .tells(fact, "pyproject.toml: built with \"setuptools\"\n  dependencies: \"six\"");
        ProjectFixture::new()
            .document("Pipfile", json!({"packages": {"a": "*"}, "dev-packages": 3}))
            .tells(fact, "Pipfile\n  packages: \"a\"");
        ProjectFixture::new()
            .file("requirements.txt", "a\n")
            .tells(fact, "python requirements\n  \"requirements.txt\": \"a\"");
    }

    #[test]
    fn what_has_another_shape_is_left_out() {
        let odd = json!({"project": 3, "tool": [], "dependency-groups": {"a": 3, "b": []}});
        ProjectFixture::new().document("pyproject.toml", odd).tells_nothing(fact);
        ProjectFixture::new().document("pyproject.toml", json!(3)).tells_nothing(fact);
        ProjectFixture::new().file("setup.cfg", "[flake8]\nname=x\n[options\n").tells_nothing(fact);
        ProjectFixture::new().tells_nothing(fact);
    }
}
