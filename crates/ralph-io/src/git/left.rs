//! What a round can leave for the user's next git command: repositories below the work tree, whose
//! configuration and hooks name programs, and operations in progress, which name commands too.
//!
//! Nothing here starts git.

use super::commit::DirtyFiles;
use super::repository;
use crate::store::digest;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use walkdir::WalkDir;

/// In a git folder, what decides which programs git runs.
const GOVERNS: [&str; 4] = ["config", "config.worktree", "commondir", "hooks"];

/// In a git folder, an operation in progress.
const OPERATIONS: [&str; 7] = [
    "rebase-merge",
    "rebase-apply",
    "sequencer",
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "BISECT_LOG",
];

/// All of that in a work tree, by its path from there, as it is now.
pub fn scan_worktree(root: &Path) -> DirtyFiles {
    let own = repository::around(root);
    let mut found = BTreeMap::new();
    if let Some(own) = &own {
        for name in OPERATIONS {
            let print = print_of(own.own(), &[name]);
            found.extend((!print.is_empty()).then(|| (format!(".git/{name}").into_bytes(), print)));
        }
    }
    let mut walk = WalkDir::new(root).min_depth(1).into_iter();
    while let Some(entry) = walk.next() {
        let Ok(entry) = entry else { continue };
        let (path, is_folder) = (entry.path(), entry.file_type().is_dir());
        let is_bare =
            is_folder && ["HEAD", "config", "objects"].iter().all(|name| path.join(name).exists());
        if entry.file_name() != ".git" && !is_bare {
            continue;
        }
        if is_folder {
            walk.skip_current_dir();
        }
        let folder = if path.is_file() {
            path.parent().and_then(repository::own_folder)
        } else {
            Some(path.to_owned())
        };
        let print = match folder {
            // Its files are protected; that it is there tells it from one that a round makes.
            Some(folder) if own.as_ref().is_some_and(|own| folder.starts_with(own.common())) => {
                "own".to_owned()
            }
            Some(folder) => print_of(&folder, &[&GOVERNS[..], &OPERATIONS].concat()),
            None => continue,
        };
        let name = path.strip_prefix(root).unwrap_or(path);
        found.extend((!print.is_empty()).then(|| (name.as_os_str().as_bytes().to_owned(), print)));
    }
    DirtyFiles(found)
}

/// The digests of these files and of those directly in these folders.
fn print_of(git: &Path, names: &[&str]) -> String {
    let mut files: Vec<_> = names
        .iter()
        .flat_map(|name| WalkDir::new(git.join(name)).max_depth(1).follow_links(true))
        .flatten()
        .filter(|entry| {
            entry.file_type().is_file() && entry.path().extension().is_none_or(|it| it != "sample")
        })
        .map(|entry| format!("{} {}\n", entry.path().display(), digest::of_file(entry.path())))
        .collect();
    files.sort();
    if files.is_empty() { String::new() } else { digest::of_bytes(files.concat().as_bytes()) }
}
