//! Scripts of `package.json`, and the files that package managers read before they run one.

use super::resolve::{At, Resolver};
use super::text::{self, join};
use super::{Weight, peel};
use serde_json::Value;

/// Keys of `.npmrc` that affect what runs; all others are about package sources.
const NPMRC: [&str; 18] = [
    "script-shell",
    "shell",
    "shell-emulator",
    "ignore-scripts",
    "node-options",
    "if-present",
    "workspace",
    "workspaces",
    "include-workspace-root",
    "prefix",
    "local-prefix",
    "scripts-prepend-node-path",
    "enable-pre-post-scripts",
    "userconfig",
    "globalconfig",
    "dry-run",
    "use-node-version",
    "node-path",
];

/// Options that take a separate value.
const WITH_VALUE: [&str; 12] = [
    "--prefix",
    "-C",
    "--dir",
    "--cwd",
    "-w",
    "--workspace",
    "--filter",
    "-F",
    "--script-shell",
    "--loglevel",
    "--reporter",
    "--from",
];

/// The package manager's own commands, which are not script names.
const COMMANDS: [&str; 12] =
    ["install", "i", "ci", "add", "audit", "exec", "dlx", "x", "build", "node", "config", "why"];

/// `npm test`, `pnpm run check`, `yarn check`, `bun run check`.
pub(super) fn follow(resolver: &mut Resolver<'_>, manager: &str, words: &[&str], at: &At) {
    let mut folder = at.folder.clone();
    let (mut plain, mut members) = (Vec::new(), false);
    let mut rest = words.iter().skip(1);
    while let Some(word) = rest.next() {
        let (name, value) = word.split_once('=').map_or((*word, None), |(n, v)| (n, Some(v)));
        match name {
            "--" => break,
            "--workspaces" | "-ws" | "-r" | "--recursive" => members = true,
            _ if WITH_VALUE.contains(&name) => {
                let value = value.or_else(|| rest.next().copied()).unwrap_or_default();
                match name {
                    "--prefix" | "-C" | "--dir" | "--cwd" => {
                        folder = join(&folder, value).unwrap_or_else(|| folder.clone());
                    }
                    "-w" | "--workspace" | "--filter" | "-F" => members = true,
                    _ => {}
                }
            }
            _ if word.starts_with('-') => {}
            _ => plain.push(*word),
        }
    }
    let mut plain = plain.as_slice();
    match plain {
        ["workspaces", "foreach" | "run", rest @ ..] | ["workspace", _, rest @ ..] => {
            members = true;
            plain = rest;
        }
        ["recursive", rest @ ..] => {
            members = true;
            plain = rest;
        }
        _ => {}
    }
    let (script, certain) = match plain {
        ["run" | "run-script" | "rum" | "urn", script, ..] => (*script, true),
        ["test" | "t" | "tst", ..] if manager != "bun" => ("test", true),
        [script @ ("start" | "stop" | "restart"), ..] => (*script, true),
        [script, ..] if !COMMANDS.contains(script) && (manager != "npm" || members) => {
            (*script, false)
        }
        _ => return,
    };
    if manager == "bun" && script == "test" && !certain {
        return;
    }
    settings(resolver, manager, &folder);
    let is_script = package(resolver, &folder, script, certain && !members, at);
    if !is_script && !certain {
        let from = words.iter().position(|word| *word == script).unwrap_or_default();
        peel::installed(resolver, script, &folder);
        resolver.command(words.get(from..).unwrap_or_default(), at);
    }
    if members {
        let top = resolver.nearest(&folder, "package.json").unwrap_or_default();
        for member in workspace(resolver, &top) {
            package(resolver, &member, script, false, at);
        }
    }
}

/// Reads a script of a package with its `pre` and `post` scripts. False if there is no such script.
pub(super) fn package(
    resolver: &mut Resolver<'_>,
    folder: &str,
    script: &str,
    must: bool,
    at: &At,
) -> bool {
    let folder = resolver.nearest(folder, "package.json").unwrap_or_else(|| folder.to_owned());
    let Some(path) = join(&folder, "package.json") else { return false };
    let scripts =
        resolver.json(&path).map(|package| package["scripts"].clone()).unwrap_or_default();
    if !resolver.is_first(&format!("script {script} of {path}")) {
        return true;
    }
    // `run-s build:*`
    if let Some(start) = script.strip_suffix('*') {
        let names: Vec<String> =
            scripts.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
        for name in names.iter().filter(|name| name.starts_with(start)) {
            package(resolver, &folder, name, false, at);
        }
        return true;
    }
    let is_there = scripts[script].is_string();
    for (name, weight) in [
        (script.to_owned(), Weight::Frozen),
        (format!("pre{script}"), Weight::Frozen),
        (format!("post{script}"), Weight::Frozen),
    ] {
        let text = scripts[&name].as_str().map(text::line);
        if text.is_none() && (name != script || !must) {
            continue;
        }
        resolver.meaning.add_shell(format!("script `{name}` of {path}"), weight, text.clone());
        if let Some(text) = text {
            several(resolver, &folder, &text, at);
            resolver.line(&text, &at.deeper(&folder));
        }
    }
    is_there
}

/// `run-s a b`, `npm-run-all a b`, `concurrently "npm:a"`, `turbo run a`.
fn several(resolver: &mut Resolver<'_>, folder: &str, script: &str, at: &At) {
    let words: Vec<&str> = script.split([' ', '"', '\'']).filter(|word| !word.is_empty()).collect();
    let Some(tool) = words.iter().find(|word| {
        [
            "run-s",
            "run-p",
            "npm-run-all",
            "npm-run-all2",
            "concurrently",
            "turbo",
            "nx",
            "lerna",
            "wireit",
            "wsrun",
        ]
        .contains(word)
    }) else {
        return;
    };
    for word in words.iter().filter(|word| !word.starts_with('-') && *word != tool) {
        let name = word.strip_prefix("npm:").or_else(|| word.strip_prefix("pnpm:")).unwrap_or(word);
        package(resolver, folder, name, false, &at.deeper(folder));
        if matches!(*tool, "turbo" | "nx" | "lerna" | "wsrun") {
            for member in workspace(resolver, folder) {
                package(resolver, &member, name, false, &at.deeper(folder));
            }
        }
    }
}

/// The folders of the packages in a workspace.
fn workspace(resolver: &Resolver<'_>, top: &str) -> Vec<String> {
    let path = |name: &str| join(top, name).unwrap_or_default();
    let package = resolver.json(&path("package.json")).unwrap_or_default();
    let listed = match &package["workspaces"] {
        Value::Object(members) => members.get("packages").cloned().unwrap_or_default(),
        other => other.clone(),
    };
    let mut patterns: Vec<String> = listed
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|one| one.as_str().map(str::to_owned))
        .collect();
    let yaml = resolver.text(&path("pnpm-workspace.yaml")).unwrap_or_default();
    let listed = yaml.lines().filter_map(|line| line.trim().strip_prefix("- "));
    patterns.extend(listed.map(|one| one.trim_matches(['"', '\'', ' ']).to_owned()));
    patterns.iter().flat_map(|pattern| folders(resolver, top, pattern)).collect()
}

/// The folders that match a pattern of workspace members.
pub(super) fn folders(resolver: &Resolver<'_>, top: &str, pattern: &str) -> Vec<String> {
    let pattern = pattern.trim_end_matches('/');
    match pattern.split_once('*') {
        None => join(top, pattern).into_iter().collect(),
        Some((before, _)) => {
            let Some(folder) = join(top, before) else { return Vec::new() };
            let names = resolver.names(&folder);
            names.iter().take(100).filter_map(|name| join(&folder, name)).collect()
        }
    }
}

fn settings(resolver: &mut Resolver<'_>, manager: &str, folder: &str) {
    let mut places: Vec<String> = super::resolve::upwards(folder)
        .iter()
        .filter_map(|folder| join(folder, ".npmrc"))
        .collect();
    places.push("~/.npmrc".to_owned());
    for path in places {
        let Some(text) = resolver.text(&path) else { continue };
        let lines = text.lines().filter_map(|line| {
            let (key, value) = line.split_once('=')?;
            let key = key.trim();
            NPMRC.contains(&key).then(|| format!("{key}={}", value.trim()))
        });
        let told: Vec<String> = lines.collect();
        if !told.is_empty() {
            resolver.meaning.add(
                format!("settings in {path}"),
                Weight::Frozen,
                Some(told.join("\n")),
            );
        }
    }
    let more: &[&str] = match manager {
        "yarn" => &[".yarnrc", ".yarnrc.yml"],
        "bun" => &["bunfig.toml"],
        "pnpm" => &["pnpm-workspace.yaml"],
        _ => &[],
    };
    for name in more {
        let Some(path) = join(folder, name) else { continue };
        let Some(text) = resolver.text(&path) else { continue };
        let words = [
            "script",
            "shell",
            "yarn-path",
            "yarnPath",
            "plugins",
            "path:",
            "--run",
            "--test",
            "preload",
            "[test]",
            "[run]",
            "bun =",
            "nodeOptions",
            "root",
            "smol",
        ];
        let told: Vec<String> = text
            .lines()
            .map(text::line)
            .filter(|line| words.iter().any(|word| line.contains(word)))
            .collect();
        if !told.is_empty() {
            resolver.meaning.add(
                format!("settings in {path}"),
                Weight::Frozen,
                Some(told.join("\n")),
            );
        }
    }
}

/// A file passed to an interpreter.
pub(super) fn interpreter(resolver: &mut Resolver<'_>, name: &str, words: &[&str], at: &At) {
    let mut rest = words.iter().skip(1);
    while let Some(word) = rest.next() {
        match *word {
            "--run" => {
                if let Some(script) = rest.next() {
                    package(resolver, &at.folder, script, true, at);
                }
                return;
            }
            "--test" | "-e" | "-c" | "-p" | "--eval" | "test" | "task" | "-r"
                if name != "ruby" || *word == "-e" =>
            {
                return;
            }
            "-r" | "-I" | "--import" | "--require" | "--loader" | "--env-file" => drop(rest.next()),
            _ if word.starts_with('-') => {}
            _ => return resolver.script(word, at),
        }
    }
}
