//! What the files in a project's root say about its tests and its check: a row for each ecosystem,
//! and code where a file must be read as a document.

use super::{EcosystemCommands, RootFiles, node};
use crate::shell::vacuous;
use serde_json::Value;

/// A file, and a text that it must contain; empty if it only has to exist.
type Condition = (&'static str, &'static str);

/// A text, and all conditions for it.
type Choice = (&'static [Condition], &'static str);

/// An ecosystem whose commands depend on files and words in them alone.
pub(super) struct Row {
    /// Any of these files shows that the project is of this kind; `*.sln` stands for an ending.
    manifests: &'static [&'static str],
    /// What replaces `{}` in the commands: the first choice that holds, otherwise nothing.
    with: &'static [Choice],
    /// The commands that run all tests, and those that check: of each the first that holds.
    tests: &'static [Choice],
    check: &'static [Choice],
}

pub(super) enum Ecosystem {
    Row(Row),
    Code(fn(&RootFiles<'_>) -> EcosystemCommands),
}

/// The ecosystems, in the order of their criteria.
pub(super) const ECOSYSTEMS: [Ecosystem; 11] = [
    Ecosystem::Code(node::find),
    Ecosystem::Code(deno),
    Ecosystem::Row(Row {
        manifests: &["Cargo.toml"],
        with: &[(&[("Cargo.toml", "[workspace]")], " --workspace")],
        tests: &[(&[], "cargo test{}")],
        check: &[
            (&[("clippy.toml", "")], "cargo clippy{} --all-targets"),
            (&[(".clippy.toml", "")], "cargo clippy{} --all-targets"),
            (&[("Cargo.toml", "lints.clippy]")], "cargo clippy{} --all-targets"),
            (&[], "cargo check{} --all-targets"),
        ],
    }),
    Ecosystem::Row(Row {
        manifests: &[
            "pyproject.toml",
            "setup.cfg",
            "setup.py",
            "tox.ini",
            "pytest.ini",
            "Pipfile",
            "requirements.txt",
            "requirements-dev.txt",
        ],
        // The project's own environment.
        with: &[
            (&[("uv.lock", "")], "uv run "),
            (&[("poetry.lock", "")], "poetry run "),
            (&[("pdm.lock", "")], "pdm run "),
            (&[("Pipfile.lock", "")], "pipenv run "),
            (&[("Pipfile", "")], "pipenv run "),
            (&[(".venv", "")], ".venv/bin/python -m "),
            (&[("venv", "")], "venv/bin/python -m "),
            (&[], "python3 -m "),
        ],
        tests: &[
            (&[("pytest.ini", "")], "{}pytest"),
            (&[(".pytest.ini", "")], "{}pytest"),
            (&[("conftest.py", "")], "{}pytest"),
            (&[("pyproject.toml", "[tool.pytest")], "{}pytest"),
            (&[("setup.cfg", "[tool:pytest]")], "{}pytest"),
            (&[("tox.ini", "[pytest]")], "{}pytest"),
            (&[("tests", "")], "{}pytest"),
            (&[("test", "")], "{}pytest"),
        ],
        check: &[
            (&[("mypy.ini", "")], "{}mypy ."),
            (&[(".mypy.ini", "")], "{}mypy ."),
            (&[("pyproject.toml", "[tool.mypy")], "{}mypy ."),
            (&[("setup.cfg", "[mypy")], "{}mypy ."),
            (&[("pyrightconfig.json", "")], "{}pyright"),
            (&[("pyproject.toml", "[tool.pyright")], "{}pyright"),
            (&[("ruff.toml", "")], "{}ruff check ."),
            (&[(".ruff.toml", "")], "{}ruff check ."),
            (&[("pyproject.toml", "[tool.ruff")], "{}ruff check ."),
        ],
    }),
    Ecosystem::Row(Row {
        manifests: &["go.mod"],
        with: &[],
        tests: &[(&[], "go test ./...")],
        check: &[(&[], "go vet ./...")],
    }),
    // Running the tests compiles first, so there is no separate check.
    Ecosystem::Row(Row {
        manifests: &[
            "pom.xml",
            "build.gradle",
            "build.gradle.kts",
            "settings.gradle",
            "settings.gradle.kts",
        ],
        with: &[],
        tests: &[
            (&[("pom.xml", ""), ("mvnw", "")], "./mvnw -B test"),
            (&[("pom.xml", "")], "mvn -B test"),
            (&[("gradlew", "")], "./gradlew test"),
            (&[], "gradle test"),
        ],
        check: &[],
    }),
    Ecosystem::Row(Row {
        manifests: &["*.sln", "*.slnx", "*.csproj", "*.fsproj", "*.vbproj"],
        with: &[],
        tests: &[(&[], "dotnet test")],
        check: &[],
    }),
    Ecosystem::Row(Row {
        manifests: &["Gemfile", ".rspec", "Rakefile"],
        with: &[(&[("Gemfile", "")], "bundle exec ")],
        tests: &[
            (&[(".rspec", "")], "{}rspec"),
            (&[("Gemfile", "rspec")], "{}rspec"),
            (&[("Gemfile", "rails"), ("test", "")], "bin/rails test"),
            (&[("Rakefile", "TestTask"), ("test", "")], "{}rake test"),
        ],
        check: &[(&[("Gemfile", ""), (".rubocop.yml", "")], "{}rubocop")],
    }),
    Ecosystem::Code(php),
    Ecosystem::Row(Row {
        manifests: &["mix.exs"],
        with: &[],
        tests: &[(&[], "mix test")],
        check: &[(&[(".credo.exs", "")], "mix credo"), (&[("mix.exs", ":credo")], "mix credo")],
    }),
    Ecosystem::Row(Row {
        manifests: &["Package.swift"],
        with: &[],
        tests: &[(&[], "swift test")],
        check: &[],
    }),
];

impl Ecosystem {
    pub(super) fn find(&self, files: &RootFiles<'_>) -> EcosystemCommands {
        match self {
            Ecosystem::Row(row) => row.find(files),
            Ecosystem::Code(find) => find(files),
        }
    }
}

impl Row {
    fn find(&self, files: &RootFiles<'_>) -> EcosystemCommands {
        let is_there = |name: &&str| match name.strip_prefix('*') {
            Some(ending) => files.has_ending(&[ending]),
            None => files.has(name),
        };
        let holds = |(name, word): &Condition| match *word {
            "" => files.has(name),
            word => files.says(name, word),
        };
        let first = |choices: &'static [Choice]| {
            choices.iter().find(|(all, _)| all.iter().all(holds)).map(|(_, text)| *text)
        };
        if !self.manifests.iter().any(is_there) {
            return EcosystemCommands::default();
        }
        let with = first(self.with).unwrap_or_default();
        let command = |choices| first(choices).map(|text| text.replace("{}", with));
        EcosystemCommands { tests: command(self.tests), check: command(self.check) }
    }
}

/// Deno: the tasks of `deno.json`, otherwise Deno's own commands.
fn deno(files: &RootFiles<'_>) -> EcosystemCommands {
    if !files.has_any(&["deno.json", "deno.jsonc"]) {
        return EcosystemCommands::default();
    }
    let manifest: Value = ["deno.json", "deno.jsonc"]
        .iter()
        .find_map(|name| serde_json::from_str(&files.text(name)).ok())
        .unwrap_or_default();
    let task =
        |name: &str| (!manifest["tasks"][name].is_null()).then(|| format!("deno task {name}"));
    let has_tests = files.has_any(&["tests", "test"])
        || files.has_ending(&["_test.ts", "_test.js", ".test.ts", ".test.js"]);
    EcosystemCommands {
        tests: task("test").or_else(|| has_tests.then(|| "deno test".to_owned())),
        check: task("check").or_else(|| task("lint")),
    }
}

/// PHP: Composer's scripts, otherwise PHPUnit, Pest and PHPStan if they are configured.
fn php(files: &RootFiles<'_>) -> EcosystemCommands {
    let manifest: Value = serde_json::from_str(&files.text("composer.json")).unwrap_or_default();
    let script = |name: &str| {
        stated(&manifest["scripts"][name]).then(|| format!("composer run-script {name}"))
    };
    let phpunit = files.has_any(&["phpunit.xml", "phpunit.xml.dist"]);
    let runner =
        if manifest["require-dev"]["pestphp/pest"].is_string() { "pest" } else { "phpunit" };
    let phpstan = files.has_any(&["phpstan.neon", "phpstan.neon.dist", "phpstan.dist.neon"]);
    let checks = ["phpstan", "stan", "analyse", "lint"];
    EcosystemCommands {
        tests: script("test").or_else(|| phpunit.then(|| format!("vendor/bin/{runner}"))),
        check: checks
            .into_iter()
            .find_map(script)
            .or_else(|| phpstan.then(|| "vendor/bin/phpstan analyse".to_owned())),
    }
}

/// A script is a command or a list of commands.
fn stated(script: &Value) -> bool {
    match script {
        Value::String(command) => vacuous::refuse(command).is_none(),
        Value::Array(commands) => commands.iter().any(stated),
        _ => false,
    }
}
