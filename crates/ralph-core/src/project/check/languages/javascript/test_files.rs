//! Finds the tests that belong to a JavaScript file, by their names, and runs them with the runner that the project itself uses.

use super::super::super::CheckKind::Test;
use super::super::super::parsers::OutputFormat;
use super::super::super::workspace::Around;
use super::super::{CheckBuilder, folder_of, matches_any, name_of, said, text_of, upward};
use super::{Package, remedy};
use std::path::{Path, PathBuf};

/// How many related tests run; more would be a suite, which is too much for an edit.
const MOST: usize = 8;

/// Extensions of files that may contain tests.
const ENDINGS: &[&str] = &["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"];

/// Folders for tests that are not beside the code.
const FOLDERS: &[&str] = &["__tests__", "test", "tests"];

/// Folders for sources, which test folders omit from their paths.
const SOURCES: &[&str] = &["src", "lib", "app"];

/// Which files a runner treats as tests. Each variant includes the preceding ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TestNaming {
    /// `a.test.ts`, `a.spec.ts` and files in `__tests__`.
    Dotted,
    /// Also `a_test.ts`.
    Underscored,
    /// Also files in `test` and `tests`, whatever their name.
    InFolders,
}

/// The tests of the file in this package: the file itself if it is a test, otherwise those named
/// after it.
pub(super) fn tests(around: &dyn Around, package: &Path, taken: TestNaming) -> Vec<PathBuf> {
    let file = around.file();
    let Some(stem) = stem(name_of(file)) else { return Vec::new() };
    if is_test(package, file, taken) {
        return vec![file.to_path_buf()];
    }
    let mut found = Vec::new();
    for folder in folders(package, folder_of(file)) {
        let mut names = around.names(&folder);
        names.sort();
        let tests = names.into_iter().map(|name| folder.join(name));
        found.extend(tests.filter(|test| is_named_after(test, stem, taken, package)));
    }
    found.truncate(MOST);
    found
}

/// A name without its extension; `None` if it is not a program.
fn stem(name: &str) -> Option<&str> {
    let (stem, ending) = name.rsplit_once('.')?;
    (ENDINGS.contains(&ending) && !stem.ends_with(".d")).then_some(stem)
}

/// The name of the file that a test of this name tests; `None` if it is not the name of a test.
fn tested(stem: &str, taken: TestNaming) -> Option<&str> {
    let dotted = [".test", ".spec"].iter().find_map(|end| stem.strip_suffix(end));
    let underscored = || ["_test", "_spec"].iter().find_map(|end| stem.strip_suffix(end));
    dotted.or_else(|| (taken >= TestNaming::Underscored).then(underscored).flatten())
}

fn is_test(package: &Path, file: &Path, taken: TestNaming) -> bool {
    stem(name_of(file)).is_some_and(|stem| tested(stem, taken).is_some())
        || is_in_test_folder(package, file, taken)
}

fn is_in_test_folder(package: &Path, file: &Path, taken: TestNaming) -> bool {
    let folders = match taken {
        TestNaming::InFolders => FOLDERS,
        TestNaming::Dotted | TestNaming::Underscored => &FOLDERS[..1],
    };
    let below = folder_of(file).strip_prefix(package).unwrap_or(Path::new(""));
    below.iter().any(|part| folders.iter().any(|folder| part == *folder))
}

fn is_named_after(test: &Path, file: &str, taken: TestNaming, package: &Path) -> bool {
    let Some(stem) = stem(name_of(test)) else { return false };
    match tested(stem, taken) {
        Some(tested) => tested == file,
        None => stem == file && is_in_test_folder(package, test, taken),
    }
}

/// Folders that may contain the tests of a file in this folder, nearest first.
fn folders(package: &Path, folder: &Path) -> Vec<PathBuf> {
    let beside = FOLDERS.iter().map(|name| folder.join(name));
    let mut folders: Vec<PathBuf> = std::iter::once(folder.to_path_buf()).chain(beside).collect();
    let below = folder.strip_prefix(package).unwrap_or(Path::new(""));
    let within = SOURCES.iter().find_map(|name| below.strip_prefix(name).ok());
    for mirrored in [Some(below), within].into_iter().flatten() {
        folders.extend(FOLDERS.iter().map(|name| package.join(name).join(mirrored)));
    }
    let mut seen = std::collections::BTreeSet::new();
    folders.retain(|folder| seen.insert(folder.clone()));
    folders
}

/// A test runner, as the project calls it.
struct TestRunner {
    name: &'static str,
    program: String,
    /// The arguments before the names of the tests.
    arguments: Vec<String>,
    form: OutputFormat,
    naming: TestNaming,
    reads_typescript: bool,
}

/// A runner that is called in the same way everywhere. Coverage is off: some of the tests cannot
/// reach a threshold that is meant for all of them.
fn known(name: &'static str) -> TestRunner {
    let (arguments, form, naming): (&[&str], _, _) = match name {
        "vitest" => (
            &[
                "run",
                "--reporter=json",
                "--no-color",
                "--passWithNoTests",
                "--coverage.enabled=false",
            ],
            OutputFormat::Vitest,
            TestNaming::Dotted,
        ),
        "jest" => (
            &["--json", "--ci", "--coverage=false", "--runTestsByPath"],
            OutputFormat::Vitest,
            TestNaming::Dotted,
        ),
        "bun" => (&["test"], OutputFormat::Whole, TestNaming::Underscored),
        _ => (&[], OutputFormat::Whole, TestNaming::InFolders),
    };
    let arguments = arguments.iter().map(|one| (*one).to_owned()).collect();
    let program = name.to_owned();
    TestRunner { name, program, arguments, form, naming, reads_typescript: true }
}

/// The runners with a configuration file. In a folder with several, the first wins.
const CONFIGS: &[(&str, &[&str])] = &[
    ("vitest", &["vitest.config.*", "vitest.workspace.*"]),
    ("jest", &["jest.config.*"]),
    ("mocha", &[".mocharc.*"]),
];

/// Adds a run of the tests that belong to the file.
pub(super) fn add(around: &dyn Around, wanted: &mut CheckBuilder) {
    let Some((runner, config)) = upward(around).find_map(|folder| in_folder(around, folder)) else {
        return;
    };
    let folder = Package::all(around)
        .first()
        .map_or_else(|| folder_of(&config).into(), |package| package.folder.clone());
    let tests = tests(around, &folder, runner.naming);
    let is_readable = |test: &PathBuf| {
        runner.reads_typescript || matches_any(&["*.js", "*.mjs", "*.cjs"], name_of(test))
    };
    if tests.is_empty() || !tests.iter().all(is_readable) {
        return;
    }
    let remedy = remedy(around);
    let Some(tool) = wanted.configured(around, &runner.program, &config, &remedy) else { return };
    let tests: Vec<String> = tests.iter().map(|test| text_of(test)).collect();
    let arguments: Vec<&str> = runner.arguments.iter().chain(&tests).map(String::as_str).collect();
    wanted
        .run(Test, runner.name, &tool, &arguments, runner.form)
        .because(format!("{} uses it, and has tests for this file", said(around, &config)));
}

/// The runner that this folder mentions, and the file that does.
fn in_folder(around: &dyn Around, folder: &Path) -> Option<(TestRunner, PathBuf)> {
    let names = around.names(folder);
    let config = CONFIGS.iter().find_map(|(runner, patterns)| {
        let name = names.iter().find(|name| matches_any(patterns, name))?;
        Some((known(runner), folder.join(name)))
    });
    config.or_else(|| {
        let package = Package::at(around, folder)?;
        Some((of_package(&package)?, package.path()))
    })
}

/// If there are several runners, the script decides, because a dependency may be a leftover.
fn of_package(package: &Package) -> Option<TestRunner> {
    const NAMED: [&str; 3] = ["vitest", "jest", "mocha"];
    let words: Vec<&str> = package.script("test").split_whitespace().collect();
    let by_script = || NAMED.into_iter().find(|name| words.contains(name));
    let bun = || words.windows(2).any(|pair| pair == ["bun", "test"]).then_some("bun");
    let by_need = || NAMED.into_iter().find(|name| package.needs(name)).map(known);
    let named = package.has("jest").then_some("jest").or_else(by_script).or_else(bun);
    named.map(known).or_else(|| of_node(&words)).or_else(by_need)
}

// Node's own test runner, as the project's script calls it.

/// Options that change how a test is loaded and that take a value.
const LOADERS: &[&str] = &["--import", "--loader", "--experimental-loader", "--require", "-r"];

/// The first call of Node's test runner in these words of a script, by `node` or by `tsx`, which is
/// Node with a loader.
fn of_node(words: &[&str]) -> Option<TestRunner> {
    let ends = |word: &&str| matches!(*word, "&&" | "||" | "|") || word.ends_with(';');
    words.split(ends).find_map(|words| {
        let start = words.iter().position(|word| matches!(*word, "node" | "tsx"))?;
        let (program, given) = (words[start], &words[start + 1..]);
        let mut arguments = flags(given);
        arguments.extend(["--test", "--test-reporter=spec"].map(str::to_owned));
        given.contains(&"--test").then(|| TestRunner {
            name: "node test",
            program: program.to_owned(),
            arguments,
            form: OutputFormat::Whole,
            naming: TestNaming::InFolders,
            reads_typescript: program == "tsx" || reads_typescript(given),
        })
    })
}

/// The options that the tests need to load.
fn flags(arguments: &[&str]) -> Vec<String> {
    let mut flags = Vec::new();
    for (at, argument) in arguments.iter().enumerate() {
        let name = argument.split_once('=').map_or(*argument, |(name, _)| name);
        if LOADERS.contains(&name) {
            flags.push((*argument).to_owned());
            let has_value = name != *argument;
            flags.extend(arguments.get(at + 1).filter(|_| !has_value).map(|one| (*one).to_owned()));
        } else if name.starts_with("--experimental-") {
            flags.push((*argument).to_owned());
        }
    }
    flags
}

/// A loader is for files that Node cannot read itself. Newer versions read TypeScript, and a script
/// that names such files relies on that.
fn reads_typescript(arguments: &[&str]) -> bool {
    arguments.iter().any(|argument| {
        let name = argument.split_once('=').map_or(*argument, |(name, _)| name);
        LOADERS.contains(&name)
            || name == "--experimental-strip-types"
            || argument.trim_matches(['"', '\'']).ends_with("ts")
    })
}

#[cfg(test)]
mod runner_tests;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::check::languages::world::FileFixture;

    #[track_caller]
    fn check(file: &str, files: &[&str], taken: TestNaming, expected: &str) {
        let world = FileFixture::edits(file).files(files);
        let found = super::tests(&world, Path::new("/w/p"), taken);
        let found: Vec<&str> =
            found.iter().map(|path| path.strip_prefix("/w/p").unwrap().to_str().unwrap()).collect();
        assert_eq!(found.join(" "), expected);
    }

    #[test]
    fn a_test_belongs_to_itself() {
        let dotted =
            ["a.test.ts", "a.spec.jsx", "src/a.test.mjs", "__tests__/a.ts", "__tests__/b/a.js"];
        for file in dotted {
            check(&format!("p/{file}"), &["p/a.test.js"], TestNaming::Dotted, file);
        }
        for (file, taken) in [
            ("a_test.ts", TestNaming::Underscored),
            ("a_spec.ts", TestNaming::Underscored),
            ("test/a.js", TestNaming::InFolders),
            ("tests/b/a.js", TestNaming::InFolders),
        ] {
            check(&format!("p/{file}"), &[], taken, file);
            check(&format!("p/{file}"), &[], TestNaming::Dotted, "");
        }
        check("p/test/a.js", &[], TestNaming::Underscored, "");
        check("p/test.ts", &[], TestNaming::InFolders, "");
        check("p/a.test.d.ts", &[], TestNaming::InFolders, "");
    }

    #[test]
    fn the_tests_of_a_file_are_named_after_it() {
        let files = [
            "p/src/x/a.test.ts",
            "p/src/x/a.spec.tsx",
            "p/src/x/a.test.snap",
            "p/src/x/ab.test.ts",
            "p/src/x/a_test.ts",
            "p/src/x/__tests__/a.ts",
            "p/src/x/__tests__/a.test.ts",
            "p/src/x/__tests__/b.ts",
            "p/tests/x/a.test.ts",
            "p/test/src/x/a.spec.js",
            "p/test/x/a.js",
            "p/__tests__/x/a.js",
            "p/other/a.test.ts",
        ];
        let dotted = "src/x/a.spec.tsx src/x/a.test.ts src/x/__tests__/a.test.ts \
                      src/x/__tests__/a.ts test/src/x/a.spec.js __tests__/x/a.js tests/x/a.test.ts";
        check("p/src/x/a.ts", &files, TestNaming::Dotted, dotted);
        check("p/src/x/c.ts", &files, TestNaming::Dotted, "");
        check("p/src/x/b.ts", &files, TestNaming::Dotted, "src/x/__tests__/b.ts");
        let few = ["p/src/a_test.ts", "p/test/a.js"];
        check("p/src/a.ts", &few, TestNaming::Dotted, "");
        check("p/src/a.ts", &few, TestNaming::Underscored, "src/a_test.ts");
        check("p/src/a.ts", &few, TestNaming::InFolders, "src/a_test.ts test/a.js");
    }

    #[test]
    fn a_file_at_the_top_has_its_tests_once() {
        check("p/a.ts", &["p/test/a.test.ts"], TestNaming::InFolders, "test/a.test.ts");
        check("p/a.b.ts", &["p/a.b.test.ts", "p/a.test.ts"], TestNaming::Dotted, "a.b.test.ts");
        check("p/a.d.ts", &["p/a.test.ts"], TestNaming::Dotted, "");
    }

    #[test]
    fn a_whole_suite_is_not_run() {
        let many: Vec<String> = ENDINGS
            .iter()
            .flat_map(|end| [format!("p/a.test.{end}"), format!("p/a.spec.{end}")])
            .collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let world = FileFixture::edits("p/a.ts").files(&many);
        assert_eq!(super::tests(&world, Path::new("/w/p"), TestNaming::Dotted).len(), MOST);
    }
}
