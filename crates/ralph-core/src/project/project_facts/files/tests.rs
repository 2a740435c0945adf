//! What each fact says of a project's files.

mod cargo_tests {
    use super::super::cargo;
    use crate::project::fixture::ProjectFixture;
    use serde_json::json;

    #[test]
    fn a_package_and_a_workspace_take_one_line() {
        let package = json!({"name": "a", "edition": "2024"});
        ProjectFixture::new()
            .document("Cargo.toml", json!({"package": package, "dependencies": {"anyhow": "1"}}))
            .tells(cargo, "Cargo.toml: package \"a\", edition \"2024\"");
        let workspace = json!({"members": ["crates/*"], "package": {"edition": "2021"}});
        ProjectFixture::new()
            .document("Cargo.toml", json!({"workspace": workspace}))
            .tells(cargo, "Cargo.toml: workspace of \"crates/*\", edition \"2021\"");
    }

    #[test]
    fn what_has_another_shape_is_left_out() {
        for manifest in [json!(3), json!({"package": 3}), json!({"workspace": [], "package": {}})] {
            ProjectFixture::new().document("Cargo.toml", manifest).tells_nothing(cargo);
        }
        ProjectFixture::new()
            .document("Cargo.toml", json!({"workspace": {"members": 3}}))
            .tells(cargo, "Cargo.toml: workspace");
        ProjectFixture::new().tells_nothing(cargo);
    }
}

mod python_tests {
    use super::super::python;
    use crate::project::fixture::ProjectFixture;
    use serde_json::json;

    #[test]
    fn a_project_takes_one_line() {
        let document = json!({
            "project": {"name": "api", "requires-python": ">=3.12", "dependencies": ["fastapi"]},
            "build-system": {"build-backend": "hatchling.build"},
            "tool": {"mypy": {}},
        });
        ProjectFixture::new().document("pyproject.toml", document).file("uv.lock", "").tells(
            python,
            "pyproject.toml: \"api\", python \">=3.12\", managed with uv, \
             built with \"hatchling.build\"",
        );
        let poetry = json!({"name": "old", "dependencies": {"python": "^3.11"}});
        ProjectFixture::new()
            .document("pyproject.toml", json!({"tool": {"poetry": poetry}}))
            .tells(python, "pyproject.toml: \"old\", python \"^3.11\", managed with poetry");
    }

    #[test]
    fn what_has_another_shape_is_left_out() {
        for odd in [json!(3), json!({"project": 3, "tool": [], "build-system": {"a": 3}})] {
            ProjectFixture::new().document("pyproject.toml", odd).tells_nothing(python);
        }
        ProjectFixture::new().tells_nothing(python);
    }
}

mod go_tests {
    use super::super::go;
    use crate::project::fixture::ProjectFixture;

    #[test]
    fn a_module_takes_one_line() {
        let text = "// why\nmodule \"example.com/a\"\n\ngo 1.22\n\nrequire (\n\tgithub.com/z/w v0.1.0\n)\n";
        ProjectFixture::new()
            .file("go.mod", text)
            .tells(go, "go.mod: module \"example.com/a\", go \"1.22\"");
    }

    #[test]
    fn without_a_module_there_is_nothing_to_tell() {
        ProjectFixture::new().file("go.mod", "// nothing\n").tells_nothing(go);
        ProjectFixture::new().file("go.mod", "module\ngo (\n").tells_nothing(go);
        ProjectFixture::new().tells_nothing(go);
    }
}

mod node_tests {
    use super::super::node;
    use crate::project::fixture::ProjectFixture;
    use serde_json::json;

    #[test]
    fn scripts_come_with_their_commands_and_the_useful_ones_first() {
        let text = r#"{
            "name": "@acme/web", "type": "module",
            "scripts": {"aaa": "true", "dev": "next dev", "prepare": "husky",
                "test": "vitest run", "test:e2e": "NODE_ENV=ci playwright test", "x": 7},
            "dependencies": {"any": "", "next": "^15.1.0", "odd": 3, "ui": "git+https://example.com/ui"},
            "devDependencies": {"typescript": "~5.7.2"}
        }"#;
        ProjectFixture::new().file("package.json", text).file("pnpm-lock.yaml", "").tells(
            node,
            "package.json: \"@acme/web\", type \"module\", package manager pnpm, by its lock file\n  \
             scripts:\n  \
             \"test\": \"vitest run\"\n  \
             \"dev\": \"next dev\"\n  \
             \"test:e2e\": \"NODE_ENV=ci playwright test\"\n  \
             \"aaa\": \"true\"\n  \
             \"prepare\": \"husky\"\n  \
             dependencies: \"any\", \"next@^15.1.0\", \"odd\", \"ui@git+https://example.com/ui\"\n  \
             devDependencies: \"typescript@~5.7.2\"",
        );
    }

    #[test]
    fn the_stated_package_manager_wins_and_two_lock_files_are_both_named() {
        let text = r#"{"packageManager": "yarn@4.1.0+sha512.abc"}"#;
        ProjectFixture::new()
            .file("package.json", text)
            .file("package-lock.json", "")
            .tells(node, "package.json: package manager \"yarn@4.1.0\"");
        ProjectFixture::new()
            .file("package.json", r#"{"name": "a"}"#)
            .file("package-lock.json", "")
            .file("yarn.lock", "")
            .tells(node, "package.json: \"a\", lock files of npm and yarn");
    }

    const PNPM: &str =
        "catalog:\n  a: 1\npackages:\n  # all\n  - 'apps/*'\n\n  - \"!apps/old\" # c\nx:\n  - y\n";

    #[test]
    fn workspaces_are_named_by_their_patterns() {
        ProjectFixture::new()
            .file("package.json", r#"{"workspaces": {"packages": ["libs/*"]}}"#)
            .file("pnpm-workspace.yaml", PNPM)
            .tells(node, "package.json\n  workspaces: \"apps/*\", \"!apps/old\", \"libs/*\"");
    }

    #[test]
    fn what_has_another_shape_is_left_out() {
        for text in ["", "[", "[]", "7", "{}", r#"{"name": 1, "scripts": [], "dependencies": 2}"#] {
            ProjectFixture::new().file("package.json", text).tells_nothing(node);
        }
        ProjectFixture::new().tells_nothing(node);
        ProjectFixture::new()
            .file("package.json", r#"{"name": "a", "workspaces": 3}"#)
            .file("pnpm-workspace.yaml", "- 1\n")
            .tells(node, "package.json: \"a\"");
    }

    #[test]
    fn many_scripts_are_named_without_their_commands() {
        let scripts: serde_json::Map<_, _> =
            (10..60).map(|n| (format!("s{n}"), json!("run it"))).collect();
        let text = json!({"scripts": scripts}).to_string();
        let told = node(&ProjectFixture::new().file("package.json", &text)).unwrap();
        assert_eq!(told.lines.len(), 18);
        assert!(told.lines[17].starts_with("also \"s26\", "), "{:?}", told.lines[17]);
        assert!(told.lines[17].ends_with(", and 14 more"), "{:?}", told.lines[17]);
    }
}

mod typescript_tests {
    use super::super::typescript;
    use crate::project::fixture::ProjectFixture;

    #[test]
    fn the_options_that_matter_in_their_order() {
        let text = r#"{
            // for the bundler
            "compilerOptions": {"skipLibCheck": true, "target": "ES2022", "strict": true,
                "paths": {"@/*": ["./src/*"], "x": 3}, "lib": ["dom"], "jsx": 7, "noEmit": {}, "module": []},
            "include": ["src", "types"], "exclude": ["node_modules", "dist"],
            "references": [{"path": "./a"}, 3],
        }"#;
        ProjectFixture::new().file("tsconfig.json", text).file("tsconfig.node.json", "{}").tells(
            typescript,
            "tsconfig.json\n  \
             compilerOptions: strict true, target \"ES2022\", paths \"@/* -> ./src/*\", \
             lib \"dom\"\n  \
             include: \"src\", \"types\"\n  \
             exclude: \"dist\"\n  \
             references: \"./a\"\n  \
             also \"tsconfig.node.json\"",
        );
    }

    #[test]
    fn what_it_extends_is_named_and_looked_into_where_it_is_the_projects_own() {
        let text = r#"{"extends": ["@tsconfig/node22/tsconfig.json", "./base"]}"#;
        ProjectFixture::new()
            .file("tsconfig.json", text)
            .file("base.json", r#"{"compilerOptions": {"noEmit": true}}"#)
            .tells(
                typescript,
                "tsconfig.json: extends \"@tsconfig/node22/tsconfig.json\", \"./base\"\n  \
                 inherited from \"base\": noEmit true",
            );
        ProjectFixture::new()
            .file("tsconfig.json", r#"{"extends": "./../base.json"}"#)
            .file("../base.json", r#"{"compilerOptions": {"noEmit": true}}"#)
            .tells(typescript, "tsconfig.json: extends \"./../base.json\"");
    }

    #[test]
    fn what_has_another_shape_is_left_out() {
        for text in ["", "3", "[]", "{}", r#"{"compilerOptions": 3, "references": {}}"#] {
            ProjectFixture::new().file("tsconfig.json", text).tells_nothing(typescript);
        }
        ProjectFixture::new().tells_nothing(typescript);
    }
}

mod ci_tests {
    use super::super::ci;
    use crate::project::fixture::ProjectFixture;

    #[test]
    fn the_files_of_each_service_are_named() {
        ProjectFixture::new()
            .file(".github/workflows/ci.yml", "")
            .file(".github/workflows/notes.md", "")
            .file(".circleci/config.yml", "")
            .file(".travis.yml", "")
            .tells(
                ci,
                "CI: \".github/workflows/ci.yml\", \".circleci/config.yml\", \".travis.yml\"",
            );
        ProjectFixture::new().file("ci.yml", "").tells_nothing(ci);
    }
}

mod tasks_tests {
    use super::super::tasks;
    use crate::project::fixture::ProjectFixture;

    #[test]
    fn targets_of_a_makefile_come_with_their_help() {
        let text = "SOURCES = a.c \\\nodd: x\nV := 1\n.PHONY: all test\n.SUFFIXES:\n\
                    all: build ## everything\n## runs the tests\n.PHONY: test\ntest: build\n\t./a:b\n\
                    # no help\nbuild clean:\n\ta\n%.o: %.c\nout/x: y\nmain.o: main.c\n$(X): y\n\
                    define D\nfake: x\nendef\n";
        ProjectFixture::new().file("Makefile", text).tells(
            tasks,
            "tasks, called by name\n  \
             make \"test # runs the tests\", \"build\", \"all # everything\", \"clean\"",
        );
    }

    #[test]
    fn recipes_of_a_justfile_name_the_arguments_that_they_need() {
        let text = "set shell := ['bash']\nalias t := test\n# ships it\n[group: 'x']\n\
                    deploy env tag='x':\n    a\n# lost\n\n@test *args: build\n_inner:\n[private]\nno:\n\
                    build:\n";
        ProjectFixture::new().file("justfile", text).tells(
            tasks,
            "tasks, called by name\n  just \"test\", \"build\", \"deploy env # ships it\"",
        );
    }

    #[test]
    fn many_targets_with_a_long_help_cost_little() {
        let text = format!("{}: ## {}", "a ".repeat(50_000), "x".repeat(100_000));
        let lines = tasks(&ProjectFixture::new().file("Makefile", &text)).unwrap().lines;
        assert!(lines[0].ends_with("\"a\", and 49976 more"), "{}", lines[0]);
        assert_eq!(lines[0].matches(" # ").count(), 5, "{}", lines[0]);
    }

    #[test]
    fn without_targets_there_is_nothing_to_tell() {
        ProjectFixture::new().file("Makefile", "a := b\n").tells_nothing(tasks);
        ProjectFixture::new().tells_nothing(tasks);
    }
}

mod supabase_tests {
    use super::super::supabase;
    use crate::project::fixture::ProjectFixture;

    #[test]
    fn migrations_are_counted_and_functions_are_named() {
        ProjectFixture::new()
            .file("supabase/migrations/2_b.sql", "create table public.b(id int);\n-- create table c();")
            .file("supabase/migrations/1_a.sql", "CREATE TABLE if not exists \"a\" (\n  create_table int\n);\ncreate table")
            .file("supabase/migrations/readme.md", "")
            .file("supabase/functions/hello/index.ts", "")
            .file("supabase/functions/_shared/index.ts", "")
            .tells(
                supabase,
                "supabase\n  migrations: 2, the newest \"2_b.sql\", \"1_a.sql\"\n  tables created: \"a\", \"b\"\n  \
                 functions: \"hello\"",
            );
        ProjectFixture::new().file("supabase/config.toml", "").tells_nothing(supabase);
        ProjectFixture::new().tells_nothing(supabase);
    }
}

mod structure_tests {
    use super::super::structure;
    use crate::project::fixture::ProjectFixture;

    #[test]
    fn folders_come_first_and_each_has_a_line_of_its_own() {
        ProjectFixture::new()
            .file("src/lib.rs", "")
            .file("src/facts/go.rs", "")
            .file("docs/a b.md", "")
            .file("README.md", "")
            .file("Cargo.toml", "")
            .tells(
                structure,
                "structure without what git ignores: 2 folders, 2 files\n  \"docs/\": \"a b.md\"\n  \
                 \"src/\": \"facts/\", \"lib.rs\"\n  files: \"Cargo.toml\", \"README.md\"",
            );
    }

    #[test]
    fn a_big_folder_is_a_count_and_a_few_names() {
        let mut world = ProjectFixture::new().file("src/a/x", "");
        for n in 0..213 {
            world = world.file(&format!("src/f{n:03}.rs"), "");
        }
        world.tells(
            structure,
            "structure without what git ignores: 1 folder\n  \"src/\" 1 folder, 213 files: \"a/\", \
             \"f000.rs\", \"f001.rs\", \"f002.rs\", \"f003.rs\", \"f004.rs\", \"f005.rs\", \"f006.rs\", \
             \"f007.rs\", \"f008.rs\", and 204 more",
        );
        let ten = (0..10).fold(ProjectFixture::new(), |world, n| world.file(&format!("d/{n}"), ""));
        let names: Vec<String> = (0..10).map(|n| format!("\"{n}\"")).collect();
        assert_eq!(structure(&ten).unwrap().lines, [format!("\"d/\": {}", names.join(", "))]);
    }

    #[test]
    fn of_many_folders_only_the_first_are_looked_into() {
        let mut world = ProjectFixture::new();
        for folder in 0..60 {
            for file in 0..9 {
                world = world.file(&format!("d{folder:02}/{file}"), "");
            }
        }
        let told = structure(&world).unwrap();
        assert_eq!(told.heading, "structure without what git ignores: 60 folders");
        assert_eq!(told.lines.len(), 31);
        assert_eq!(told.lines[0], "\"d00/\" 9 files: \"0\", \"1\", and 7 more");
        assert!(told.lines[30].starts_with("also \"d30/\", \"d31/\", "), "{}", told.lines[30]);
        assert!(told.lines[30].ends_with("\"d49/\", and 10 more"), "{}", told.lines[30]);
    }

    #[test]
    fn an_empty_project_has_no_structure() {
        ProjectFixture::new().tells_nothing(structure);
    }
}

mod useful_tests {
    #[test]
    fn tests_come_first_then_what_begins_like_them_then_the_rest_as_it_stands() {
        let mut names = ["zoo", "start", "build:web", "test:unit", "lint", "abc", "test"];
        super::super::useful_first(&mut names, |name| name);
        assert_eq!(names, ["test", "lint", "start", "test:unit", "build:web", "zoo", "abc"]);
    }
}

mod shape_tests {
    use super::super::*;
    use serde_json::json;

    #[test]
    fn another_shape_is_nothing() {
        for value in [json!(null), json!(3), json!(true), json!([[1]]), json!([{}])] {
            assert!(texts(&value).is_empty() && members(&value).next().is_none(), "{value}");
        }
        assert_eq!(texts(&json!("a")), ["a"]);
        assert_eq!(texts(&json!(["a", 1, "b"])), ["a", "b"]);
        let both = json!({"b": 1, "a": 2});
        assert_eq!(Vec::from_iter(members(&both)), [("a", &json!(2)), ("b", &json!(1))]);
    }
}

#[test]
fn a_folder_is_counted_by_kinds_and_says_if_there_is_more() {
    use super::{Folder, counted, cut};
    for (folders, files, expected) in
        [(0, 0, ""), (1, 0, "1 folder"), (0, 1, "1 file"), (2, 3, "2 folders, 3 files")]
    {
        assert_eq!(counted(folders, files), expected);
    }
    let of = |is_cut| cut(&Folder { is_cut, ..Folder::default() });
    assert_eq!([of(true), of(false)], [" and more", ""]);
}
