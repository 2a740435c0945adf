//! Everyday reading behind the wall: what of it is refused, and that what passes changes nothing.

use crate::planning;
use crate::wall::run_in;
use ralph_core::guard;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// One line in fifty.
const MOST_REFUSED: f64 = 0.02;

fn corpus() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/everyday");
    let text: String = ["tldr.txt", "work.txt", "public.txt", "agents.txt"]
        .iter()
        .map(|name| fs::read_to_string(folder.join(name)).unwrap())
        .collect();
    let is_line = |line: &&str| !line.is_empty() && !line.starts_with("# ");
    text.lines().filter(is_line).map(str::to_owned).collect()
}

#[test]
fn everyday_reading_passes_the_wall() {
    let corpus = corpus();
    assert!(corpus.len() > 2200, "{}", corpus.len());
    let refused: Vec<&String> =
        corpus.iter().filter(|line| guard::only_reads(line).is_err()).collect();
    let rate = refused.len() as f64 / corpus.len() as f64;
    println!("{} of {} everyday lines are refused", refused.len(), corpus.len());
    assert!(rate <= MOST_REFUSED, "{rate}: {refused:#?}");

    // The executable answers as the rule does; git runs in the project's folder.
    let world = planning::awaiting();
    for line in corpus.iter().step_by(60) {
        if !line.contains("-C ") && !line.contains("cd ") {
            let silent = world.tool("Bash", json!({"command": line})).out().is_empty();
            assert_eq!(silent, guard::only_reads(line).is_ok(), "{line}");
        }
    }
}

/// All files below a folder but git's own, whose index any `git status` may refresh.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            match fs::symlink_metadata(&path).unwrap() {
                data if data.is_dir() && path.ends_with(".git") => {}
                data if data.is_dir() => folders.push(path),
                data if data.is_file() => {
                    drop(found.insert(path.clone(), fs::read(&path).unwrap()))
                }
                _ => drop(found.insert(path, Vec::new())),
            }
        }
    }
    found
}

#[test]
fn everyday_lines_that_pass_the_wall_change_no_file() {
    // These talk to services of the machine or to the network, or take their time.
    let skipped = [
        "docker",
        "podman",
        "kubectl",
        "systemctl",
        "journalctl",
        "gh ",
        "curl",
        "npm",
        "npx",
        "yarn",
        "pnpm",
        "pip",
        "brew",
        "apt",
        "aws",
        "helm",
        "cargo",
        "rustup",
        "go ",
        "sleep",
        "top",
        "timeout",
        "host",
        "vmstat",
        "iostat",
        "find /",
        "du ",
        "lsof",
        "rustc",
        "java",
        "gem",
        "man",
        "tail",
        "time",
        "ps ",
        "pgrep",
        "python",
        "ruby",
        "node",
    ];
    let is_due = |line: &String| {
        guard::only_reads(line).is_ok() && !skipped.iter().any(|part| line.contains(part))
    };
    let corpus: Vec<String> = corpus().into_iter().filter(is_due).collect();
    assert!(corpus.len() > 400, "{}", corpus.len());
    std::thread::scope(|scope| {
        for part in corpus.chunks(corpus.len().div_ceil(4)) {
            scope.spawn(move || {
                let folder = tempfile::tempdir().unwrap();
                let names = [
                    "file",
                    "file1",
                    "file2",
                    "README.md",
                    "a.txt",
                    "b.txt",
                    "data.csv",
                    "directory/x",
                ];
                fs::create_dir(folder.path().join("directory")).unwrap();
                for name in names {
                    fs::write(folder.path().join(name), "b 2\na 1\nb 2\n").unwrap();
                }
                run_in(
                    folder.path(),
                    "git init -q; git add .; git -c user.name=a -c user.email=a@b commit -qm x",
                );
                let before = contents(folder.path());
                for line in part {
                    run_in(folder.path(), line);
                    let after = contents(folder.path());
                    assert!(after == before, "{line}: {:?}", after.keys().collect::<Vec<_>>());
                }
            });
        }
    });
}
