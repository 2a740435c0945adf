//! Which tools each project has for a file.

mod javascript {
    use crate::project::check::languages::world::FileFixture;

    #[test]
    fn declarations_are_only_checked_for_their_types() {
        for (file, expected) in [
            ("a.d.ts", "look tsc whole tsconfig.json"),
            ("a.d.mts", "look tsc whole tsconfig.json"),
            ("a.ts", "fix eslint | look tsc whole tsconfig.json | test vitest"),
        ] {
            FileFixture::edits(file)
                .file("tsconfig.json", "{}")
                .files(&["eslint.config.js", "vitest.config.js", "a.test.ts"])
                .installed("node_modules/.bin/tsc")
                .on_path(&["eslint", "vitest"])
                .plans(expected);
        }
    }
}

mod deno {
    use crate::project::check::languages::world::FileFixture;

    fn deno(file: &str) -> FileFixture {
        FileFixture::edits(file).on_path(&["deno", "node"])
    }

    #[test]
    fn deno_does_it_all_in_its_projects() {
        let all = "fix deno fmt | look deno lint | look deno check";
        for config in ["deno.json", "deno.jsonc"] {
            deno("a.ts").files(&[config]).plans(all);
        }
        let world = deno("b/a.ts").files(&[
            "deno.json",
            "tsconfig.json",
            "eslint.config.js",
            ".prettierrc",
        ]);
        world.plans(all);
        world.runs("deno fmt", "deno fmt --quiet --permit-no-files b/a.ts");
        world.runs("deno lint", "deno lint --quiet --compact --permit-no-files b/a.ts");
        world.runs("deno check", "deno check --quiet b/a.ts");
        world.says("deno check", "`deno.json` makes it a project of deno");
    }

    #[test]
    fn the_nearest_manifest_says_whose_project_it_is() {
        let both = deno("a.ts").files(&["deno.json", "package.json"]);
        both.plans("fix deno fmt | look deno lint | look deno check");
        deno("b/a.ts").files(&["deno.json", "b/package.json"]).plans("");
        let nearer = deno("b/a.ts").files(&["package.json", "b/deno.json"]);
        nearer.plans("fix deno fmt @b | look deno lint @b | look deno check @b");
    }

    #[test]
    fn tests_run_with_what_their_task_allows() {
        let tasks = r#"{"tasks": {"test": "deno test -A --allow-net=a --watch --unstable-kv"}, }"#;
        deno("a.ts").files(&["a_test.ts"]).file("deno.json", tasks).runs(
            "deno test",
            "deno test --quiet --no-prompt --cached-only -A --allow-net=a --unstable-kv a_test.ts",
        );
        let tasks = r#"{"tasks": {"test": {"command": "deno test --allow-read"}}}"#;
        deno("a.test.ts").file("deno.json", tasks).runs(
            "deno test",
            "deno test --quiet --no-prompt --cached-only --allow-read a.test.ts",
        );
    }

    #[test]
    fn a_deno_that_is_not_installed_is_lacking() {
        FileFixture::edits("a.ts").files(&["deno.json"]).says(
            "deno",
            "`deno.json` configures it, but it is not installed; see <https://docs.deno.com>",
        );
    }
}

mod lint {
    use crate::project::check::languages::world::FileFixture;

    fn with_eslint(file: &str) -> FileFixture {
        FileFixture::edits(file).installed("node_modules/.bin/eslint")
    }

    #[test]
    fn eslint_runs_where_its_configuration_is() {
        let world = with_eslint("packages/app/src/a.ts").files(&["packages/app/eslint.config.mjs"]);
        world.plans("fix eslint @packages/app");
        world.says("eslint", "`packages/app/eslint.config.mjs` configures it");
        world.runs(
            "eslint",
            "node_modules/.bin/eslint --fix --no-warn-ignored --format json packages/app/src/a.ts",
        );
    }

    #[test]
    fn the_older_kind_of_configuration_is_called_in_its_way() {
        let world = with_eslint("b/a.ts").files(&["b/.eslintrc.json"]);
        world.runs("eslint", "node_modules/.bin/eslint --fix --format json b/a.ts");
        world.plans("fix eslint @b");
        world.files(&[".eslintignore"]).plans("fix eslint");
        with_eslint("b/a.ts")
            .files(&["b/eslint.config.js", ".eslintignore"])
            .plans("fix eslint @b");
    }

    #[test]
    fn eslint_may_be_configured_in_a_package() {
        let world = with_eslint("b/a.ts").file("package.json", r#"{"eslintConfig":{}}"#);
        world.plans("fix eslint");
        world.says("eslint", "`package.json` configures it");
        with_eslint("a.ts").file("package.json", r#"{"devDependencies":{"eslint":"9"}}"#).plans("");
    }

    #[test]
    fn a_linter_that_is_not_installed_is_lacking() {
        FileFixture::edits("a.ts").files(&[".eslintrc.json"]).says(
            "eslint",
            "`.eslintrc.json` configures it, but it is not installed; run `npm install`",
        );
        FileFixture::edits("a.ts").files(&[".oxlintrc.json"]).plans("lacking oxlint");
        FileFixture::edits("a.ts").files(&["biome.json"]).plans("lacking biome");
    }

    #[test]
    fn oxlint_runs_where_it_is_configured_or_alone() {
        let oxlint = || with_eslint("b/a.ts").installed("node_modules/.bin/oxlint");
        let needs = r#"{"devDependencies":{"oxlint":"1"}}"#;
        oxlint().plans("");
        oxlint().file("package.json", needs).plans("fix oxlint");
        oxlint().file("package.json", needs).files(&["eslint.config.js"]).plans("fix eslint");
        let both = oxlint().files(&[".oxlintrc.json", "eslint.config.js"]);
        both.plans("fix oxlint | fix eslint");
        both.runs(
            "oxlint",
            "node_modules/.bin/oxlint --fix --format unix --no-error-on-unmatched-pattern b/a.ts",
        );
        both.says("oxlint", "`.oxlintrc.json` configures it");
    }

    #[test]
    fn linters_come_before_formatters() {
        let world = with_eslint("a.ts")
            .files(&["eslint.config.js", ".prettierrc", "biome.json"])
            .installed("node_modules/.bin/prettier")
            .installed("node_modules/.bin/biome");
        world.plans("fix eslint | fix biome | fix prettier");
    }
}

mod syntax {
    use crate::project::check::languages::world::FileFixture;

    fn edits(file: &str, text: &str) -> FileFixture {
        FileFixture::edits(file).file(file, text).on_path(&["node"])
    }

    #[test]
    fn node_reads_what_no_other_tool_does() {
        let world = edits("a.mjs", "export {}");
        world.plans("look node");
        world.runs("node", "node --check a.mjs");
        edits("a.cjs", "").plans("look node");
        edits("a.js", "").plans("look node");
        FileFixture::edits("a.js").plans("");
        for config in [".oxlintrc.json", "eslint.config.js", "biome.json"] {
            let tools = ["node", "oxlint", "eslint", "biome"];
            let world = FileFixture::edits("a.js").on_path(&tools).files(&[config]);
            world.plans(match config {
                ".oxlintrc.json" => "fix oxlint",
                "biome.json" => "fix biome",
                _ => "fix eslint",
            });
        }
        edits("a.js", "")
            .installed("node_modules/.bin/tsc")
            .file("tsconfig.json", r#"{"compilerOptions":{"allowJs":true}}"#)
            .plans("look tsc whole tsconfig.json");
    }

    #[test]
    fn what_is_for_a_bundler_is_left_alone() {
        for file in ["a.ts", "a.jsx"] {
            edits(file, "").plans("");
        }
        for text in ["x = <a></a>", "x = <a/>", "// @flow", "import a from 'a'", "export {}"] {
            edits("a.js", text).plans("");
        }
        edits("a.js", " import('a')").plans("look node");
    }

    #[test]
    fn the_nearest_package_says_whether_it_is_a_module() {
        let module = r#"{"type":"module"}"#;
        edits("b/a.js", "export {}").file("package.json", module).plans("look node @b");
        edits("b/a.js", "export {}")
            .file("package.json", module)
            .file("b/package.json", r#"{"type":"commonjs"}"#)
            .plans("");
    }
}

mod types {
    use crate::project::check::languages::world::FileFixture;

    fn edits(file: &str) -> FileFixture {
        FileFixture::edits(file).installed("node_modules/.bin/tsc")
    }

    #[test]
    fn the_compiler_runs_with_the_configuration_that_includes_the_file() {
        let world = edits("packages/app/src/a.ts")
            .file("tsconfig.json", "{}")
            .file("packages/app/tsconfig.json", "{ /* all */ }")
            .file("packages/lib/tsconfig.json", "{}");
        world.plans("look tsc @packages/app whole packages/app/tsconfig.json");
        world.says("tsc", "`packages/app/tsconfig.json` includes it");
        world.runs(
            "tsc",
            "node_modules/.bin/tsc --noEmit --pretty false -p packages/app/tsconfig.json \
             --incremental --tsBuildInfoFile /kept/tsconfig.json",
        );
    }

    #[test]
    fn one_that_does_not_include_it_leaves_it_to_the_one_above() {
        let world = edits("a/test/t.ts").file("a/tsconfig.json", r#"{"include":["src"]}"#);
        world.plans("");
        world.file("tsconfig.json", "{}").plans("look tsc whole tsconfig.json");
    }

    #[test]
    fn the_beginning_of_a_pattern_says_whether_it_includes_the_file() {
        let include = |pattern: &str| {
            edits("a/b/x.ts").file("tsconfig.json", &format!(r#"{{"include":["{pattern}"]}}"#))
        };
        for pattern in ["a", "a/**/*", "./a/*", "**/*.ts", "a/b/x.ts", "../*/a"] {
            include(pattern).plans("look tsc whole tsconfig.json");
        }
        for pattern in ["b", "ab/**/*", "a/c/*", "a/b/y.ts", "../other/*"] {
            include(pattern).plans("");
        }
    }

    #[test]
    fn a_solution_is_asked_for_its_projects() {
        let solution = r#"{"files":[],"references":[{"path":"./none"},{"path":"./tsconfig.a.json"},{"path":"b"}]}"#;
        let world = |file| {
            edits(file)
                .file("tsconfig.json", solution)
                .file(
                    "tsconfig.a.json",
                    r#"{"include":["a"],"references":[{"path":"./tsconfig.json"}]}"#,
                )
                .file("b/tsconfig.json", "{}")
        };
        world("a/x.ts").plans("look tsc whole tsconfig.a.json");
        world("b/x.ts").plans("look tsc @b whole b/tsconfig.json");
        world("c/x.ts").plans("");
    }

    #[test]
    fn a_file_that_one_project_excludes_is_for_another_that_includes_it() {
        let world = |file, exclude: &str| {
            let app = format!(r#"{{"include":["src/**/*.ts"],"exclude":["{exclude}"]}}"#);
            edits(file)
                .file(
                    "tsconfig.json",
                    r#"{"files":[],"references":[{"path":"tsconfig.app.json"},{"path":"tsconfig.spec.json"}]}"#,
                )
                .file("tsconfig.app.json", &app)
                .file(
                    "tsconfig.spec.json",
                    r#"{"include":["src/**/*.spec.ts"],"files":["src/main.ts"],"exclude":["src/main.ts"]}"#,
                )
        };
        for exclude in ["src/**/*.spec.ts", "**/*.spec.ts", "./src/a", "../other/src/a"] {
            let expected = match exclude.starts_with("..") {
                true => "look tsc whole tsconfig.app.json",
                false => "look tsc whole tsconfig.spec.json",
            };
            world("src/a/x.spec.ts", exclude).plans(expected);
            world("src/b/x.ts", exclude).plans("look tsc whole tsconfig.app.json");
        }
        world("src/main.ts", "src/main.ts").plans("look tsc whole tsconfig.spec.json");
        world("src/x.ts", "src").plans("look tsc whole tsconfig.spec.json");
    }

    #[test]
    fn a_folder_beside_that_of_the_configuration_is_found() {
        let world = |file| {
            edits(file).file("tsconfig.json", r#"{"files":[],"references":[{"path":"app"}]}"#).file(
                "app/tsconfig.json",
                r#"{"include":["../shared/*"],"exclude":["../shared/x"]}"#,
            )
        };
        world("shared/a.ts").plans("look tsc @app whole app/tsconfig.json");
        world("other/a.ts").plans("");
        world("shared/x/a.ts").plans("");
    }

    #[test]
    fn javascript_is_looked_at_where_it_is_allowed() {
        let allow = r#"{"compilerOptions":{"allowJs":true}}"#;
        let check = r#"{"compilerOptions":{"checkJs":true}}"#;
        edits("a.js").file("tsconfig.json", "{}").plans("");
        edits("a.js").file("tsconfig.json", allow).plans("look tsc whole tsconfig.json");
        edits("a.jsx").file("jsconfig.json", check).plans("look tsc whole jsconfig.json");
        edits("a.js").file("jsconfig.json", allow).plans("");
        edits("a.js").file("jsconfig.json", "{}").plans("");
        edits("a.ts").file("jsconfig.json", check).plans("");
    }

    #[test]
    fn the_compiler_is_the_projects_own() {
        let world = || FileFixture::edits("a.ts").file("tsconfig.json", "{}");
        let says = "`tsconfig.json` includes it and TypeScript is not installed; run `npm install`";
        world().on_path(&["tsc", "tsgo"]).says("tsc", says);
        let native = || world().installed("node_modules/.bin/tsgo");
        native().plans("look tsgo whole tsconfig.json");
        let both = || native().installed("node_modules/.bin/tsc");
        both().plans("look tsc whole tsconfig.json");
        both()
            .file("package.json", r#"{"devDependencies":{"@typescript/native-preview":"*"}}"#)
            .plans("look tsgo whole tsconfig.json");
    }

    #[test]
    fn a_configuration_that_cannot_be_read_includes_nothing() {
        edits("a.ts").file("tsconfig.json", "{").plans("");
    }
}

mod formatters {
    use crate::project::check::languages::world::FileFixture;

    fn with_prettier(file: &str) -> FileFixture {
        FileFixture::edits(file).installed("node_modules/.bin/prettier")
    }

    #[test]
    fn prettier_formats_what_it_knows_where_it_is_configured() {
        for file in ["a.css", "a.md", "a.html", "a.vue", "a.graphql", "a.hbs"] {
            with_prettier(file).plans("");
            with_prettier(file).file(".prettierrc", "").plans("fix prettier");
        }
        with_prettier("a.json").file(".prettierrc", "").plans("fix prettier | look json");
        with_prettier("a.txt").file(".prettierrc", "").plans("");
    }

    #[test]
    fn prettier_is_configured_by_a_file_a_member_or_a_dependency() {
        for package in [
            r#"{"prettier":{}}"#,
            r#"{"devDependencies":{"prettier":"3"}}"#,
            r#"{"dependencies":{"prettier":"3"}}"#,
        ] {
            let world = with_prettier("b/a.md").file("package.json", package);
            world.plans("fix prettier");
            world.says("prettier", "`package.json` configures it");
        }
        with_prettier("b/a.md").file("package.json", r#"{"name":"prettier"}"#).plans("");
        with_prettier("b/a.md").file("package.json", "{").plans("");
        for config in ["prettier.config.mjs", ".prettierrc.toml"] {
            with_prettier("b/a.md").files(&[config]).plans("fix prettier");
        }
    }

    #[test]
    fn prettier_runs_where_its_ignore_file_is() {
        let world = with_prettier("b/c/a.md").files(&["b/.prettierrc"]);
        world.plans("fix prettier @b");
        world.runs(
            "prettier",
            "node_modules/.bin/prettier --write --log-level warn --ignore-unknown b/c/a.md",
        );
        with_prettier("b/c/a.md")
            .files(&["b/.prettierrc", ".prettierignore"])
            .plans("fix prettier");
    }

    #[test]
    fn what_is_configured_and_not_installed_is_lacking() {
        FileFixture::edits("a.md").file(".prettierrc", "").plans("lacking prettier");
        FileFixture::edits("a.css").files(&["biome.json", "bun.lock"]).says(
            "biome",
            "`biome.json` configures it, but it is not installed; run `bun install`",
        );
        FileFixture::edits("a.txt").files(&["biome.json", ".prettierrc"]).plans("");
        FileFixture::edits("a.md").files(&["biome.json"]).plans("");
    }

    #[test]
    fn each_lock_file_has_its_manager() {
        for (lock, manager) in [
            ("package-lock.json", "npm"),
            ("pnpm-lock.yaml", "pnpm"),
            ("yarn.lock", "yarn"),
            ("bun.lockb", "bun"),
            ("none", "npm"),
        ] {
            let world = FileFixture::edits("a.md").files(&[".prettierrc", lock]);
            let said = "`.prettierrc` configures it, but it is not installed; run";
            world.says("prettier", &format!("{said} `{manager} install`"));
        }
    }

    #[test]
    fn biome_checks_and_writes_where_it_is_configured() {
        for config in ["biome.json", "biome.jsonc", ".biome.json"] {
            let world = FileFixture::edits("b/a.css").files(&[config]).on_path(&["biome"]);
            world.plans("fix biome");
            world.runs(
                "biome",
                "biome check --write --reporter=sarif --max-diagnostics=none \
                 --no-errors-on-unmatched --files-ignore-unknown=true --colors=off b/a.css",
            );
            world.says("biome", &format!("`{config}` configures it"));
        }
    }

    #[test]
    fn an_older_biome_prints_lines() {
        let runs = |version: &str, expected: &str| {
            FileFixture::edits("b/a.css")
                .files(&["biome.json"])
                .file(
                    "node_modules/@biomejs/biome/package.json",
                    &format!(r#"{{"version":"{version}"}}"#),
                )
                .on_path(&["biome"])
                .runs(
                    "biome",
                    &format!(
                        "biome check --write {expected}--max-diagnostics=none \
                         --no-errors-on-unmatched --files-ignore-unknown=true --colors=off b/a.css"
                    ),
                );
        };
        for version in ["1.9.4", "2.3.15", "1.5.0"] {
            runs(version, "");
        }
        for version in ["2.4.0", "2.10.1", "3.0.0", "next"] {
            runs(version, "--reporter=sarif ");
        }
    }

    #[test]
    fn a_dependency_on_prettier_does_not_count_beside_biome() {
        let world =
            || with_prettier("a.css").files(&["biome.json"]).installed("node_modules/.bin/biome");
        world().file("package.json", r#"{"devDependencies":{"prettier":"3"}}"#).plans("fix biome");
        world().file("package.json", r#"{"prettier":{}}"#).plans("fix biome | fix prettier");
        with_prettier("a.md")
            .files(&["biome.json"])
            .file("package.json", r#"{"devDependencies":{"prettier":"3"}}"#)
            .plans("fix prettier");
    }
}
