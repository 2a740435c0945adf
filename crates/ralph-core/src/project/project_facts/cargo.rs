//! `Cargo.toml`: the package or the workspace, its features, and the project's own cargo commands.

use super::workspace::{self, Patterns};
use super::{Fact, FileFormat, Project, shape, show};
use serde_json::Value;

/// The most of the command that an alias stands for, in UTF-16 units.
const COMMAND: usize = 60;

pub(super) fn fact(project: &dyn Project) -> Option<Fact> {
    let manifest = project.document("Cargo.toml", FileFormat::Toml)?;
    let package = &manifest["package"];
    let mut told = Vec::new();
    if let Some(name) = package["name"].as_str() {
        told.push(format!("package {}", show::quoted(name)));
    }
    if manifest["workspace"].is_object() {
        told.push("a workspace".to_owned());
    }
    if told.is_empty() {
        return None;
    }
    told.extend(stated(&manifest, "edition"));
    told.extend(stated(&manifest, "rust-version"));
    let lines = [
        members(project, &manifest["workspace"]),
        aliases(project),
        features(&manifest["features"]),
        names("dependencies", &manifest["dependencies"], 25),
        names("workspace dependencies", &manifest["workspace"]["dependencies"], 25),
        names("dev-dependencies", &manifest["dev-dependencies"], 12),
        names("build-dependencies", &manifest["build-dependencies"], 6),
    ];
    let heading = format!("Cargo.toml: {}", told.join(", "));
    Some(Fact { heading, lines: lines.into_iter().flatten().collect() })
}

/// A package may leave it to its workspace.
fn stated(manifest: &Value, key: &str) -> Option<String> {
    let own = manifest["package"][key].as_str();
    let value = own.or_else(|| manifest["workspace"]["package"][key].as_str())?;
    Some(format!("{key} {}", show::quoted(value)))
}

fn members(project: &dyn Project, workspace: &Value) -> Option<String> {
    let patterns = Patterns {
        wanted: shape::texts(&workspace["members"]),
        unwanted: shape::texts(&workspace["exclude"]),
        manifest: "Cargo.toml",
    };
    workspace::line(project, "members", &patterns)
}

/// Commands that the project has given names to, such as `cargo xtask`.
fn aliases(project: &dyn Project) -> Option<String> {
    let files = [".cargo/config.toml", ".cargo/config"];
    let config = files.iter().find_map(|file| project.document(file, FileFormat::Toml))?;
    let aliases: Vec<String> = shape::members(&config["alias"])
        .map(|(name, command)| {
            let command = shape::texts(command).join(" ");
            format!("cargo {name} = {}", show::short(&command, COMMAND))
        })
        .collect();
    let shown = show::list(aliases.iter().map(String::as_str), 8);
    (!aliases.is_empty()).then(|| format!("aliases: {shown}"))
}

/// What is on unless it is switched off is told first.
fn features(features: &Value) -> Option<String> {
    let mut all = shape::names(features);
    all.retain(|name| *name != "default");
    let default = shape::texts(&features["default"]);
    let on = match default.is_empty() {
        true => String::new(),
        false => format!("; default {}", show::list(default, 8)),
    };
    (!all.is_empty()).then(|| format!("features: {}{on}", show::list(all, 16)))
}

fn names(heading: &str, dependencies: &Value, most: usize) -> Option<String> {
    let names = shape::names(dependencies);
    (!names.is_empty()).then(|| format!("{heading}: {}", show::list(names, most)))
}

#[cfg(test)]
mod tests {
    use super::super::world::ProjectFixture;
    use super::fact;
    use serde_json::json;

    #[test]
    fn a_package_with_its_features_and_dependencies() {
        let manifest = json!({
            "package": {"name": "a", "edition": "2024", "rust-version": "1.85"},
            "features": {"default": ["std"], "serde": [], "std": []},
            "dependencies": {"anyhow": "1", "serde": {"version": "1"}},
            "dev-dependencies": {"insta": "1"},
        });
        ProjectFixture::new().document("Cargo.toml", manifest).tells(
            fact,
            "Cargo.toml: package \"a\", edition \"2024\", rust-version \"1.85\"\n  \
             features: \"serde\", \"std\"; default \"std\"\n  \
             dependencies: \"anyhow\", \"serde\"\n  \
             dev-dependencies: \"insta\"",
        );
    }

    #[test]
    fn a_workspace_with_its_members_and_aliases() {
        let manifest = json!({
            "package": {"name": "root", "edition": {"workspace": true}},
            "workspace": {
                "members": ["crates/*", "xtask"],
                "exclude": ["crates/old"],
                "package": {"edition": "2021"},
                "dependencies": {"clap": "4"},
            },
        });
        let config = json!({"alias": {"t": ["test", "--all"], "xtask": "run -p xtask --"}});
        ProjectFixture::new()
            .document("Cargo.toml", manifest)
            .document(".cargo/config.toml", config)
            .file("crates/a/Cargo.toml", "")
            .file("crates/old/Cargo.toml", "")
            .file("crates/notes/readme", "")
            .file("xtask/Cargo.toml", "")
            .tells(
                fact,
                "Cargo.toml: package \"root\", a workspace, edition \"2021\"\n  \
                 members \"crates/*\", \"xtask\": \"crates/a\", \"xtask\"\n  \
                 aliases: \"cargo t = test --all\", \"cargo xtask = run -p xtask --\"\n  \
                 workspace dependencies: \"clap\"",
            );
    }

    #[test]
    fn what_has_another_shape_is_left_out() {
        for manifest in [json!(3), json!({"package": 3}), json!({"workspace": [], "package": {}})] {
            ProjectFixture::new().document("Cargo.toml", manifest).tells_nothing(fact);
        }
        let odd = json!({"workspace": {"members": 3}, "features": [], "dependencies": "x"});
        ProjectFixture::new()
            .document("Cargo.toml", odd)
            .document(".cargo/config.toml", json!({"alias": 3}))
            .tells(fact, "Cargo.toml: a workspace");
        ProjectFixture::new().tells_nothing(fact);
    }
}
