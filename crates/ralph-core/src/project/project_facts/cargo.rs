//! `Cargo.toml`: the package, or the members of the workspace.

use super::{Fact, FileFormat, Project, shape, show};

pub(super) fn fact(project: &dyn Project) -> Option<Fact> {
    let manifest = project.document("Cargo.toml", FileFormat::Toml)?;
    let (package, workspace) = (&manifest["package"], &manifest["workspace"]);
    let mut told = Vec::new();
    if let Some(name) = package["name"].as_str() {
        told.push(format!("package {}", show::quoted(name)));
    }
    match shape::texts(&workspace["members"]) {
        members if !members.is_empty() => {
            told.push(format!("workspace of {}", show::list(members, 16)));
        }
        _ if workspace.is_object() => told.push("workspace".to_owned()),
        _ => {}
    }
    if told.is_empty() {
        return None;
    }
    let edition = package["edition"].as_str().or(workspace["package"]["edition"].as_str());
    told.extend(edition.map(|edition| format!("edition {}", show::quoted(edition))));
    Some(Fact::line(format!("Cargo.toml: {}", told.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::fact;
    use crate::project::fixture::ProjectFixture;
    use serde_json::json;

    #[test]
    fn a_package_and_a_workspace_take_one_line() {
        let package = json!({"name": "a", "edition": "2024"});
        ProjectFixture::new()
            .document("Cargo.toml", json!({"package": package, "dependencies": {"anyhow": "1"}}))
            .tells(fact, "Cargo.toml: package \"a\", edition \"2024\"");
        let workspace = json!({"members": ["crates/*"], "package": {"edition": "2021"}});
        ProjectFixture::new()
            .document("Cargo.toml", json!({"workspace": workspace}))
            .tells(fact, "Cargo.toml: workspace of \"crates/*\", edition \"2021\"");
    }

    #[test]
    fn what_has_another_shape_is_left_out() {
        for manifest in [json!(3), json!({"package": 3}), json!({"workspace": [], "package": {}})] {
            ProjectFixture::new().document("Cargo.toml", manifest).tells_nothing(fact);
        }
        ProjectFixture::new()
            .document("Cargo.toml", json!({"workspace": {"members": 3}}))
            .tells(fact, "Cargo.toml: workspace");
        ProjectFixture::new().tells_nothing(fact);
    }
}
