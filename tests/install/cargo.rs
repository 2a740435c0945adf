//! `cargo install`, as the documents have it: two packages into one folder.

use crate::executables::executables;
use crate::world::{HOOKS, World, repository, said};
use ralph_test_support::place_executable;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Cargo with what it needs of this machine.
fn cargo(world: &World, command: &str) -> Command {
    let mut cargo = world.command(env!("CARGO"));
    let home = |variable: &str, folder: &str| {
        let set = std::env::var_os(variable).map(PathBuf::from);
        set.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(folder)))
    };
    for (variable, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        cargo.envs(home(variable, folder).map(|folder| (variable, folder)));
    }
    // Without the toolchain's name, rustup's `rustc` would follow the file in which a dependency names its own.
    let names = ["PATH", "RUSTUP_TOOLCHAIN", "CARGO_TARGET_DIR", "CARGO_INCREMENTAL"];
    for variable in names.into_iter().chain(["CARGO_PROFILE_DEV_DEBUG"]) {
        cargo.envs(std::env::var_os(variable).map(|value| (variable, value)));
    }
    // Started without the toolchain's name, rustup would bring the machine's own up to date.
    cargo.env("RUSTUP_AUTO_INSTALL", "0");
    cargo.args([command, "--offline", "--locked"]).current_dir(repository());
    cargo
}

/// Installs a package. By itself it has fewer features than in the workspace and is compiled anew, which takes longer than
/// all other tests here: that is for the proof. Else its executables, as cargo names them, are those of the tests.
fn install_package(world: &World, package: &str) {
    let root = world.path("cargo");
    if std::env::var_os("RALPH_PROOF").is_some() {
        let mut install = cargo(world, "install");
        install.args(["--debug", "--path", package, "--root"]).arg(root);
        said(&install.output().unwrap()).exit(0);
        return;
    }
    fs::create_dir_all(root.join("bin")).unwrap();
    let mut metadata = cargo(world, "metadata");
    let printed = metadata.args(["--no-deps", "--format-version", "1"]).output().unwrap();
    let all: Value = serde_json::from_slice(&printed.stdout).unwrap();
    let manifest = repository().join(package).join("Cargo.toml");
    let packages = all["packages"].as_array().unwrap();
    let own = packages.iter().find(|one| one["manifest_path"] == manifest.to_str().unwrap());
    for target in own.unwrap()["targets"].as_array().unwrap() {
        if target["kind"][0] == "bin" && target.get("required-features").is_none() {
            let name = target["name"].as_str().unwrap();
            place_executable(&executables().join(name), &root.join("bin").join(name));
        }
    }
}

#[test]
fn both_packages_together_are_an_installation() {
    let world = World::new();
    install_package(&world, "crates/ralph");
    let alone = world.run_in("cargo/bin", &["install"]).exit(4);
    alone.says("could not find ralph-user-prompt").says("--path crates/ralph-hooks");
    assert!(!world.settings().exists());

    install_package(&world, "crates/ralph-hooks");
    for name in HOOKS {
        assert!(world.exists(&format!("cargo/bin/{name}")), "{name}");
    }
    world.run_in("cargo/bin", &["install"]).exit(0).says("registered 14 hooks in 13 events");
    let hook = world.path("cargo/bin/ralph-stop-hook");
    assert!(world.read("home/.claude/settings.json").contains(hook.to_str().unwrap()));
    world.run_in("cargo/bin", &["doctor"]).exit(0).says("14 of 14 registered hooks answered");
}

/// The lines that a person copies are those that are tried here.
#[test]
fn the_document_has_the_same_commands_and_the_present_version() {
    let text = std::fs::read_to_string(repository().join("docs/install.md")).unwrap();
    let archive =
        format!("tar xf ralph-{}-x86_64-unknown-linux-musl.tar.gz", env!("CARGO_PKG_VERSION"));
    assert!(text.contains(&archive), "{archive}");
    for package in ["crates/ralph-hooks", "crates/ralph"] {
        let line = format!("cargo install --locked --path {package} &&");
        assert!(text.contains(&line), "{line}");
    }
}
