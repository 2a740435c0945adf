//! A project's own files, from which criteria are taken. Input: the text, given as each of them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::project::{self, ProjectFiles, TEXTS};
use ralph_core::shell::vacuous;
use std::collections::HashSet;

fn check(files: &ProjectFiles) {
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
    let mut all = ProjectFiles::default();
    for name in TEXTS {
        let mut one = ProjectFiles::default();
        one.entries.insert(name.to_owned());
        one.texts.insert(name.to_owned(), text.clone());
        if name == "package.json" {
            one.entries.insert("tsconfig.json".to_owned());
        }
        check(&one);
        all.entries.extend(one.entries);
        all.texts.extend(one.texts);
    }
    check(&all);
});
