//! `cargo install`, as the documents have it: two packages into one folder.

use crate::world::{CommandResult, HOOKS, World, repository, said};
use std::path::{Path, PathBuf};

/// What cargo itself needs of this machine; the executables are those of the tests, not built anew.
fn cargo_install(world: &World, package: &str) -> CommandResult {
    let mut command = world.command(env!("CARGO"));
    let home = |variable: &str, folder: &str| {
        let set = std::env::var_os(variable).map(PathBuf::from);
        set.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(folder)))
    };
    for (variable, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        command.envs(home(variable, folder).map(|folder| (variable, folder)));
    }
    // Without the toolchain's name, rustup's `rustc` would follow the file in which a dependency names its own.
    let names = ["PATH", "RUSTUP_TOOLCHAIN", "CARGO_TARGET_DIR", "CARGO_INCREMENTAL"];
    for variable in names.into_iter().chain(["CARGO_PROFILE_DEV_DEBUG"]) {
        command.envs(std::env::var_os(variable).map(|value| (variable, value)));
    }
    let root = world.path("cargo");
    command.args(["install", "--debug", "--offline", "--locked", "--path", package, "--root"]);
    said(&command.arg(root).current_dir(repository()).output().unwrap())
}

#[test]
fn both_packages_together_are_an_installation() {
    let world = World::new();
    cargo_install(&world, "crates/ralph").exit(0);
    let alone = world.run_in("cargo/bin", &["install"]).exit(4);
    alone.says("could not find ralph-user-prompt").says("--path crates/ralph-hooks");
    assert!(!world.settings().exists());

    cargo_install(&world, "crates/ralph-hooks").exit(0);
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
