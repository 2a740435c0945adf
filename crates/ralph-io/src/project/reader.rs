//! Reads a project on disk, for the rules about criteria, facts and checks.

use super::confined;
use super::safe_read;
use ralph_core::project::reader::{Folder, ProjectReader};
use std::path::{Path, PathBuf};

/// Nobody writes a larger file by hand.
const LARGEST: u64 = 4 << 20;

/// A project, with or without a folder that its links must not leave.
#[derive(Debug, Clone)]
pub struct DiskReader {
    root: PathBuf,
    top: Option<PathBuf>,
}

impl DiskReader {
    /// Reads the project in this folder and follows links: what is read here is not shown.
    pub fn new(root: &Path) -> DiskReader {
        DiskReader { root: root.to_owned(), top: None }
    }

    /// Reads the project in this folder, and nothing outside `top`. Both must be paths without
    /// links.
    pub fn below(top: &Path, root: &Path) -> DiskReader {
        DiskReader { root: root.to_owned(), top: Some(top.to_owned()) }
    }
}

impl ProjectReader for DiskReader {
    fn root(&self) -> &Path {
        &self.root
    }

    fn text(&self, path: &Path) -> Option<String> {
        let path = self.root.join(path);
        match &self.top {
            Some(top) => confined::text(top, &path),
            None => safe_read::text(&path, LARGEST).ok().flatten(),
        }
    }

    fn folder(&self, path: &Path) -> Option<Folder> {
        let path = self.root.join(path);
        match &self.top {
            Some(top) => confined::list(top, &path),
            None => confined::entries(&path),
        }
    }

    fn exists(&self, path: &Path) -> bool {
        self.root.join(path).exists()
    }
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
        let reader = DiskReader::new(folder.path());
        assert_eq!(reader.text("Cargo.toml".as_ref()).as_deref(), Some("[package]"));
        for name in ["package.json", "Makefile", "none"] {
            assert_eq!(reader.text(name.as_ref()), None, "{name}");
        }
        assert_eq!(reader.folder("".as_ref()).unwrap().entries.len(), 3);
        assert!(reader.exists("package.json".as_ref()) && !reader.exists("none".as_ref()));
    }
}
