//! cargo: aliases, configuration, and the settings of `Cargo.toml` for tests.

use super::resolve::{At, Resolver, upwards};
use super::text::{self, join};
use super::{Weight, node};
use serde_json::Value;

/// Tables of `.cargo/config.toml` that only affect sources and output.
const HARMLESS: [&str; 11] = [
    "net",
    "http",
    "registries",
    "registry",
    "source",
    "term",
    "future-incompat-report",
    "cargo-new",
    "install",
    "credential-alias",
    "alias",
];

/// `cargo test`, `cargo xtask`
pub(super) fn follow(resolver: &mut Resolver<'_>, words: &[&str], at: &At) {
    let mut folder = at.folder.clone();
    let mut rest = words.iter().skip(1).filter(|word| !word.starts_with('+'));
    let mut command = None;
    while let Some(word) = rest.next() {
        match *word {
            "-C" | "--config" | "-Z" | "--color" => drop(rest.next()),
            "--manifest-path" => {
                let path = rest.next().and_then(|path| join(&folder, path));
                folder = path
                    .and_then(|path| path.rsplit_once('/').map(|(at, _)| at.to_owned()))
                    .unwrap_or_default();
            }
            _ if word.starts_with("--manifest-path=") => {
                let path = join(&folder, &word["--manifest-path=".len()..]);
                folder = path
                    .and_then(|path| path.rsplit_once('/').map(|(at, _)| at.to_owned()))
                    .unwrap_or_default();
            }
            "--" => break,
            _ if word.starts_with('-') => {}
            _ => {
                command.get_or_insert(*word);
            }
        }
    }
    let Some(command) = command else { return };
    configuration(resolver, &folder, command, words, at);
    match command {
        "test" | "t" | "nextest" | "llvm-cov" | "tarpaulin" | "hack" | "mutants" => {
            manifests(resolver, &folder, &["lib", "test", "bin", "example", "bench"]);
        }
        "clippy" | "check" | "c" | "build" | "b" | "doc" => {
            manifests(resolver, &folder, &["lints"])
        }
        _ => {}
    }
}

fn configuration(
    resolver: &mut Resolver<'_>,
    folder: &str,
    command: &str,
    words: &[&str],
    at: &At,
) {
    let mut places: Vec<String> = upwards(folder)
        .iter()
        .flat_map(|folder| [".cargo/config.toml", ".cargo/config"].map(|name| join(folder, name)))
        .flatten()
        .collect();
    places.extend(["~/.cargo/config.toml".to_owned(), "~/.cargo/config".to_owned()]);
    for path in places {
        let Some(config) = resolver.toml(&path) else { continue };
        let alias = match &config["alias"][command] {
            Value::String(alias) => Some(text::line(alias)),
            Value::Array(parts) => {
                Some(parts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "))
            }
            _ => None,
        };
        if let Some(alias) = alias
            && resolver.is_first(&format!("alias {command} of {path}"))
        {
            let what = format!("alias `{command}` of {path}");
            resolver.meaning.add(what, Weight::Frozen, Some(alias.clone()));
            let after = words.iter().skip_while(|word| **word != command).skip(1).copied();
            let line: Vec<&str> =
                ["cargo"].into_iter().chain(alias.split(' ')).chain(after).collect();
            if at.depth < 4 {
                resolver.command(&line, &at.deeper(&at.folder));
            }
        }
        let mut told = config.clone();
        if let Some(build) = told.get_mut("build").and_then(Value::as_object_mut) {
            build.retain(|name, _| {
                !["jobs", "target-dir", "incremental", "dep-info-basedir"].contains(&name.as_str())
            });
            if build.is_empty() {
                told.as_object_mut().and_then(|all| all.remove("build"));
            }
        }
        if let Some(text) = text::value(&told, &HARMLESS) {
            resolver.meaning.add(format!("settings in {path}"), Weight::Frozen, Some(text));
        }
    }
    for name in ["rust-toolchain.toml", "rust-toolchain"] {
        let path = join(folder, name).unwrap_or_default();
        let toolchain = resolver.toml(&path).map(|all| all["toolchain"]["path"].clone());
        if let Some(Value::String(own)) = toolchain {
            resolver.meaning.add(format!("toolchain in {path}"), Weight::Frozen, Some(own));
        }
    }
    for name in [".config/nextest.toml", "clippy.toml", ".clippy.toml"] {
        let is_its = name.contains("nextest") == (command == "nextest")
            && (name.contains("nextest") || command == "clippy");
        let path = join(folder, name).filter(|_| is_its);
        if let Some(path) = path
            && let Some(told) = resolver.toml(&path)
        {
            resolver.meaning.add(
                format!("settings in {path}"),
                Weight::Frozen,
                Some(told.to_string()),
            );
        }
    }
}

/// Reads `Cargo.toml` of the package, of its workspace, and of the members.
fn manifests(resolver: &mut Resolver<'_>, folder: &str, tables: &[&str]) {
    let mut open: Vec<String> = Vec::new();
    for above in upwards(folder) {
        let Some(path) = join(&above, "Cargo.toml") else { continue };
        let Some(manifest) = resolver.toml(&path) else { continue };
        let workspace = &manifest["workspace"];
        let members =
            workspace["members"].as_array().into_iter().flatten().filter_map(Value::as_str);
        for member in members {
            let what = format!("member `{member}` of {path}");
            resolver.meaning.add(what, Weight::Grows, Some(String::new()));
            open.extend(node::folders(resolver, &above, member));
        }
        for key in ["exclude", "default-members"] {
            if let Some(told) = text::value(&workspace[key], &[]) {
                resolver.meaning.add(format!("`{key}` of {path}"), Weight::Frozen, Some(told));
            }
        }
        one(resolver, &path, &manifest, tables);
    }
    for member in open.into_iter().take(100) {
        let Some(path) = join(&member, "Cargo.toml") else { continue };
        if let Some(manifest) = resolver.toml(&path) {
            one(resolver, &path, &manifest, tables);
        }
    }
}

fn one(resolver: &mut Resolver<'_>, path: &str, manifest: &Value, tables: &[&str]) {
    let mut add = |what: String, weight: Weight, text: Option<String>| {
        if let Some(text) = text {
            resolver.meaning.add(format!("{what} of {path}"), weight, Some(text));
        }
    };
    for key in ["autotests", "autobins", "autoexamples", "autobenches", "autolib", "build"] {
        add(format!("`{key}`"), Weight::Frozen, text::value(&manifest["package"][key], &[]));
    }
    for table in tables {
        match &manifest[*table] {
            Value::Array(targets) => {
                for target in targets {
                    let weakens = target["harness"] == false
                        || target["test"] == false
                        || target["doctest"] == false
                        || target.get("required-features").is_some();
                    // A new target adds tests, unless it disables them.
                    let weight = if weakens { Weight::Frozen } else { Weight::Grows };
                    let name = target["name"].as_str().unwrap_or_default();
                    let told = text::value(target, &["doc", "edition", "proc-macro", "crate-type"]);
                    add(format!("`[[{table}]]` `{name}`"), weight, told);
                }
            }
            one @ Value::Object(_) if *table == "lib" => {
                let kept = ["harness", "test", "doctest", "path", "required-features"];
                let told: Vec<String> = kept
                    .iter()
                    .filter_map(|key| Some(format!("{key}={}", one.get(*key)?)))
                    .filter(|told| !told.ends_with("=true"))
                    .collect();
                let told = (!told.is_empty()).then(|| told.join("\n"));
                add("`[lib]`".to_owned(), Weight::Frozen, told);
            }
            one => add(format!("`[{table}]`"), Weight::Frozen, text::value(one, &[])),
        }
    }
    for profile in ["test", "dev"] {
        let profile = &manifest["profile"][profile];
        let kept = ["debug-assertions", "overflow-checks", "panic"];
        let told: Vec<String> =
            kept.iter().filter_map(|key| Some(format!("{key}={}", profile.get(*key)?))).collect();
        add("`[profile]`".to_owned(), Weight::Frozen, (!told.is_empty()).then(|| told.join("\n")));
    }
    if tables.contains(&"lints") {
        let lints = text::value(&manifest["workspace"]["lints"], &[]);
        add("`[workspace.lints]`".to_owned(), Weight::Frozen, lints);
    }
    add("`[patch]`".to_owned(), Weight::Frozen, text::value(&manifest["patch"], &[]));
}
