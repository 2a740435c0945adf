//! Node projects: the scripts of `package.json`, and `tsc` if there is a `tsconfig.json`.

use super::{EcosystemCommands, RootFiles};
use crate::shell::vacuous;
use serde_json::Value;

/// Lock files, and the package manager that writes each.
pub(crate) const LOCKS: [(&str, &str); 6] = [
    ("pnpm-lock.yaml", "pnpm"),
    ("yarn.lock", "yarn"),
    ("bun.lock", "bun"),
    ("bun.lockb", "bun"),
    ("package-lock.json", "npm"),
    ("npm-shrinkwrap.json", "npm"),
];

/// The first of these scripts that is a test is used; the others are for projects whose `test`
/// watches.
const TESTS: [&str; 4] = ["test", "test:ci", "test:run", "test:unit"];

/// Scripts that check types.
const TYPE_CHECKS: [&str; 5] = ["typecheck", "type-check", "check-types", "check:types", "tsc"];
const LINTS: [&str; 2] = ["lint", "lint:check"];

pub(super) fn find(files: &RootFiles<'_>) -> EcosystemCommands {
    let manifest: Value = serde_json::from_str(&files.text("package.json")).unwrap_or_default();
    if !manifest.is_object() {
        return EcosystemCommands::default();
    }
    let manager = manager(files, &manifest);
    let scripted = |names: &[&str]| {
        names.iter().find(|name| usable(script(&manifest, name))).map(|name| run(manager, name))
    };
    EcosystemCommands {
        tests: TESTS
            .iter()
            .find(|name| usable(script(&manifest, name)))
            .map(|name| test_command(manager, name, script(&manifest, name))),
        check: scripted(&TYPE_CHECKS)
            .or_else(|| compiler(files, &manifest, manager))
            .or_else(|| scripted(&LINTS)),
    }
}

/// Why `npm run NAME` and the like cannot run: this manifest has no such script.
pub fn lacks_script(command: &str, manifest: &str) -> Option<String> {
    let mut words = command.split_whitespace();
    let is_runner =
        matches!(words.next()?, "npm" | "pnpm" | "yarn" | "bun") && words.next()? == "run";
    let name = words.next().filter(|word| is_runner && !word.starts_with('-'))?;
    let manifest: Value = serde_json::from_str(manifest).ok()?;
    let scripts = manifest["scripts"].as_object();
    if scripts.is_some_and(|scripts| scripts.contains_key(name)) {
        return None;
    }
    let all: Vec<&str> = scripts.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let known = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
    Some(format!("`package.json` has no script `{name}`; its scripts: {known}"))
}

fn script<'a>(manifest: &'a Value, name: &str) -> &'a str {
    manifest["scripts"][name].as_str().unwrap_or_default()
}

/// False for npm's default test script, which tests nothing, and for a script that watches and
/// never ends.
fn usable(script: &str) -> bool {
    vacuous::refuse(script).is_none()
        && !script.contains("no test specified")
        && !script.split_whitespace().any(|word| {
            matches!(word, "-w" | "watch")
                || word.starts_with("--watch") && !word.ends_with("=false")
        })
}

fn test_command(manager: &str, name: &str, script: &str) -> String {
    let command = run(manager, name);
    // Without `CI` it watches.
    if script.contains("react-scripts test") && !script.contains("CI=") {
        format!("CI=true {command}")
    } else {
        command
    }
}

fn compiler(files: &RootFiles<'_>, manifest: &Value, manager: &str) -> Option<String> {
    if !files.has("tsconfig.json") {
        return None;
    }
    // A configuration that only has references has no files of its own: without `--build` the
    // compiler would check nothing and succeed.
    let configuration: String = files.text("tsconfig.json").split_whitespace().collect();
    let refers = configuration.contains("\"references\":[{");
    let flags = match refers && configuration.contains("\"files\":[]") {
        true => "--build --noEmit",
        false => "--noEmit",
    };
    let declared = ["dependencies", "devDependencies", "peerDependencies"]
        .iter()
        .any(|kind| manifest[kind]["typescript"].is_string());
    Some(tsc(manager, declared, flags))
}

/// The stated package manager, otherwise the one whose lock file exists.
fn manager(files: &RootFiles<'_>, manifest: &Value) -> &'static str {
    let stated = manifest["packageManager"].as_str().and_then(|text| text.split('@').next());
    let known = LOCKS.iter().map(|(_, manager)| *manager).find(|manager| Some(*manager) == stated);
    let locked = || LOCKS.iter().find(|(lock, _)| files.has(lock)).map(|(_, manager)| *manager);
    known.or_else(locked).unwrap_or("npm")
}

/// `bun test` would start Bun's own runner instead of the script.
fn run(manager: &str, script: &str) -> String {
    match (manager, script) {
        ("npm" | "pnpm", "test") => format!("{manager} test"),
        _ => format!("{manager} run {script}"),
    }
}

/// If TypeScript is not installed, a plain `npx tsc` would download an unrelated package with
/// that name.
fn tsc(manager: &str, declared: bool, flags: &str) -> String {
    let launcher = match manager {
        "pnpm" => "pnpm exec",
        "yarn" => "yarn run",
        "bun" => "bunx",
        _ if declared => "npx",
        _ => "npx --no-install",
    };
    format!("{launcher} tsc {flags}")
}
