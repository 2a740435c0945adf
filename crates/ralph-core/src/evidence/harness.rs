//! Tells the harness of a project from its code, and parts a changed file into the two.
//!
//! Whoever judges a change runs the code with the tests of the start, and the tests with the code
//! of the start. The rule for the harness is one of places and names, not a list of tools: a tool
//! that nobody knows here has its configuration where all others have theirs. It is kept narrow,
//! since a template, a style or a translation that is taken for harness makes honest work fail.

mod mixed_files;

use serde_json::Value;
use std::collections::BTreeSet;
use std::ops::Range;

/// One changed file, as it was at the start and as it is now; `None` if absent.
#[derive(Debug, Clone, Copy)]
pub struct Versions<'a> {
    pub start: Option<&'a [u8]>,
    pub now: Option<&'a [u8]>,
}

/// What the rules need to know beyond one file. Paths are relative to the top of the repository.
#[derive(Debug, Clone, Copy)]
pub struct Around<'a> {
    /// Files that the command of a criterion names.
    pub named: &'a [String],
    /// All files of the start.
    pub start: &'a BTreeSet<String>,
    /// All files of now.
    pub now: &'a BTreeSet<String>,
    /// Parses TOML.
    pub toml: fn(&str) -> Option<Value>,
}

/// What a file belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Harness,
    Code,
    /// A lock file: always as it is now.
    Dependencies,
    /// Neither: never replaced.
    Documentation,
}

/// What a command sees in place of the present file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeenFile {
    AsNow,
    Other(Vec<u8>),
    Absent,
}

/// A changed file in the forms in which commands are run again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parted {
    pub kind: Kind,
    pub harness_changed: bool,
    pub code_changed: bool,
    pub dependencies_changed: bool,
    /// Code and dependencies of now, harness of the start.
    pub original_tests: SeenFile,
    /// Harness and dependencies of now, code of the start.
    pub without_change: SeenFile,
    /// Tests changed that are in code and cannot be parted from it, such as doctests.
    pub tests_in_code: bool,
}

/// Parts one changed file.
pub fn part(path: &str, versions: Versions<'_>, around: &Around<'_>) -> Parted {
    let changed = versions.start != versions.now;
    let texts = [versions.start, versions.now].map(|bytes| bytes.map(str::from_utf8).transpose());
    let [old, new] = texts.map(|text| text.unwrap_or_default());
    let is_text =
        old.is_some() == versions.start.is_some() && new.is_some() == versions.now.is_some();
    let kind = match kind(path, around) {
        Kind::Code if old.or(new).is_some_and(|text| mixed_files::is_all_tests(path, text)) => {
            Kind::Harness
        }
        kind => kind,
    };
    let mut parted = Parted {
        kind,
        harness_changed: changed && kind == Kind::Harness,
        code_changed: changed && kind == Kind::Code,
        dependencies_changed: changed && kind == Kind::Dependencies,
        original_tests: SeenFile::AsNow,
        without_change: SeenFile::AsNow,
        tests_in_code: false,
    };
    let start = || versions.start.map_or(SeenFile::Absent, |bytes| SeenFile::Other(bytes.to_vec()));
    match kind {
        _ if !changed => return parted,
        Kind::Harness => {
            parted.original_tests = start();
            let both = old.zip(new).filter(|_| is_text);
            let original =
                both.and_then(|(old, new)| mixed_files::original(path, old, new, around.toml));
            if let Some(original) = original {
                parted.harness_changed = original.harness_changed;
                parted.dependencies_changed = original.dependencies_changed;
                parted.original_tests = match original.harness_changed {
                    true => SeenFile::Other(original.text.into_bytes()),
                    false => SeenFile::AsNow,
                };
            }
        }
        Kind::Code => {
            parted.without_change = start();
            if is_text {
                let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
                parted.tests_in_code = mixed_files::changes_tests(path, old, new);
                if path.ends_with(".rs") {
                    part_rust(&mut parted, versions, old, new);
                }
            }
        }
        Kind::Dependencies | Kind::Documentation => {}
    }
    if versions.start.is_none() && in_new_package(path, around) {
        parted.original_tests = SeenFile::AsNow;
    }
    parted
}

/// Exchanges the test modules of a Rust source and the rest of it separately.
fn part_rust(parted: &mut Parted, versions: Versions<'_>, old: &str, new: &str) {
    let [Some(start), Some(now)] = [old, new].map(mixed_files::Halves::parse) else { return };
    parted.harness_changed = start.tests() != now.tests();
    parted.code_changed = start.code() != now.code();
    if versions.now.is_none() {
        // Its tests have no code left that they could be put beside.
        parted.tests_in_code |= !start.tests().is_empty();
        return;
    }
    if parted.harness_changed {
        parted.original_tests = SeenFile::Other(now.with_tests_of(&start).into_bytes());
    }
    if versions.start.is_some() {
        parted.without_change = match parted.code_changed {
            true => SeenFile::Other(start.with_tests_of(&now).into_bytes()),
            false => SeenFile::AsNow,
        };
    }
}

/// Returns what a file belongs to. A manifest counts as harness here; `part` spares its
/// dependencies. A Rust source counts as code.
pub fn kind(path: &str, around: &Around<'_>) -> Kind {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let extension = extension(name);
    let is_named = around.named.iter().any(|named| named == path);
    if in_test_folder(folder) {
        Kind::Harness
    } else if is_documentation(name, extension) {
        // A command that names a document tests it.
        if is_named { Kind::Code } else { Kind::Documentation }
    } else if is_lock(name) {
        Kind::Dependencies
    } else if path.split('/').any(|part| part.starts_with('.'))
        || is_test_name(name)
        || is_snapshot(path)
        || is_recipe(name, extension)
        || is_named && (is_data(extension) || words(name).iter().any(|word| judges(word)))
        || is_configuration(folder, name, extension, around)
    {
        Kind::Harness
    } else {
        Kind::Code
    }
}

/// True for a file with tests or expected results, as opposed to configuration, data and scripts.
pub fn is_test_file(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let of_data = |part: &str| matches!(part, "testdata" | "fixtures" | "fixture" | "__mocks__");
    let is_set_up = ["conftest.", "setup", "__init__."].iter().any(|it| name.starts_with(it));
    let extension = extension(name);
    is_snapshot(path)
        || (is_test_name(name) || in_test_folder(folder))
            && !folder.split('/').any(of_data)
            && !is_set_up
            && (!is_data(extension) || matches!(extension, "" | "sh" | "bash"))
}

/// True for a file that a criterion may ask for as a result: `test -f report.txt`. Neither a test nor a script nor a
/// recipe is one, which judge the work or run it.
pub fn may_be_result(path: &str) -> bool {
    const RESULTS: [&str; 11] =
        ["", "txt", "csv", "tsv", "out", "log", "dat", "bin", "md", "html", "pdf"];
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let extension = extension(name);
    RESULTS.contains(&extension)
        && !in_test_folder(folder)
        && !path.split('/').any(|part| part.starts_with('.'))
        && !is_test_name(name)
        && !is_snapshot(path)
        && !is_recipe(name, extension)
        && !words(name).iter().any(|word| judges(word))
}

/// The parts of a text in which assertions belong to tests: of a source with tests in it only
/// these, else everything.
pub fn test_regions(path: &str, text: &str) -> Vec<Range<usize>> {
    let vitest = text.find("import.meta.vitest");
    let from = vitest.filter(|_| !is_test_file(path)).unwrap_or_default();
    let all = || std::iter::once(from..text.len()).collect();
    if !path.ends_with(".rs") || is_test_file(path) || mixed_files::is_all_tests(path, text) {
        return all();
    }
    mixed_files::Halves::parse(text).map_or_else(all, |halves| halves.ranges())
}

/// True for a source of the product with tests in it that can be told from the rest.
pub fn has_tests_inside(path: &str, text: &str) -> bool {
    !is_test_file(path) && test_regions(path, text) != std::slice::from_ref(&(0..text.len()))
}

/// Splits a name at separators and at capital letters, in lower case.
pub(super) fn words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut spaced = String::new();
    for (at, letter) in letters.iter().enumerate() {
        let after_capital = at > 0 && letters[at - 1].is_uppercase();
        let begins_word = letters.get(at + 1).is_some_and(|after| after.is_lowercase());
        if letter.is_uppercase() && (!after_capital || begins_word) {
            spaced.push(' ');
        }
        spaced.extend(letter.to_lowercase());
    }
    let words = spaced.split(|letter: char| !letter.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Extensions of configuration, beside `properties`; an empty one is that of `Makefile` and `.babelrc`.
const CONFIGURATION: &[&str] = &[
    "", "json", "jsonc", "json5", "yaml", "yml", "toml", "ini", "cfg", "conf", "xml", "neon",
    "dist", "env", "work", "bazel", "bzl", "xcconfig",
];

/// Extensions of data and scripts, which are harness where a command names them.
const DATA: &[&str] = &["txt", "csv", "tsv", "out", "dat", "bin", "log", "sh", "bash", "zsh"];

/// Extensions of build files, wherever they are.
const BUILDS: &[&str] = &[
    "mk", "cmake", "gradle", "sbt", "csproj", "fsproj", "sln", "props", "targets", "gemspec",
    "cabal", "nimble", "ninja", "just",
];

/// Files that make a folder a package of its own.
const MANIFESTS: &[&str] = &[
    "package.json",
    "Cargo.toml",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "go.mod",
    "go.work",
    "composer.json",
    "Gemfile",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "CMakeLists.txt",
    "Makefile",
    "meson.build",
    "mix.exs",
    "Package.swift",
    "pubspec.yaml",
    "deno.json",
    "build.zig",
    "build.sbt",
];

/// A folder of tests, at any depth.
fn in_test_folder(folder: &str) -> bool {
    folder.split('/').any(|part| {
        let words = words(part);
        let ends = [words.first(), words.last()];
        part.len() > 4 && part.starts_with("__") && part.ends_with("__")
            || matches!(part, "testdata" | "fixtures" | "snapshots")
            || ends.into_iter().flatten().any(|word| is_test_word(word))
    })
}

fn is_test_word(word: &str) -> bool {
    matches!(word, "test" | "tests" | "spec" | "specs" | "e2e")
}

/// `test_date.py`, `date_test.go`, `DateTests.cs`, `date.spec.ts`, `setupTests.ts`.
fn is_test_name(name: &str) -> bool {
    let (stem, parts) = name.rsplit_once('.').map_or((name, ""), |(stem, _)| (stem, stem));
    let words = words(stem);
    let is_last = words.len() > 1 && words.last().is_some_and(|word| is_test_word(word));
    let is_first = words.first().is_some_and(|word| matches!(word.as_str(), "test" | "tests"));
    let is_case = words.ends_with(&["test".to_owned(), "case".to_owned()]);
    is_first
        || is_last
        || is_case
        || name.starts_with("conftest.")
        || matches!(extension(name), "bats" | "t")
        || parts.split('.').skip(1).any(is_test_word)
}

pub(super) fn is_snapshot(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let of_results = |part: &str| matches!(part, "snap" | "golden" | "ambr" | "approved");
    name.split('.').skip(1).any(of_results)
        || folder
            .split('/')
            .any(|part| matches!(part, "__snapshots__" | "snapshots" | "golden" | "goldens"))
}

/// `package-lock.json`, `pnpm-lock.yaml`, `Cargo.lock`, `bun.lockb`, `go.sum`.
fn is_lock(name: &str) -> bool {
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let is_locked = ["lock", "shrinkwrap"]
        .iter()
        .any(|word| stem.strip_suffix(word).is_some_and(|before| before.ends_with(['-', '.'])));
    matches!(extension, "lock" | "lockb" | "lockfile" | "resolved")
        || matches!(name, "go.sum" | "go.work.sum")
        || is_locked && matches!(extension, "json" | "yaml" | "yml" | "hcl")
}

fn is_documentation(name: &str, extension: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default();
    matches!(extension, "md" | "markdown" | "rst" | "adoc")
        || matches!(extension, "" | "txt")
            && ["README", "LICEN", "COPYING", "NOTICE", "AUTHORS", "CONTRIBUTING", "CHANGE"]
                .iter()
                .any(|known| stem.starts_with(known))
}

/// `Makefile`, `Rakefile`, `justfile`, `CMakeLists.txt`, `app.csproj`.
fn is_recipe(name: &str, extension: &str) -> bool {
    extension.is_empty() && name.to_lowercase().ends_with("file")
        || BUILDS.contains(&extension)
        || matches!(name, "CMakeLists.txt" | "meson.build")
        || mixed_files::is_parted(name)
}

/// Configuration, recipes and scripts, which are known by where they are. A name without an extension says too little where
/// nothing is built.
fn is_configuration(folder: &str, name: &str, extension: &str, around: &Around<'_>) -> bool {
    let words = words(name.strip_suffix(extension).unwrap_or(name));
    let first = words.first().map_or("", String::as_str);
    let last = words.last().map_or("", String::as_str);
    let is_dotted = |part: &str| matches!(part, "config" | "setup");
    let below_source = folder.split('/').any(|part| part == "src");
    let in_tools = (0..folder.len() + 1)
        .filter(|&at| at == folder.len() || folder.as_bytes()[at] == b'/')
        .any(|at| {
            let (above, part) = folder[..at].rsplit_once('/').unwrap_or(("", &folder[..at]));
            // A program in `bin` with an extension is often the product itself.
            let is_tool = matches!(part, "scripts" | "tools" | "ci" | "check" | "checks")
                || part == "bin" && matches!(extension, "" | "sh" | "bash");
            is_tool && is_package(above, around)
        });
    in_tools
        || !below_source && name.split('.').skip(1).any(is_dotted)
        || is_package(folder, around)
            && (configures(extension) && (!extension.is_empty() || has_manifest(folder, around))
                || MANIFESTS.contains(&name)
                || matches!(first, "check" | "checks" | "bench" | "benchmark" | "benchmarks")
                || words.len() == 1 && (matches!(first, "build" | "setup") || is_recipe(first, ""))
                || words.len() > 1 && is_dotted(last))
}

/// True for the top and for a folder with a manifest; `src` is never a package, even where a
/// build file is in it.
fn is_package(folder: &str, around: &Around<'_>) -> bool {
    folder.is_empty() || folder.rsplit('/').next() != Some("src") && has_manifest(folder, around)
}

fn has_manifest(folder: &str, around: &Around<'_>) -> bool {
    MANIFESTS.iter().any(|name| around.start.contains(&join(folder, name)))
}

/// True for a file of a package that was added to a workspace, in a folder of its own.
///
/// No test of the start can meet it but through what names it, and that is in its form of the
/// start. Without its manifest, code that uses it would not build, and without its tests, a
/// runner that visits each package would find none and fail.
fn in_new_package(path: &str, around: &Around<'_>) -> bool {
    let folders = path.match_indices('/').map(|(at, _)| &path[..at]);
    let below = |folder: &str| {
        let folder = format!("{folder}/");
        around.start.range(folder.clone()..).next().is_some_and(|next| next.starts_with(&folder))
    };
    folders.filter(|folder| !below(folder) && !in_test_folder(folder)).any(|folder| {
        let above =
            std::iter::once("").chain(folder.match_indices('/').map(|(at, _)| &folder[..at]));
        MANIFESTS.iter().any(|name| {
            around.now.contains(&join(folder, name))
                && above.clone().any(|above| around.start.contains(&join(above, name)))
        })
    })
}

/// Words in the name of a script that judges the product; other scripts may be the product.
fn judges(word: &str) -> bool {
    is_test_word(word)
        || matches!(word, "check" | "checks" | "verify" | "validate" | "smoke" | "accept" | "lint")
        || matches!(word, "acceptance" | "assert" | "bench" | "eval" | "grade")
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

fn configures(extension: &str) -> bool {
    CONFIGURATION.contains(&extension) || extension == "properties"
}

fn is_data(extension: &str) -> bool {
    configures(extension) || DATA.contains(&extension)
}

fn extension(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}

#[cfg(test)]
mod tests;
