//! Type checks: the compiler, with the nearest configuration that includes the file.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::super::super::jsonc;
use super::super::super::parsers::OutputFormat;
use super::super::super::workspace::{Around, ToolCommand};
use super::super::check_builder::CheckBuilder;
use super::super::package::{self, Package};
use super::super::{folder_of, matches_any, name_of, said, text_of, upward};
use crate::text::globs;

/// How many references of a configuration are read.
const MOST: usize = 64;

const CONFIGS: [&str; 2] = ["tsconfig.json", "jsconfig.json"];

const JAVASCRIPT: &[&str] = &["*.js", "*.jsx", "*.mjs", "*.cjs"];

/// Adds the compiler if a configuration includes the file.
pub(super) fn add(around: &dyn Around, wanted: &mut CheckBuilder) {
    let Some(config) = including(around) else { return };
    let why = format!("{} includes it", said(around, &config));
    let Some((name, tool)) = compiler(around) else {
        let remedy = package::remedy(around);
        wanted.lacks("tsc", format!("{why} and TypeScript is not installed; {remedy}"));
        return;
    };
    let path = text_of(&config);
    let kept = text_of(&around.kept(&format!("{name} {path}")));
    // The compiler's build information stays out of the project.
    let line = tool.with(&[
        "--noEmit",
        "--pretty",
        "false",
        "-p",
        &path,
        "--incremental",
        "--tsBuildInfoFile",
        &kept,
    ]);
    wanted.look(name, line, OutputFormat::Tsc).at(folder_of(&config)).whole(&config).because(why);
}

/// The project's own compiler: another version on `PATH` finds other errors. The native compiler is
/// used if there is no other, or if the project depends on it.
fn compiler(around: &dyn Around) -> Option<(&'static str, ToolCommand)> {
    let classic = around.own_tool("tsc").map(|tool| ("tsc", tool));
    let native = around.own_tool("tsgo").map(|tool| ("tsgo", tool));
    let asks = Package::all(around).iter().any(|one| one.needs("@typescript/native-preview"));
    if asks { native.or(classic) } else { classic.or(native) }
}

/// The nearest configuration that includes the file, itself or through a reference.
///
/// Only the literal start of each `include` pattern is compared. `extends` is not read, so the
/// compiler may run for a file that an inherited list excludes.
pub(super) fn including(around: &dyn Around) -> Option<PathBuf> {
    upward(around).find_map(|folder| {
        let paths = CONFIGS.iter().map(|name| folder.join(name));
        let path = paths.into_iter().find(|path| around.exists(path))?;
        let config = read(around, &path)?;
        if includes(around, &path, &config) {
            return Some(path);
        }
        config["references"].as_array()?.iter().take(MOST).find_map(|one| {
            let path = referenced(folder, one["path"].as_str()?);
            includes(around, &path, &read(around, &path)?).then_some(path)
        })
    })
}

fn read(around: &dyn Around, path: &Path) -> Option<Value> {
    jsonc::read(&around.text(path)?)
}

/// A reference names a configuration, or a folder with a `tsconfig.json`.
fn referenced(folder: &Path, path: &str) -> PathBuf {
    let path = folder.join(path.trim_start_matches("./"));
    if name_of(&path).ends_with(".json") { path } else { path.join("tsconfig.json") }
}

fn includes(around: &dyn Around, path: &Path, config: &Value) -> bool {
    let folder = folder_of(path);
    let file = around.file();
    let is_on = |option: &str| config["compilerOptions"][option] == true;
    // A `jsconfig.json` is for an editor, unless it asks for findings.
    let is_wanted = match (name_of(path), matches_any(JAVASCRIPT, name_of(file))) {
        ("jsconfig.json", is_javascript) => is_javascript && is_on("checkJs"),
        (_, true) => is_on("allowJs") || is_on("checkJs"),
        (_, false) => true,
    };
    let (top, path) = (text_of(folder), text_of(file));
    let holds = |pattern: &str| {
        globs::from_top(top.as_bytes(), pattern.as_bytes())
            .is_some_and(|pattern| globs::holds(&pattern, path.as_bytes()))
    };
    let is_below = |pattern: &str| {
        let open = pattern.find(['*', '?', '$']);
        let plain = open.map_or(pattern, |at| pattern[..at].rsplit_once('/').map_or("", |it| it.0));
        holds(plain)
    };
    let list = |key: &str| config[key].as_array().map(|list| list.iter().filter_map(Value::as_str));
    let is_excluded = || list("exclude").into_iter().flatten().any(holds);
    let is_listed = match (list("include"), list("files")) {
        (None, None) => file.starts_with(folder) && !is_excluded(),
        (include, files) => {
            files.into_iter().flatten().any(is_below)
                || include.into_iter().flatten().any(is_below) && !is_excluded()
        }
    };
    is_wanted && is_listed
}

#[cfg(test)]
mod tests {
    use super::super::super::world::FileFixture;

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
