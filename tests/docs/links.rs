//! Finds links between our documents that lead nowhere.
//!
//! Only relative links are followed: whether an address on the web answers is not ours to test.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders that hold other people's documents, or none.
const NOT_OURS: [&str; 3] = ["target", "node_modules", ".git"];

/// One line for each link to a file that does not exist: the document, then the link.
pub(crate) fn broken(root: &Path) -> Vec<String> {
    documents(root).iter().flat_map(|document| broken_in(document)).collect()
}

/// Our documents below a folder.
pub(crate) fn documents(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of the workspace can be listed") {
        let entry = entry.expect("a listed entry can be read");
        let path = entry.path();
        // A link to a folder is not entered: it could lead out of the workspace or in a circle.
        if entry.file_type().expect("an entry has a type").is_dir() {
            if !NOT_OURS.iter().any(|name| entry.file_name() == *name) {
                found.extend(documents(&path));
            }
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found
}

fn broken_in(document: &Path) -> Vec<String> {
    let text = fs::read_to_string(document).expect("our documents are UTF-8");
    let folder = document.parent().expect("a document lies in a folder");
    relative_links(&text)
        .filter(|link| !folder.join(link).exists())
        .map(|link| format!("{}: {link}", document.display()))
        .collect()
}

fn relative_links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .filter_map(|(target, _)| target.split('#').next())
        .filter(|target| !target.is_empty() && !target.contains(':') && !target.contains(' '))
}

#[test]
fn web_addresses_and_places_in_the_same_page_are_not_followed() {
    let text = "[a](https://example.org/x) [b](#here) [c](docs/x.md#part) [d](y.md)";
    assert_eq!(relative_links(text).collect::<Vec<_>>(), ["docs/x.md", "y.md"]);
}
