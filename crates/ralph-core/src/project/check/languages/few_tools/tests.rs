//! Which tools each project has for a file of one of these languages.

mod simple {
    use crate::project::check::languages::world::FileFixture;

    #[test]
    fn sqlfluff_runs_where_it_is_configured() {
        let world = FileFixture::edits("a/b/c.sql").files(&["a/.sqlfluff"]);
        world.plans("lacking sqlfluff");
        let world = world.on_path(&["sqlfluff"]);
        world.plans("look sqlfluff @a");
        world.runs("sqlfluff", "sqlfluff lint --disable-progress-bar --format sarif a/b/c.sql");
        world.says("sqlfluff", "`a/.sqlfluff` configures it");
    }

    #[test]
    fn a_table_in_a_shared_file_configures_it_too() {
        let plans = |path, text, expected| {
            FileFixture::edits("a.sql").file(path, text).on_path(&["sqlfluff"]).plans(expected);
        };
        plans("pyproject.toml", "[tool.sqlfluff.core]", "look sqlfluff");
        plans("pyproject.toml", "[sqlfluff]", "");
        plans("setup.cfg", "[sqlfluff]", "look sqlfluff");
        plans("tox.ini", "[sqlfluff:rules]", "look sqlfluff");
        plans("pep8.ini", "[sqlfluff]", "look sqlfluff");
    }

    #[test]
    fn php_is_parsed_where_php_is_there() {
        FileFixture::edits("a.php").plans("");
        let world =
            FileFixture::edits("a/b.php").on_path(&["php", "pint", "phpstan", "php-cs-fixer"]);
        world.plans("look php @a");
        world.runs("php", "php -n -d display_errors=stderr -d log_errors=0 -l a/b.php");
    }

    #[test]
    fn the_project_s_own_tools_run_beside_their_configuration() {
        let world = FileFixture::edits("src/a.php").files(&[
            "src/pint.json",
            ".php-cs-fixer.dist.php",
            "phpstan.neon.dist",
        ]);
        world.plans("lacking pint | lacking php-cs-fixer | lacking phpstan");
        let world = world
            .installed("vendor/bin/pint")
            .installed("vendor/bin/php-cs-fixer")
            .installed("vendor/bin/phpstan");
        world.plans("fix pint @src | fix php-cs-fixer | look phpstan");
        world.runs("pint", "vendor/bin/pint --quiet src/a.php");
        world.runs(
            "php-cs-fixer",
            "vendor/bin/php-cs-fixer fix --quiet --path-mode=intersection --using-cache=no src/a.php",
        );
        world.runs(
            "phpstan",
            "vendor/bin/phpstan analyse --error-format=raw --no-progress --no-interaction src/a.php",
        );
        world.says("pint", "`src/pint.json` configures it");
        world.says("php-cs-fixer", "`.php-cs-fixer.dist.php` configures it");
        world.says("phpstan", "`phpstan.neon.dist` configures it");
    }

    #[test]
    fn lua_is_parsed_where_a_compiler_is_there() {
        FileFixture::edits("a.lua").plans("");
        let world =
            FileFixture::edits("a/b.lua").on_path(&["luac5.1", "luac5.4", "stylua", "luacheck"]);
        world.plans("look luac @a");
        world.runs("luac", "luac5.4 -p a/b.lua");
        FileFixture::edits("a.lua").on_path(&["luac"]).runs("luac", "luac -p a.lua");
    }

    #[test]
    fn the_tools_that_are_configured_run_beside_their_configuration() {
        let world = FileFixture::edits("a/b/c.lua").files(&["a/.luacheckrc", ".stylua.toml"]);
        world.plans("lacking stylua | lacking luacheck");
        let world = world.on_path(&["stylua", "luacheck"]);
        world.plans("fix stylua | look luacheck @a");
        world.runs("stylua", "stylua --respect-ignores a/b/c.lua");
        world.runs("luacheck", "luacheck --formatter plain --codes a/b/c.lua");
        world.says("luacheck", "`a/.luacheckrc` configures it");
        world.says("stylua", "`.stylua.toml` configures it");
    }

    #[test]
    fn nix_is_parsed_where_nix_is_there() {
        FileFixture::edits("a.nix").plans("");
        let world = FileFixture::edits("a/b.nix").on_path(&["nix-instantiate"]);
        world.plans("look nix-instantiate @a");
        world.runs("nix-instantiate", "nix-instantiate --parse a/b.nix");
    }

    #[test]
    fn hadolint_runs_where_it_is_there() {
        FileFixture::edits("Dockerfile").plans("");
        let world = FileFixture::edits("a/Dockerfile.dev").on_path(&["hadolint"]);
        world.plans("look hadolint @a");
        world.runs("hadolint", "hadolint --format sarif a/Dockerfile.dev");
        world.says("hadolint", "it is a Dockerfile");
        FileFixture::edits("web.dockerfile").on_path(&["hadolint"]).plans("look hadolint");
        FileFixture::edits("Containerfile").on_path(&["hadolint"]).plans("look hadolint");
    }

    #[test]
    fn hadolint_runs_beside_its_configuration() {
        let world = FileFixture::edits("a/b/Dockerfile").files(&["a/.hadolint.yaml"]);
        world.plans("lacking hadolint");
        let world = world.on_path(&["hadolint"]);
        world.plans("look hadolint @a");
        world.says("hadolint", "`a/.hadolint.yaml` configures it");
    }

    #[test]
    fn a_list_of_patterns_is_no_dockerfile() {
        FileFixture::edits("Dockerfile.dockerignore").on_path(&["hadolint"]).plans("");
    }

    #[test]
    fn taplo_formats_where_it_is_configured() {
        let world = FileFixture::edits("a/b.toml").files(&[".taplo.toml"]);
        world.plans("look toml | lacking taplo");
        let world = FileFixture::edits("a/b/c.toml").files(&["a/taplo.toml"]).on_path(&["taplo"]);
        world.plans("fix taplo @a | look toml");
        world.runs("taplo", "taplo format a/b/c.toml");
        world.says("taplo", "`a/taplo.toml` configures it");
    }
}

mod go {
    use crate::project::check::languages::world::FileFixture;

    #[test]
    fn gofmt_reads_the_file_on_standard_input() {
        FileFixture::edits("a.go").plans("");
        let world = FileFixture::edits("a/b.go").on_path(&["gofmt", "go"]);
        world.plans("fix gofmt @a");
        world.runs("gofmt", "| gofmt");
    }

    #[test]
    fn a_package_of_a_module_is_vetted_where_it_stands() {
        let world = FileFixture::edits("a/b.go").files(&["go.mod"]);
        world.plans("lacking go");
        world.says(
            "go",
            "`go.mod` configures it, but it is not installed; install Go (https://go.dev)",
        );
        let world = world.on_path(&["go"]);
        world.plans("look go vet @a whole a");
        world.runs("go vet", "go vet .");
        world.says("go vet", "it is in the module of `go.mod`");
    }

    #[test]
    fn the_tests_of_the_same_package_run() {
        let world = FileFixture::edits("a/b.go").files(&["go.mod", "a/c_test.go"]).on_path(&["go"]);
        world.plans("look go vet @a whole a | test go test @a whole a");
        world.runs("go test", "go test -vet=off .");
        let world = FileFixture::edits("a/b_test.go").files(&["go.mod"]).on_path(&["go"]);
        world.plans("look go vet @a whole a | test go test @a whole a");
        let world = FileFixture::edits("b.go").files(&["go.mod", "a/c_test.go"]).on_path(&["go"]);
        world.plans("look go vet whole ");
    }

    #[test]
    fn the_project_s_linter_runs_and_changes_nothing() {
        let world =
            FileFixture::edits("a/b.go").files(&["go.mod", ".golangci.yml"]).on_path(&["go"]);
        world.plans("look go vet @a whole a | lacking golangci-lint");
        let world = world.on_path(&["golangci-lint"]);
        world.plans("look go vet @a whole a | look golangci-lint @a whole a");
        world.runs("golangci-lint", "golangci-lint run --fix=false --allow-parallel-runners .");
        world.says("golangci-lint", "`.golangci.yml` configures it");
        FileFixture::edits("b.go").files(&[".golangci.yml"]).on_path(&["golangci-lint"]).plans("");
    }
}

mod ruby {
    use crate::project::check::languages::world::FileFixture;

    #[test]
    fn ruby_is_parsed_where_ruby_is_there() {
        FileFixture::edits("a.rb").plans("");
        let world = FileFixture::edits("a/b.rb").on_path(&["ruby", "rubocop"]);
        world.plans("look ruby @a");
        world.runs("ruby", "ruby --disable=gems -c a/b.rb");
    }

    #[test]
    fn rubocop_runs_where_it_is_configured() {
        let world = FileFixture::edits("a/b/c.rb").files(&["a/.rubocop.yml"]);
        world.plans("lacking rubocop");
        let world = world.on_path(&["rubocop", "bundle"]);
        world.plans("fix rubocop -a @a | look rubocop @a");
        world.runs(
            "rubocop -a",
            "rubocop -a --fail-level fatal --force-exclusion --format emacs a/b/c.rb",
        );
        world.runs("rubocop", "rubocop --force-exclusion --format emacs a/b/c.rb");
        world.says("rubocop -a", "`a/.rubocop.yml` configures it");
        world.says("rubocop", "`a/.rubocop.yml` configures it");
    }

    #[test]
    fn the_project_s_bundle_wins() {
        let world = FileFixture::edits("a/b.rb")
            .files(&["a/.rubocop.yml"])
            .file("Gemfile.lock", "GEM\n  specs:\n    rubocop (1.60.0)\n")
            .on_path(&["rubocop"]);
        let options = "--force-exclusion --format emacs";
        world.runs("rubocop", &format!("rubocop {options} a/b.rb"));
        let world = world.on_path(&["bundle"]);
        world.plans("fix rubocop -a @a | look rubocop @a");
        world.runs("rubocop", &format!("bundle exec rubocop {options} a/b.rb"));
        let world = FileFixture::edits("a.rb")
            .file("Gemfile.lock", "    rubocop (1.60.0)\n")
            .on_path(&["bundle", "rubocop"]);
        world.plans("");
    }

    #[test]
    fn another_gem_of_that_name_is_not_it() {
        FileFixture::edits("a.rb")
            .files(&[".rubocop.yml"])
            .file("Gemfile.lock", "    rubocop-ast (1.30.0)\n")
            .on_path(&["bundle"])
            .plans("lacking rubocop");
    }
}

mod rust {
    use super::super::*;
    use crate::project::check::languages::world::FileFixture;

    const PACKAGE: &str = "[package]\nname = \"a\"\nedition = \"2024\"\n";

    fn in_package(file: &str) -> FileFixture {
        FileFixture::edits(file).file("a/Cargo.toml", PACKAGE)
    }

    #[test]
    fn the_owning_package_is_looked_at_and_the_file_alone_formatted() {
        let world = in_package("a/src/b.rs").on_path(&["cargo", "cargo-clippy", "rustfmt"]);
        world.plans("fix rustfmt @a/src | look clippy @a whole a/Cargo.toml");
        world.runs("rustfmt", "| rustfmt --edition 2024 --emit stdout --quiet");
        world.says("rustfmt", "its package is of the 2024 edition");
        world.runs(
            "clippy",
            "cargo clippy --quiet --offline --message-format json --all-targets \
             --manifest-path a/Cargo.toml",
        );
        world.says("clippy", "`a/Cargo.toml` owns it");
    }

    #[test]
    fn without_clippy_cargo_checks() {
        let world = in_package("a/src/b.rs").on_path(&["cargo"]);
        world.plans("look cargo check @a whole a/Cargo.toml");
        world.runs(
            "cargo check",
            "cargo check --quiet --offline --message-format json --all-targets \
             --manifest-path a/Cargo.toml",
        );
        in_package("a/src/b.rs").plans("lacking cargo");
    }

    #[test]
    fn a_file_without_a_package_gets_nothing() {
        let tools = &["cargo", "rustfmt"];
        FileFixture::edits("a.rs").on_path(tools).plans("");
        let virtual_one = "[workspace]\nmembers = []\n[workspace.package]\nedition = \"2021\"\n";
        FileFixture::edits("a.rs").file("Cargo.toml", virtual_one).on_path(tools).plans("");
    }

    #[test]
    fn a_test_that_was_edited_runs() {
        let plans = |file, expected| in_package(file).on_path(&["cargo"]).plans(expected);
        let look = "look cargo check @a whole a/Cargo.toml";
        let both = format!("{look} | test cargo test @a");
        plans("a/tests/b.rs", &both);
        plans("a/tests/b/main.rs", &both);
        plans("a/tests/b/other.rs", look);
        plans("a/tests/b/c/main.rs", look);
        plans("a/src/tests/b.rs", look);
        let world = in_package("a/tests/b.rs").on_path(&["cargo"]);
        world.runs(
            "cargo test",
            "cargo test --quiet --offline --manifest-path a/Cargo.toml --test b",
        );
        world.says("cargo test", "it is the test `b`");
    }

    #[track_caller]
    fn target(manifest: &str, expected: Option<&str>) {
        let found = test_target(Path::new("/a/tests/b.rs"), Path::new("/a"), manifest);
        assert_eq!(found.as_deref(), expected, "{manifest}");
    }

    #[test]
    fn a_manifest_that_names_its_tests_is_believed() {
        target("[package]", Some("b"));
        target("[[test]]\nname = \"b\"", Some("b"));
        target("[[test]]\nname = \"bc\"\npath = \"tests/b.rs\"", None);
        target("autotests = false", None);
    }

    #[track_caller]
    fn is_of_edition(package: &str, expected: &str) {
        let world = FileFixture::edits("a/src/b.rs")
            .file("Cargo.toml", "[workspace.package]\nedition = \"2021\"\n")
            .file("a/Cargo.toml", package);
        assert_eq!(edition(&world, package), expected, "{package}");
    }

    #[test]
    fn the_edition_is_the_package_s_or_its_workspace_s() {
        is_of_edition("[package]\nedition = \"2018\"", "2018");
        is_of_edition("[package]\n  edition=\"2018\" # old", "2018");
        is_of_edition("[package]\nedition.workspace = true", "2021");
        is_of_edition("[package]\nedition = { workspace = true }", "2021");
        is_of_edition("[package]", "2015");
        is_of_edition("[package]\neditions = \"2018\"", "2015");
        assert_eq!(edition(&FileFixture::edits("b.rs"), "edition.workspace = true"), "2015");
    }
}

mod shell {
    use super::super::*;
    use crate::project::check::languages::world::FileFixture;

    #[test]
    fn shellcheck_looks_at_scripts() {
        let world = FileFixture::edits("a/b.sh").on_path(&["shellcheck", "bash"]);
        world.plans("look shellcheck");
        world.runs(
            "shellcheck",
            "shellcheck --format json1 --external-sources --source-path SCRIPTDIR \
             --exclude SC1091 a/b.sh",
        );
        world.says("shellcheck", "it is a bash script");
        let plans =
            |file| FileFixture::edits(file).on_path(&["shellcheck"]).plans("look shellcheck");
        plans("a.bash");
        plans("a.ksh");
        plans("a.dash");
    }

    #[test]
    fn without_shellcheck_the_shell_parses_its_script() {
        let world = FileFixture::edits("a.sh").on_path(&["bash", "sh"]);
        world.plans("look bash -n");
        world.runs("bash -n", "bash -n a.sh");
        world.says("bash -n", "it is a bash script, and shellcheck is not installed");
        let world = FileFixture::edits("a.sh").file("a.sh", "#!/bin/sh\n").on_path(&["bash", "sh"]);
        world.runs("sh -n", "sh -n a.sh");
        FileFixture::edits("a.dash").on_path(&["dash"]).plans("look dash -n");
        FileFixture::edits("a.ksh").on_path(&["ksh"]).plans("look ksh -n");
        FileFixture::edits("a.sh").plans("");
    }

    #[test]
    fn shellcheck_is_lacking_where_it_is_configured() {
        let world = FileFixture::edits("a/b.sh").files(&[".shellcheckrc"]).on_path(&["bash"]);
        world.plans("look bash -n @a | lacking shellcheck");
        let world = world.on_path(&["shellcheck"]);
        world.plans("look shellcheck");
        world.says("shellcheck", "`.shellcheckrc` configures it");
    }

    #[track_caller]
    fn check(file: &str, first_line: &str, expected: Option<&str>) {
        let world = FileFixture::edits(file).file(file, &format!("{first_line}\necho\n"));
        assert_eq!(shell_of(&world), expected, "{file} {first_line}");
    }

    #[test]
    fn a_script_without_an_ending_is_known_by_its_first_line() {
        check("a", "#!/bin/sh", Some("sh"));
        check("a", "#!/bin/bash -e", Some("bash"));
        check("a", "#! /usr/bin/env bash", Some("bash"));
        check("a", "#!/usr/bin/env -S X=1 bash -e", Some("bash"));
        check("a", "#!/usr/bin/python3", None);
        check("a", "#!/usr/bin/env", None);
        check("a", "#!", None);
        check("a", "sh", None);
        check(".hidden", "#!/bin/dash", Some("dash"));
        check("a.txt", "#!/bin/sh", None);
    }

    #[test]
    fn the_first_line_counts_more_than_the_name() {
        check("a.sh", "#!/bin/ksh", Some("ksh"));
        check("a.sh", "#!/bin/zsh", None);
        check("a.bash", "echo", Some("bash"));
        check("a.zsh", "#!/bin/bash", None);
    }
}

mod sql {
    use crate::project::check::languages::world::FileFixture;

    #[test]
    fn the_database_is_linted_for_migrations() {
        let file = "app/supabase/migrations/1.sql";
        FileFixture::edits(file).plans("");
        let world = FileFixture::edits(file).on_path(&["supabase"]);
        world.plans("look supabase @app whole app/supabase");
        world.runs("supabase", "supabase db lint --level warning --output json");
        world.says("supabase", "it is in `supabase/migrations`");
        let world = FileFixture::edits("supabase/migrations/deep/1.sql").on_path(&["supabase"]);
        world.plans("look supabase whole supabase");
        FileFixture::edits("migrations/1.sql").on_path(&["supabase", "sqlfluff"]).plans("");
        FileFixture::edits("supabase/seed.sql").on_path(&["supabase"]).plans("");
    }

    #[test]
    fn supabase_is_lacking_where_it_is_configured() {
        let world =
            FileFixture::edits("supabase/migrations/1.sql").files(&["supabase/config.toml"]);
        world.plans("lacking supabase");
        world
            .installed("node_modules/.bin/supabase")
            .runs("supabase", "node_modules/.bin/supabase db lint --level warning --output json");
    }
}
