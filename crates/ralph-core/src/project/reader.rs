//! What criteria, facts and checks read of a project.

use std::path::Path;

/// A project on disk or in a test. Paths are absolute, or relative to the root.
pub trait ProjectReader {
    /// The project's folder, absolute.
    fn root(&self) -> &Path;

    /// The text of a file; `None` if it does not exist, is not a regular file or not UTF-8, or is
    /// too large to be written by hand.
    fn text(&self, path: &Path) -> Option<String>;

    /// The entries of a folder; `None` if it does not exist or cannot be read.
    fn folder(&self, path: &Path) -> Option<Folder>;

    /// True if there is a file or folder.
    fn exists(&self, path: &Path) -> bool;
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Folder {
    /// Sorted by name.
    pub entries: Vec<FolderEntry>,
    /// True if there are more entries than a reader lists.
    pub is_cut: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderEntry {
    /// Bytes that are not UTF-8 are replaced.
    pub name: String,
    /// A link counts as a link, whatever its target is.
    pub kind: EntryKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A file, or anything else without entries.
    File,
    Folder,
    /// A symbolic link.
    Link,
}
