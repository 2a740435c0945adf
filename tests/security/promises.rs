//! `SECURITY.md` names a test for what it says is defended; each of them is here.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The sources of this suite and of the others, and of the unit tests.
fn sources() -> String {
    let mut folders = vec![root().join("tests"), root().join("crates")];
    let mut text = String::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                text.push_str(&fs::read_to_string(path).unwrap());
            }
        }
    }
    text
}

#[test]
fn every_test_that_the_threat_model_names_is_there() {
    let text = fs::read_to_string(root().join("SECURITY.md")).unwrap();
    // A test's name is the only thing in backticks that is four words or more, joined.
    let named: Vec<&str> = text
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| word.matches('_').count() >= 3 && !word.contains([' ', '*', '/', '$']))
        .collect();
    assert!(named.len() > 15, "{named:?}");
    let sources = sources();
    for name in named {
        assert!(sources.contains(&format!("fn {name}()")), "there is no test `{name}`");
    }
}
