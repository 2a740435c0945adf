//! The paths in the maps of the code, ARCHITECTURE.md and fuzz/README.md, exist.

use super::{read, root};
use std::path::{Path, PathBuf};

/// Folders at which a path in ARCHITECTURE.md may begin.
const FROM: [&str; 7] = [
    "",
    "crates",
    "crates/ralph-core/src",
    "crates/ralph-io/src",
    "crates/ralph-hooks/src",
    "crates/ralph/src",
    "tests",
];

/// The texts between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// `a/{b,c}.rs` as `a/b.rs` and `a/c.rs`.
fn expanded(path: &str) -> Vec<String> {
    let Some((before, rest)) = path.split_once('{') else { return vec![path.to_owned()] };
    let (words, after) = rest.split_once('}').expect("a brace is closed");
    words.split(',').map(|word| format!("{before}{word}{after}")).collect()
}

/// True for a file or a folder; `.rs` may be missing, and `*` stands for every file of a folder.
fn exists(path: &Path) -> bool {
    match path.file_name() {
        Some(name) if name == "*" => path.parent().is_some_and(Path::is_dir),
        _ => path.exists() || path.with_extension("rs").exists(),
    }
}

#[test]
fn every_path_in_the_architecture_exists() {
    let text = read(&root().join("ARCHITECTURE.md"));
    let is_path = |word: &&str| {
        let begins = word.starts_with(|letter: char| letter.is_ascii_lowercase());
        let is_elsewhere = word.starts_with("refs/") || word.contains([' ', '<', '$']);
        begins && !is_elsewhere && (word.contains('/') || word.ends_with(".rs"))
    };
    let words: Vec<&str> = quoted(&text).filter(is_path).collect();
    assert!(words.len() > 30, "{words:?}");
    for path in words.into_iter().flat_map(expanded) {
        let is_there = FROM.iter().any(|folder| exists(&root().join(folder).join(&path)));
        assert!(is_there, "ARCHITECTURE.md names `{path}`, which does not exist");
    }
}

#[test]
fn every_path_in_the_table_of_fuzz_targets_exists_and_every_target_is_in_it() {
    let text = read(&root().join("fuzz/README.md"));
    let rows = text.lines().filter(|line| line.starts_with("| ")).skip(1);
    let mut targets = Vec::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        let [_, files, of] = cells[..] else { panic!("a row has three cells: {row}") };
        let mut folder: Option<PathBuf> = None;
        for word in quoted(files) {
            let from = folder.clone().unwrap_or_else(|| root().join("crates"));
            for path in expanded(word).iter().map(|path| from.join(path)) {
                assert!(exists(&path), "`{}` does not exist: {row}", path.display());
                folder.get_or_insert_with(|| path.parent().unwrap().to_owned());
            }
        }
        assert!(folder.is_some(), "no file: {row}");
        targets.extend(quoted(of).map(str::to_owned));
    }
    targets.sort_unstable();
    targets.dedup();
    let mut sources: Vec<String> =
        super::entries("fuzz/fuzz_targets").map(|file| super::stem(&file)).collect();
    sources.sort_unstable();
    assert_eq!(targets, sources);
}
