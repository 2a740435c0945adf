//! The project's layout: two levels of folders, one line for each folder of the root.
//!
//! It is last on the page and takes the remaining space, so it is brief: the more folders there
//! are, the fewer names of each.

use super::{EntryKind, Fact, Folder, FolderEntry, Project, show};

/// How many folders are listed with their content; the others are only named.
const MOST_LOOKED_INTO: usize = 30;

/// How many second-level names are shown in total, though each folder gets at least two.
const MOST_NAMES: usize = 80;

const MOST_OF_ONE_FOLDER: usize = 10;

const MOST_FILES: usize = 20;

pub(super) fn fact(project: &dyn Project) -> Option<Fact> {
    let root = project.folder("".as_ref())?;
    let folders: Vec<&FolderEntry> = of_kind(&root, |kind| kind == EntryKind::Folder).collect();
    let files: Vec<&FolderEntry> = of_kind(&root, |kind| kind != EntryKind::Folder).collect();
    if root.entries.is_empty() {
        return None;
    }
    let (inside, beyond) = folders.split_at(folders.len().min(MOST_LOOKED_INTO));
    let most = (MOST_NAMES / inside.len().max(1)).clamp(2, MOST_OF_ONE_FOLDER);
    let mut lines: Vec<String> =
        inside.iter().map(|folder| line(project, &folder.name, most)).collect();
    if !beyond.is_empty() {
        let names: Vec<String> = beyond.iter().map(|folder| shown(folder)).collect();
        lines.push(format!("also {}", show::list(names.iter().map(String::as_str), MOST_FILES)));
    }
    if !files.is_empty() {
        lines.push(format!("files: {}", names(&files, MOST_FILES)));
    }
    let heading = format!(
        "structure without what git ignores: {}{}",
        counted(folders.len(), files.len()),
        cut(&root),
    );
    Some(Fact { heading, lines })
}

/// A folder of the root: the number of entries, and a few names.
fn line(project: &dyn Project, name: &str, most: usize) -> String {
    let own = show::quoted(&format!("{name}/"));
    let Some(folder) = project.folder(name.as_ref()) else { return own };
    let folders: Vec<&FolderEntry> = of_kind(&folder, |kind| kind == EntryKind::Folder).collect();
    let files: Vec<&FolderEntry> = of_kind(&folder, |kind| kind != EntryKind::Folder).collect();
    if folder.entries.is_empty() {
        return format!("{own} empty");
    }
    let all: Vec<&FolderEntry> = folders.iter().chain(&files).copied().collect();
    let counted = match all.len() > most {
        true => format!(" {}{}", counted(folders.len(), files.len()), cut(&folder)),
        false => cut(&folder).to_owned(),
    };
    format!("{own}{counted}: {}", names(&all, most))
}

fn of_kind(folder: &Folder, is_meant: fn(EntryKind) -> bool) -> impl Iterator<Item = &FolderEntry> {
    folder.entries.iter().filter(move |entry| is_meant(entry.kind))
}

fn names(entries: &[&FolderEntry], most: usize) -> String {
    let names: Vec<String> = entries.iter().map(|entry| shown(entry)).collect();
    show::list(names.iter().map(String::as_str), most)
}

fn shown(entry: &FolderEntry) -> String {
    match entry.kind {
        EntryKind::Folder => format!("{}/", entry.name),
        EntryKind::File | EntryKind::Link => entry.name.clone(),
    }
}

fn counted(folders: usize, files: usize) -> String {
    let some = |count: usize, one: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        count => Some(format!("{count} {one}s")),
    };
    let parts = [some(folders, "folder"), some(files, "file")];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn cut(folder: &Folder) -> &'static str {
    match folder.is_cut {
        true => " and more",
        false => "",
    }
}

#[cfg(test)]
mod tests {
    use super::fact;
    use crate::project::fixture::ProjectFixture;

    #[test]
    fn folders_come_first_and_each_has_a_line_of_its_own() {
        ProjectFixture::new()
            .file("src/lib.rs", "")
            .file("src/facts/go.rs", "")
            .file("docs/a b.md", "")
            .file("README.md", "")
            .file("Cargo.toml", "")
            .tells(
                fact,
                "structure without what git ignores: 2 folders, 2 files\n  \"docs/\": \"a b.md\"\n  \
                 \"src/\": \"facts/\", \"lib.rs\"\n  files: \"Cargo.toml\", \"README.md\"",
            );
    }

    #[test]
    fn a_big_folder_is_a_count_and_a_few_names() {
        let mut world = ProjectFixture::new().file("src/a/x", "");
        for n in 0..213 {
            world = world.file(&format!("src/f{n:03}.rs"), "");
        }
        world.tells(
            fact,
            "structure without what git ignores: 1 folder\n  \"src/\" 1 folder, 213 files: \"a/\", \
             \"f000.rs\", \"f001.rs\", \"f002.rs\", \"f003.rs\", \"f004.rs\", \"f005.rs\", \"f006.rs\", \
             \"f007.rs\", \"f008.rs\", and 204 more",
        );
    }

    #[test]
    fn of_many_folders_only_the_first_are_looked_into() {
        let mut world = ProjectFixture::new();
        for folder in 0..60 {
            for file in 0..9 {
                world = world.file(&format!("d{folder:02}/{file}"), "");
            }
        }
        let told = fact(&world).unwrap();
        assert_eq!(told.heading, "structure without what git ignores: 60 folders");
        assert_eq!(told.lines.len(), 31);
        assert_eq!(told.lines[0], "\"d00/\" 9 files: \"0\", \"1\", and 7 more");
        assert!(told.lines[30].starts_with("also \"d30/\", \"d31/\", "), "{}", told.lines[30]);
        assert!(told.lines[30].ends_with("\"d49/\", and 10 more"), "{}", told.lines[30]);
    }

    #[test]
    fn an_empty_project_has_no_structure() {
        ProjectFixture::new().tells_nothing(fact);
    }
}
