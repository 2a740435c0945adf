//! Sentences that name a number, a flag or a line of the code: the code holds them.

use super::{commands, read, root};
use clap::Command;
use ralph_core::project::bounds::{Bounds, BoundsInput};
use ralph_core::project::settings::SandboxSettings;
use std::collections::BTreeSet;
use std::fs;

fn document(path: &str) -> String {
    read(&root().join(path))
}

/// The words that begin with `--`, without what follows a name.
fn flags(text: &str) -> BTreeSet<String> {
    let is_part = |letter: char| letter.is_ascii_lowercase() || letter == '-';
    let words = text.split(|letter: char| letter.is_whitespace() || "`'\"(".contains(letter));
    let words = words.filter(|word| word.starts_with("--") && word.len() > 2);
    words.map(|word| word.split(|letter| !is_part(letter)).next().unwrap().to_owned()).collect()
}

/// Every long flag that a command takes, also one that its help does not show.
fn accepted(command: &Command, found: &mut BTreeSet<String>) {
    for flag in command.get_arguments() {
        let names = flag.get_long().into_iter().chain(flag.get_all_aliases().unwrap_or_default());
        found.extend(names.map(|name| format!("--{name}")));
    }
    command.get_subcommands().for_each(|below| accepted(below, found));
}

#[test]
fn every_flag_in_the_changelog_is_in_a_help_or_named_as_a_former_one() {
    /// Flags of other programs, and of the executables of hooks.
    const OTHERS: [&str; 2] = ["--resume", "--version"];
    let text = document("CHANGELOG.md");
    let (text, removed) = text.split_once("\n### Removed\n").unwrap();
    let (_, limits) = removed.split_once("\n### Known limits\n").unwrap();
    let (before, rest) = text.split_once("The former flags (").unwrap();
    let (former, after) = rest.split_once(") still work").unwrap();

    let mut shown: BTreeSet<String> =
        commands::help().values().flat_map(|help| flags(help)).collect();
    shown.extend(flags(&document("install.sh")));
    let named = flags(&[before, after, limits].concat());
    assert!(named.len() > 30, "{named:?}");
    let unknown: Vec<_> = named
        .iter()
        .filter(|flag| !shown.contains(*flag) && !OTHERS.contains(&flag.as_str()))
        .collect();
    assert!(unknown.is_empty(), "in no `--help`: {unknown:?}");

    let mut taken = BTreeSet::new();
    accepted(&ralph::cli::command(), &mut taken);
    let former = flags(former);
    assert!(former.len() > 5 && former.is_subset(&taken), "{former:?}");
}

#[test]
fn the_least_size_of_the_page_is_the_one_in_the_guide() {
    let page = document("crates/ralph/src/cli/watch/view.rs");
    let least = page.split("const LEAST: (u16, u16) = (").nth(1).unwrap();
    let (columns, lines) = least.split(')').next().unwrap().split_once(", ").unwrap();
    let sentence = format!("It needs {columns} columns and {lines} lines");
    assert!(document("docs/watch.md").contains(&sentence), "{sentence}");
}

#[test]
fn the_bounds_in_the_guide_are_those_that_a_run_begins_with() {
    let bounds = Bounds::from_input(&BoundsInput {
        project_root: "/home/me/shop",
        git: None,
        home: "/home/me",
        ralph_home: "/home/me/.local/state/ralph",
        ralph_config: "/home/me/.config/ralph",
        client_config: "/home/me/.claude",
        settings: SandboxSettings::default(),
    });
    let line = format!("\npermission mode: acceptEdits; {}\n", bounds.lines().join("; "));
    assert!(document("docs/sandbox.md").contains(&line), "{line}");
}

#[test]
fn each_command_that_the_guide_to_workers_says_takes_json_does() {
    let guide = document("docs/parallel.md");
    let line = guide.lines().find(|line| line.contains("take `--json`")).unwrap();
    let (_, sentence) = line.split_once("what blocks. ").unwrap();
    let help = commands::help();
    for name in sentence.split('`').skip(1).step_by(2).filter(|name| !name.starts_with('-')) {
        assert!(flags(&help[&format!("ralph {name}")]).contains("--json"), "{name}");
    }
}

/// A hook's own code starts one thread; its tests may start others.
#[test]
fn a_hook_starts_the_one_thread_that_the_map_names() {
    let mut n = 0;
    let mut folders = vec![root().join("crates/ralph-hooks/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = read(&path);
                n += text.split("#[cfg(test)]").next().unwrap().matches("thread::spawn").count();
            }
        }
    }
    assert_eq!(n, 1);
    assert!(
        document("docs/developers/choices.md").contains("One thread waits for the\n  deadline")
    );
}
