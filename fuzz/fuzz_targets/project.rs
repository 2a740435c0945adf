//! A project's own files, from which criteria are taken. Input: the text, given as each of them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::project;
use ralph_core::project::reader::{EntryKind, Folder, FolderEntry, ProjectReader};
use ralph_core::shell::vacuous;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

const TEXTS: [&str; 13] = [
    "package.json",
    "tsconfig.json",
    "deno.json",
    "Cargo.toml",
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
    "go.mod",
    "Gemfile",
    "composer.json",
    "mix.exs",
    "Makefile",
    "justfile",
];

/// The files of a root, by name.
#[derive(Default)]
struct Root(BTreeMap<String, String>);

impl ProjectReader for Root {
    fn root(&self) -> &Path {
        Path::new("/")
    }

    fn text(&self, path: &Path) -> Option<String> {
        self.0.get(path.to_str()?).cloned()
    }

    fn folder(&self, _: &Path) -> Option<Folder> {
        let entry = |name: &String| FolderEntry { name: name.clone(), kind: EntryKind::File };
        Some(Folder { entries: self.0.keys().map(entry).collect(), is_cut: false })
    }

    fn exists(&self, path: &Path) -> bool {
        self.text(path).is_some()
    }
}

fn check(files: &Root) {
    let criteria = project::criteria(files);
    let ids: HashSet<_> = criteria.iter().map(|criterion| &criterion.id).collect();
    assert_eq!(ids.len(), criteria.len());
    for criterion in &criteria {
        let command = &criterion.verification_command;
        assert!(!criterion.verified && !criterion.description.is_empty());
        assert!(vacuous::refuse(command).is_none(), "{command}");
        // A repository chooses among commands; it does not write them.
        let plain = |c: char| c.is_ascii_alphanumeric() || " -_./:=@+".contains(c);
        assert!(command.chars().all(plain), "{command:?}");
    }
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data).into_owned();
    let mut all = Root::default();
    for name in TEXTS {
        let mut one = Root::default();
        one.0.insert(name.to_owned(), text.clone());
        if name == "package.json" {
            one.0.insert("tsconfig.json".to_owned(), text.clone());
        }
        check(&one);
        all.0.extend(one.0);
    }
    check(&all);
});
