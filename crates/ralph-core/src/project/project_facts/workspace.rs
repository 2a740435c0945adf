//! The folders that a workspace's patterns mean: those that are there and hold a manifest.
//!
//! Patterns are followed one level down, and never out of the project. How many are looked at is
//! bounded, since each costs a read of its manifest.

use super::{EntryKind, Project, show};
use crate::text::globs;
use std::collections::BTreeSet;

/// The most patterns that are followed.
const PATTERNS: usize = 30;

/// A longer pattern means no folder that people would make.
const LONGEST: usize = 200;

/// The most folders that are looked into.
const FOLDERS: usize = 100;

/// What the patterns mean, as a line; none if there are none.
pub(super) fn line(
    project: &dyn Project,
    heading: &str,
    patterns: &Patterns<'_>,
) -> Option<String> {
    if patterns.wanted.is_empty() {
        return None;
    }
    let folders = folders(project, patterns);
    let shown = show::list(patterns.wanted.iter().copied(), 8);
    let is_plain = patterns.wanted.iter().all(|wanted| folders.contains(*wanted));
    Some(match folders.is_empty() || is_plain {
        true => format!("{heading}: {shown}"),
        false => {
            format!("{heading} {shown}: {}", show::list(folders.iter().map(String::as_str), 16))
        }
    })
}

/// The patterns of a workspace.
#[derive(Debug, Default)]
pub(super) struct Patterns<'a> {
    pub(super) wanted: Vec<&'a str>,
    pub(super) unwanted: Vec<&'a str>,
    /// The name of the file that a member has in its folder.
    pub(super) manifest: &'a str,
}

fn folders(project: &dyn Project, patterns: &Patterns<'_>) -> BTreeSet<String> {
    let unwanted: Vec<&str> = followed(&patterns.unwanted).collect();
    let is_unwanted = |folder: &String| {
        unwanted.iter().any(|pattern| globs::holds(pattern.as_bytes(), folder.as_bytes()))
    };
    followed(&patterns.wanted)
        .flat_map(|wanted| meant(project, wanted))
        .filter(|folder| !is_unwanted(folder))
        .take(FOLDERS)
        .filter(|folder| project.text(&format!("{folder}/{}", patterns.manifest)).is_some())
        .collect()
}

fn followed<'a>(patterns: &[&'a str]) -> impl Iterator<Item = &'a str> {
    let is_short = |pattern: &&str| pattern.len() <= LONGEST;
    patterns.iter().copied().filter(is_short).take(PATTERNS).map(tidy)
}

/// What one pattern means: itself, or the folders beside each other that its last name means.
fn meant(project: &dyn Project, pattern: &str) -> Vec<String> {
    let leads_out = pattern.starts_with('/') || pattern.split('/').any(|name| name == "..");
    let (parent, name) = pattern.rsplit_once('/').unwrap_or(("", pattern));
    let is_open = |text: &str| text.contains(['*', '?', '[', '{']);
    if leads_out || is_open(parent) || pattern.is_empty() {
        return Vec::new();
    }
    if !is_open(name) {
        return vec![pattern.to_owned()];
    }
    let entries = project.folder(parent).map(|folder| folder.entries).unwrap_or_default();
    entries
        .into_iter()
        .filter(|entry| entry.kind == EntryKind::Folder && !entry.name.starts_with('.'))
        .filter(|entry| name == "**" || globs::holds(name.as_bytes(), entry.name.as_bytes()))
        .map(|entry| match parent {
            "" => entry.name,
            parent => format!("{parent}/{}", entry.name),
        })
        .collect()
}

fn tidy(pattern: &str) -> &str {
    pattern.strip_prefix("./").unwrap_or(pattern).trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::super::world::ProjectFixture;
    use super::*;

    #[track_caller]
    fn check(wanted: &[&str], unwanted: &[&str], expected: &[&str]) {
        let world = ProjectFixture::new()
            .file("a/m", "")
            .file("libs/one/m", "")
            .file("libs/two/m", "")
            .file("libs/none/readme", "")
            .file("libs/.hidden/m", "")
            .file("libs/m", "")
            .file("../out/m", "");
        let patterns =
            Patterns { wanted: wanted.to_vec(), unwanted: unwanted.to_vec(), manifest: "m" };
        assert_eq!(folders(&world, &patterns).into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn only_folders_with_a_manifest_are_members() {
        check(&["libs/*"], &[], &["libs/one", "libs/two"]);
        check(&["./libs/t*", "a/", "b"], &[], &["a", "libs/two"]);
        check(&["*"], &[], &["a", "libs"]);
        check(&["libs/**"], &["libs/two"], &["libs/one"]);
    }

    #[test]
    fn a_pattern_never_leads_out_of_the_project() {
        check(&["../*", "../out", "/etc/*", "libs/../../*", "*/one", ""], &[], &[]);
    }
}
