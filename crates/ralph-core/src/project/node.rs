//! Node projects: the scripts of `package.json`, and `tsc` if there is a `tsconfig.json`.

use super::{EcosystemCommands, RootFiles};
use crate::shell::vacuous;
use serde_json::Value;

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
    let manager = Manager::of(files, &manifest);
    let scripted = |names: &[&str]| {
        names.iter().find(|name| usable(script(&manifest, name))).map(|name| manager.run(name))
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

fn test_command(manager: Manager, name: &str, script: &str) -> String {
    let command = manager.run(name);
    // Without `CI` it watches.
    if script.contains("react-scripts test") && !script.contains("CI=") {
        format!("CI=true {command}")
    } else {
        command
    }
}

fn compiler(files: &RootFiles<'_>, manifest: &Value, manager: Manager) -> Option<String> {
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
    Some(manager.tsc(declared, flags))
}

#[derive(Clone, Copy)]
enum Manager {
    Npm,
    Pnpm,
    Yarn,
    Bun,
}

impl Manager {
    fn of(files: &RootFiles<'_>, manifest: &Value) -> Manager {
        let stated = manifest["packageManager"].as_str().and_then(|text| text.split('@').next());
        match stated {
            Some("pnpm") => Manager::Pnpm,
            Some("yarn") => Manager::Yarn,
            Some("bun") => Manager::Bun,
            Some("npm") => Manager::Npm,
            _ if files.has("pnpm-lock.yaml") => Manager::Pnpm,
            _ if files.has("yarn.lock") => Manager::Yarn,
            _ if files.has_any(&["bun.lock", "bun.lockb"]) => Manager::Bun,
            _ => Manager::Npm,
        }
    }

    fn run(self, script: &str) -> String {
        match (self, script) {
            (Manager::Npm, "test") => "npm test".to_owned(),
            (Manager::Npm, _) => format!("npm run {script}"),
            (Manager::Pnpm, "test") => "pnpm test".to_owned(),
            (Manager::Pnpm, _) => format!("pnpm run {script}"),
            (Manager::Yarn, _) => format!("yarn run {script}"),
            // `bun test` would start Bun's own runner instead of the script.
            (Manager::Bun, _) => format!("bun run {script}"),
        }
    }

    /// If TypeScript is not installed, a plain `npx tsc` would download an unrelated package with
    /// that name.
    fn tsc(self, declared: bool, flags: &str) -> String {
        let launcher = match self {
            Manager::Npm if declared => "npx",
            Manager::Npm => "npx --no-install",
            Manager::Pnpm => "pnpm exec",
            Manager::Yarn => "yarn run",
            Manager::Bun => "bunx",
        };
        format!("{launcher} tsc {flags}")
    }
}
