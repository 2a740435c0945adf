//! Finds the tests that belong to a file, by their names.

use std::path::{Path, PathBuf};

use super::super::super::workspace::Around;
use super::super::{folder_of, name_of};

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

#[cfg(test)]
mod tests {
    use super::super::super::world::FileFixture;
    use super::*;

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
