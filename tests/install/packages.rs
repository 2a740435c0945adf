//! What a release has for `cargo binstall`, Homebrew and npm: names, checksums, and the launcher.

use crate::release::{TARGET, archive, packed_for, short_executables};
use crate::world::{HOOKS, World, repository, said};
use ralph_test_support::sample::is_left_out;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A release of short executables in `out`; `None` where a tool is missing.
fn release_for(world: &World, target: &str) -> Option<PathBuf> {
    short_executables(world);
    packed_for(world, target, "short", "out", &[])?.exit(0);
    Some(world.path("out"))
}

/// The text of a file in a package for npm.
fn in_package(world: &World, package: &str, file: &str) -> String {
    let mut tar = world.command("tar");
    tar.arg("-xzOf").arg(world.path("out").join(format!("ralph-loop-{package}-{VERSION}.tgz")));
    said(&tar.arg(format!("package/{file}")).output().unwrap()).exit(0).stdout
}

fn names_in(world: &World, archive: &str) -> BTreeSet<String> {
    let mut tar = world.command("tar");
    tar.arg("-tzf").arg(world.path("out").join(archive));
    said(&tar.output().unwrap()).exit(0).stdout.lines().map(str::to_owned).collect()
}

/// Replaces the variables of a template by the rules of cargo-binstall's SUPPORT.md.
fn expand(template: &str, target: &str, package: &str, bin: &str) -> String {
    let variables = [
        ("name", package),
        ("version", VERSION),
        ("repo", env!("CARGO_PKG_REPOSITORY")),
        ("target", target),
        ("bin", bin),
        ("binary-ext", ""),
        ("archive-suffix", ".tar.gz"),
    ];
    let replace =
        |text: String, (name, value): (&str, &str)| text.replace(&format!("{{ {name} }}"), value);
    let text = variables.into_iter().fold(template.to_owned(), replace);
    assert!(!text.contains('{'), "unknown variable in {text}");
    text
}

#[test]
fn a_release_has_what_cargo_binstall_homebrew_and_npm_look_for() {
    if is_left_out(3) {
        return;
    }
    for (target, system, processor) in
        [(TARGET, "linux", "x64"), ("aarch64-apple-darwin", "darwin", "arm64")]
    {
        let world = World::new();
        let Some(out) = release_for(&world, target) else { return };
        cargo_binstall_is_led_to_the_archive_and_to_each_executable_in_it(&world, &out, target);
        if target == TARGET {
            the_formula_has_the_urls_of_the_release_and_the_digests_of_its_archives(&world, &out);
        }
        match out.join(format!("ralph-loop-ralph-{VERSION}.tgz")).exists() {
            true => {
                npm_gets_a_package_for_the_platform_and_one_that_names_it(&world, system, processor)
            }
            false => eprintln!("SKIPPED: could not start `npm`"),
        }
    }
}

fn cargo_binstall_is_led_to_the_archive_and_to_each_executable_in_it(
    world: &World,
    out: &Path,
    target: &str,
) {
    let mut found = BTreeSet::new();
    for package in ["ralph", "ralph-hooks"] {
        found.extend(led_to(world, out, target, package));
    }
    let all: BTreeSet<String> = HOOKS.iter().chain(&["ralph"]).map(|&n| n.into()).collect();
    assert_eq!(found, all);
}

/// The executables of a package that its metadata leads to in the archive for a target.
fn led_to(world: &World, out: &Path, target: &str, package: &str) -> Vec<String> {
    let manifest = repository().join(format!("crates/{package}/Cargo.toml"));
    let manifest: toml::Value = toml::from_str(&fs::read_to_string(manifest).unwrap()).unwrap();
    let metadata = &manifest["package"]["metadata"]["binstall"];
    let of = |key: &str| metadata[key].as_str().unwrap();
    assert_eq!(of("pkg-fmt"), "tgz");
    // Both would install what others made: the registry has another `ralph`.
    let disabled = metadata["disabled-strategies"].as_array().unwrap();
    assert!(["quick-install", "compile"].iter().all(|name| disabled.contains(&(*name).into())));
    let url = expand(of("pkg-url"), target, package, "");
    let place = format!("https://github.com/ralph-loop/ralph/releases/download/v{VERSION}/");
    let file = url.strip_prefix(&place).unwrap();
    assert!(out.join(file).is_file(), "{url}");
    let names = names_in(world, file);
    let bins = manifest["bin"].as_array().unwrap().iter();
    let bins = bins.map(|bin| bin["name"].as_str().unwrap().to_owned());
    bins.inspect(|bin| {
        let path = expand(of("bin-dir"), target, package, bin);
        assert!(names.contains(&path), "{path} is not among {names:?}");
    })
    .collect()
}

fn the_formula_has_the_urls_of_the_release_and_the_digests_of_its_archives(
    world: &World,
    out: &Path,
) {
    let formula = world.read("out/ralph.rb");
    let value = |key: &str| {
        let line = formula.lines().find_map(|line| line.trim().strip_prefix(key)).unwrap();
        line.trim().trim_matches('"').to_owned()
    };
    let file = format!("{}.tar.gz", archive());
    let place = format!("https://github.com/ralph-loop/ralph/releases/download/v{VERSION}");
    assert_eq!(value("url"), format!("{place}/{file}"));
    let digest = ralph_core::text::hex::sha256(fs::read(out.join(&file)).unwrap());
    assert_eq!(value("sha256"), digest);
    assert_eq!(value("version"), VERSION);
    assert!(formula.contains("  depends_on :linux\n"), "{formula}");
    let mut ruby = world.command("ruby");
    match ruby.arg("-c").arg(out.join("ralph.rb")).output() {
        Ok(output) => drop(said(&output).exit(0)),
        Err(error) => eprintln!("SKIPPED: could not start `ruby`: {error}"),
    }
}

#[test]
fn a_formula_of_four_archives_has_a_block_for_each_system_and_processor() {
    let world = World::new();
    let targets = [
        ("x86_64-apple-darwin", 'a'),
        ("aarch64-apple-darwin", 'b'),
        ("x86_64-unknown-linux-musl", 'c'),
        ("aarch64-unknown-linux-musl", 'd'),
    ];
    let line = |(target, digit): &(&str, char)| {
        format!("{}  ralph-{VERSION}-{target}.tar.gz\n", digit.to_string().repeat(64))
    };
    world.write("out/SHA256SUMS", &targets.iter().map(line).collect::<String>());
    let mut command = world.command(repository().join("scripts/formula"));
    let formula = said(&command.arg(world.path("out")).output().unwrap()).exit(0).stdout;
    let words: Vec<&str> = formula
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("on_") || line.starts_with("sha256"))
        .map(|line| line.trim_end_matches(" do").trim_end_matches('"'))
        .map(|line| if line.starts_with("on_") { line } else { &line[line.len() - 1..] })
        .collect();
    let expected =
        ["on_macos", "on_arm", "b", "on_intel", "a", "on_linux", "on_arm", "d", "on_intel", "c"];
    assert_eq!(words, expected);
    assert!(!formula.contains("depends_on"), "{formula}");
}

fn npm_gets_a_package_for_the_platform_and_one_that_names_it(
    world: &World,
    system: &str,
    processor: &str,
) {
    let package = format!("ralph-{system}-{processor}");
    let of = |package: &str| -> Value {
        serde_json::from_str(&in_package(world, package, "package.json")).unwrap()
    };
    let (main, platform) = (of("ralph"), of(&package));
    assert_eq!(main["name"], "@ralph-loop/ralph");
    let optional = json!({ format!("@ralph-loop/{package}"): VERSION });
    assert_eq!(main["optionalDependencies"], optional);
    assert_eq!((&main["os"], &main["scripts"]), (&json!(["linux", "darwin"]), &Value::Null));
    for name in HOOKS.iter().chain(&["ralph"]) {
        assert_eq!(main["bin"][name], format!("bin/{name}"));
        assert_eq!(
            in_package(world, "ralph", &format!("bin/{name}")),
            fs::read_to_string(repository().join("packaging/npm/launch")).unwrap()
        );
        assert_eq!(
            in_package(world, &package, &format!("bin/{name}")),
            world.read(&format!("short/{name}"))
        );
    }
    let name = format!("@ralph-loop/{package}");
    let expected = json!([name, VERSION, [system], [processor], null, null]);
    let found = ["name", "version", "os", "cpu", "libc", "scripts"].map(|key| &platform[key]);
    assert_eq!(json!(found), expected);
}

/// The machine's own package, beside the launcher or above it, as the managers of packages lay it out.
#[test]
fn the_launcher_starts_the_executable_of_its_name_through_any_link() {
    let system = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
    let processor = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    let package = format!("@ralph-loop/ralph-{system}-{processor}");
    for place in ["lib/node_modules/@ralph-loop/ralph/node_modules", "lib/node_modules"] {
        let world = World::new();
        let launcher = "lib/node_modules/@ralph-loop/ralph/bin/ralph-stop-hook";
        let text = fs::read_to_string(repository().join("packaging/npm/launch")).unwrap();
        world.write(launcher, &text);
        world.chmod(launcher, 0o755);
        fs::create_dir_all(world.path("prefix/bin")).unwrap();
        let link = world.path("prefix/bin/ralph-stop-hook");
        let to = "../../lib/node_modules/@ralph-loop/ralph/bin/ralph-stop-hook";
        std::os::unix::fs::symlink(to, &link).unwrap();
        let second = world.path("bin/ralph-stop-hook");
        fs::remove_file(&second).unwrap();
        std::os::unix::fs::symlink(&link, &second).unwrap();
        let run = || said(&world.command(&second).args(["a b", "c"]).output().unwrap());
        run().exit(4).says(&package).says("--omit=optional");
        let program = format!("{place}/{package}/bin/ralph-stop-hook");
        world.write(&program, "#!/bin/sh\nprintf '%s\\n' \"$0\" \"$@\"\n");
        world.chmod(&program, 0o755);
        let expected = format!("{}\na b\nc\n", world.path(&program).display());
        assert_eq!(run().exit(0).stdout, expected);
    }
}
