//! Languages with a few tools each: Go, Ruby, Rust, shell scripts and SQL, and a table of tools that take only the file's name.

use super::super::CheckKind::{Fix, Look, Test};
use super::super::parsers::OutputFormat;
use super::super::workspace::Around;
use super::super::{CheckKind, CheckMethod};
use super::{
    CheckBuilder, ConfigFiles, Configured, configured, folder_of, has, has_table, matches_any,
    name_of, said, text_of, upward,
};
use regex_lite::Regex;
use std::path::Path;

// Tools that take only the file's name: one row each.

type Names = &'static [&'static str];

/// A tool, and how it is called.
struct SimpleTool {
    name: &'static str,
    /// File name patterns.
    files: Names,
    kind: CheckKind,
    /// Other names of the program.
    other_names: Names,
    /// The arguments before the file's name.
    arguments: Names,
    form: OutputFormat,
    config: ConfigFiles,
    /// Why it also runs without a configuration, if it does.
    installed: Option<&'static str>,
    /// How to install it.
    remedy: &'static str,
}

impl SimpleTool {
    /// A tool that prints lines with places.
    const fn linter(name: &'static str, files: Names, arguments: Names) -> SimpleTool {
        SimpleTool {
            name,
            files,
            kind: Look,
            other_names: &[],
            arguments,
            form: OutputFormat::Plain,
            config: ConfigFiles::files(&[]),
            installed: None,
            remedy: "",
        }
    }

    /// A tool that rewrites the file.
    const fn fixer(name: &'static str, files: Names, arguments: Names) -> SimpleTool {
        let looks = SimpleTool::linter(name, files, arguments);
        SimpleTool { kind: Fix, form: OutputFormat::Whole, ..looks }
    }

    /// It runs where one of these files configures it.
    const fn configured(self, files: Names, remedy: &'static str) -> SimpleTool {
        SimpleTool { config: ConfigFiles::files(files), remedy, ..self }
    }

    /// It runs where it is installed, for this reason.
    const fn installed(self, why: &'static str) -> SimpleTool {
        SimpleTool { installed: Some(why), ..self }
    }

    /// Its output has this form.
    const fn prints(self, form: OutputFormat) -> SimpleTool {
        SimpleTool { form, ..self }
    }
}

const DOCKERFILES: Names = &["Dockerfile", "Dockerfile.*", "*.dockerfile", "Containerfile"];
const PHP: Names = &["*.php"];
const LUA: Names = &["*.lua"];
const COMPOSER: &str = "run `composer install`";

/// Fixers of the same file run in this order.
const TOOLS: &[SimpleTool] = &[
    SimpleTool {
        config: ConfigFiles {
            files: &[".sqlfluff"],
            tables: &[
                ("pyproject.toml", "tool.sqlfluff"),
                ("setup.cfg", "sqlfluff"),
                ("tox.ini", "sqlfluff"),
                ("pep8.ini", "sqlfluff"),
            ],
        },
        form: OutputFormat::Sarif,
        remedy: "run `pip install sqlfluff`",
        ..SimpleTool::linter(
            "sqlfluff",
            &["*.sql"],
            &["lint", "--disable-progress-bar", "--format", "sarif"],
        )
    },
    SimpleTool::fixer("pint", PHP, &["--quiet"]).configured(&["pint.json"], COMPOSER),
    // Without `--path-mode=intersection` it rewrites a file that is named although the project
    // excludes it.
    SimpleTool::fixer(
        "php-cs-fixer",
        PHP,
        &["fix", "--quiet", "--path-mode=intersection", "--using-cache=no"],
    )
    .configured(&[".php-cs-fixer.php", ".php-cs-fixer.dist.php"], COMPOSER),
    // `-n` ignores `php.ini`, which may enable a debugger that waits; the other options print each
    // error once.
    SimpleTool::linter(
        "php",
        PHP,
        &["-n", "-d", "display_errors=stderr", "-d", "log_errors=0", "-l"],
    )
    .installed("it is PHP"),
    SimpleTool::linter(
        "phpstan",
        PHP,
        &["analyse", "--error-format=raw", "--no-progress", "--no-interaction"],
    )
    .configured(&["phpstan.neon", "phpstan.neon.dist", "phpstan.dist.neon"], COMPOSER),
    SimpleTool::fixer("stylua", LUA, &["--respect-ignores"]).configured(
        &["stylua.toml", ".stylua.toml"],
        "see https://github.com/JohnnyMorganz/StyLua",
    ),
    SimpleTool {
        other_names: &["luac5.4", "luac5.3", "luac5.2", "luac5.1"],
        ..SimpleTool::linter("luac", LUA, &["-p"]).installed("it is Lua")
    },
    SimpleTool::linter("luacheck", LUA, &["--formatter", "plain", "--codes"])
        .configured(&[".luacheckrc"], "run `luarocks install luacheck`"),
    // On success it prints the whole expression, so only the output of a failure is used.
    SimpleTool::linter("nix-instantiate", &["*.nix"], &["--parse"])
        .prints(OutputFormat::Whole)
        .installed("it is Nix"),
    SimpleTool::linter("hadolint", DOCKERFILES, &["--format", "sarif"])
        .prints(OutputFormat::Sarif)
        .configured(
            &[".hadolint.yaml", ".hadolint.yml"],
            "see https://github.com/hadolint/hadolint",
        )
        .installed("it is a Dockerfile"),
    SimpleTool::fixer("taplo", &["*.toml"], &["format"])
        .configured(&["taplo.toml", ".taplo.toml"], "see https://taplo.tamasfe.dev"),
    SimpleTool::linter("ruby", &["*.rb"], &["--disable=gems", "-c"]).installed("it is Ruby"),
];

pub(super) fn simple(around: &dyn Around, wanted: &mut CheckBuilder) {
    let name = name_of(around.file());
    // `Dockerfile.dockerignore` belongs to a Dockerfile but is a list of patterns.
    let is_for =
        |tool: &&SimpleTool| matches_any(tool.files, name) && !name.ends_with(".dockerignore");
    for tool in TOOLS.iter().filter(is_for) {
        let mut names = std::iter::once(&tool.name).chain(tool.other_names);
        let program = names.find(|name| around.tool(name).is_some()).unwrap_or(&tool.name);
        let found = configured(around, tool.config, program, tool.remedy, tool.installed, wanted);
        let Some(found) = found else { continue };
        let file = text_of(around.file());
        let arguments = [tool.arguments, &[&file]].concat();
        wanted.run(tool.kind, tool.name, &found, &arguments, tool.form);
    }
}

// Go: `gofmt` for the file, `go vet`, the project's `golangci-lint` and the tests of its package.
//
// A package is a folder, so tools that check more than the text run there and get `.` as their
// argument.

const GOLANGCI: ConfigFiles =
    ConfigFiles::files(&[".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"]);

pub(super) fn go(around: &dyn Around, wanted: &mut CheckBuilder) {
    if let Some(gofmt) = around.tool("gofmt") {
        let by = CheckMethod::Filter(gofmt.with(&[]));
        wanted.add(Fix, "gofmt", by, OutputFormat::Whole).because("all Go code has its form");
    }
    if let Some(module) = around.nearest(&["go.mod"]) {
        go_package(around, &module, wanted);
    }
}

fn go_package(around: &dyn Around, module: &Path, wanted: &mut CheckBuilder) {
    let folder = folder_of(around.file());
    if let Some(go) = wanted.configured(around, "go", module, "install Go (https://go.dev)") {
        let why = format!("it is in the module of {}", said(around, module));
        let go = Configured { folder: folder.to_path_buf(), why, ..go };
        wanted.run(Look, "go vet", &go, &["vet", "."], OutputFormat::Plain).whole(folder);
        if around.names(folder).iter().any(|name| name.ends_with("_test.go")) {
            // Vetting is a check of its own.
            wanted
                .run(Test, "go test", &go, &["test", "-vet=off", "."], OutputFormat::Whole)
                .whole(folder)
                .because("its package has tests");
        }
    }
    golangci(around, folder, wanted);
}

/// `--fix=false`: a configuration may ask for fixes, and they would reach every file of the
/// package.
fn golangci(around: &dyn Around, folder: &Path, wanted: &mut CheckBuilder) {
    let (name, remedy) = ("golangci-lint", "see https://golangci-lint.run");
    let Some(linter) = configured(around, GOLANGCI, name, remedy, None, wanted) else { return };
    let arguments = ["run", "--fix=false", "--allow-parallel-runners", "."];
    wanted
        .run(Look, "golangci-lint", &linter, &arguments, OutputFormat::Plain)
        .at(folder)
        .whole(folder);
}

// Ruby: RuboCop if the project uses it. Its own parser is a row above.

const RUBOCOP: ConfigFiles = ConfigFiles::files(&[".rubocop.yml"]);
const BUNDLE: &str = "run `bundle install`";

/// Two runs: with `-a`, RuboCop also lists what it has fixed, and no option that every version has
/// suppresses that. So the first run fails only if RuboCop could not run, and the second reports
/// the remaining offences.
///
/// `--force-exclusion`: otherwise RuboCop checks a file that is named although the project excludes
/// it.
pub(super) fn ruby(around: &dyn Around, wanted: &mut CheckBuilder) {
    let Some(rubocop) = rubocop(around, wanted) else { return };
    let line = ["--force-exclusion", "--format", "emacs", &text_of(around.file())];
    let fixing = [&["-a", "--fail-level", "fatal"], &line[..]].concat();
    wanted.run(Fix, "rubocop -a", &rubocop, &fixing, OutputFormat::Whole);
    wanted.run(Look, "rubocop", &rubocop, &line, OutputFormat::Plain);
}

/// RuboCop from the project's bundle, with the extensions that its configuration names.
fn rubocop(around: &dyn Around, wanted: &mut CheckBuilder) -> Option<Configured> {
    let is_bundled = upward(around).any(|folder| locks_rubocop(around, folder));
    if !is_bundled || around.tool("bundle").is_none() {
        return configured(around, RUBOCOP, "rubocop", BUNDLE, None, wanted);
    }
    let mut found = configured(around, RUBOCOP, "bundle", BUNDLE, None, wanted)?;
    found.tool.line.extend(["exec", "rubocop"].map(str::to_owned));
    Some(found)
}

fn locks_rubocop(around: &dyn Around, folder: &Path) -> bool {
    let lock = around.text(&folder.join("Gemfile.lock"));
    lock.is_some_and(|text| text.lines().any(|line| line.trim_start().starts_with("rubocop (")))
}

// Rust: `clippy` for the package, `rustfmt` for the file.
//
// `rustfmt` reads standard input, because with a file name it also formats the modules that the
// file declares.

const MANIFEST: &str = "Cargo.toml";

pub(super) fn rust(around: &dyn Around, wanted: &mut CheckBuilder) {
    let Some(manifest) = around.nearest(&[MANIFEST]) else { return };
    let text = around.text(&manifest).unwrap_or_default();
    // A manifest that only names a workspace's members owns no file.
    if has_table(&text, "package") {
        rustfmt(around, &text, wanted);
        cargo_check(around, &manifest, wanted);
        cargo_test(around, &manifest, &text, wanted);
    }
}

fn rustfmt(around: &dyn Around, manifest: &str, wanted: &mut CheckBuilder) {
    let Some(tool) = around.tool("rustfmt") else { return };
    let edition = edition(around, manifest);
    let program = tool.with(&["--edition", &edition, "--emit", "stdout", "--quiet"]);
    let why = format!("its package is of the {edition} edition");
    wanted.add(Fix, "rustfmt", CheckMethod::Filter(program), OutputFormat::Whole).because(why);
}

/// `--offline`: a hook cannot wait for the download of a new dependency.
fn cargo_check(around: &dyn Around, manifest: &Path, wanted: &mut CheckBuilder) {
    let (name, command) = match around.tool("cargo-clippy") {
        Some(_) => ("clippy", "clippy"),
        None => ("cargo check", "check"),
    };
    let remedy = "install Rust (https://rustup.rs)";
    let Some(cargo) = wanted.configured(around, "cargo", manifest, remedy) else { return };
    let path = text_of(manifest);
    let line = [command, "--quiet", "--offline", "--message-format", "json", "--all-targets"];
    let arguments = [&line[..], &["--manifest-path", &path]].concat();
    wanted
        .run(Look, name, &cargo, &arguments, OutputFormat::Cargo)
        .whole(manifest)
        .because(format!("{} owns it", said(around, manifest)));
}

fn cargo_test(around: &dyn Around, manifest: &Path, text: &str, wanted: &mut CheckBuilder) {
    let Some(target) = test_target(around.file(), folder_of(manifest), text) else { return };
    let Some(cargo) = around.tool("cargo") else { return };
    let path = text_of(manifest);
    let line = ["test", "--quiet", "--offline", "--manifest-path", &path, "--test", &target];
    wanted
        .add(Test, "cargo test", cargo.with(&line), OutputFormat::Whole)
        .at(folder_of(manifest))
        .because(format!("it is the test `{target}`"));
}

/// The test target of this file: `tests/NAME.rs` or `tests/NAME/main.rs`. If a manifest names its
/// tests itself, the name must be in it.
fn test_target(file: &Path, package: &Path, manifest: &str) -> Option<String> {
    let below = file.strip_prefix(package.join("tests")).ok()?;
    let parts: Vec<&str> = below.iter().filter_map(|part| part.to_str()).collect();
    let name = match parts[..] {
        [file] => file.strip_suffix(".rs")?,
        [folder, "main.rs"] => folder,
        _ => return None,
    };
    let names_them = has_table(manifest, "test") || manifest.contains("autotests");
    (!names_them || manifest.contains(&format!("\"{name}\""))).then(|| name.to_owned())
}

/// The edition of a package: its own or its workspace's, otherwise 2015.
fn edition(around: &dyn Around, manifest: &str) -> String {
    let own = value_of(manifest, "edition");
    let inherited = || {
        let inherits =
            has(manifest, r"^\s*edition(?:\.workspace\s*=|\s*=\s*\{\s*workspace\s*=)\s*true");
        inherits.then(|| value_of(&workspace(around)?, "edition"))?
    };
    own.or_else(inherited).unwrap_or_else(|| "2015".to_owned())
}

/// The text of the manifest that its packages inherit from.
fn workspace(around: &dyn Around) -> Option<String> {
    upward(around)
        .filter_map(|folder| around.text(&folder.join(MANIFEST)))
        .find(|text| has_table(text, "workspace.package"))
}

/// The string value of a key: `2024` for `edition = "2024"`.
fn value_of(manifest: &str, key: &str) -> Option<String> {
    let pattern = Regex::new(&format!(r#"(?m)^\s*{key}\s*=\s*"([^"]*)""#)).ok()?;
    Some(pattern.captures(manifest)?.get(1)?.as_str().to_owned())
}

// Shell scripts: ShellCheck, or the shell's own parser if ShellCheck is not installed.
//
// Every file is examined, because a script without an extension is recognised only by its first
// line.

const SHELLCHECK: ConfigFiles = ConfigFiles::files(&[".shellcheckrc", "shellcheckrc"]);

/// The shells that ShellCheck supports.
const SHELLS: &[&str] = &["sh", "bash", "dash", "ksh"];

pub(super) fn shell(around: &dyn Around, wanted: &mut CheckBuilder) {
    let Some(shell) = shell_of(around) else { return };
    if !shellcheck(around, shell, wanted) {
        parse_script(around, shell, wanted);
    }
}

/// Adds ShellCheck; returns false if it is not installed.
///
/// Sourced files are followed, because otherwise their variables would seem unset. They are
/// searched for beside the script and from the root. A missing one (SC1091) is not an error,
/// because it may be created later.
fn shellcheck(around: &dyn Around, shell: &str, wanted: &mut CheckBuilder) -> bool {
    let remedy = "see https://www.shellcheck.net";
    let why = format!("it is a {shell} script");
    let found = configured(around, SHELLCHECK, "shellcheck", remedy, Some(&why), wanted);
    let Some(tool) = found else { return false };
    let file = text_of(around.file());
    let line = ["--format", "json1", "--external-sources", "--source-path", "SCRIPTDIR"];
    let arguments = [&line[..], &["--exclude", "SC1091", &file]].concat();
    wanted.run(Look, "shellcheck", &tool, &arguments, OutputFormat::Shellcheck).at(around.root());
    true
}

fn parse_script(around: &dyn Around, shell: &str, wanted: &mut CheckBuilder) {
    let Some(program) = around.tool(shell) else { return };
    wanted
        .add(
            Look,
            &format!("{shell} -n"),
            program.with(&["-n", &text_of(around.file())]),
            OutputFormat::Plain,
        )
        .because(format!("it is a {shell} script, and shellcheck is not installed"));
}

/// The shell of a script: its first line counts more than its name. A script without that line is
/// sourced by others, and bash accepts most of them.
fn shell_of(around: &dyn Around) -> Option<&'static str> {
    let by_name = match extension(around.file()) {
        "sh" | "bash" => Some("bash"),
        "dash" => Some("dash"),
        "ksh" => Some("ksh"),
        "" => None,
        _ => return None,
    };
    let text = around.text(around.file()).unwrap_or_default();
    match text.lines().next().and_then(interpreter) {
        Some(name) => SHELLS.iter().find(|shell| **shell == name).copied(),
        None => by_name,
    }
}

fn extension(file: &Path) -> &str {
    file.extension().and_then(|ending| ending.to_str()).unwrap_or_default()
}

/// The program in a first line: `bash` for `#!/usr/bin/env -S bash -e`.
fn interpreter(line: &str) -> Option<&str> {
    let mut words = line.strip_prefix("#!")?.split_whitespace();
    let program = words.next()?.rsplit('/').next()?;
    if program != "env" {
        return Some(program);
    }
    words.find(|word| !word.starts_with('-') && !word.contains('='))
}

// SQL: the database's own lint for Supabase migrations.

const SUPABASE: ConfigFiles = ConfigFiles::files(&["supabase/config.toml"]);

/// Lints the running database, so one run covers all migrations. Newer versions detect that an
/// agent is calling and print another JSON, unless `--output` is set.
pub(super) fn sql(around: &dyn Around, wanted: &mut CheckBuilder) {
    let Some(project) = supabase_project(around.file()) else { return };
    let remedy = "see https://supabase.com/docs/guides/cli";
    let why = "it is in `supabase/migrations`";
    let found = configured(around, SUPABASE, "supabase", remedy, Some(why), wanted);
    let Some(supabase) = found else { return };
    let arguments = ["db", "lint", "--level", "warning", "--output", "json"];
    wanted
        .run(Look, "supabase", &supabase, &arguments, OutputFormat::Supabase)
        .at(project)
        .whole(&project.join("supabase"))
        .because(why);
}

/// The folder above `supabase/migrations`, if the file is below it.
fn supabase_project(file: &Path) -> Option<&Path> {
    let migrations = file.ancestors().skip(1).find(|one| one.ends_with("supabase/migrations"))?;
    migrations.ancestors().nth(2)
}

#[cfg(test)]
mod tests;
