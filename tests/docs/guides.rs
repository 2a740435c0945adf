//! Each system has a guide that begins with what a person types, says how it ends, and what to do when it
//! goes wrong; and every document can be found from the list of them.

use super::{read, root};
use std::fs;

/// The systems, by the names of their guides.
const GUIDES: [&str; 10] = [
    "loop",
    "run",
    "evidence",
    "checks",
    "tasks",
    "ralplan",
    "orchestration",
    "refinery",
    "parallel",
    "shared",
];

/// What a guide lacks.
fn lacks(text: &str) -> Vec<&'static str> {
    let begins = text.split("\n## ").next().unwrap_or_default();
    let types = begins.split("```").skip(1).step_by(2).any(|block| {
        block.lines().any(|line| line.starts_with("ralph ") || line.starts_with("/ralp"))
    });
    let headings: Vec<&str> = text.lines().filter(|line| line.starts_with("## ")).collect();
    let ends = ["## How it ends", "## Endings"];
    let mut lacking = Vec::new();
    if !types {
        lacking.push("it does not begin with what a person types");
    }
    if !headings.iter().any(|line| ends.iter().any(|end| line.starts_with(end))) {
        lacking.push("it does not say how it ends");
    }
    let wrong = text.split_once("\n## When it goes wrong\n");
    let has_row = |section: &str| {
        let section = section.split("\n## ").next().unwrap_or_default();
        section.lines().any(|line| line.starts_with("| ") && line.contains("`ralph "))
    };
    if !wrong.is_some_and(|(_, section)| has_row(section)) {
        lacking.push("it does not say what to type when it goes wrong");
    }
    lacking
}

#[test]
fn each_guide_begins_with_what_is_typed_and_says_how_it_ends_and_what_to_do() {
    for guide in GUIDES {
        let text = read(&root().join("docs").join(guide).with_extension("md"));
        assert_eq!(lacks(&text), [""; 0], "docs/{guide}.md");
    }
}

#[test]
fn what_a_guide_lacks_is_found() {
    let whole =
        "# X\n```\nralph x\n```\n## How it ends\n\n## When it goes wrong\n| a | `ralph y` |\n";
    assert_eq!(lacks(whole), [""; 0]);
    for part in ["ralph x", "How it ends", "When it goes wrong", "ralph y"] {
        assert_eq!(lacks(&whole.replace(part, "X")).len(), 1, "{part}");
    }
}

#[test]
fn every_document_is_in_the_list_of_them() {
    let list = read(&root().join("docs/README.md"));
    for entry in fs::read_dir(root().join("docs")).expect("the documents can be listed") {
        let name = entry.expect("a listed entry can be read").file_name().into_string().unwrap();
        let is_listed =
            list.contains(&format!("]({name})")) || list.contains(&format!("]({name}/"));
        assert!(is_listed || name == "README.md" || !name.ends_with(".md"), "docs/{name}");
    }
}

#[test]
fn each_symptom_comes_with_something_to_type() {
    let text = read(&root().join("docs/troubleshooting.md"));
    let symptoms: Vec<&str> = text.split("\n### ").skip(1).collect();
    assert!(symptoms.len() > 20, "{}", symptoms.len());
    for symptom in symptoms {
        let (name, body) = symptom.split_once('\n').expect("a symptom has a text");
        let body = body.split("\n## ").next().unwrap_or_default();
        let types = ["`ralph ", "\nralph ", "`/ralph", "`/hooks`", "`git worktree"];
        assert!(types.iter().any(|word| body.contains(word)), "{name}");
    }
}
