//! No folder of `ralph-core` imports from a folder above it, nothing imports the command line, and the name of a type
//! states its subject.

use super::root;
use std::fs;
use std::path::Path;

/// The folders of `ralph-core`, from the bottom to the top.
const FOLDERS: [&str; 12] = [
    "text",
    "shell",
    "protocol",
    "state",
    "transcript",
    "evidence",
    "tasks",
    "guard",
    "stop",
    "modes",
    "project",
    "views",
];

#[test]
fn no_folder_of_the_core_imports_from_one_above_it() {
    let rank = |name: &str| FOLDERS.iter().position(|folder| *folder == name);
    let mut wrong = Vec::new();
    for Import { folder, line, name } in imports(&root().join("crates/ralph-core/src")) {
        match (rank(&folder), rank(&name)) {
            (Some(from), Some(to)) if from < to => {
                wrong.push(format!("{line}: `{folder}` is below `{name}`"));
            }
            (Some(_), Some(_)) => {}
            _ => wrong.push(format!("{line}: not one of FOLDERS")),
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn nothing_imports_the_command_line() {
    let inside = |import: &Import| ["cli", "lib", "main"].contains(&import.folder.as_str());
    let imports = imports(&root().join("crates/ralph/src")).into_iter();
    let wrong: Vec<_> = imports
        .filter(|import| import.name == "cli" && !inside(import))
        .map(|import| format!("{}: `{}` imports `cli`", import.line, import.folder))
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn the_name_of_a_type_states_its_subject() {
    const BARE: [&str; 5] = ["Place", "Said", "Asked", "Came", "Seen"];
    let defines = |line: &&str| {
        let mut words = line.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        let is_kind = |word: &str| ["struct", "enum", "type", "trait", "union"].contains(&word);
        words.any(is_kind) && words.next().is_some_and(|name| BARE.contains(&name))
    };
    let mut wrong = Vec::new();
    for path in
        ["crates", "tests", "fuzz"].iter().flat_map(|folder| files_below(&root().join(folder)))
    {
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        wrong.extend(lines.filter(defines).map(|line| format!("{}: {line}", path.display())));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// A path that begins with `crate::`.
struct Import {
    /// The top folder or file of the crate, without its ending.
    folder: String,
    /// File, number and text of the line.
    line: String,
    /// The name after `crate`; with braces, one import for each name.
    name: String,
}

/// The imports of the product; tests may use any folder.
fn imports(source: &Path) -> Vec<Import> {
    let mut found = Vec::new();
    for path in files_below(source) {
        let file = path.strip_prefix(source).unwrap();
        let is_of_tests = |part: &str| part == "tests" || part.ends_with("tests.rs");
        if file.iter().any(|part| part.to_str().is_some_and(is_of_tests)) {
            continue;
        }
        let top = file.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        let text = fs::read_to_string(&path).unwrap();
        let is_inline =
            |at: usize| text[at..].lines().nth(1).is_some_and(|line| line.ends_with('{'));
        let mut tests = text.match_indices("#[cfg(test)]\nmod ").map(|(at, _)| at);
        let text = &text[..tests.find(|at| is_inline(*at)).unwrap_or(text.len())];
        for (at, _) in text.match_indices("crate::") {
            let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
            let shown = text[line..].lines().next().unwrap_or_default().trim();
            if shown.starts_with("//") {
                continue;
            }
            let number = text[..at].matches('\n').count() + 1;
            for name in first_names(&text[at + "crate::".len()..]) {
                let line = format!("{}:{number}: {shown}", file.display());
                found.push(Import { folder: top.to_owned(), line, name });
            }
        }
    }
    assert!(found.len() > 50, "only {} imports in {}", found.len(), source.display());
    found
}

/// The first name of each path that begins here: `a::b`, or `{a::{b, c}, d}`.
fn first_names(text: &str) -> Vec<String> {
    let name = |text: &str| {
        text.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>()
    };
    let Some(group) = text.strip_prefix('{') else { return vec![name(text)] };
    let (mut names, mut depth, mut begin) = (Vec::new(), 0, 0);
    for (end, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' => {}
            _ => continue,
        }
        if depth < 0 || depth == 0 && letter == ',' {
            names.push(name(&group[begin..end]));
            begin = end + 1;
        }
        if depth < 0 {
            break;
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

fn files_below(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") && !path.ends_with("node_modules") {
            found.append(&mut files_below(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn the_first_names_of_a_group_are_read_one_by_one() {
    assert_eq!(first_names("a::b::C;"), ["a"]);
    assert_eq!(first_names("a;"), ["a"]);
    assert_eq!(first_names("{a::{b, c::D}, e,\n f::g,}; other, words"), ["a", "e", "f"]);
}

#[test]
fn only_the_exchange_with_the_remote_of_a_shared_loop_lets_git_use_the_network() {
    // Every other call of git carries a list of protocols that is empty, or names files alone.
    let mut found = Vec::new();
    for path in files_below(&root().join("crates")) {
        let text = std::fs::read_to_string(&path).unwrap();
        let lines = text.lines().filter(|line| line.contains("GIT_ALLOW_PROTOCOL"));
        let opens = lines.filter(|line| !line.contains(r#"("GIT_ALLOW_PROTOCOL", "none")"#));
        let opens = opens.filter(|line| !line.contains(r#"("GIT_ALLOW_PROTOCOL", "file")"#));
        found.extend(opens.map(|_| path.file_name().unwrap().to_string_lossy().into_owned()));
    }
    assert_eq!(found, ["network.rs"]);
}
