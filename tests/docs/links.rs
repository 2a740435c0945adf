//! Finds links between our documents that lead nowhere: to no file, or to no heading of it.
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
        .filter(|link| !leads_somewhere(folder, document, link))
        .map(|link| format!("{}: {link}", document.display()))
        .collect()
}

fn leads_somewhere(folder: &Path, document: &Path, link: &str) -> bool {
    let (file, place) = link.split_once('#').unwrap_or((link, ""));
    let path = if file.is_empty() { document.to_owned() } else { folder.join(file) };
    if place.is_empty() || path.extension().is_none_or(|extension| extension != "md") {
        return path.exists();
    }
    fs::read_to_string(path).is_ok_and(|text| places(&text).contains(&place.to_owned()))
}

/// The names under which headings can be linked to, as GitHub makes them.
fn places(text: &str) -> Vec<String> {
    let mut fenced = false;
    let mut found: Vec<String> = Vec::new();
    for line in text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        let heading = line.trim_start_matches('#');
        if fenced || heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let lower = heading.trim().to_lowercase();
        let kept =
            lower.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
        let name: String = kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect();
        let again = found.iter().filter(|known| **known == name).count();
        found.push(if again == 0 { name } else { format!("{name}-{again}") });
    }
    found
}

fn relative_links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target)
        .filter(|target| !target.is_empty() && !target.contains(':') && !target.contains(' '))
}

#[test]
fn web_addresses_are_not_followed_and_places_are() {
    let text = "[a](https://example.org/x) [b](#here) [c](docs/x.md#part) [d](y.md)";
    assert_eq!(relative_links(text).collect::<Vec<_>>(), ["#here", "docs/x.md#part", "y.md"]);
}

#[test]
fn headings_are_named_as_they_can_be_linked_to() {
    let text = "# The `x`, and *y*\n```\n# no heading\n```\n## A b\n## A b\n#tag\n### It's 2.1\n";
    assert_eq!(places(text), ["the-x-and-y", "a-b", "a-b-1", "its-21"]);
    let folder = tempfile::tempdir().unwrap();
    let document = folder.path().join("a.md");
    fs::write(&document, "# Top\n[good](#top) [bad](#tip) [none](b.md) [own](a.md#top)").unwrap();
    let broken: Vec<String> = broken_in(&document)
        .into_iter()
        .map(|line| line.rsplit_once(": ").unwrap().1.to_owned())
        .collect();
    assert_eq!(broken, ["#tip", "b.md"]);
}
