//! The counts that `SECURITY.md` gives for the security tests are those that the tests assert; those of `docs/proof.md` are
//! those of the tree.

use super::{read, root};
use serde_json::Value;
use std::fs;

/// The bodies of all security tests, each with its name.
fn tests() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join("tests/security")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|kind| kind == "rs") {
            let text = fs::read_to_string(path).unwrap();
            for test in text.split("#[test]\n").skip(1) {
                let body = test.split("\n}\n").next().unwrap();
                let name = body.trim_start_matches("fn ").split('(').next().unwrap();
                found.push((name.to_owned(), body.to_owned()));
            }
        }
    }
    found
}

#[test]
fn the_counts_of_the_security_tests_are_those_that_they_assert() {
    let guide = read(&root().join("SECURITY.md"));
    let section = guide.split("## What the security tests try").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let tests = tests();
    let mut n_rows = 0;
    for row in section.lines().filter(|line| line.ends_with("` |")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let name = cells[3].trim_matches('`');
        let (_, body) = tests.iter().find(|(test, _)| test == name).unwrap_or_else(|| {
            panic!("no security test is called `{name}`");
        });
        let numbers = cells[2].split(' ').filter(|word| word.parse::<u32>().is_ok());
        for number in numbers {
            let body = body.replace('_', "");
            let stands = body.split(|c: char| !c.is_ascii_digit()).any(|word| word == number);
            assert!(stands, "`{name}` asserts nothing of {number}");
            n_rows += 1;
        }
    }
    assert!(n_rows >= 10, "{n_rows}");
}

fn conformance_cases() -> usize {
    let folders = fs::read_dir(root().join("tests/conformance/cases")).unwrap();
    let files = folders.flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap());
    let variants = |text: String| {
        let case: Value = serde_json::from_str(&text).unwrap();
        case["variants"].as_object().map_or(1, |variants| variants.len())
    };
    files.map(|file| variants(read(&file.unwrap().path()))).sum()
}

#[test]
fn the_parts_of_the_proof_hold_as_many_cases_as_the_document_says() {
    let fuzzed = read(&root().join("fuzz/Cargo.toml")).matches("\n[[bin]]\n").count();
    let crates = read(&root().join("Cargo.lock")).matches("\n[[package]]\n").count();
    let crashed = fs::read_dir(root().join("tests/crash/cases")).unwrap();
    let crashed = crashed.map(|file| read(&file.unwrap().path()).matches("name: \"").count());
    let guide = read(&root().join("docs/proof.md"));
    for (part, counted) in [
        ("[conformance](conformance.md)", format!("{} cases", conformance_cases())),
        ("crash", format!("{} cases", crashed.sum::<usize>())),
        ("fuzz", format!("{fuzzed} targets")),
        ("security", format!("{} tests", tests().len())),
        ("supply-chain", format!("{crates} crates")),
    ] {
        let row = format!("\n| {part} | {counted} | ");
        assert!(guide.contains(&row), "docs/proof.md lacks:{row}");
    }
}
