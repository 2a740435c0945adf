//! Gathers what the rules of `ralph_core::project` look at: the project's root, and no deeper.

use crate::project::safe_read;
use ralph_core::project::{ProjectFiles, TEXTS};
use std::path::Path;

/// A project file larger than this is not one that a person wrote; it is left out.
const LARGEST: u64 = 4 << 20;

/// Names in a root with more entries than this are left out; the well-known files are still read.
const MOST_ENTRIES: usize = 10_000;

/// What there is in the project's root. What cannot be read is absent.
pub fn gather(root: &Path) -> ProjectFiles {
    let entries = std::fs::read_dir(root)
        .into_iter()
        .flatten()
        .take(MOST_ENTRIES)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    let texts = TEXTS
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), read(&root.join(name))?)))
        .collect();
    ProjectFiles { entries, texts }
}

fn read(path: &Path) -> Option<String> {
    safe_read::text(path, LARGEST).ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn only_texts_of_reasonable_size_are_read() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("Cargo.toml"), "[package]").unwrap();
        let large = File::create(folder.path().join("package.json")).unwrap();
        large.set_len(200 << 20).unwrap();
        std::fs::create_dir(folder.path().join("Makefile")).unwrap();
        let files = gather(folder.path());
        assert_eq!(files.texts.keys().collect::<Vec<_>>(), ["Cargo.toml"]);
        assert!(files.entries.contains("package.json"));
    }
}
