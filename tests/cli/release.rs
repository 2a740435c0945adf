//! What a release carries besides the executables: the manual and the completions, of every command.

use crate::world::World;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Commands that no person types, as far as their words are no part of others.
const HIDDEN: [&str; 3] = ["supervise", "delegate", "within"];

fn stems(folder: &Path, ending: &str) -> BTreeSet<String> {
    let names = fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name());
    names.map(|name| name.to_str().unwrap().strip_suffix(ending).unwrap().to_owned()).collect()
}

#[test]
fn every_command_with_a_help_has_a_page_of_the_manual() {
    let world = World::new();
    let pages = world.path("man/man1");
    world.ralph(&["man", pages.to_str().unwrap()]).done();
    let reference = include_str!("../../docs/reference/commands.md");
    let commands = reference.lines().filter_map(|line| line.strip_prefix("## "));
    assert_eq!(stems(&pages, ".1"), commands.map(|name| name.replace(' ', "-")).collect());
    let page = fs::read_to_string(pages.join("ralph-install.1")).unwrap();
    for part in [".TH ralph-install 1", "ralph 0.", "\\fB\\-\\-plugin\\fR \\fI<DIR>\\fR"] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[test]
fn completions_offer_what_a_person_types_and_nothing_else() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish"] {
        let text = world.ralph(&["completions", shell]).done().stdout;
        for word in ["checkpoint", "restore", "sync", "stall-limit"] {
            assert!(text.contains(word), "{shell}: {word}");
        }
        let offered: Vec<_> = HIDDEN.iter().filter(|word| text.contains(**word)).collect();
        assert!(offered.is_empty(), "{shell}: {offered:?}");
    }
    assert_eq!(world.ralph(&["completions", "tcsh"]).exit, 2);
}

#[test]
fn bash_takes_the_completions_and_completes_with_them() {
    let world = World::new();
    let text = world.ralph(&["completions", "bash"]).done().stdout;
    let script = format!(
        "{text}\nCOMP_WORDS=(ralph checkpoint re) COMP_CWORD=2\n_ralph ralph re checkpoint\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""
    );
    let script = world.write("complete.bash", &script);
    let output = Command::new("bash").arg("--norc").arg(script).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "restore\n", "{output:?}");
}
