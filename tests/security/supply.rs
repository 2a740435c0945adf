//! What is linked, built and run is what was looked at: locked, safe, named with a reason.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The workspace's packages, as cargo sees them.
fn packages() -> Vec<Value> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--locked", "--offline", "--no-deps", "--format-version", "1"]);
    let output = cargo.current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array_mut().map(std::mem::take).unwrap()
}

fn name(package: &Value) -> &str {
    package["name"].as_str().unwrap()
}

/// Also of packages that stand apart from the workspace, as one that needs another compiler does.
fn manifests() -> Vec<PathBuf> {
    let mut cargo = Command::new("git");
    cargo.args(["ls-files", "-co", "--exclude-standard", "--", "Cargo.toml", "**/Cargo.toml"]);
    let output = cargo.current_dir(root()).output().unwrap();
    let listed = String::from_utf8(output.stdout).unwrap();
    listed.lines().map(|line| root().join(line)).filter(|path| path.exists()).collect()
}

#[test]
fn every_package_takes_the_lints_of_the_workspace_or_forbids_unsafe_code_itself() {
    let workspace: toml::Table = read("Cargo.toml").parse().unwrap();
    assert_eq!(workspace["workspace"]["lints"]["rust"]["unsafe_code"].as_str(), Some("forbid"));
    let manifests = manifests();
    assert!(manifests.len() > 4, "{manifests:?}");
    for path in manifests {
        let text = fs::read_to_string(&path).unwrap();
        let manifest: toml::Table = text.parse().unwrap();
        if !manifest.contains_key("package") {
            continue;
        }
        let lints = manifest.get("lints").unwrap_or_else(|| panic!("{}: no lints", path.display()));
        let shared = lints.get("workspace").and_then(toml::Value::as_bool) == Some(true);
        let own = lints.get("rust").and_then(|rust| rust.get("unsafe_code"));
        let own = own.and_then(toml::Value::as_str) == Some("forbid");
        assert!(shared || own, "{}: `unsafe_code` is not forbidden", path.display());
    }
}

#[test]
fn no_source_of_ours_takes_the_lint_back() {
    for path in tracked(&["*.rs"]) {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let words = ["allow(unsafe", "_code"].concat();
        assert!(!text.contains(&words), "{}", path.display());
    }
}

fn tracked(patterns: &[&str]) -> Vec<PathBuf> {
    let mut git = Command::new("git");
    let output = git.arg("ls-files").arg("--").args(patterns).current_dir(root()).output().unwrap();
    let listed = String::from_utf8(output.stdout).unwrap();
    listed.lines().map(|line| root().join(line)).collect()
}

/// Tasks of cargo that resolve dependencies, and would take newer ones if they may.
const RESOLVING: [&str; 11] = [
    "build", "test", "run", "bench", "check", "clippy", "doc", "rustc", "metadata", "fetch", "tree",
];

/// Every line of a script or of the README that runs cargo builds what is locked.
#[test]
fn every_call_of_cargo_is_locked() {
    let mut scripts = tracked(&["*.sh", ".ci/*", "README.md", "tests/*", "fuzz/run"]);
    let is_script = |path: &Path| path.extension().is_none_or(|ending| ending == "sh");
    scripts.retain(|path| path.is_file() && (is_script(path) || *path == root().join("README.md")));
    let mut n_calls = 0;
    for path in scripts {
        let text = fs::read_to_string(&path).unwrap_or_default().replace("\\\n", " ");
        for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
            for task in RESOLVING {
                let call = format!("cargo {task} ");
                if line.contains(&call) {
                    n_calls += 1;
                    let locked = ["--locked", "--frozen", "--version", "\"$@\""];
                    let locked = locked.iter().any(|word| line.contains(word));
                    assert!(locked, "{}: {line}", path.display());
                }
            }
        }
    }
    assert!(n_calls > 5, "only {n_calls} calls were found");
}

#[test]
fn every_direct_dependency_has_its_reason() {
    let text = read("Cargo.toml");
    let (_, list) = text.split_once("[workspace.dependencies]\n").unwrap();
    let list = list.split("\n[").next().unwrap();
    let told: BTreeSet<&str> = list
        .lines()
        .zip(list.lines().skip(1))
        .filter_map(|(above, line)| above.starts_with("# ").then_some(line.split_once(" = ")?.0))
        .collect();
    let packages = packages();
    let ours: BTreeSet<&str> = packages.iter().map(name).collect();
    let used: BTreeSet<&str> = packages
        .iter()
        .flat_map(|package| package["dependencies"].as_array().unwrap())
        .map(name)
        .filter(|name| !ours.contains(name))
        .collect();
    assert!(used.len() > 10, "{used:?}");
    let unexplained: Vec<_> = used.difference(&told).collect();
    assert!(unexplained.is_empty(), "no reason above it in Cargo.toml: {unexplained:?}");
    let gone: Vec<_> = told.difference(&used).collect();
    assert!(gone.is_empty(), "in Cargo.toml and not used: {gone:?}");
}

#[test]
fn every_crate_comes_from_the_registry_with_its_digest() {
    let lock: toml::Table = read("Cargo.lock").parse().unwrap();
    let packages = packages();
    let ours: BTreeSet<&str> = packages.iter().map(name).collect();
    for package in lock["package"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        if ours.contains(name) {
            continue;
        }
        let source = package.get("source").and_then(toml::Value::as_str).unwrap_or_default();
        assert_eq!(source, "registry+https://github.com/rust-lang/crates.io-index", "{name}");
        assert_eq!(package["checksum"].as_str().map(str::len), Some(64), "{name}");
    }
}
