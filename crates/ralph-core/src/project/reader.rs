//! What criteria, facts and checks read of a project.

use std::path::Path;

/// A project on disk, or in a test. A path is absolute, or relative to the root.
pub trait ProjectReader {
    /// The folder that the project is in, absolute.
    fn root(&self) -> &Path;

    /// The text of a file; none if there is none, or it is no regular file, too large for one that
    /// people write, or not UTF-8.
    fn text(&self, path: &Path) -> Option<String>;

    /// What is in a folder, by name; none if there is no such folder or it cannot be read.
    fn folder(&self, path: &Path) -> Option<Folder>;

    /// True if there is a file or folder.
    fn exists(&self, path: &Path) -> bool;
}

/// The entries of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Folder {
    /// Sorted by name.
    pub entries: Vec<FolderEntry>,
    /// True if there are more entries than a reader looks at.
    pub is_cut: bool,
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderEntry {
    /// Bytes that are no UTF-8 are replaced.
    pub name: String,
    /// A link counts as a link, whatever it leads to.
    pub kind: EntryKind,
}

/// What an entry of a folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A file, or whatever else has no entries.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
}
