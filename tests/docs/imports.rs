//! No folder of `ralph-core` imports from a folder above it, and nothing imports the command line.

use super::root;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The folders of `ralph-core`, from the bottom to the top.
const FOLDERS: [&str; 12] = [
    "text",
    "protocol",
    "state",
    "transcript",
    "shell",
    "evidence",
    "tasks",
    "guard",
    "stop",
    "modes",
    "project",
    "views",
];

/// Imports of a higher folder that still have to be removed: the folder, and what it imports.
const UPWARD: &[(&str, &str)] = &[
    ("evidence", "project"),
    ("evidence", "stop"),
    ("guard", "views"),
    ("modes", "project"),
    ("protocol", "shell"),
    ("protocol", "state"),
    ("state", "evidence"),
    ("state", "modes"),
    ("state", "transcript"),
    ("stop", "modes"),
    ("tasks", "modes"),
    ("text", "state"),
    ("transcript", "guard"),
];

#[test]
fn no_folder_of_the_core_imports_from_one_above_it() {
    let mut wrong = Vec::new();
    let mut upward = BTreeSet::new();
    for import in imports(&root().join("crates/ralph-core/src")) {
        let rank = |name: &str| FOLDERS.iter().position(|folder| *folder == name);
        let Some(from) = rank(&import.folder) else {
            assert_eq!(import.folder, "lib", "{}: FOLDERS does not have this folder", import.line);
            continue;
        };
        let to = &import.path[0];
        match rank(to) {
            None => wrong.push(format!("{}: `{to}` is not one of FOLDERS", import.line)),
            Some(rank) if rank <= from => {}
            Some(rank) => {
                let pair = (FOLDERS[from], FOLDERS[rank]);
                upward.insert(pair);
                if !UPWARD.contains(&pair) {
                    wrong.push(format!("{}: `{}` is below `{to}`", import.line, import.folder));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    let gone: Vec<_> = UPWARD.iter().filter(|pair| !upward.contains(*pair)).collect();
    assert!(gone.is_empty(), "no longer imported, remove from UPWARD: {gone:?}");
}

#[test]
fn nothing_imports_the_command_line() {
    let inside = |import: &Import| ["cli", "lib", "main"].contains(&import.folder.as_str());
    let imports = imports(&root().join("crates/ralph/src")).into_iter();
    let wrong: Vec<_> = imports
        .filter(|import| import.path[0] == "cli" && !inside(import))
        .map(|import| format!("{}: `{}` imports `cli`", import.line, import.folder))
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// A path that begins with `crate::`.
struct Import {
    /// The top folder or file of the crate, without its ending.
    folder: String,
    /// File, number and text of the line.
    line: String,
    /// The path's names after `crate`; with braces, one import for each name.
    path: Vec<String>,
}

fn imports(source: &Path) -> Vec<Import> {
    let mut found = Vec::new();
    for path in files_below(source) {
        let name = path.strip_prefix(source).unwrap();
        let top = name.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        let text = fs::read_to_string(&path).unwrap();
        for (at, _) in text.match_indices("crate::") {
            let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
            let shown = text[line..].lines().next().unwrap_or_default().trim();
            if shown.starts_with("//") {
                continue;
            }
            let number = text[..at].matches('\n').count() + 1;
            for path in paths(&text[at + "crate::".len()..]) {
                let line = format!("{}:{number}: {shown}", name.display());
                found.push(Import { folder: top.to_owned(), line, path });
            }
        }
    }
    assert!(found.len() > 50, "only {} imports in {}", found.len(), source.display());
    found
}

/// The paths that begin here, two names deep: `a::b`, or `{a::b, c}`.
fn paths(text: &str) -> Vec<Vec<String>> {
    let Some(group) = text.strip_prefix('{') else {
        let (first, rest) = name(text);
        let Some(rest) = rest.strip_prefix("::") else { return vec![vec![first]] };
        if !rest.starts_with('{') {
            return vec![vec![first, name(rest).0]];
        }
        let below = paths(rest).into_iter();
        return below.map(|path| vec![first.clone(), path[0].clone()]).collect();
    };
    let mut parts = vec![String::new()];
    let mut depth = 0;
    for letter in group.chars() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().unwrap().push(letter);
    }
    parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()).flat_map(paths).collect()
}

fn name(text: &str) -> (String, &str) {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    (text[..end].to_owned(), &text[end..])
}

fn files_below(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.append(&mut files_below(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn the_paths_of_a_group_are_read_one_by_one() {
    let read = |text| paths(text).iter().map(|path| path.join("::")).collect::<Vec<_>>();
    assert_eq!(read("a::b::C;"), ["a::b"]);
    assert_eq!(read("a;"), ["a"]);
    assert_eq!(read("{a::{b, c::D}, e,\n f::g}; other"), ["a::b", "a::c", "e", "f::g"]);
    assert_eq!(read("cli::{exit::Exit, screen};"), ["cli::exit", "cli::screen"]);
}
