use super::fixture::ProjectFixture;
use super::*;

/// Files with their texts, or criteria with their commands.
type Pairs<'a> = &'a [(&'a str, &'a str)];

/// A project with these files, given as names with their texts.
fn project(files: &[(&str, &str)]) -> ProjectFixture {
    files.iter().fold(ProjectFixture::new(), |project, (name, text)| project.file(name, text))
}

#[track_caller]
fn check(files: &[(&str, &str)], expected: &[(&str, &str)]) {
    let criteria = criteria(&project(files));
    let found: Vec<_> =
        criteria.iter().map(|one| (one.id.as_str(), one.verification_command.as_str())).collect();
    assert_eq!(found, expected, "{files:?}");
}

#[track_caller]
fn check_scripts(scripts: &str, expected: &[(&str, &str)]) {
    check(&[("package.json", &format!(r#"{{"scripts":{scripts}}}"#))], expected);
}

#[test]
fn a_typescript_project_has_the_patterns_own_criteria() {
    let files = project(&[
        (
            "package.json",
            r#"{"scripts":{"test":"vitest run"},"devDependencies":{"typescript":"5"}}"#,
        ),
        ("tsconfig.json", "{}"),
    ]);
    let criteria = criteria(&files);
    let described: Vec<_> = criteria
        .iter()
        .map(|one| {
            (
                one.id.as_str(),
                one.description.as_str(),
                one.verification_command.as_str(),
                one.verified,
            )
        })
        .collect();
    assert_eq!(
        described,
        [
            ("AC-T", "All tests pass", "npm test", false),
            ("AC-L", "tsc --noEmit clean", "npx tsc --noEmit", false),
        ]
    );
}

#[test]
fn a_file_is_looked_for_only_where_the_list_of_the_root_is_cut() {
    let reader = project(&[("a", "")]);
    let has = |is_cut, name: &str| {
        RootFiles { reader: &reader, names: BTreeSet::from(["listed".to_owned()]), is_cut }
            .has(name)
    };
    for (is_cut, name, expected) in [
        (false, "listed", true),
        (false, "a", false),
        (true, "listed", true),
        (true, "a", true),
        (true, "b", false),
    ] {
        assert_eq!(has(is_cut, name), expected, "{is_cut} {name}");
    }
}

#[test]
fn a_project_that_states_nothing_gets_no_criteria() {
    check(&[], &[]);
    check(&[("README.md", ""), ("src", ""), ("tests", "")], &[]);
    check(&[("package.json", "{}")], &[]);
    check(&[("package.json", "not json")], &[]);
    check(&[("pyproject.toml", "[project]")], &[]);
    check(&[("Gemfile", "gem 'puma'")], &[]);
    check(&[("composer.json", "{}")], &[]);
}

#[test]
fn npms_placeholder_and_other_empty_scripts_are_no_tests() {
    check_scripts(r#"{"test":"echo \"Error: no test specified\" && exit 1"}"#, &[]);
    check_scripts(r#"{"test":"echo ok"}"#, &[]);
    check_scripts(r#"{"test":""}"#, &[]);
    check_scripts(r#"{"test":"true","lint":"exit 0"}"#, &[]);
    check_scripts(r#"{"test":7}"#, &[]);
}

#[test]
fn a_script_that_watches_is_passed_over() {
    check_scripts(r#"{"test":"jest --watchAll"}"#, &[]);
    check_scripts(
        r#"{"test":"vitest watch","test:run":"vitest run"}"#,
        &[("AC-T", "npm run test:run")],
    );
    check_scripts(r#"{"test":"jest --watch=false"}"#, &[("AC-T", "npm test")]);
    check_scripts(r#"{"test":"react-scripts test"}"#, &[("AC-T", "CI=true npm test")]);
    check_scripts(r#"{"test":"CI=1 react-scripts test"}"#, &[("AC-T", "npm test")]);
}

#[test]
fn a_script_of_the_project_wins_over_the_bare_compiler() {
    check(
        &[
            ("package.json", r#"{"scripts":{"lint":"eslint .","typecheck":"tsc -b"}}"#),
            ("tsconfig.json", ""),
        ],
        &[("AC-L", "npm run typecheck")],
    );
    check(
        &[("package.json", r#"{"scripts":{"lint":"eslint ."}}"#), ("tsconfig.json", "")],
        &[("AC-L", "npx --no-install tsc --noEmit")],
    );
    check_scripts(r#"{"lint":"eslint ."}"#, &[("AC-L", "npm run lint")]);
}

#[test]
fn a_configuration_that_only_refers_to_others_is_built() {
    let references = r#"{ "files": [], "references": [ { "path": "./tsconfig.app.json" } ] }"#;
    check(
        &[
            ("package.json", r#"{"devDependencies":{"typescript":"5"}}"#),
            ("tsconfig.json", references),
        ],
        &[("AC-L", "npx tsc --build --noEmit")],
    );
    for files_of_its_own in
        [r#"{"references":[{"path":"./a"}]}"#, r#"{"files":[]}"#, r#"{"files":["a.ts"]}"#]
    {
        check(
            &[("package.json", "{}"), ("tsconfig.json", files_of_its_own)],
            &[("AC-L", "npx --no-install tsc --noEmit")],
        );
    }
}

#[test]
fn the_package_manager_is_the_one_that_was_used() {
    for (lock, tests, check_types) in [
        ("package-lock.json", "npm test", "npx tsc --noEmit"),
        ("pnpm-lock.yaml", "pnpm test", "pnpm exec tsc --noEmit"),
        ("yarn.lock", "yarn run test", "yarn run tsc --noEmit"),
        ("bun.lockb", "bun run test", "bunx tsc --noEmit"),
        ("bun.lock", "bun run test", "bunx tsc --noEmit"),
    ] {
        check(
            &[
                ("package.json", r#"{"scripts":{"test":"x"},"dependencies":{"typescript":"5"}}"#),
                ("tsconfig.json", ""),
                (lock, ""),
            ],
            &[("AC-T", tests), ("AC-L", check_types)],
        );
    }
    for (stated, tests) in [
        ("pnpm@9.1.0", "pnpm test"),
        ("npm@11.0.0", "npm test"),
        ("bun@1.2.3", "bun run test"),
        ("other@1", "yarn run test"),
    ] {
        let manifest = format!(r#"{{"packageManager":"{stated}","scripts":{{"test":"x"}}}}"#);
        check(&[("package.json", &manifest), ("yarn.lock", "")], &[("AC-T", tests)]);
    }
    let yarn = r#"{"packageManager":"yarn@4.0.0","scripts":{"test":"x"}}"#;
    check(&[("package.json", yarn), ("pnpm-lock.yaml", "")], &[("AC-T", "yarn run test")]);
}

#[test]
fn each_ecosystem_is_known_by_its_files() {
    let cases: [(Pairs, Pairs); 17] = [
        (
            &[("Cargo.toml", "[package]")],
            &[("AC-T", "cargo test"), ("AC-L", "cargo check --all-targets")],
        ),
        (
            &[("Cargo.toml", "[workspace]\n[workspace.lints.clippy]")],
            &[
                ("AC-T", "cargo test --workspace"),
                ("AC-L", "cargo clippy --workspace --all-targets"),
            ],
        ),
        (&[("go.mod", "module x")], &[("AC-T", "go test ./..."), ("AC-L", "go vet ./...")]),
        (
            &[("pyproject.toml", "[tool.pytest.ini_options]\n[tool.mypy]"), ("uv.lock", "")],
            &[("AC-T", "uv run pytest"), ("AC-L", "uv run mypy .")],
        ),
        (&[("setup.py", ""), ("tests", "")], &[("AC-T", "python3 -m pytest")]),
        (
            &[("pytest.ini", ""), (".venv", ""), ("ruff.toml", "")],
            &[("AC-T", ".venv/bin/python -m pytest"), ("AC-L", ".venv/bin/python -m ruff check .")],
        ),
        (&[("pom.xml", ""), ("mvnw", "")], &[("AC-T", "./mvnw -B test")]),
        (&[("build.gradle.kts", ""), ("gradlew", "")], &[("AC-T", "./gradlew test")]),
        (&[("App.sln", "")], &[("AC-T", "dotnet test")]),
        (
            &[("Gemfile", "gem 'rspec'"), (".rubocop.yml", "")],
            &[("AC-T", "bundle exec rspec"), ("AC-L", "bundle exec rubocop")],
        ),
        (&[(".rspec", "")], &[("AC-T", "rspec")]),
        (
            &[("composer.json", r#"{"scripts":{"test":["phpunit"]}}"#)],
            &[("AC-T", "composer run-script test")],
        ),
        (
            &[("composer.json", "{}"), ("phpunit.xml", ""), ("phpstan.neon", "")],
            &[("AC-T", "vendor/bin/phpunit"), ("AC-L", "vendor/bin/phpstan analyse")],
        ),
        (&[("mix.exs", "{:credo, \"1\"}")], &[("AC-T", "mix test"), ("AC-L", "mix credo")]),
        (&[("Package.swift", "")], &[("AC-T", "swift test")]),
        (
            &[("deno.json", r#"{"tasks":{"test":"deno test -A","lint":"deno lint"}}"#)],
            &[("AC-T", "deno task test"), ("AC-L", "deno task lint")],
        ),
        (&[("deno.jsonc", "// x"), ("main_test.ts", "")], &[("AC-T", "deno test")]),
    ];
    for (files, expected) in cases {
        check(files, expected);
    }
}

#[test]
fn a_tool_counts_where_the_project_configures_it() {
    let cases: [(Pairs, Pairs); 17] = [
        (&[("mix.exs", "")], &[("AC-T", "mix test")]),
        (&[("mix.exs", ""), (".credo.exs", "")], &[("AC-T", "mix test"), ("AC-L", "mix credo")]),
        (&[(".credo.exs", "")], &[]),
        (&[("deno.json", "{}")], &[]),
        (&[("deno.json", "{}"), ("tests", "")], &[("AC-T", "deno test")]),
        (&[("setup.cfg", ""), ("pyrightconfig.json", "")], &[("AC-L", "python3 -m pyright")]),
        (&[("pyproject.toml", "[tool.pyright]")], &[("AC-L", "python3 -m pyright")]),
        (&[("pyproject.toml", "[tool.ruff]")], &[("AC-L", "python3 -m ruff check .")]),
        (&[("setup.cfg", "[mypy]")], &[("AC-L", "python3 -m mypy .")]),
        (&[("setup.py", ""), ("mypy.ini", "")], &[("AC-L", "python3 -m mypy .")]),
        (&[("Gemfile", "gem 'puma'"), ("test", "")], &[]),
        (&[("Gemfile", "gem 'rails'")], &[]),
        (&[("Gemfile", "gem 'rails'"), ("test", "")], &[("AC-T", "bin/rails test")]),
        (&[("Rakefile", "Rake::TestTask.new"), ("test", "")], &[("AC-T", "rake test")]),
        (&[("Rakefile", "Rake::TestTask.new")], &[]),
        (
            &[("composer.json", r#"{"scripts":{"test":"pest","lint":[]}}"#)],
            &[("AC-T", "composer run-script test")],
        ),
        (
            &[("Cargo.toml", ""), ("clippy.toml", "")],
            &[("AC-T", "cargo test"), ("AC-L", "cargo clippy --all-targets")],
        ),
    ];
    for (files, expected) in cases {
        check(files, expected);
    }
}

#[test]
fn several_ecosystems_are_told_apart() {
    let files =
        [("package.json", r#"{"scripts":{"test":"x"}}"#), ("Cargo.toml", ""), ("go.mod", "")];
    check(
        &files,
        &[
            ("AC-T", "npm test"),
            ("AC-T2", "cargo test"),
            ("AC-T3", "go test ./..."),
            ("AC-L", "cargo check --all-targets"),
            ("AC-L2", "go vet ./..."),
        ],
    );
    assert_eq!(criteria(&project(&files))[1].description, "All tests pass: cargo test");
}

#[test]
fn a_recipe_counts_only_where_no_ecosystem_answers() {
    check(&[("Makefile", "test: build\n\tgo test")], &[("AC-T", "make test")]);
    check(
        &[("Makefile", "test:\nlint:\n"), ("go.mod", "")],
        &[("AC-T", "go test ./..."), ("AC-L", "go vet ./...")],
    );
    check(
        &[("package.json", r#"{"scripts":{"lint":"eslint ."}}"#), ("Makefile", "test:\nlint:\n")],
        &[("AC-T", "make test"), ("AC-L", "npm run lint")],
    );
    check(&[("justfile", "@test *args: build\n"), ("Makefile", "test:")], &[("AC-T", "just test")]);
}

#[test]
fn what_only_looks_like_a_recipe_is_none() {
    for text in [
        ".PHONY: test",
        "test := 1",
        "test ::= 1",
        "# test:",
        "\ttest:",
        "test = a:b",
        "testing:",
        "test: export CI = 1",
    ] {
        check(&[("Makefile", text)], &[]);
    }
    for text in ["test := 'x'", "test name:\n", "test +names:\n", "  test:"] {
        check(&[("justfile", text)], &[]);
    }
    check(&[("Makefile", "lint test :: build")], &[("AC-T", "make test"), ("AC-L", "make lint")]);
    check(&[("justfile", "test filter='':\n")], &[("AC-T", "just test")]);
}

#[test]
fn no_criterion_is_one_that_would_be_refused_when_planned() {
    let names = [
        "package.json",
        "tsconfig.json",
        "deno.json",
        "deno.jsonc",
        "Cargo.toml",
        "pyproject.toml",
        "setup.cfg",
        "tox.ini",
        "pytest.ini",
        "Pipfile",
        "requirements.txt",
        "requirements-dev.txt",
        "go.mod",
        "Gemfile",
        "composer.json",
        "pom.xml",
        "mix.exs",
        "Makefile",
        "makefile",
        "GNUmakefile",
        "justfile",
        "Justfile",
        ".justfile",
        "Rakefile",
    ];
    let everything: Vec<_> = names.iter().map(|name| (*name, "test:\nlint:\n")).collect();
    for criterion in criteria(&project(&everything)) {
        assert_eq!(crate::shell::vacuous::refuse(&criterion.verification_command), None);
    }
}
