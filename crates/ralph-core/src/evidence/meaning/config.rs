//! The configuration of runners and checkers: their own files, or sections in other files.

use super::resolve::{At, Resolver, upwards};
use super::text::{self, join};
use super::{Weight, python, tasks};
use serde_json::Value;

/// Where a tool's configuration can be.
#[derive(Debug, Clone, Copy)]
struct ToolConfig {
    names: &'static [&'static str],
    /// Files in the folder and its parents; a name that ends in `.*` matches every code extension.
    files: &'static [&'static str],
    /// Keys of `package.json`.
    package: &'static [&'static str],
    /// Tables below `tool` of `pyproject.toml`.
    pyproject: &'static [&'static str],
    /// Sections of `.ini` files.
    sections: &'static [(&'static str, &'static str)],
}

const NONE: ToolConfig =
    ToolConfig { names: &[], files: &[], package: &[], pyproject: &[], sections: &[] };

const TOOLS: [ToolConfig; 38] = [
    ToolConfig {
        names: &["jest", "react-scripts"],
        files: &["jest.config.*", "jest.config.json"],
        package: &["jest"],
        ..NONE
    },
    ToolConfig {
        names: &["vitest"],
        files: &["vitest.config.*", "vite.config.*", "vitest.workspace.*", "vitest.workspace.json"],
        ..NONE
    },
    ToolConfig {
        names: &["mocha"],
        files: &[
            ".mocharc.*",
            ".mocharc.json",
            ".mocharc.jsonc",
            ".mocharc.yaml",
            ".mocharc.yml",
            "test/mocha.opts",
        ],
        package: &["mocha"],
        ..NONE
    },
    ToolConfig { names: &["ava"], files: &["ava.config.*"], package: &["ava"], ..NONE },
    ToolConfig { names: &["tap"], files: &[".taprc", ".tap.yml"], package: &["tap"], ..NONE },
    ToolConfig {
        names: &["jasmine"],
        files: &[
            "spec/support/jasmine.json",
            "spec/support/jasmine.mjs",
            "spec/support/jasmine.js",
            "jasmine.json",
        ],
        ..NONE
    },
    ToolConfig { names: &["karma"], files: &["karma.conf.*"], ..NONE },
    ToolConfig { names: &["playwright"], files: &["playwright.config.*"], ..NONE },
    ToolConfig { names: &["cypress"], files: &["cypress.config.*", "cypress.json"], ..NONE },
    ToolConfig { names: &["wdio"], files: &["wdio.conf.*"], ..NONE },
    ToolConfig {
        names: &["nyc"],
        files: &[".nycrc", ".nycrc.json", "nyc.config.*"],
        package: &["nyc"],
        ..NONE
    },
    ToolConfig { names: &["c8"], files: &[".c8rc", ".c8rc.json"], package: &["c8"], ..NONE },
    ToolConfig { names: &["turbo"], files: &["turbo.json"], ..NONE },
    ToolConfig { names: &["nx"], files: &["nx.json", "project.json"], package: &["nx"], ..NONE },
    ToolConfig { names: &["lerna"], files: &["lerna.json"], ..NONE },
    ToolConfig { names: &["bun"], files: &["bunfig.toml"], ..NONE },
    ToolConfig { names: &["deno"], files: &["deno.json", "deno.jsonc"], ..NONE },
    ToolConfig {
        names: &["eslint"],
        files: &[
            "eslint.config.*",
            ".eslintrc",
            ".eslintrc.json",
            ".eslintrc.yml",
            ".eslintrc.yaml",
            ".eslintrc.*",
            ".eslintignore",
        ],
        package: &["eslintConfig", "eslintIgnore"],
        ..NONE
    },
    ToolConfig { names: &["biome"], files: &["biome.json", "biome.jsonc"], ..NONE },
    ToolConfig {
        names: &["prettier"],
        files: &[
            ".prettierrc",
            ".prettierrc.json",
            ".prettierrc.yml",
            ".prettierrc.yaml",
            "prettier.config.*",
            ".prettierignore",
        ],
        package: &["prettier"],
        ..NONE
    },
    ToolConfig { names: &["tsc", "vue-tsc"], files: &["tsconfig.json"], ..NONE },
    ToolConfig {
        names: &["pytest", "py.test"],
        files: &["pytest.toml", ".pytest.toml"],
        pyproject: &["pytest"],
        sections: &[
            ("pytest.ini", "pytest"),
            (".pytest.ini", "pytest"),
            ("tox.ini", "pytest"),
            ("setup.cfg", "tool:pytest"),
        ],
        ..NONE
    },
    ToolConfig {
        names: &["nose2"],
        sections: &[
            ("nose2.cfg", "unittest"),
            ("unittest.cfg", "unittest"),
            ("setup.cfg", "unittest"),
        ],
        ..NONE
    },
    ToolConfig {
        names: &["mypy"],
        pyproject: &["mypy"],
        sections: &[("mypy.ini", "mypy"), (".mypy.ini", "mypy"), ("setup.cfg", "mypy")],
        ..NONE
    },
    ToolConfig {
        names: &["pyright", "basedpyright"],
        files: &["pyrightconfig.json"],
        pyproject: &["pyright", "basedpyright"],
        ..NONE
    },
    ToolConfig {
        names: &["ruff"],
        files: &["ruff.toml", ".ruff.toml"],
        pyproject: &["ruff"],
        ..NONE
    },
    ToolConfig {
        names: &["flake8"],
        sections: &[(".flake8", "flake8"), ("setup.cfg", "flake8"), ("tox.ini", "flake8")],
        ..NONE
    },
    ToolConfig {
        names: &["pylint"],
        files: &[".pylintrc", "pylintrc"],
        pyproject: &["pylint"],
        ..NONE
    },
    ToolConfig { names: &["black"], pyproject: &["black"], ..NONE },
    ToolConfig { names: &["coverage"], files: &[".coveragerc"], pyproject: &["coverage"], ..NONE },
    ToolConfig { names: &["rspec"], files: &[".rspec", ".rspec-local", "~/.rspec"], ..NONE },
    ToolConfig { names: &["rubocop"], files: &[".rubocop.yml"], ..NONE },
    ToolConfig {
        names: &["phpunit", "paratest", "pest"],
        files: &["phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"],
        ..NONE
    },
    ToolConfig {
        names: &["phpstan"],
        files: &["phpstan.neon", "phpstan.neon.dist", "phpstan.dist.neon"],
        ..NONE
    },
    ToolConfig { names: &["prove"], files: &[".proverc", "~/.proverc"], ..NONE },
    ToolConfig {
        names: &["golangci-lint"],
        files: &[".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"],
        ..NONE
    },
    ToolConfig {
        names: &["ctest", "cmake"],
        files: &["CMakePresets.json", "CTestCustom.cmake", "CTestConfig.cmake"],
        ..NONE
    },
    ToolConfig {
        names: &["dotnet"],
        files: &[
            "Directory.Build.props",
            "Directory.Build.targets",
            "xunit.runner.json",
            ".runsettings",
            "global.json",
        ],
        ..NONE
    },
];

/// Extensions of code that can hold a configuration.
const CODE: [&str; 8] = ["js", "cjs", "mjs", "ts", "cts", "mts", "jsx", "tsx"];

/// Keys that affect output, builds or discovery, not what is tested.
const HARMLESS: [&str; 46] = [
    "verbose",
    "coverageDirectory",
    "coverageReporters",
    "collectCoverage",
    "collectCoverageFrom",
    "displayName",
    "cacheDirectory",
    "maxWorkers",
    "moduleFileExtensions",
    "transform",
    "transformIgnorePatterns",
    "extensionsToTreatAsEsm",
    "testEnvironment",
    "moduleNameMapper",
    "clearMocks",
    "resetMocks",
    "restoreMocks",
    "preset",
    "fakeTimers",
    "errorOnDeprecated",
    "$schema",
    "imports",
    "lock",
    "name",
    "version",
    "exports",
    "fmt",
    "compilerOptions",
    "nodeModulesDir",
    "log_cli",
    "log_level",
    "log_cli_level",
    "log_format",
    "markers",
    "asyncio_mode",
    "minversion",
    "console_output_style",
    "cache_dir",
    "junit_family",
    "asyncio_default_fixture_loop_scope",
    "pythonpath",
    "line-length",
    "target-version",
    "cacheDir",
    "unstable",
    "publish",
];

/// Compiler options that do not affect which errors are reported.
const OF_COMPILER: [&str; 24] = [
    "paths",
    "baseUrl",
    "outDir",
    "rootDir",
    "declaration",
    "declarationMap",
    "sourceMap",
    "jsx",
    "jsxImportSource",
    "lib",
    "target",
    "module",
    "moduleResolution",
    "types",
    "typeRoots",
    "incremental",
    "tsBuildInfoFile",
    "resolveJsonModule",
    "esModuleInterop",
    "composite",
    "importHelpers",
    "removeComments",
    "experimentalDecorators",
    "emitDecoratorMetadata",
];

pub(super) fn follow(resolver: &mut Resolver<'_>, name: &str, words: &[&str], at: &At) {
    match name {
        "mvn" | "mvnw" => maven(resolver, at),
        "gradle" | "gradlew" => gradle(resolver, at),
        "go" => go(resolver, at),
        "ctest" | "cmake" => cmake(resolver, at),
        "swift" => lines_with(
            resolver,
            &["Package.swift"],
            &["estTarget", "exclude", "path:", "sources"],
            at,
        ),
        "pytest" | "py.test" => python::hooks_of_pytest(resolver, &at.folder),
        _ => {}
    }
    let Some(tool) = TOOLS.iter().find(|tool| tool.names.contains(&name)) else { return };
    let mut places: Vec<String> = Vec::new();
    for folder in upwards(&at.folder) {
        for file in tool.files {
            match file.strip_suffix(".*") {
                Some(stem) => places.extend(
                    CODE.iter().filter_map(|kind| join(&folder, &format!("{stem}.{kind}"))),
                ),
                None if file.starts_with('~') => places.push((*file).to_owned()),
                None => places.extend(join(&folder, file)),
            }
        }
        sections(resolver, tool, &folder);
    }
    for pair in words.windows(2).filter(|pair| {
        matches!(
            pair[0],
            "-c" | "--config" | "--project" | "-p" | "--settings" | "--rcfile" | "--config-file"
        )
    }) {
        places.extend(join(&at.folder, pair[1]));
    }
    let given = words.iter().filter_map(|word| {
        word.strip_prefix("--config=").or_else(|| word.strip_prefix("--config-file="))
    });
    places.extend(given.filter_map(|path| join(&at.folder, path)));
    for path in places {
        if let Some(told) = resolver.text(&path).and_then(|source| told(resolver, &path, &source)) {
            resolver.meaning.add(format!("configuration in {path}"), Weight::Frozen, Some(told));
        }
    }
}

/// The part of a file that decides what is tested; `None` if there is no such part.
fn told(resolver: &Resolver<'_>, path: &str, source: &str) -> Option<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let kind = name.rsplit('.').next().unwrap_or_default();
    let text = match kind {
        "toml" => text::value(&resolver.toml(path)?, &HARMLESS)?,
        "yml" | "yaml" | "neon" => text::indented(source, "#"),
        _ if CODE.contains(&kind) && name.starts_with("vite.config.") => {
            text::code(text::braced(source, "test")?)
        }
        _ if CODE.contains(&kind) => text::code(source),
        "xml" | "dist" | "props" | "targets" | "runsettings" => text::line(source),
        _ => match serde_json::from_str::<Value>(source) {
            Ok(value) if name.starts_with("tsconfig") || name.starts_with("jsconfig") => {
                compiler(value)?
            }
            Ok(value) if value.is_object() => text::value(&value, &HARMLESS)?,
            _ if kind.starts_with("json") => text::code(source),
            _ => text::lines(source, &["#"]),
        },
    };
    (!text.trim().is_empty()).then_some(text)
}

fn compiler(mut value: Value) -> Option<String> {
    if let Some(options) = value.get_mut("compilerOptions").and_then(Value::as_object_mut) {
        options.retain(|name, _| !OF_COMPILER.contains(&name.as_str()));
    }
    text::value(&value, &["$schema", "ts-node"])
}

/// Reads a tool's sections in files of other tools.
fn sections(resolver: &mut Resolver<'_>, tool: &ToolConfig, folder: &str) {
    if !tool.package.is_empty()
        && let Some(path) = join(folder, "package.json")
        && let Some(package) = resolver.json(&path)
    {
        for key in tool.package {
            if let Some(told) = text::value(&package[*key], &HARMLESS) {
                resolver.meaning.add(format!("`{key}` of {path}"), Weight::Frozen, Some(told));
            }
        }
    }
    if !tool.pyproject.is_empty()
        && let Some(path) = join(folder, "pyproject.toml")
        && let Some(all) = resolver.toml(&path)
    {
        for key in tool.pyproject {
            let table = &all["tool"][*key];
            let table = if *key == "pytest" && table["ini_options"].is_object() {
                &table["ini_options"]
            } else {
                table
            };
            if let Some(told) = text::value(table, &HARMLESS) {
                resolver.meaning.add(
                    format!("`[tool.{key}]` of {path}"),
                    Weight::Frozen,
                    Some(told),
                );
            }
        }
    }
    for (file, section) in tool.sections {
        let Some(path) = join(folder, file) else { continue };
        let Some(source) = resolver.text(&path) else { continue };
        for (name, keys) in text::ini(&source) {
            let of_it = name == *section || name.starts_with(&format!("{section}-"));
            let kept = keys.iter().filter(|(key, _)| !HARMLESS.contains(&key.as_str()));
            let told: Vec<String> = kept.map(|(key, value)| format!("{key}={value}")).collect();
            if of_it && !told.is_empty() {
                resolver.meaning.add(
                    format!("`[{name}]` of {path}"),
                    Weight::Frozen,
                    Some(told.join("\n")),
                );
            }
        }
    }
}

/// Parts of a `pom.xml` about dependencies and project metadata.
const OF_POM: [&str; 13] = [
    "dependencies",
    "dependencyManagement",
    "name",
    "description",
    "url",
    "licenses",
    "developers",
    "scm",
    "organization",
    "issueManagement",
    "ciManagement",
    "distributionManagement",
    "repositories",
];

fn maven(resolver: &mut Resolver<'_>, at: &At) {
    let mut open = vec![at.folder.clone()];
    let mut seen = 0;
    while let Some(folder) = open.pop() {
        seen += 1;
        let Some(path) = join(&folder, "pom.xml").filter(|_| seen <= 50) else { continue };
        let Some(mut source) = resolver.text(&path) else { continue };
        for part in OF_POM {
            while let Some((before, rest)) = source.split_once(&format!("<{part}>")) {
                let Some((_, after)) = rest.split_once(&format!("</{part}>")) else { break };
                source = format!("{before}{after}");
            }
        }
        let modules: Vec<String> = source
            .split("<module>")
            .skip(1)
            .filter_map(|rest| rest.split_once("</module>"))
            .map(|(module, _)| module.trim().to_owned())
            .collect();
        for module in modules {
            resolver.meaning.add(
                format!("module `{module}` of {path}"),
                Weight::Grows,
                Some(String::new()),
            );
            source = source.replace(&format!("<module>{module}</module>"), "");
            open.extend(join(&folder, &module));
        }
        let version = source.split_once("<version>").map(|(before, rest)| {
            format!("{before}{}", rest.split_once("</version>").map_or("", |(_, after)| after))
        });
        let told = text::line(&version.unwrap_or(source)).replace("> <", "><");
        resolver.meaning.add(format!("build in {path}"), Weight::Frozen, Some(told));
    }
    for name in [".mvn/maven.config", ".mvn/jvm.config", ".mvn/extensions.xml", "~/.mavenrc"] {
        let path =
            if name.starts_with('~') { Some(name.to_owned()) } else { join(&at.folder, name) };
        if let Some(path) = path
            && let Some(source) = resolver.text(&path)
        {
            resolver.meaning.add(
                format!("settings in {path}"),
                Weight::Frozen,
                Some(text::line(&source)),
            );
        }
    }
}

fn gradle(resolver: &mut Resolver<'_>, at: &At) {
    let words = [
        "test",
        "Test",
        "ignoreFailures",
        "enabled",
        "onlyIf",
        "exclude",
        "filter",
        "startParameter",
        "afterEvaluate",
        "taskGraph",
        "include",
        "finalizedBy",
        "doFirst",
        "doLast",
    ];
    let mut files: Vec<String> = Vec::new();
    let names = resolver.names(&at.folder);
    for folder in [String::new()].iter().chain(names.iter().take(60)) {
        for name in ["build.gradle", "build.gradle.kts"] {
            files.extend(join(&at.folder, folder).and_then(|folder| join(&folder, name)));
        }
    }
    for name in ["settings.gradle", "settings.gradle.kts", "gradle.properties", "init.gradle"] {
        files.extend(join(&at.folder, name));
    }
    files.extend(["~/.gradle/gradle.properties".to_owned(), "~/.gradle/init.gradle".to_owned()]);
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    lines_with(resolver, &files, &words, &At { folder: String::new(), ..at.clone() });
}

/// Reads `go.work`, and functions that replace or precede the start of a package's tests.
fn go(resolver: &mut Resolver<'_>, at: &At) {
    lines_with(resolver, &["go.work"], &["use", "./", "replace"], at);
    let top = resolver.names(&at.folder);
    let mut folders = vec![at.folder.clone()];
    for name in top.iter().filter(|name| !name.contains('.') && *name != "vendor").take(60) {
        let Some(folder) = join(&at.folder, name) else { continue };
        let below = resolver.names(&folder);
        folders.extend(
            below
                .iter()
                .filter(|name| !name.contains('.'))
                .take(30)
                .filter_map(|name| join(&folder, name)),
        );
        folders.push(folder);
    }
    for folder in folders {
        for name in resolver.names(&folder).iter().filter(|name| name.ends_with("_test.go")) {
            let Some(path) = join(&folder, name) else { continue };
            let Some(source) = resolver.text(&path) else { continue };
            let starts = source.find("func TestMain(").or_else(|| source.find("func init()"));
            let Some(body) = starts.and_then(|from| source.get(from..)) else { continue };
            let body = text::code(body.split("\n}").next().unwrap_or_default());
            // A `TestMain` that runs the tests and returns their result is not a shortcut.
            let harmless = body.contains("os.Exit(m.Run())")
                || !(body.contains("Exit(") || body.contains("TestMain"));
            let weight = if harmless { Weight::Named } else { Weight::Frozen };
            resolver.meaning.add(format!("`TestMain` in {path}"), weight, Some(body));
        }
    }
}

fn cmake(resolver: &mut Resolver<'_>, at: &At) {
    let words = [
        "add_test",
        "set_tests_properties",
        "enable_testing",
        "discover_tests",
        "CTest",
        "add_subdirectory",
        "WILL_FAIL",
        "CTestTestfile",
        "subdirs",
    ];
    let files = [
        "CMakeLists.txt",
        "tests/CMakeLists.txt",
        "test/CMakeLists.txt",
        "CTestTestfile.cmake",
        "build/CTestTestfile.cmake",
    ];
    lines_with(resolver, &files, &words, at);
}

/// Keeps the lines of a build file that mention tests, with the content of their brackets.
fn lines_with(resolver: &mut Resolver<'_>, files: &[&str], words: &[&str], at: &At) {
    for name in files {
        let path =
            if name.starts_with('~') { Some((*name).to_owned()) } else { join(&at.folder, name) };
        let Some(path) = path else { continue };
        let Some(source) = resolver.text(&path) else { continue };
        let mut kept = Vec::new();
        let mut depth = 0_usize;
        for line in source.lines() {
            // Dependencies of tests are not part of the tests.
            let depends = [
                "testImplementation",
                "testRuntimeOnly",
                "testCompile",
                "junit",
                "testAnnotationProcessor",
                "androidTest",
            ];
            let is_told = words.iter().any(|word| line.contains(word))
                && !depends.iter().any(|word| line.contains(word));
            if depth > 0 || is_told {
                kept.push(text::line(line));
                depth = (depth + line.matches(['{', '(']).count())
                    .saturating_sub(line.matches(['}', ')']).count());
            }
        }
        let told = tasks::without_dependencies(&kept.join("\n"));
        if !told.is_empty() {
            resolver.meaning.add(format!("tests in {path}"), Weight::Frozen, Some(told));
        }
    }
}
