//! What a release carries besides the executables: the manual and the completions, of every command.

use crate::world::World;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

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

/// What bash offers when Tab is pressed after these words.
fn offered(world: &World, words: &[&str]) -> Vec<String> {
    let script = world.ralph(&["completions", "bash"]).done().stdout;
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let (last, at) = (quoted.last().unwrap(), words.len() - 1);
    let script = format!(
        "{script}\nCOMP_WORDS=({}) COMP_CWORD={at} COMP_TYPE=9\n\
         _clap_complete_ralph ralph {last} {}\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        quoted.join(" "),
        quoted[at - 1]
    );
    let script = world.write("complete.bash", &script);
    let mut bash = world.command(Path::new("/bin/bash"), "");
    let folder = Path::new(env!("CARGO_BIN_EXE_ralph")).parent().unwrap();
    let output = bash.arg("--norc").arg(script).env("PATH", folder).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn the_completion_scripts_are_short_and_leave_the_names_to_ralph() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = world.ralph(&["completions", shell]).done().stdout;
        assert!(script.len() < 2_048 && script.contains("RALPH_COMPLETIONS"), "{shell}: {script}");
        assert!(!script.contains("checkpoint"), "{shell}: {script}");
    }
    assert_eq!(world.ralph(&["completions", "tcsh"]).exit, 2);
}

#[test]
fn bash_completes_commands_options_and_values() {
    let world = World::new();
    let plan = r#"{"acceptance_criteria":[{"description":"built","verification_command":"make"}],
        "task_graph":[{"id":"T-1","name":"one"},{"id":"T-2","name":"two"}]}"#;
    let file = world.write("project/plan.json", plan);
    world.ralph(&["task", "import", file.to_str().unwrap()]).done();
    let id = &world.loop_ids()[0];
    for (words, expected) in [
        (&["ralph", "checkpoint", "sh"][..], &["show"][..]),
        (&["ralph", "start", "--stall"], &["--stall-limit"]),
        (&["ralph", "status", "--loop", ""], &[id.as_str()]),
        (&["ralph", "task", "done", "T"], &["T-1", "T-2"]),
        (&["ralph", "verify", "AC"], &["AC-1"]),
        (&["ralph", "start", "--completion", ""], &["verified", "token"]),
        (&["ralph", "build", "--permission-mode", "acc"], &["acceptEdits"]),
        (&["ralph", "task", "import", "pl"], &["plan.json"]),
        (&["ralph", "task", "graph", "--format", "m"], &["mermaid"]),
    ] {
        assert_eq!(offered(&world, words), expected, "{words:?}");
    }
    for hidden in HIDDEN {
        assert!(!offered(&world, &["ralph", ""]).iter().any(|word| word == hidden), "{hidden}");
    }
}
