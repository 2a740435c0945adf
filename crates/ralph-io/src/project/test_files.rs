//! Records the files that acceptance commands name, and finds the ones that changed since the loop
//! started.

use crate::store::digest;
use ralph_core::evidence::meaning::Naming;
use ralph_core::evidence::pinned;
use ralph_core::state::{Criterion, LoopState, TestFile};
use std::path::Path;

/// The most files recorded: all of them are read at every stop.
const MOST: usize = 128;

/// How many folder levels are searched below a named folder.
const DEEPEST: usize = 6;

/// Records the digests of the files that the commands name. For a named folder, these are the files
/// in it whose names mark them as tests. `tests` lists the folders in which a runner finds its
/// tests when the command names none.
pub fn record(root: &Path, criteria: &[Criterion], tests: &[(String, Naming)]) -> Vec<TestFile> {
    let mut paths = Vec::new();
    for name in criteria.iter().flat_map(|one| pinned::named_paths(&one.verification_command)) {
        let Ok(about) = root.join(&name).metadata() else { continue };
        if about.is_file() {
            paths.push(name);
        } else if about.is_dir() {
            collect(root, &name, DEEPEST, &mut paths, &pinned::is_test_file);
        }
    }
    for (folder, naming) in tests {
        collect(root, folder, DEEPEST, &mut paths, &|path| naming.is_test(path));
    }
    paths.sort();
    paths.dedup();
    paths.truncate(MOST);
    paths
        .into_iter()
        .map(|path| TestFile { sha256: digest::of_file(&root.join(&path)), path })
        .collect()
}

/// The recorded files that have changed.
pub fn changed(root: &Path, state: &LoopState) -> Vec<String> {
    pinned::changed_tests(state, |path| digest::of_file(&root.join(path)))
}

/// Folders of built or installed files, which are skipped.
const NOT_OURS: [&str; 7] =
    ["node_modules", "target", "vendor", "venv", "__pycache__", "dist", "build"];

fn collect(
    root: &Path,
    folder: &str,
    depth: usize,
    paths: &mut Vec<String>,
    is_test: &dyn Fn(&str) -> bool,
) {
    let Ok(entries) = root.join(folder).read_dir() else { return };
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    let is_ours = |name: &&String| !name.starts_with('.') && !NOT_OURS.contains(&name.as_str());
    for name in names.iter().filter(is_ours) {
        let path = match folder.trim_end_matches('/') {
            "" | "." => name.clone(),
            folder => format!("{folder}/{name}"),
        };
        if paths.len() >= MOST {
            return;
        }
        match root.join(&path).symlink_metadata() {
            Ok(about) if about.is_dir() && depth > 0 => {
                collect(root, &path, depth - 1, paths, is_test);
            }
            Ok(about) if about.is_file() && is_test(&path) => paths.push(path),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_files_and_the_tests_of_named_folders_are_recorded() {
        let folder = tempfile::tempdir().unwrap();
        for path in
            ["check.sh", "tests/test_a.py", "tests/data.txt", "src/lib.rs", "src/deep/b.test.ts"]
        {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "1").unwrap();
        }
        let criterion = |command: &str| Criterion {
            verification_command: command.to_owned(),
            ..Criterion::default()
        };
        let criteria = [
            criterion("./check.sh && pytest tests/"),
            criterion("npx vitest run src"),
            criterion("cargo test"),
        ];
        let mut state =
            LoopState { acceptance_criteria: criteria.to_vec(), ..LoopState::default() };
        let recorded = record(folder.path(), &criteria, &[]);
        let paths: Vec<_> = recorded.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["check.sh", "src/deep/b.test.ts", "tests/data.txt", "tests/test_a.py"]);
        pinned::freeze(&mut state, recorded, jiff::Timestamp::UNIX_EPOCH);
        assert!(changed(folder.path(), &state).is_empty());
        std::fs::write(folder.path().join("check.sh"), "exit 0").unwrap();
        std::fs::remove_file(folder.path().join("tests/test_a.py")).unwrap();
        assert_eq!(changed(folder.path(), &state), ["check.sh", "tests/test_a.py"]);
    }
}
