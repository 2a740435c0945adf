//! What the files in a project's root say about its tests and its check: a row for each ecosystem,
//! and code where a file must be read as a document.

use super::{EcosystemCommands, RootFiles};
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
    Ecosystem::Code(node),
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

// Node projects: the scripts of `package.json`, and `tsc` if there is a `tsconfig.json`.

/// Lock files, and the package manager that writes each.
pub(crate) const LOCKS: [(&str, &str); 6] = [
    ("pnpm-lock.yaml", "pnpm"),
    ("yarn.lock", "yarn"),
    ("bun.lock", "bun"),
    ("bun.lockb", "bun"),
    ("package-lock.json", "npm"),
    ("npm-shrinkwrap.json", "npm"),
];

/// The first of these scripts that is a test is used; the others are for projects whose `test`
/// watches.
const TESTS: [&str; 4] = ["test", "test:ci", "test:run", "test:unit"];

/// Scripts that check types.
const TYPE_CHECKS: [&str; 5] = ["typecheck", "type-check", "check-types", "check:types", "tsc"];
const LINTS: [&str; 2] = ["lint", "lint:check"];

fn node(files: &RootFiles<'_>) -> EcosystemCommands {
    let manifest: Value = serde_json::from_str(&files.text("package.json")).unwrap_or_default();
    if !manifest.is_object() {
        return EcosystemCommands::default();
    }
    let manager = manager(files, &manifest);
    let scripted = |names: &[&str]| {
        names.iter().find(|name| usable(script(&manifest, name))).map(|name| run(manager, name))
    };
    EcosystemCommands {
        tests: TESTS
            .iter()
            .find(|name| usable(script(&manifest, name)))
            .map(|name| test_command(manager, name, script(&manifest, name))),
        check: scripted(&TYPE_CHECKS)
            .or_else(|| compiler(files, &manifest, manager))
            .or_else(|| scripted(&LINTS)),
    }
}

/// Why `npm run NAME` and the like cannot run: this manifest has no such script.
pub fn lacks_script(command: &str, manifest: &str) -> Option<String> {
    let mut words = command.split_whitespace();
    let is_runner =
        matches!(words.next()?, "npm" | "pnpm" | "yarn" | "bun") && words.next()? == "run";
    let name = words.next().filter(|word| is_runner && !word.starts_with('-'))?;
    let manifest: Value = serde_json::from_str(manifest).ok()?;
    let scripts = manifest["scripts"].as_object();
    if scripts.is_some_and(|scripts| scripts.contains_key(name)) {
        return None;
    }
    let all: Vec<&str> = scripts.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let known = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
    Some(format!("`package.json` has no script `{name}`; its scripts: {known}"))
}

fn script<'a>(manifest: &'a Value, name: &str) -> &'a str {
    manifest["scripts"][name].as_str().unwrap_or_default()
}

/// False for npm's default test script, which tests nothing, and for a script that watches and
/// never ends.
fn usable(script: &str) -> bool {
    vacuous::refuse(script).is_none()
        && !script.contains("no test specified")
        && !script.split_whitespace().any(|word| {
            matches!(word, "-w" | "watch")
                || word.starts_with("--watch") && !word.ends_with("=false")
        })
}

fn test_command(manager: &str, name: &str, script: &str) -> String {
    let command = run(manager, name);
    // Without `CI` it watches.
    if script.contains("react-scripts test") && !script.contains("CI=") {
        format!("CI=true {command}")
    } else {
        command
    }
}

fn compiler(files: &RootFiles<'_>, manifest: &Value, manager: &str) -> Option<String> {
    if !files.has("tsconfig.json") {
        return None;
    }
    // A configuration that only has references has no files of its own: without `--build` the
    // compiler would check nothing and succeed.
    let configuration: String = files.text("tsconfig.json").split_whitespace().collect();
    let refers = configuration.contains("\"references\":[{");
    let flags = match refers && configuration.contains("\"files\":[]") {
        true => "--build --noEmit",
        false => "--noEmit",
    };
    let declared = ["dependencies", "devDependencies", "peerDependencies"]
        .iter()
        .any(|kind| manifest[kind]["typescript"].is_string());
    Some(tsc(manager, declared, flags))
}

/// The stated package manager, otherwise the one whose lock file exists.
fn manager(files: &RootFiles<'_>, manifest: &Value) -> &'static str {
    let stated = manifest["packageManager"].as_str().and_then(|text| text.split('@').next());
    let known = LOCKS.iter().map(|(_, manager)| *manager).find(|manager| Some(*manager) == stated);
    let locked = || LOCKS.iter().find(|(lock, _)| files.has(lock)).map(|(_, manager)| *manager);
    known.or_else(locked).unwrap_or("npm")
}

/// `bun test` would start Bun's own runner instead of the script.
fn run(manager: &str, script: &str) -> String {
    match (manager, script) {
        ("npm" | "pnpm", "test") => format!("{manager} test"),
        _ => format!("{manager} run {script}"),
    }
}

/// If TypeScript is not installed, a plain `npx tsc` would download an unrelated package with
/// that name.
fn tsc(manager: &str, declared: bool, flags: &str) -> String {
    let launcher = match manager {
        "pnpm" => "pnpm exec",
        "yarn" => "yarn run",
        "bun" => "bunx",
        _ if declared => "npx",
        _ => "npx --no-install",
    };
    format!("{launcher} tsc {flags}")
}

// Recipes in a project's justfile or Makefile.

/// The names of a justfile, the one that just takes first.
pub(crate) const JUSTFILES: [&str; 3] = ["justfile", "Justfile", ".justfile"];
/// The names of a Makefile, the one that GNU make takes first.
pub(crate) const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

const RECIPE_TESTS: [&str; 2] = ["test", "tests"];
const RECIPE_CHECKS: [&str; 4] = ["typecheck", "type-check", "lint", "check"];

/// A task that can be run by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Recipe<'a> {
    pub(crate) name: &'a str,
    /// The names of its required arguments.
    pub(crate) arguments: String,
    /// Its description in the file.
    pub(crate) help: Option<&'a str>,
}

pub(super) fn recipes(files: &RootFiles<'_>) -> EcosystemCommands {
    let text = |names: &[&str]| {
        names.iter().map(|name| files.text(name)).find(|text| !text.is_empty()).unwrap_or_default()
    };
    let (just, make) = (text(&JUSTFILES), text(&MAKEFILES));
    let (just, make) = (of_just(&just), of_make(&make));
    let first =
        |wanted: &[&str]| named(&just, wanted, "just").or_else(|| named(&make, wanted, "make"));
    EcosystemCommands { tests: first(&RECIPE_TESTS), check: first(&RECIPE_CHECKS) }
}

/// A recipe with a required argument cannot be run by its name alone.
fn named(recipes: &[Recipe<'_>], wanted: &[&str], runner: &str) -> Option<String> {
    let name = wanted.iter().find(|name| {
        recipes.iter().any(|recipe| recipe.name == **name && recipe.arguments.is_empty())
    })?;
    Some(format!("{runner} {name}"))
}

/// The recipes of a justfile.
pub(crate) fn of_just(text: &str) -> Vec<Recipe<'_>> {
    let mut recipes = Vec::new();
    let (mut comment, mut is_private) = (None, false);
    for line in whole_lines(text) {
        if let Some(says) = line.strip_prefix('#') {
            comment = Some(says);
        } else if line.starts_with('[') {
            is_private |= line.contains("private");
        } else {
            let recipe = head_and_rest(line).and_then(|(head, _)| just_recipe(head, comment));
            recipes.extend(recipe.filter(|recipe| !is_private && !recipe.name.starts_with('_')));
            (comment, is_private) = (None, false);
        }
    }
    recipes
}

/// The targets of a Makefile, without pattern rules.
pub(crate) fn of_make(text: &str) -> Vec<Recipe<'_>> {
    let mut recipes = Vec::new();
    let (mut comment, mut is_definition) = (None, false);
    for line in whole_lines(text) {
        is_definition |= line.starts_with("define ");
        if is_definition {
            is_definition = !line.starts_with("endef");
        } else if line.starts_with('#') {
            comment = line.strip_prefix("##");
        } else {
            let targets = head_and_rest(line).map(|(head, rest)| make_targets(head, rest, comment));
            recipes.extend(targets.into_iter().flatten());
            // `.PHONY: test` may be between a comment and its target.
            comment = comment.filter(|_| line.starts_with('.'));
        }
    }
    recipes
}

/// Lines without indentation that do not continue the previous line.
fn whole_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut goes_on = false;
    text.lines().filter(move |line| {
        let begins = !goes_on && !line.starts_with([' ', '\t']);
        goes_on = line.ends_with('\\');
        begins
    })
}

fn head_and_rest(line: &str) -> Option<(&str, &str)> {
    // `name := value` is a variable, in both kinds of file.
    line.split_once(':').filter(|(_, rest)| !rest.trim_start_matches(':').starts_with('='))
}

/// Leaves out names such as the `.PHONY` in `.PHONY: test`.
fn make_targets<'a>(head: &'a str, rest: &'a str, comment: Option<&'a str>) -> Vec<Recipe<'a>> {
    let (code, beside) = rest.split_once('#').unwrap_or((rest, ""));
    // `test: export X = 1` sets a variable for a target and defines no target.
    if code.contains('=') || head.contains('=') {
        return Vec::new();
    }
    let is_made = |name: &&str| !name.starts_with('.') && !name.contains(['%', '$']);
    let help = beside.strip_prefix('#').or(comment).map(str::trim);
    let names = head.split_whitespace().filter(is_made);
    names.map(|name| Recipe { name, help, ..Recipe::default() }).collect()
}

fn just_recipe<'a>(head: &'a str, comment: Option<&'a str>) -> Option<Recipe<'a>> {
    let mut words = head.split_whitespace();
    let name = words.next()?.trim_start_matches('@');
    let is_needed = |parameter: &&str| !parameter.contains('=') && !parameter.starts_with('*');
    let arguments: Vec<&str> = words.filter(is_needed).collect();
    Some(Recipe { name, arguments: arguments.join(" "), help: comment.map(str::trim) })
}

#[cfg(test)]
mod script_tests {
    use super::*;

    #[test]
    fn a_command_that_runs_a_script_which_the_manifest_lacks_is_told() {
        let manifest = r#"{"scripts": {"build": "tsc", "test": "vitest"}}"#;
        let lacks =
            |all: &str| Some(format!("`package.json` has no script `lint`; its scripts: {all}"));
        for (command, manifest, expected) in [
            ("npm run lint", manifest, lacks("build, test")),
            ("pnpm run lint --fix", manifest, lacks("build, test")),
            ("yarn run lint", "{}", lacks("none")),
            ("bun run lint", r#"{"scripts": {}}"#, lacks("none")),
            ("npm run test", manifest, None),
            ("npm run", manifest, None),
            ("npm run --silent lint", manifest, None),
            ("npm exec lint", manifest, None),
            ("make run lint", manifest, None),
            ("npm run lint", "no JSON", None),
            ("", manifest, None),
        ] {
            assert_eq!(lacks_script(command, manifest), expected, "{command}");
        }
    }
}
