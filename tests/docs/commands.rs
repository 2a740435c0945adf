//! Finds commands in our documents that `ralph` does not know.
//!
//! What `ralph` knows is read from its help in the reference; another test keeps that true. A
//! command in a document is a line of a code block, or a piece of code in a sentence, that begins
//! with `ralph` or `/ralph`.

use super::{read, root};
use ralph_core::guard::commands::without_alias;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// Not for people, and so in no help; what is said about how things work may name them.
const HIDDEN: [&str; 5] =
    ["ralph delegate", "ralph man", "ralph refine within", "ralph round", "ralph supervise"];

/// The `--help` of every command, by its name, as the reference keeps it.
pub(crate) fn help() -> BTreeMap<String, String> {
    let page = read(&root().join("docs/reference/commands.md"));
    let sections = page.split("\n## ").skip(1).map(|section| {
        let (name, rest) = section.split_once("\n\n```\n").expect("a section is its help");
        let (help, _) = rest.split_once("\n```\n").expect("the help ends");
        (name.to_owned(), help.to_owned())
    });
    sections.collect()
}

/// The names of the commands directly below one.
pub(crate) fn names_below(name: &str) -> Vec<String> {
    let help = help();
    let below = help.keys().filter_map(|known| known.strip_prefix(name)?.strip_prefix(' '));
    below.filter(|known| !known.contains(' ')).map(str::to_owned).collect()
}

/// One line for each command that does not exist: the document, then the command.
pub(crate) fn unknown(documents: &[PathBuf]) -> Vec<String> {
    let help = help();
    let mut found = Vec::new();
    for document in documents {
        let text = fs::read_to_string(document).expect("our documents are UTF-8");
        for command in commands(&text) {
            if let Some(why) = problem(&help, &command) {
                found.push(format!("{}: `{command}`: {why}", document.display()));
            }
        }
    }
    found
}

/// Every command of a document, as it is written.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if fenced {
            let line = line.trim_start_matches(['>', '$', ' ']);
            // A step of a workflow.
            found.push(line.strip_prefix("- run: ").unwrap_or(line).to_owned());
        } else {
            found.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    let is_hidden = |code: &str| {
        HIDDEN.iter().any(|name| {
            code.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        })
    };
    found.retain(|code| !is_hidden(code));
    found.retain(|code| code.starts_with("ralph ") || code.starts_with("/ralph "));
    found
}

/// Why a command cannot be given; none if it can.
fn problem(help: &BTreeMap<String, String>, command: &str) -> Option<String> {
    // What is said about a command, and what it is given, is no part of it.
    let command = command.split(" #").next().unwrap_or_default();
    let quoted = command.split(['\'', '"']).step_by(2).collect::<Vec<_>>().join("X");
    let mut words = quoted.split_whitespace().map(|word| word.trim_matches(['[', ']']));
    let mut name = match words.next() {
        Some("/ralph") => "ralph start".to_owned(),
        _ => "ralph".to_owned(),
    };
    let given: Vec<String> = words.map(str::to_owned).collect();
    // An option that the alias adds may be hidden.
    let is_own =
        |word: &&String| !word.starts_with("--") || given.contains(word) || *word == "--id";
    let rewritten = without_alias(given.clone());
    let words = rewritten.iter().filter(is_own).map(String::as_str);
    let mut told = help.get(&name)?;
    // What stands after a lone `--`, or behind a pipe, is for another program.
    for word in words.take_while(|word| !["--", "|"].contains(word)) {
        if let Some(below) = help.get(&format!("{name} {word}")) {
            name = format!("{name} {word}");
            told = below;
        } else if (name == "ralph" || told.contains("\nCommands:\n")) && word != "…" {
            return Some(format!("there is no `{word}`"));
        } else if word.starts_with("--") {
            let flag = word.split('=').next().unwrap_or_default();
            let known = told.split_whitespace().any(|one| one.trim_end_matches(',') == flag);
            if !known {
                return Some(format!("`{flag}` is no option of it"));
            }
        }
    }
    None
}

#[test]
fn a_command_that_does_not_exist_is_found() {
    let help = help();
    let check = |command: &str| problem(&help, command);
    for good in [
        "ralph verify AC-1",
        "ralph verify --parallel",
        "/ralph \"task --no-such\" --max-minutes 60",
        "ralph task done ID --note 'x --y'",
        "ralph task …",
        "ralph checkpoint list --json   # --nothing",
        "ralph status --json | jq --raw-output .",
        "ralph session next --json",
    ] {
        assert_eq!(check(good), None, "{good}");
    }
    assert_eq!(check("ralph fly").unwrap(), "there is no `fly`");
    assert_eq!(check("ralph task fly").unwrap(), "there is no `fly`");
    assert_eq!(check("ralph verify --fast").unwrap(), "`--fast` is no option of it");
    assert_eq!(check("/ralph \"x\" --fast").unwrap(), "`--fast` is no option of it");
}

#[test]
fn commands_are_found_in_blocks_and_in_sentences() {
    let text =
        "Say `ralph verify` or `git`.\n```\n> /ralph \"x\"\n  - run: ralph demo\nmake\n```\n";
    assert_eq!(commands(text), ["ralph verify", "/ralph \"x\"", "ralph demo"]);
}
