//! `install.sh`, with stand-ins for cargo, rustc and rustup.

use crate::world::{CommandResult, HOOKS, World, fixture, repository, said};
use std::fs;
use std::os::unix::fs::symlink;

/// A machine with a Rust that has, or has not, the static target.
fn machine(has_static_target: bool) -> World {
    let world = World::new();
    for name in ["ralph", "claude"].iter().chain(&HOOKS) {
        fs::remove_file(world.path("bin").join(name)).unwrap();
    }
    for tool in ["cargo", "rustc", "rustup"] {
        symlink(fixture(tool), world.path("bin").join(tool)).unwrap();
    }
    let library = world.path("musl");
    if has_static_target {
        fs::create_dir(&library).unwrap();
    }
    let set = [
        ("FAKE_LOG", world.path("log")),
        ("FAKE_LIBRARY", library),
        ("FAKE_HOOK", fixture("quiet-hook")),
        ("FAKE_RALPH", env!("CARGO_BIN_EXE_ralph").into()),
        ("CARGO_TARGET_DIR", world.path("target")),
        ("TMPDIR", world.path("tmp")),
    ];
    fs::create_dir(world.path("tmp")).unwrap();
    set.into_iter().fold(world, |world, (name, path)| world.env(name, path.to_str().unwrap()))
}

fn install_sh(world: &World, args: &[&str]) -> CommandResult {
    said(&world.command(repository().join("install.sh")).args(args).output().unwrap())
}

#[test]
fn it_builds_copies_everything_and_registers() {
    let world = machine(true);
    install_sh(&world, &[])
        .exit(0)
        .says("registered 14 hooks in 13 events")
        .says("`ralph` is not on PATH");
    let target = world.path("target").display().to_string();
    let common = format!(
        "build --release --config .cargo/release.toml --locked --target-dir {target} --target x86_64-unknown-linux-musl"
    );
    assert_eq!(world.read("log"), format!("cargo {common} -p ralph-hooks -p ralph --bins\n"));
    for name in HOOKS.iter().chain(&["ralph"]) {
        assert_eq!(world.mode(&format!("home/.local/bin/{name}")), 0o755, "{name}");
    }
    let settings = world.read("home/.claude/settings.json");
    let hook = world.path("home/.local/bin/ralph-stop-hook");
    assert!(settings.contains(hook.to_str().unwrap()), "{settings}");
}

#[test]
fn a_second_run_replaces_the_executables_and_registers_nothing_new() {
    let world = machine(true);
    install_sh(&world, &[]).exit(0);
    install_sh(&world, &[]).exit(0).says("nothing to change");
    let names = fs::read_dir(world.path("home/.local/bin")).unwrap();
    assert_eq!(names.count(), HOOKS.len() + 1);
}

#[test]
fn a_prefix_is_respected_and_registration_can_be_left_out() {
    let world = machine(true);
    let prefix = world.path("a prefix");
    let prefix = prefix.to_str().unwrap();
    install_sh(&world, &["--prefix", prefix, "--no-register"]).exit(0).says("not registered");
    assert!(world.exists("a prefix/bin/ralph-stop-hook"));
    assert!(!world.exists("home/.claude/settings.json"));
    assert!(!world.exists("home/.local"));
}

#[test]
fn a_project_or_a_package_is_registered_instead_of_the_person() {
    let world = machine(true);
    install_sh(&world, &["--project", "."]).exit(0).says("project `");
    assert!(world.exists("project/.claude/settings.json"));
    install_sh(&world, &["--stow", "dotfiles"]).exit(0).says("stow package `");
    assert!(world.exists("project/dotfiles/claude/.claude/settings.json"));
    install_sh(&world, &["--plugin", "plugin"]).exit(0).says("claude plugin install ralph@ralph");
    assert!(world.exists("project/plugin/bin/ralph-stop-hook"));
    assert!(!world.exists("home/.claude/settings.json"));
    install_sh(&world, &["--stow"]).exit(2).says("--stow needs a folder");
}

#[test]
fn on_the_path_it_warns_of_nothing() {
    let world = machine(true);
    let prefix = world.path("");
    install_sh(&world, &["--prefix", prefix.to_str().unwrap()]).exit(0).does_not_say("warning");
}

#[test]
fn a_missing_static_target_is_added() {
    let world = machine(false);
    install_sh(&world, &[]).exit(0).says("adding the target x86_64-unknown-linux-musl");
    assert!(world.read("log").contains("rustup target add x86_64-unknown-linux-musl\n"));
    assert!(world.read("log").contains("--target x86_64-unknown-linux-musl -p ralph-hooks"));
}

#[test]
fn without_the_static_target_it_says_so_and_builds_for_the_host() {
    let world = machine(false).env("FAKE_OFFLINE", "yes");
    install_sh(&world, &[]).exit(0).says("cannot be added; building for x86_64-unknown-linux-gnu");
    assert!(!world.read("log").contains("--target x86"));
    assert!(world.exists("home/.local/bin/ralph"));
}

#[test]
fn a_static_build_that_fails_falls_back_to_the_host() {
    let world = machine(true).env("FAKE_BROKEN_TARGET", "x86_64-unknown-linux-musl");
    install_sh(&world, &[]).exit(0).says("could not build for x86_64-unknown-linux-musl");
    assert!(world.exists("home/.local/bin/ralph"));
}

#[test]
fn without_rust_it_says_where_to_get_it() {
    let world = machine(true);
    fs::remove_file(world.path("bin/cargo")).unwrap();
    let mut command = world.command(repository().join("install.sh"));
    command.env("PATH", "/usr/bin:/bin");
    if which(&["/usr/bin/cargo", "/bin/cargo"]) {
        return eprintln!("SKIPPED: cargo is in the system's own folder");
    }
    said(&command.output().unwrap()).exit(4).says("could not find `cargo`; install Rust from");
}

#[test]
fn cargo_is_found_in_its_own_folder_when_it_is_not_on_the_path() {
    let world = machine(true);
    fs::create_dir_all(world.path("home/.cargo")).unwrap();
    symlink(world.path("bin"), world.path("home/.cargo/bin")).unwrap();
    let mut command = world.command(repository().join("install.sh"));
    command.env("PATH", "/usr/bin:/bin");
    said(&command.output().unwrap()).exit(0);
    assert!(world.exists("home/.local/bin/ralph"));
}

#[test]
fn the_demo_touches_nothing_of_the_person_and_leaves_nothing() {
    let world = machine(true).env("CLAUDE_CODE_SESSION_ID", "someone");
    let world = world.env("FAKE_RALPH", fixture("demo-ralph").to_str().unwrap());
    let before = world.snapshot("home");
    let said = install_sh(&world, &["--demo", "--keep"]).exit(0);
    let said = said.says("ralph install\n").says("ralph demo --keep\n").says("session=none");
    let private = world.path("tmp/ralph-demo.");
    let said = said.says(&format!("HOME={}", private.display()));
    said.says(&format!("CLAUDE_CONFIG_DIR={}", private.display()));
    assert_eq!(world.snapshot("home"), before);
    assert_eq!(fs::read_dir(world.path("tmp")).unwrap().count(), 0);
    assert!(!world.exists("state"));
}

#[test]
fn a_wrong_option_gets_the_usage_and_builds_nothing() {
    let world = machine(true);
    install_sh(&world, &["--oops"]).exit(2).says("usage: ./install.sh");
    install_sh(&world, &["--prefix"]).exit(2).says("--prefix needs a folder");
    install_sh(&world, &["--help"]).exit(0).says("--no-register");
    assert!(!world.exists("log"));
}

#[test]
fn the_script_is_clean() {
    let world = World::new();
    match world.command("shellcheck").arg(repository().join("install.sh")).output() {
        Ok(output) => drop(said(&output).exit(0)),
        Err(error) => eprintln!("SKIPPED: could not start `shellcheck`: {error}"),
    }
}

#[test]
fn the_script_and_the_table_name_the_same_executables() {
    let script = fs::read_to_string(repository().join("install.sh")).unwrap();
    let listed = script.lines().find_map(|line| line.strip_prefix("hooks=\"")).unwrap();
    let mut listed: Vec<&str> = listed.trim_end_matches('"').split(' ').collect();
    let mut table = ralph_core::protocol::registration::HOOK_EXECUTABLES.to_vec();
    listed.sort_unstable();
    table.sort_unstable();
    assert_eq!(listed, table);
}

fn which(places: &[&str]) -> bool {
    places.iter().any(|place| fs::metadata(place).is_ok())
}
