//! `pyproject.toml`: the name, the Python version, the manager and the build backend.

use super::{Fact, FileFormat, Project, show};
use serde_json::Value;

/// Programs that manage the environment, and the lock file of each.
const MANAGERS: [(&str, &str); 5] = [
    ("uv", "uv.lock"),
    ("poetry", "poetry.lock"),
    ("pdm", "pdm.lock"),
    ("pipenv", "Pipfile.lock"),
    ("hatch", "hatch.toml"),
];

pub(super) fn fact(project: &dyn Project) -> Option<Fact> {
    let document = project.document("pyproject.toml", FileFormat::Toml)?;
    let (stated, poetry) = (&document["project"], &document["tool"]["poetry"]);
    let text = |value: &Value| value.as_str().map(show::quoted);
    let python =
        text(&stated["requires-python"]).or_else(|| text(&poetry["dependencies"]["python"]));
    let told = [
        text(&stated["name"]).or_else(|| text(&poetry["name"])),
        python.map(|version| format!("python {version}")),
        manager(project, &document),
        text(&document["build-system"]["build-backend"])
            .map(|backend| format!("built with {backend}")),
    ];
    let told: Vec<String> = told.into_iter().flatten().collect();
    (!told.is_empty()).then(|| Fact::line(format!("pyproject.toml: {}", told.join(", "))))
}

/// The manager whose lock file exists, otherwise the one that has a table under `tool`.
fn manager(project: &dyn Project, document: &Value) -> Option<String> {
    let entries = project.folder("".as_ref()).unwrap_or_default().entries;
    let is_locked = |(_, lock): &&(_, &str)| entries.iter().any(|entry| entry.name == *lock);
    let is_set = |(name, _): &&(&str, _)| document["tool"][*name].is_object();
    let manager = MANAGERS.iter().find(is_locked).or_else(|| MANAGERS.iter().find(is_set));
    manager.map(|(name, _)| format!("managed with {name}"))
}

#[cfg(test)]
mod tests {
    use super::fact;
    use crate::project::fixture::ProjectFixture;
    use serde_json::json;

    #[test]
    fn a_project_takes_one_line() {
        let document = json!({
            "project": {"name": "api", "requires-python": ">=3.12", "dependencies": ["fastapi"]},
            "build-system": {"build-backend": "hatchling.build"},
            "tool": {"mypy": {}},
        });
        ProjectFixture::new().document("pyproject.toml", document).file("uv.lock", "").tells(
            fact,
            "pyproject.toml: \"api\", python \">=3.12\", managed with uv, \
             built with \"hatchling.build\"",
        );
        let poetry = json!({"name": "old", "dependencies": {"python": "^3.11"}});
        ProjectFixture::new()
            .document("pyproject.toml", json!({"tool": {"poetry": poetry}}))
            .tells(fact, "pyproject.toml: \"old\", python \"^3.11\", managed with poetry");
    }

    #[test]
    fn what_has_another_shape_is_left_out() {
        for odd in [json!(3), json!({"project": 3, "tool": [], "build-system": {"a": 3}})] {
            ProjectFixture::new().document("pyproject.toml", odd).tells_nothing(fact);
        }
        ProjectFixture::new().tells_nothing(fact);
    }
}
