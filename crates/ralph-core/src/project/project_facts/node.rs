//! `package.json`: how to call its scripts, its dependencies, and the packages beside it.

use super::{Fact, FileFormat, Project, shape, show, useful};
use crate::project::node::LOCKS;
use serde_json::Value;
use std::collections::BTreeSet;

pub(super) fn fact(project: &dyn Project) -> Option<Fact> {
    let manifest = project.document("package.json", FileFormat::Json).filter(Value::is_object)?;
    let mut lines: Vec<String> = workspaces(project, &manifest).into_iter().collect();
    lines.extend(scripts(&manifest));
    lines.extend(dependencies(&manifest, "dependencies", 25));
    lines.extend(dependencies(&manifest, "devDependencies", 20));
    lines.extend(dependencies(&manifest, "peerDependencies", 8));
    let told = [name(&manifest), kind(&manifest), manager(project, &manifest)];
    let told: Vec<String> = told.into_iter().flatten().collect();
    match (told.is_empty(), lines.is_empty()) {
        (true, true) => None,
        (true, false) => Some(Fact { heading: "package.json".to_owned(), lines }),
        (false, _) => Some(Fact { heading: format!("package.json: {}", told.join(", ")), lines }),
    }
}

fn name(manifest: &Value) -> Option<String> {
    Some(show::quoted(manifest["name"].as_str()?))
}

fn kind(manifest: &Value) -> Option<String> {
    Some(format!("type {}", show::quoted(manifest["type"].as_str()?)))
}

/// The stated package manager, otherwise those whose lock files exist.
fn manager(project: &dyn Project, manifest: &Value) -> Option<String> {
    if let Some(stated) = manifest["packageManager"].as_str() {
        // The checksum after the version is of no use to a reader.
        let stated = stated.split('+').next().unwrap_or(stated);
        return Some(format!("package manager {}", show::quoted(stated)));
    }
    let entries = project.folder("".as_ref())?.entries;
    let is_there = |name: &str| entries.iter().any(|entry| entry.name == name);
    let managers: BTreeSet<&str> = LOCKS
        .iter()
        .chain(&[("deno.lock", "deno")])
        .filter(|(lock, _)| is_there(lock))
        .map(|(_, manager)| *manager)
        .collect();
    let managers: Vec<&str> = managers.into_iter().collect();
    match managers.as_slice() {
        [] => None,
        [manager] => Some(format!("package manager {manager}, by its lock file")),
        several => Some(format!("lock files of {}", several.join(" and "))),
    }
}

fn scripts(manifest: &Value) -> Vec<String> {
    let mut scripts: Vec<(&str, &str)> = shape::members(&manifest["scripts"])
        .filter_map(|(name, command)| Some((name, command.as_str()?)))
        .collect();
    useful::first(&mut scripts, |(name, _)| name);
    let mut lines = show::pairs(scripts, 16);
    if !lines.is_empty() {
        lines.insert(0, "scripts:".to_owned());
    }
    lines
}

fn dependencies(manifest: &Value, kind: &str, most: usize) -> Option<String> {
    let wanted: Vec<String> = shape::members(&manifest[kind])
        .map(|(name, version)| match version.as_str() {
            Some(version) if !version.is_empty() => format!("{name}@{version}"),
            _ => name.to_owned(),
        })
        .collect();
    let shown = show::list(wanted.iter().map(String::as_str), most);
    (!wanted.is_empty()).then(|| format!("{kind}: {shown}"))
}

/// The patterns of the workspace. npm, Yarn and Bun keep them in the manifest, Yarn also one level
/// deeper.
fn workspaces(project: &dyn Project, manifest: &Value) -> Option<String> {
    let pnpm = project.document("pnpm-workspace.yaml", FileFormat::Yaml).unwrap_or_default();
    let stated = &manifest["workspaces"];
    let all = [&pnpm["packages"], stated, &stated["packages"]];
    let patterns: Vec<&str> = all.into_iter().flat_map(shape::texts).collect();
    let shown = show::list(patterns.iter().copied(), 8);
    (!patterns.is_empty()).then(|| format!("workspaces: {shown}"))
}

#[cfg(test)]
mod tests {
    use super::fact;
    use crate::project::fixture::ProjectFixture;
    use serde_json::json;

    #[test]
    fn scripts_come_with_their_commands_and_the_useful_ones_first() {
        let text = r#"{
            "name": "@acme/web", "type": "module",
            "scripts": {"aaa": "true", "dev": "next dev", "prepare": "husky",
                "test": "vitest run", "test:e2e": "NODE_ENV=ci playwright test", "x": 7},
            "dependencies": {"next": "^15.1.0", "odd": 3, "ui": "git+https://example.com/ui"},
            "devDependencies": {"typescript": "~5.7.2"}
        }"#;
        ProjectFixture::new().file("package.json", text).file("pnpm-lock.yaml", "").tells(
            fact,
            "package.json: \"@acme/web\", type \"module\", package manager pnpm, by its lock file\n  \
             scripts:\n  \
             \"test\": \"vitest run\"\n  \
             \"dev\": \"next dev\"\n  \
             \"test:e2e\": \"NODE_ENV=ci playwright test\"\n  \
             \"aaa\": \"true\"\n  \
             \"prepare\": \"husky\"\n  \
             dependencies: \"next@^15.1.0\", \"odd\", \"ui@git+https://example.com/ui\"\n  \
             devDependencies: \"typescript@~5.7.2\"",
        );
    }

    #[test]
    fn the_stated_package_manager_wins_and_two_lock_files_are_both_named() {
        let text = r#"{"packageManager": "yarn@4.1.0+sha512.abc"}"#;
        ProjectFixture::new()
            .file("package.json", text)
            .file("package-lock.json", "")
            .tells(fact, "package.json: package manager \"yarn@4.1.0\"");
        ProjectFixture::new()
            .file("package.json", r#"{"name": "a"}"#)
            .file("package-lock.json", "")
            .file("yarn.lock", "")
            .tells(fact, "package.json: \"a\", lock files of npm and yarn");
    }

    #[test]
    fn workspaces_are_named_by_their_patterns() {
        ProjectFixture::new()
            .file("package.json", r#"{"workspaces": {"packages": ["libs/*"]}}"#)
            .document("pnpm-workspace.yaml", json!({"packages": ["apps/*", "!apps/old"]}))
            .tells(fact, "package.json\n  workspaces: \"apps/*\", \"!apps/old\", \"libs/*\"");
    }

    #[test]
    fn what_has_another_shape_is_left_out() {
        for text in ["", "[", "[]", "7", "{}", r#"{"name": 1, "scripts": [], "dependencies": 2}"#] {
            ProjectFixture::new().file("package.json", text).tells_nothing(fact);
        }
        ProjectFixture::new().tells_nothing(fact);
        ProjectFixture::new()
            .file("package.json", r#"{"name": "a", "workspaces": 3}"#)
            .document("pnpm-workspace.yaml", json!([1]))
            .tells(fact, "package.json: \"a\"");
    }

    #[test]
    fn many_scripts_are_named_without_their_commands() {
        let scripts: serde_json::Map<_, _> =
            (10..60).map(|n| (format!("s{n}"), json!("run it"))).collect();
        let text = json!({"scripts": scripts}).to_string();
        let told = fact(&ProjectFixture::new().file("package.json", &text)).unwrap();
        assert_eq!(told.lines.len(), 18);
        assert!(told.lines[17].starts_with("also \"s26\", "), "{:?}", told.lines[17]);
        assert!(told.lines[17].ends_with(", and 14 more"), "{:?}", told.lines[17]);
    }
}
