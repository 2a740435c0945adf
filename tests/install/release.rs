//! `scripts/release` and `scripts/sbom`: what is in an archive, and that it is the same bytes each time.

use crate::executables::executables;
use crate::world::{CommandResult, HOOKS, World, repository, said};
use ralph_core::protocol::registration::plugin_hooks_json;
use ralph_test_support::sample::is_left_out;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const TARGET: &str = "x86_64-unknown-linux-musl";

/// A script of the repository with the tools of this machine, or nothing where one is missing.
pub(crate) fn script(
    world: &World,
    name: &str,
    args: &[&str],
    set: &[(&str, &str)],
) -> Option<CommandResult> {
    for tool in ["jq", "tar", "gzip", "sha256sum"] {
        if Command::new(tool).arg("--version").output().is_err() {
            eprintln!("SKIPPED: could not start `{tool}`");
            return None;
        }
    }
    let tar = world.command("tar").arg("--version").output().unwrap();
    if !String::from_utf8_lossy(&tar.stdout).contains("GNU tar") {
        eprintln!("SKIPPED: `tar` is not GNU's, which a release is made with");
        return None;
    }
    let mut command = world.command(repository().join("scripts").join(name));
    let person = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    let cargo = std::env::var_os("CARGO_HOME").unwrap_or(person.join(".cargo").into());
    let rustup = std::env::var_os("RUSTUP_HOME").unwrap_or(person.join(".rustup").into());
    // Of a target that was never built here, cargo downloads what it alone needs.
    command.env("CARGO_HOME", cargo).env("RUSTUP_HOME", rustup);
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    Some(said(&command.envs(set.iter().copied()).args(args).output().unwrap()))
}

/// Packs the executables of a folder into another one, from a temporary folder of its own.
pub(crate) fn packed(
    world: &World,
    bin: &str,
    out: &str,
    set: &[(&str, &str)],
) -> Option<CommandResult> {
    packed_for(world, TARGET, bin, out, set)
}

/// As [`packed`], as the executables of another target.
pub(crate) fn packed_for(
    world: &World,
    target: &str,
    bin: &str,
    out: &str,
    set: &[(&str, &str)],
) -> Option<CommandResult> {
    let bin = world.path(bin).display().to_string();
    let place = world.path(out).display().to_string();
    let tmp = world.path(&format!("tmp-{out}"));
    fs::create_dir_all(&tmp).unwrap();
    let set = [set, &[("TMPDIR", tmp.to_str().unwrap())]].concat();
    script(world, "release", &["--out", &place, "--executables", &bin, target], &set)
}

/// A command line that is short, and quick to pack several times, and hooks of one line, in `short`.
pub(crate) fn short_executables(world: &World) {
    let real = world.path("bin/ralph");
    for name in HOOKS {
        world.write(&format!("short/{name}"), "#!/bin/sh\necho \"${0##*/} $*\"\n");
    }
    world.write("short/ralph", &format!("#!/bin/sh\nexec '{}' \"$@\"\n", real.display()));
    for name in HOOKS.iter().chain(&["ralph"]) {
        world.chmod(&format!("short/{name}"), 0o755);
    }
}

pub(crate) fn archive() -> String {
    archive_of(TARGET)
}

pub(crate) fn archive_of(target: &str) -> String {
    format!("ralph-{}-{target}", env!("CARGO_PKG_VERSION"))
}

/// Unpacks it and returns the folder that was in it.
fn unpacked(world: &World, out: &str) -> PathBuf {
    let archive_file = world.path(out).join(format!("{}.tar.gz", archive()));
    let mut tar = world.command("tar");
    tar.arg("-xf").arg(archive_file).arg("-C").arg(world.path("home"));
    said(&tar.output().unwrap()).exit(0);
    world.path("home").join(archive())
}

#[test]
fn an_archive_is_the_same_whenever_wherever_and_by_whomever_it_is_packed() {
    if is_left_out(3) {
        return;
    }
    let world = World::new();
    short_executables(&world);
    let when = ("SOURCE_DATE_EPOCH", "1700000000");
    let Some(first) =
        packed(&world, "short", "one", &[when, ("TZ", "Asia/Tokyo"), ("LC_ALL", "C")])
    else {
        return;
    };
    first.exit(0);
    packed(&world, "short", "two", &[when, ("LANG", "de_DE.UTF-8")]).unwrap().exit(0);
    let sums = world.read("one/SHA256SUMS");
    assert_eq!(sums, world.read("two/SHA256SUMS"));
    assert_eq!(sums.lines().count(), 2, "{sums}");
    let mut check = world.command("sha256sum");
    check.args(["--check", "--strict", "SHA256SUMS"]).current_dir(world.path("one"));
    said(&check.output().unwrap()).exit(0);
    let mut list = world.command("tar");
    list.args(["--utc", "--numeric-owner", "-tvzf"]);
    let listed =
        list.arg(world.path("one").join(format!("{}.tar.gz", archive()))).output().unwrap();
    let listed = said(&listed).exit(0).stdout;
    for line in listed.lines() {
        assert!(line.contains(" 0/0 ") && line.contains(" 2023-11-14 22:13 "), "{line}");
    }
}

#[test]
fn an_unpacked_archive_is_an_installation_and_a_plugin_with_everything_beside_it() {
    if is_left_out(3) {
        return;
    }
    let world = World::new();
    // npm takes half a minute to pack them, and nothing here looks at that.
    world.write("quiet/npm", "#!/bin/sh\n");
    world.chmod("quiet/npm", 0o755);
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", world.path("quiet").display());
    small_executables(&world);
    let Some(made) = packed(&world, "small", "out", &[("PATH", &path)]) else { return };
    made.exit(0);
    let folder = unpacked(&world, "out");
    for name in [
        ".claude-plugin/plugin.json",
        ".claude-plugin/marketplace.json",
        "skills/ralph/SKILL.md",
        "agents/ralph-worker.md",
        "completions/ralph.bash",
        "completions/_ralph",
        "completions/ralph.fish",
        "man/man1/ralph-install.1",
        "README.md",
        "INSTALL.md",
        "LICENSE-MIT",
        "sbom.cdx.json",
    ] {
        assert!(folder.join(name).is_file(), "{name} is missing");
    }
    assert_eq!(fs::read_to_string(folder.join("hooks/hooks.json")).unwrap(), plugin_hooks_json());
    let programs: BTreeSet<_> =
        fs::read_dir(folder.join("bin")).unwrap().map(|file| file.unwrap().file_name()).collect();
    let expected: BTreeSet<_> = HOOKS.iter().chain(&["ralph"]).map(Into::into).collect();
    assert_eq!(programs, expected);
    // Made by the person who unpacks it, with the executables where they lie.
    let ralph = folder.join("bin/ralph");
    said(&world.command(&ralph).arg("install").output().unwrap())
        .exit(0)
        .says("registered 14 hooks in 13 events");
    said(&world.command(&ralph).arg("doctor").output().unwrap()).exit(0).says("14 of 14");
    // The machine that a release is made on has no part in it.
    let maker = world.path("tmp-out").display().to_string();
    for file in files(&folder) {
        let bytes = fs::read(&file).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(&maker), "{}", file.display());
    }
    assert_eq!(fs::read_dir(world.path("tmp-out")).unwrap().count(), 0, "it leaves nothing");
}

/// Puts the executables of the tests, without what a debugger needs, into `small`: they are packed several
/// times, and npm takes a minute for the symbols.
fn small_executables(world: &World) {
    fs::create_dir(world.path("small")).unwrap();
    for name in HOOKS.iter().chain(&["ralph"]) {
        let (from, to) = (executables().join(name), world.path("small").join(name));
        let stripped = world.command("strip").arg("-o").arg(&to).arg(&from).status();
        if !stripped.is_ok_and(|status| status.success()) {
            fs::copy(from, to).unwrap();
        }
    }
}

#[test]
fn a_release_stands_the_trial_of_someone_who_downloads_it() {
    if is_left_out(4) {
        return;
    }
    if cfg!(not(target_arch = "x86_64")) {
        return eprintln!("SKIPPED: what is packed here is for another processor than {TARGET}");
    }
    let world = World::new();
    small_executables(&world);
    let Some(made) = packed(&world, "small", "out", &[]) else { return };
    made.exit(0);
    let out = world.path("out").display().to_string();
    let tried = script(&world, "try-release", &[&out], &[]).unwrap().exit(0);
    let mut tried = tried.says("ralph demo: a whole loop").says("ralph uninstall --all");
    for (way, tools) in [
        ("install.sh", &[][..]),
        ("npm", &["npm", "node"]),
        ("formula", &["ruby"]),
        ("binstall", &["cargo-binstall", "node", "openssl"]),
    ] {
        if tools.iter().any(|tool| Command::new(tool).arg("--version").output().is_err()) {
            eprintln!("SKIPPED: could not start one of {tools:?}");
            continue;
        }
        for step in ["ralph doctor: every registered hook", "one version", "ralph demo: a whole"] {
            tried = tried.says(&format!("ok    {way}: {step}"));
        }
    }

    world.write(&format!("out/{}.cdx.json", archive()), "{}");
    let refused = script(&world, "try-release", &[&out], &[]).unwrap().exit(1);
    refused.says("are not those of its files");
}

#[test]
fn a_release_for_another_system_or_an_unknown_processor_is_left_out_with_the_reason() {
    let world = World::new();
    let targets = ["s390x-unknown-linux-musl", "x86_64-apple-darwin"];
    let names = targets.map(|target| format!("{}.tar.gz", archive_of(target)));
    let mut sums = world.command("sha256sum");
    for name in &names {
        world.write(&format!("out/{name}"), "");
        sums.arg(name);
    }
    let sums = said(&sums.current_dir(world.path("out")).output().unwrap()).exit(0);
    world.write("out/SHA256SUMS", &sums.stdout);
    let out = world.path("out").display().to_string();
    let Some(said) = script(&world, "try-release", &[&out], &[]) else { return };
    let said = said.exit(4).says("s390x-unknown-linux-musl.tar.gz: nothing is known of its");
    said.says("x86_64-apple-darwin.tar.gz: it is for another").says("no archive could be tried");
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn a_target_that_cannot_be_built_is_said_and_nothing_at_all_is_a_failure() {
    let world = World::new();
    let out = world.path("out").display().to_string();
    let args = ["--out", &out, "sparc64-unknown-linux-gnu"];
    let Some(said) = script(&world, "release", &args, &[]) else { return };
    let said = said.exit(4).says("left out sparc64-unknown-linux-gnu");
    said.says("rustup target add").says("no target could be built");
    script(&world, "release", &["--oops"], &[]).unwrap().exit(2).says("usage: scripts/release");
}

#[test]
fn the_list_of_what_is_linked_has_the_members_that_its_form_requires() {
    let world = World::new();
    let Some(printed) = script(&world, "sbom", &[TARGET], &[]) else { return };
    let list: Value = serde_json::from_str(&printed.exit(0).stdout).unwrap();
    assert_eq!((&list["bomFormat"], &list["specVersion"]), (&"CycloneDX".into(), &"1.5".into()));
    assert_eq!(list["version"], 1);
    let components = list["components"].as_array().unwrap();
    let mut refs: BTreeSet<&str> = BTreeSet::from(["ralph"]);
    let mut names = BTreeSet::new();
    for component in components {
        assert_eq!(component["type"], "library");
        for member in ["name", "version", "purl", "bom-ref"] {
            assert!(!component[member].as_str().unwrap().is_empty(), "{member}: {component}");
        }
        let licence = component["licenses"][0]["expression"].as_str().unwrap();
        assert!(!licence.contains('/') && licence != "NOASSERTION", "{component}");
        assert!(refs.insert(component["bom-ref"].as_str().unwrap()), "twice: {component}");
        let name = component["name"].as_str().unwrap();
        names.insert(name);
        // What comes from a registry comes with the digest by which cargo checks it.
        let digest = component["hashes"][0]["content"].as_str().map(str::len);
        let expected = (!name.starts_with("ralph")).then_some(64);
        assert_eq!(digest, expected, "{component}");
    }
    for dependency in list["dependencies"].as_array().unwrap() {
        let on = dependency["dependsOn"].as_array().unwrap().iter().map(|on| on.as_str().unwrap());
        for one in on.chain([dependency["ref"].as_str().unwrap()]) {
            assert!(refs.contains(one), "{one} is no component");
        }
    }
    assert!(names.is_superset(&BTreeSet::from(["ralph", "ralph-hooks", "clap", "rustix"])));
    // For tests, for macros, for build scripts; and what an optional feature would bring.
    let not_linked =
        ["libtest-mimic", "stateright", "serde_derive", "syn", "autocfg", "palette", "time"];
    assert!(not_linked.iter().all(|name| !names.contains(name)), "{names:?}");
}

#[test]
fn the_scripts_are_clean() {
    let world = World::new();
    let mut check = world.command("shellcheck");
    for folder in ["scripts", "bin"] {
        let entries = fs::read_dir(repository().join(folder)).unwrap();
        let scripts = entries.map(|entry| entry.unwrap().path());
        check.args(scripts.filter(|path| path.extension().is_none()));
    }
    match check.output() {
        Ok(output) => drop(said(&output).exit(0)),
        Err(error) => eprintln!("SKIPPED: could not start `shellcheck`: {error}"),
    }
}
