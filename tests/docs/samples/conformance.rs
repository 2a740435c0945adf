//! `docs/conformance.md`: the suite on the description that the guide shows.

use super::{Sample, check, read, root};
use std::fs;
use std::process::Command;

pub(super) const SAMPLES: &[Sample] = &[("conformance-fails", fails)];

fn fails() -> String {
    let guide = read(&root().join("docs/conformance.md"));
    let (_, description) = guide.split_once("```json\n").expect("the guide shows a description");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("my-hooks.json");
    fs::write(&file, description.split("```").next().unwrap()).unwrap();
    let suite = ["run", "--locked", "--quiet", "--package", "ralph-conformance", "--"];
    let arguments = ["--only", "token/mentioned", "--short"];
    let mut cargo = Command::new(env!("CARGO"));
    let output = cargo.current_dir(root()).args(suite).arg(file).args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let command = "cargo run -p ralph-conformance -- my-hooks.json --only token/mentioned --short";
    format!("$ {command}\n{}", String::from_utf8(output.stdout).unwrap())
}

#[test]
fn the_guide_to_conformance_shows_what_appears() {
    check("docs/conformance.md");
}
